/* Included by loops.cu once for each element type. Memory moves in vectors of 16 bytes: all buffers
 * are aligned to that. What is left over behind the last vector is done one by one. */

enum { NAME(VECTOR) = 16 / sizeof(ELEMENT) };

typedef struct ALIGNED(16) NAME(vector) {
    ELEMENT e[NAME(VECTOR)];
} NAME(vector);

#define GET(k, i)      WIDEN(((const ELEMENT *)a.at[k])[i])
#define PUT(k, i)      ((ELEMENT *)a.at[k])[i]
#define GETV(k, i)     ((const NAME(vector) *)a.at[k])[i]
#define PUTV(k, i)     ((NAME(vector) *)a.at[k])[i]
#define EACH_VECTOR(i) for (long long i = FIRST; i < a.n / NAME(VECTOR); i += STEP)
#define EACH_REST(i) \
    for (long long i = a.n / NAME(VECTOR) * NAME(VECTOR) + FIRST; i < a.n; i += STEP)
#define EACH_LANE(j) UNROLL for (int j = 0; j < NAME(VECTOR); j++)

/* ---- maps ------------------------------------------------------------------------------------ */

#define UNARY(kernel, function)                                    \
    KERNEL NAME(kernel)(const loop_args a)                         \
    {                                                              \
        EACH_VECTOR(i)                                             \
        {                                                          \
            const NAME(vector) x = GETV(0, i);                     \
            NAME(vector) y;                                        \
                                                                   \
            EACH_LANE(j) y.e[j] = NARROW(function(WIDEN(x.e[j]))); \
            PUTV(1, i) = y;                                        \
        }                                                          \
        EACH_REST(i) PUT(1, i) = NARROW(function(GET(0, i)));      \
    }

#define BINARY(kernel, function)                                                       \
    KERNEL NAME(kernel)(const loop_args a)                                             \
    {                                                                                  \
        EACH_VECTOR(i)                                                                 \
        {                                                                              \
            const NAME(vector) x0 = GETV(0, i);                                        \
            const NAME(vector) x1 = GETV(1, i);                                        \
            NAME(vector) y;                                                            \
                                                                                       \
            EACH_LANE(j) y.e[j] = NARROW(function(WIDEN(x0.e[j]), WIDEN(x1.e[j])));    \
            PUTV(2, i) = y;                                                            \
        }                                                                              \
        EACH_REST(i) PUT(2, i) = NARROW(function(GET(0, i), GET(1, i)));               \
    }

UNARY(map_relu, relu)
UNARY(map_swish, swish)
UNARY(map_gelu, gelu)
BINARY(map_sum, sum_of_two)
BINARY(map_relu_back, relu_back)
BINARY(map_swish_back, swish_back)
BINARY(map_gelu_back, gelu_back)

/* Casts between this type and single precision: as many elements of that as a vector has here. */
typedef struct ALIGNED(16) NAME(wide) {
    float e[NAME(VECTOR)];
} NAME(wide);

KERNEL NAME(cast_down)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(wide) x = ((const NAME(wide) *)a.at[0])[i];
        NAME(vector) y;

        EACH_LANE(j) y.e[j] = NARROW(x.e[j]);
        PUTV(1, i)          = y;
    }
    EACH_REST(i) PUT(1, i) = NARROW(((const float *)a.at[0])[i]);
}

KERNEL NAME(cast_up)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(vector) x = GETV(0, i);
        NAME(wide) y;

        EACH_LANE(j) y.e[j]        = WIDEN(x.e[j]);
        ((NAME(wide) *)a.at[1])[i] = y;
    }
    EACH_REST(i)((float *)a.at[1])[i] = GET(0, i);
}

/* ---- casts to FP8 ------------------------------------------------------------------------------
 *
 * at[0], n rows of `width`, both multiples of 16 -> at[1]; at[2] the same transposed, with two slices. at[3]
 * the scale; at[4] the largest magnitude so far. A thread has 8 rows of 4 columns, a warp 32 of 32:
 * what it reads and writes are whole sectors of 32 bytes, on each side. */

typedef struct ALIGNED(4 * sizeof(ELEMENT)) NAME(quad) {
    ELEMENT e[4];
} NAME(quad);

#define CAST_F8(kernel, word_of)                                                                     \
    KERNEL NAME(kernel)(const loop_args a)                                                           \
    {                                                                                                \
        const long long across = (a.width + 31) / 32, down = (a.n + 31) / 32;                        \
        const float     scale   = *(const float *)a.at[3];                                           \
        float           largest = 0.0f;                                                              \
                                                                                                     \
        for (long long i = FIRST; i < 32 * across * down; i += STEP) {                               \
            const long long row    = i / 32 / across * 32 + i % 32 / 8 * 8;                          \
            const long long column = i / 32 % across * 32 + i % 8 * 4;                               \
            unsigned        word[8];                                                                 \
                                                                                                     \
            if (row >= a.n || column >= a.width)                                                     \
                continue;                                                                            \
            UNROLL for (int r = 0; r < 8; r++)                                                       \
            {                                                                                        \
                const NAME(quad) x =                                                                 \
                    ((const NAME(quad) *)a.at[0])[((row + r) * a.width + column) / 4];               \
                float scaled[4];                                                                     \
                                                                                                     \
                UNROLL for (int c = 0; c < 4; c++)                                                   \
                {                                                                                    \
                    largest   = larger(largest, fabsf(WIDEN(x.e[c])));                               \
                    scaled[c] = scale * WIDEN(x.e[c]);                                               \
                }                                                                                    \
                word[r] = word_of(scaled);                                                           \
                ((unsigned *)a.at[1])[((row + r) * a.width + column) / 4] = word[r];                 \
            }                                                                                        \
            UNROLL for (int c = 0; a.slices > 1 && c < 4; c++)                                            \
            {                                                                                        \
                two_words turned = { { 0, 0 } };                                                     \
                                                                                                     \
                UNROLL for (int r = 0; r < 8; r++)                                                   \
                    turned.at[r / 4] |= (word[r] >> 8 * c & 0xffu) << 8 * (r % 4);                   \
                ((two_words *)a.at[2])[((column + c) * a.n + row) / 8] = turned;                     \
            }                                                                                        \
        }                                                                                            \
        KEEP_LARGEST((float *)a.at[4], largest);                                                     \
    }

CAST_F8(cast_e4m3, word_e4m3)
CAST_F8(cast_e5m2, word_e5m2)

/* at[0 .. width-1] -> at[width]: sum, scaled. */
KERNEL NAME(map_many)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        float sum[NAME(VECTOR)];
        NAME(vector) y;

        EACH_LANE(j) sum[j] = 0.0f;
        for (int k = 0; k < a.width; k++) {
            const NAME(vector) x = GETV(k, i);

            EACH_LANE(j) sum[j] += WIDEN(x.e[j]);
        }
        EACH_LANE(j) y.e[j] = NARROW(a.scale * sum[j]);
        PUTV(a.width, i) = y;
    }
    EACH_REST(i)
    {
        float sum = 0.0f;

        for (int k = 0; k < a.width; k++)
            sum += GET(k, i);
        PUT(a.width, i) = NARROW(a.scale * sum);
    }
}

/* ---- passes of optimizers: each over whole buffers, as frameworks go over all tensors at once --- */

#define TERNARY(kernel, function)                                                                     \
    KERNEL NAME(kernel)(const loop_args a)                                                            \
    {                                                                                                 \
        EACH_VECTOR(i)                                                                                \
        {                                                                                             \
            const NAME(vector) x0 = GETV(0, i);                                                       \
            const NAME(vector) x1 = GETV(1, i);                                                       \
            const NAME(vector) x2 = GETV(2, i);                                                       \
            NAME(vector) y;                                                                           \
                                                                                                      \
            EACH_LANE(j) y.e[j] = NARROW(function(WIDEN(x0.e[j]), WIDEN(x1.e[j]), WIDEN(x2.e[j])));   \
            PUTV(3, i) = y;                                                                           \
        }                                                                                             \
        EACH_REST(i) PUT(3, i) = NARROW(function(GET(0, i), GET(1, i), GET(2, i)));                   \
    }
#define AFFINE(x)            (a.scale * (x) + a.kept)
#define LINEAR(x, y)         (a.kept * (x) + a.scale * (y))
#define TIMES(x, y)          ((x) * (y))
#define OVER(x, y)           ((x) / (y))
#define PLUS_PRODUCT(x, y, z)  ((x) + a.scale * (y) * (z))
#define PLUS_QUOTIENT(x, y, z) ((x) + a.scale * (y) / (z))

UNARY(pass_affine, AFFINE)
UNARY(pass_root, sqrtf)
BINARY(pass_linear, LINEAR)
BINARY(pass_times, TIMES)
BINARY(pass_over, OVER)
TERNARY(pass_product, PLUS_PRODUCT)
TERNARY(pass_quotient, PLUS_QUOTIENT)

/* ---- optimizers: at[0] weights, at[1] their gradients, then what is kept; `scale` the rate --- */

KERNEL NAME(update_sgd)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(vector) g = GETV(1, i);
        NAME(vector) w = GETV(0, i);

        EACH_LANE(j) w.e[j] = NARROW(WIDEN(w.e[j]) - a.scale * WIDEN(g.e[j]));
        PUTV(0, i) = w;
    }
    EACH_REST(i) PUT(0, i) = NARROW(GET(0, i) - a.scale * GET(1, i));
}

KERNEL NAME(update_momentum)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(vector) g = GETV(1, i);
        NAME(vector) w = GETV(0, i);
        NAME(vector) m = GETV(2, i);

        EACH_LANE(j)
        {
            const float x = momentum(WIDEN(m.e[j]), WIDEN(g.e[j]));

            m.e[j] = NARROW(x);
            w.e[j] = NARROW(WIDEN(w.e[j]) - a.scale * x);
        }
        PUTV(0, i) = w;
        PUTV(2, i) = m;
    }
    EACH_REST(i)
    {
        const float x = momentum(GET(2, i), GET(1, i));

        PUT(2, i) = NARROW(x);
        PUT(0, i) = NARROW(GET(0, i) - a.scale * x);
    }
}

KERNEL NAME(update_adam)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(vector) g = GETV(1, i);
        NAME(vector) w = GETV(0, i);
        NAME(vector) m = GETV(2, i);
        NAME(vector) v = GETV(3, i);

        EACH_LANE(j)
        {
            const float p = adam_first(WIDEN(m.e[j]), WIDEN(g.e[j]));
            const float q = adam_second(WIDEN(v.e[j]), WIDEN(g.e[j]));

            m.e[j] = NARROW(p);
            v.e[j] = NARROW(q);
            w.e[j] = NARROW(WIDEN(w.e[j]) - a.scale * adam_step(p, q));
        }
        PUTV(0, i) = w;
        PUTV(2, i) = m;
        PUTV(3, i) = v;
    }
    EACH_REST(i)
    {
        const float p = adam_first(GET(2, i), GET(1, i));
        const float q = adam_second(GET(3, i), GET(1, i));

        PUT(2, i) = NARROW(p);
        PUT(3, i) = NARROW(q);
        PUT(0, i) = NARROW(GET(0, i) - a.scale * adam_step(p, q));
    }
}

KERNEL NAME(update_adagrad)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(vector) g = GETV(1, i);
        NAME(vector) w = GETV(0, i);
        NAME(vector) s = GETV(2, i);

        EACH_LANE(j)
        {
            const float x = adagrad_sum(WIDEN(s.e[j]), WIDEN(g.e[j]));

            s.e[j] = NARROW(x);
            w.e[j] = NARROW(WIDEN(w.e[j]) - a.scale * adagrad_step(x, WIDEN(g.e[j])));
        }
        PUTV(0, i) = w;
        PUTV(2, i) = s;
    }
    EACH_REST(i)
    {
        const float x = adagrad_sum(GET(2, i), GET(1, i));

        PUT(2, i) = NARROW(x);
        PUT(0, i) = NARROW(GET(0, i) - a.scale * adagrad_step(x, GET(1, i)));
    }
}

KERNEL NAME(update_rmsprop)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(vector) g = GETV(1, i);
        NAME(vector) w = GETV(0, i);
        NAME(vector) s = GETV(2, i);

        EACH_LANE(j)
        {
            const float x = rmsprop_square(WIDEN(s.e[j]), WIDEN(g.e[j]));

            s.e[j] = NARROW(x);
            w.e[j] = NARROW(WIDEN(w.e[j]) - a.scale * rmsprop_step(x, WIDEN(g.e[j])));
        }
        PUTV(0, i) = w;
        PUTV(2, i) = s;
    }
    EACH_REST(i)
    {
        const float x = rmsprop_square(GET(2, i), GET(1, i));

        PUT(2, i) = NARROW(x);
        PUT(0, i) = NARROW(GET(0, i) - a.scale * rmsprop_step(x, GET(1, i)));
    }
}

KERNEL NAME(update_adadelta)(const loop_args a)
{
    EACH_VECTOR(i)
    {
        const NAME(vector) g = GETV(1, i);
        NAME(vector) w = GETV(0, i);
        NAME(vector) s = GETV(2, i);
        NAME(vector) u = GETV(3, i);

        EACH_LANE(j)
        {
            const float q = adadelta_mean(WIDEN(s.e[j]), WIDEN(g.e[j]));
            const float d = adadelta_step(q, WIDEN(u.e[j]), WIDEN(g.e[j]));

            s.e[j] = NARROW(q);
            u.e[j] = NARROW(adadelta_mean(WIDEN(u.e[j]), d));
            w.e[j] = NARROW(WIDEN(w.e[j]) - a.scale * d);
        }
        PUTV(0, i) = w;
        PUTV(2, i) = s;
        PUTV(3, i) = u;
    }
    EACH_REST(i)
    {
        const float q = adadelta_mean(GET(2, i), GET(1, i));
        const float d = adadelta_step(q, GET(3, i), GET(1, i));

        PUT(2, i) = NARROW(q);
        PUT(3, i) = NARROW(adadelta_mean(GET(3, i), d));
        PUT(0, i) = NARROW(GET(0, i) - a.scale * d);
    }
}

/* ---- rows of a table: at[1] their numbers (int), `n` of them, `width` elements each ---------- */

/* at[0] table -> at[2] rows */
KERNEL NAME(gather)(const loop_args a)
{
    const int      *index = (const int *)a.at[1];
    const long long whole = a.width % NAME(VECTOR) ? 0 : a.width / NAME(VECTOR);

    for (long long row = FIRST_ROW; row < a.n; row += ROW_STEP) {
        const long long from = index[row];

        for (long long i = LANE; i < whole; i += LANES)
            PUTV(2, row * whole + i) = GETV(0, from * whole + i);
        for (long long i = whole * NAME(VECTOR) + LANE; i < a.width; i += LANES)
            PUT(2, row * a.width + i) = PUT(0, from * a.width + i);
    }
}

/* at[0] rows, added to those of at[2] table: rows may repeat */
KERNEL NAME(scatter)(const loop_args a)
{
    const int *index = (const int *)a.at[1];

    for (long long row = FIRST_ROW; row < a.n; row += ROW_STEP)
        for (long long i = LANE; i < a.width; i += LANES)
            ATOMIC_ADD(&PUT(2, index[row] * a.width + i), GET(0, row * a.width + i));
}

/* ---- sums: at[0], of head x n x width x inner elements, over the first and third axes ----------
 *
 * The third axis is cut into chunks; the pieces so made, of all heads, are dealt to `slices`.
 * Where that is more than one, a slice's sums go to at[2], as f32: [n x inner][slices]. */

#define SUM_CHUNKS ((a.width + a.chunk - 1) / a.chunk)
/* Piece p of c, of n: its first element of the third axis (y), the end, and where at[0] has y = 0. */
#define EACH_PIECE(p, s) for (long long p = (s); p < a.head * SUM_CHUNKS; p += a.slices)
#define PIECE_BEGIN(p)   (p % SUM_CHUNKS * a.chunk)
#define PIECE_END(p)                                                                            \
    (PIECE_BEGIN(p) + a.chunk < a.width ? PIECE_BEGIN(p) + a.chunk : a.width)
#define PIECE_AT(p, c) ((p / SUM_CHUNKS * a.n + (c)) * a.width)

/* inner = 1: threads lie side by side along the third axis. */
KERNEL NAME(sum_rows)(const loop_args a)
{
    const bool vectors = a.width % NAME(VECTOR) == 0; /* and then chunks are */

    for (long long first = BLOCK_ROW; first < a.n * a.slices; first += ROW_STEP) {
        const long long row = first + ROW_OF_BLOCK, c = row / a.slices;
        float           sum = 0.0f;

        if (row < a.n * a.slices)
            EACH_PIECE(p, row % a.slices)
            {
                const long long at = PIECE_AT(p, c), begin = PIECE_BEGIN(p), end = PIECE_END(p);

                if (vectors)
                    for (long long i = (at + begin) / NAME(VECTOR) + LANE;
                         i < (at + end) / NAME(VECTOR); i += LANES) {
                        const NAME(vector) x = GETV(0, i);

                        EACH_LANE(j) sum += WIDEN(x.e[j]);
                    }
                else
                    for (long long i = at + begin + LANE; i < at + end; i += LANES)
                        sum += GET(0, i);
            }
        sum = LANES_SUM(sum);
        if (LANE == 0 && row < a.n * a.slices) {
            if (a.slices == 1)
                PUT(1, c) = NARROW(sum);
            else
                ((float *)a.at[2])[row] = sum;
        }
    }
}

/* inner > 1: threads lie side by side along it, and each goes down the third axis. */
KERNEL NAME(sum_columns)(const loop_args a)
{
    const int       each  = a.inner % NAME(VECTOR) ? 1 : NAME(VECTOR);
    const long long tiles = (a.inner + LANES * each - 1) / (LANES * each);

    for (long long row = FIRST_ROW; row < a.n * tiles * a.slices; row += ROW_STEP) {
        const long long c = row / a.slices / tiles, slice = row % a.slices;
        const long long column = (row / a.slices % tiles * LANES + LANE) * each;
        float           sum[NAME(VECTOR)];

        if (column >= a.inner)
            continue;
        EACH_LANE(j) sum[j] = 0.0f;
        EACH_PIECE(p, slice)
        {
            const long long at = PIECE_AT(p, c), end = PIECE_END(p);

            UNROLL_SOME for (long long y = PIECE_BEGIN(p); y < end; y++)
            {
                const long long i = (at + y) * a.inner + column;

                if (each == 1) {
                    sum[0] += GET(0, i);
                } else {
                    const NAME(vector) x = GETV(0, i / NAME(VECTOR));

                    EACH_LANE(j) sum[j] += WIDEN(x.e[j]);
                }
            }
        }
        EACH_LANE(j)
        {
            if (j < each && a.slices == 1)
                PUT(1, c * a.inner + column + j) = NARROW(sum[j]);
            else if (j < each)
                ((float *)a.at[2])[(c * a.inner + column + j) * a.slices + slice] = sum[j];
        }
    }
}

/* at[2] -> at[1]: the slices' sums of each of n. */
KERNEL NAME(sum_slices)(const loop_args a)
{
    for (long long first = BLOCK_ROW; first < a.n; first += ROW_STEP) {
        const long long row = first + ROW_OF_BLOCK;
        float           sum = 0.0f;

        if (row < a.n)
            for (long long i = LANE; i < a.slices; i += LANES)
                sum += ((const float *)a.at[2])[row * a.slices + i];
        sum = LANES_SUM(sum);
        if (LANE == 0 && row < a.n)
            PUT(1, row) = NARROW(sum);
    }
}

/* ---- attention: rows of scores, one a query and head -----------------------------------------------
 *
 * n rows of `width` keys, of each head `inner` queries; head: query i sees keys 0..i; scale: of
 * scores; kept: the part of probabilities that dropout leaves, 1 for none. */

#define SEEN(row) (a.head && row % a.inner + 1 < a.width ? row % a.inner + 1 : a.width)

/* at[0] scores -> probabilities; at[1] the logarithm of each row's sum, f32 */
KERNEL NAME(attend)(const loop_args a)
{
    for (long long first = BLOCK_ROW; first < a.n; first += ROW_STEP) {
        const long long row  = first + ROW_OF_BLOCK;
        const long long seen = row < a.n ? SEEN(row) : 0, at = row * a.width;
        float           most = -3.4e38f, sum = 0.0f;

        for (long long i = LANE; i < seen; i += LANES)
            most = larger(most, a.scale * GET(0, at + i));
        most = LANES_MAX(most);
        for (long long i = LANE; i < seen; i += LANES)
            sum += expf(a.scale * GET(0, at + i) - most);
        sum = LANES_SUM(sum);
        if (row >= a.n)
            continue;
        for (long long i = LANE; i < a.width; i += LANES)
            PUT(0, at + i) = NARROW(i < seen ? expf(a.scale * GET(0, at + i) - most) / sum *
                                                   dropped(at + i, a.kept)
                                             : 0.0f);
        if (LANE == 0)
            ((float *)a.at[1])[row] = most + logf(sum);
    }
}

/* at[0] scores -> probabilities; at[1] logarithms of sums; at[2] gradients of probabilities ->
 * of unscaled scores; at[3] gradients of the output, at[4] the output: rows of `chunk`
 * (Dao et al. 2022, algorithm 4) */
KERNEL NAME(attend_back)(const loop_args a)
{
    for (long long first = BLOCK_ROW; first < a.n; first += ROW_STEP) {
        const long long row  = first + ROW_OF_BLOCK;
        const long long seen = row < a.n ? SEEN(row) : 0, at = row * a.width;
        float           all = 0.0f;

        for (long long i = LANE; row < a.n && i < a.chunk; i += LANES)
            all += GET(3, row * a.chunk + i) * GET(4, row * a.chunk + i);
        all = LANES_SUM(all);
        for (long long i = LANE; row < a.n && i < a.width; i += LANES) {
            float p = 0.0f, d = 0.0f;

            if (i < seen) {
                const float whole = expf(a.scale * GET(0, at + i) - ((const float *)a.at[1])[row]);
                const float stays = dropped(at + i, a.kept);

                p = whole * stays;
                d = a.scale * whole * (stays * GET(2, at + i) - all);
            }
            PUT(0, at + i) = NARROW(p);
            PUT(2, at + i) = NARROW(d);
        }
    }
}

#include "loops_pool.cu"
#include "loops_depthwise.cu"

/* ---- fill ------------------------------------------------------------------------------------ */

KERNEL NAME(fill_normal)(const loop_args a)
{
    for (long long i = FIRST; i < a.n; i += STEP)
        PUT(0, i) = NARROW(a.scale * normal(a.position + (unsigned long long)i));
}

KERNEL NAME(fill_value)(const loop_args a)
{
    for (long long i = FIRST; i < a.n; i += STEP)
        PUT(0, i) = NARROW(a.scale);
}

#undef GET
#undef PUT
#undef GETV
#undef PUTV
#undef EACH_VECTOR
#undef EACH_REST
#undef EACH_LANE
#undef SEEN
#undef SUM_CHUNKS
#undef EACH_PIECE
#undef PIECE_BEGIN
#undef PIECE_END
#undef PIECE_AT
#undef UNARY
#undef TERNARY
#undef AFFINE
#undef LINEAR
#undef TIMES
#undef OVER
#undef PLUS_PRODUCT
#undef PLUS_QUOTIENT
#undef CAST_F8
#undef BINARY
#undef NAME
#undef ELEMENT
#undef WIDEN
#undef NARROW
#undef ATOMIC_ADD
