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
#undef UNARY
#undef BINARY
#undef NAME
#undef ELEMENT
#undef WIDEN
#undef NARROW
#undef ATOMIC_ADD
