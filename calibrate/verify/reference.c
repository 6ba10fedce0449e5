/* What kernels compute, in double precision. */
#include "verify/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/kernel_kinds.h"
#include "measure/map_function.h"

reference reference_new(size_t n)
{
    return (reference){ calloc(n, sizeof(double)), calloc(n, sizeof(double)), n };
}

void reference_free(reference *r)
{
    free(r->value);
    free(r->size);
    *r = (reference){ 0 };
}

double *reference_numbers(size_t n, unsigned seed)
{
    double  *v     = malloc((n + 1) * sizeof *v);
    uint64_t state = seed * 2654435761u + 12345u;

    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v[i]  = (double)(state >> 53) / 1024 - 1;
    }
    return v;
}

static void add(reference *r, size_t at, double value)
{
    r->value[at] += value;
    r->size[at] += fabs(value);
}

size_t reference_pixel(bool nhwc, const int64_t space[3], int64_t channels, int64_t n, int64_t c,
                       const int64_t at[3])
{
    const int64_t area = space[0] * space[1] * space[2];
    const int64_t spot = (at[0] * space[1] + at[1]) * space[2] + at[2];

    return (size_t)(nhwc ? (n * area + spot) * channels + c : (n * channels + c) * area + spot);
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* The i-th of a box of that size. */
static void unfold(int64_t i, const int64_t size[3], int64_t out[3])
{
    out[2] = i % size[2];
    out[1] = i / size[2] % size[1];
    out[0] = i / size[2] / size[1];
}

/* Where tap `t` of the window at `o` reads; false: padding. */
static bool pixel(const int64_t *in, const int64_t *stride, const int64_t *pad, const int64_t *gap,
                  const int64_t o[3], const int64_t t[3], int64_t at[3])
{
    for (int a = 0; a < 3; a++) {
        at[a] = o[a] * stride[a] - pad[a] + t[a] * gap[a];
        if (at[a] < 0 || at[a] >= in[a])
            return false;
    }
    return true;
}

reference reference_conv(const lm_kernel *k, bool nhwc, const double *image, const double *filter,
                         const double *result, const double *bias)
{
    const int64_t n = k->u.conv.n, ci = k->u.conv.c_in, co = k->u.conv.c_out;
    const int64_t groups = k->u.conv.groups, gi = ci / groups, go = co / groups;
    const int64_t outs = (int64_t)lm_volume(k->u.conv.out), ins = (int64_t)lm_volume(k->u.conv.in);
    const int64_t taps    = (int64_t)lm_volume(k->u.conv.window);
    const size_t  sizes[] = { (size_t)(n * co * outs), (size_t)(n * ci * ins),
                              (size_t)(co * gi * taps) };
    reference     r       = reference_new(sizes[k->pass]);

    for (int64_t b = 0; b < n; b++)
        for (int64_t c = 0; c < co; c++)
            for (int64_t i = 0; i < outs; i++) {
                int64_t o[3], t[3], at[3];
                size_t  y;

                unfold(i, k->u.conv.out, o);
                y = reference_pixel(nhwc, k->u.conv.out, co, b, c, o);
                if (bias)
                    add(&r, y, bias[c]);
                for (int64_t f = 0; f < gi; f++)
                    for (int64_t j = 0; j < taps; j++) {
                        size_t x, w;

                        unfold(j, k->u.conv.window, t);
                        if (!pixel(k->u.conv.in, k->u.conv.stride, k->u.conv.pad,
                                   k->u.conv.dilation, o, t, at))
                            continue;
                        x = reference_pixel(nhwc, k->u.conv.in, ci, b, c / go * gi + f, at);
                        w = reference_pixel(nhwc, k->u.conv.window, gi, c, f, t);
                        if (k->pass == LM_FORWARD)
                            add(&r, y, image[x] * filter[w]);
                        else if (k->pass == LM_GRAD_INPUT)
                            add(&r, x, result[y] * filter[w]);
                        else
                            add(&r, w, result[y] * image[x]);
                    }
            }
    return r;
}

reference reference_conv_bias(const lm_kernel *k, bool nhwc, const double *result)
{
    reference r = reference_new((size_t)k->u.conv.c_out);

    for (int64_t b = 0; b < k->u.conv.n; b++)
        for (int64_t c = 0; c < k->u.conv.c_out; c++)
            for (int64_t i = 0; i < (int64_t)lm_volume(k->u.conv.out); i++) {
                int64_t o[3];

                unfold(i, k->u.conv.out, o);
                add(&r, (size_t)c,
                    result[reference_pixel(nhwc, k->u.conv.out, k->u.conv.c_out, b, c, o)]);
            }
    return r;
}

/* ---- product --------------------------------------------------------------------------------- */

reference reference_gemm(const lm_kernel *k, bool turn_a, bool turn_b, const double *a,
                         const double *b, const double *bias)
{
    const size_t m = (size_t)k->u.gemm.m, n = (size_t)k->u.gemm.n, depth = (size_t)k->u.gemm.k;
    const size_t batch = (size_t)k->u.gemm.batch;
    reference    r     = reference_new(batch * m * n);

    for (size_t z = 0; z < batch; z++)
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                const size_t c = (z * m + i) * n + j;

                for (size_t d = 0; d < depth; d++)
                    add(&r, c,
                        a[z * m * depth + (turn_a ? d * m + i : i * depth + d)] *
                            b[z * n * depth + (turn_b ? j * depth + d : d * n + j)]);
                if (bias)
                    add(&r, c, bias[j]);
            }
    return r;
}

/* ---- pooling --------------------------------------------------------------------------------- */

typedef struct spot {
    int64_t n, c, o[3];
} spot;

/* Where tap `t` of an adaptive window reads; false: it is shorter. Windows of adaptive pools are those of
 * PyTorch: from floor(o in / out) up to ceil((o + 1) in / out). */
static bool adaptive_pixel(const int64_t *in, const int64_t *out, const int64_t o[3],
                           const int64_t t[3], int64_t at[3])
{
    for (int a = 0; a < 3; a++) {
        at[a] = (int64_t)floor((double)(o[a] * in[a]) / (double)out[a]) + t[a];
        if (at[a] >= (int64_t)ceil((double)((o[a] + 1) * in[a]) / (double)out[a]))
            return false;
    }
    return true;
}

/* Of a window: the places it reads, and which is the largest. */
static size_t look(const lm_kernel *k, bool nhwc, const spot *s, const double *x, size_t *read,
                   size_t *largest)
{
    size_t count = 0;

    for (int64_t j = 0; j < (int64_t)lm_volume(k->u.pool.window); j++) {
        int64_t t[3], at[3];

        unfold(j, k->u.pool.window, t);
        if (pool_is_adaptive(k) ? !adaptive_pixel(k->u.pool.in, k->u.pool.out, s->o, t, at)
                                : !pixel(k->u.pool.in, k->u.pool.stride, k->u.pool.pad,
                                         k->u.pool.dilation, s->o, t, at))
            continue;
        read[count] = reference_pixel(nhwc, k->u.pool.in, k->u.pool.channels, s->n, s->c, at);
        if (x && (count == 0 || x[read[count]] > x[*largest]))
            *largest = read[count];
        count++;
    }
    return count;
}

/* forward: y from x; else dx from dy. */
static reference pool(const lm_kernel *k, bool nhwc, const double *x, const double *dy)
{
    const int64_t outs = (int64_t)lm_volume(k->u.pool.out);
    const size_t  area = (size_t)lm_volume(k->u.pool.window);
    const size_t  ins  = (size_t)(k->u.pool.n * k->u.pool.channels) * lm_volume(k->u.pool.in);
    size_t       *read = malloc(area * sizeof *read);
    reference     r   = reference_new(dy ? ins : (size_t)(k->u.pool.n * k->u.pool.channels * outs));
    const bool    max = k->u.pool.mode == LM_POOL_MAX;

    for (int64_t i = 0; i < k->u.pool.n * k->u.pool.channels * outs; i++) {
        spot   s = { .n = i / outs / k->u.pool.channels, .c = i / outs % k->u.pool.channels };
        size_t count, largest = 0, y;

        unfold(i % outs, k->u.pool.out, s.o);
        y     = reference_pixel(nhwc, k->u.pool.out, k->u.pool.channels, s.n, s.c, s.o);
        count = look(k, nhwc, &s, max ? x : NULL, read, &largest);
        if (max)
            add(&r, dy ? largest : y, dy ? dy[y] : x[largest]);
        for (size_t j = 0; j < count && !max; j++) /* padding counts as zeros */
            add(&r, dy ? read[j] : y,
                (dy ? dy[y] : x[read[j]]) / (double)(pool_is_adaptive(k) ? count : area));
    }
    free(read);
    return r;
}

reference reference_pool(const lm_kernel *k, bool nhwc, const double *x)
{
    return pool(k, nhwc, x, NULL);
}

reference reference_pool_back(const lm_kernel *k, bool nhwc, const double *x, const double *dy)
{
    return pool(k, nhwc, x, dy);
}

/* ---- norms ----------------------------------------------------------------------------------- */

size_t reference_of_row(const lm_kernel *k, bool nhwc, int64_t row, int64_t i)
{
    const int64_t inner = k->u.norm.inner, rows = k->u.norm.rows;

    if (!norm_over_channels(k))
        return (size_t)(row * k->u.norm.group + i);
    return (size_t)(nhwc ? i * rows + row : (i / inner * rows + row) * inner + i % inner);
}

row_statistics *reference_statistics(const lm_kernel *k, bool nhwc, const double *x)
{
    const double    n = (double)k->u.norm.group;
    row_statistics *s = calloc((size_t)k->u.norm.rows, sizeof *s);

    for (int64_t r = 0; r < k->u.norm.rows; r++) {
        double square = 0;

        for (int64_t i = 0; i < k->u.norm.group && !k->u.norm.rms; i++)
            s[r].mean += x[reference_of_row(k, nhwc, r, i)] / n;
        for (int64_t i = 0; i < k->u.norm.group; i++)
            square += pow(x[reference_of_row(k, nhwc, r, i)] - s[r].mean, 2) / n;
        s[r].inverse = 1 / sqrt(square + REFERENCE_EPSILON);
    }
    return s;
}

reference reference_norm(const lm_kernel *k, bool nhwc, const double *x, const double *scale,
                         const double *shift)
{
    reference       out = reference_new((size_t)(k->u.norm.rows * k->u.norm.group));
    row_statistics *s   = reference_statistics(k, nhwc, x);

    for (int64_t r = 0; r < k->u.norm.rows; r++)
        for (int64_t i = 0; i < k->u.norm.group; i++) {
            const size_t at = reference_of_row(k, nhwc, r, i),
                         w  = (size_t)(norm_over_channels(k) ? r : i);

            add(&out, at, x[at] * s[r].inverse * scale[w]);
            add(&out, at, -s[r].mean * s[r].inverse * scale[w]);
            if (shift)
                add(&out, at, shift[w]);
        }
    free(s);
    return out;
}

void reference_norm_back(const lm_kernel *k, bool nhwc, const double *x, const double *dy,
                         const double *scale, reference *dx, reference *dscale, reference *dshift)
{
    const size_t    weights = (size_t)(norm_over_channels(k) ? k->u.norm.rows : k->u.norm.group);
    const double    n       = (double)k->u.norm.group;
    row_statistics *s       = reference_statistics(k, nhwc, x);

    *dx     = reference_new((size_t)(k->u.norm.rows * k->u.norm.group));
    *dscale = reference_new(weights);
    *dshift = reference_new(weights);
    for (int64_t r = 0; r < k->u.norm.rows; r++) {
        double sum = 0, product = 0;

        for (int64_t i = 0; i < k->u.norm.group; i++) {
            const size_t at  = reference_of_row(k, nhwc, r, i),
                         w   = (size_t)(norm_over_channels(k) ? r : i);
            const double hat = (x[at] - s[r].mean) * s[r].inverse;

            sum += k->u.norm.rms ? 0 : dy[at] * scale[w] / n;
            product += dy[at] * scale[w] * hat / n;
            add(dscale, w, dy[at] * hat);
            add(dshift, w, dy[at]);
        }
        for (int64_t i = 0; i < k->u.norm.group; i++) {
            const size_t at = reference_of_row(k, nhwc, r, i),
                         w  = (size_t)(norm_over_channels(k) ? r : i);

            add(dx, at, s[r].inverse * dy[at] * scale[w]);
            add(dx, at, -s[r].inverse * sum);
            add(dx, at, -s[r].inverse * (x[at] - s[r].mean) * s[r].inverse * product);
        }
    }
    free(s);
}

/* ---- functions of elements ------------------------------------------------------------------- */

static double relu(double x)
{
    return fmax(x, 0);
}

static double swish(double x)
{
    return x / (1 + exp(-x));
}

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

/* The derivative as a quotient of differences, so that no formula is written twice. */
static double slope(double (*f)(double), double x)
{
    const double h = 1e-5;

    return (f(x + h) - f(x - h)) / (2 * h);
}

static double function(map_function f, int64_t n, const double *x)
{
    double sum = 0;

    switch (f) {
    case MAP_RELU: return relu(x[0]);
    case MAP_SWISH: return swish(x[0]);
    case MAP_GELU: return gelu(x[0]);
    case MAP_RELU_BACK: return x[1] > 0 ? x[0] : 0;
    case MAP_SWISH_BACK: return x[0] * slope(swish, x[1]);
    case MAP_GELU_BACK: return x[0] * slope(gelu, x[1]);
    case MAP_SUM: return x[0] + x[1];
    case MAP_MANY: break;
    }
    for (int64_t i = 0; i < n; i++)
        sum += x[i] / sqrt((double)n);
    return sum;
}

reference reference_map(const lm_kernel *k, const double *const *operand)
{
    reference r = reference_new((size_t)k->u.map.elements);

    for (size_t i = 0; i < r.n; i++) {
        double x[10] = { 0 };

        for (int64_t j = 0; j < k->u.map.operands; j++)
            x[j] = operand[j][i];
        add(&r, i, function(map_function_of(k), k->u.map.operands, x));
    }
    return r;
}

/* ---- rows ------------------------------------------------------------------------------------ */

reference reference_softmax(const lm_kernel *k, const double *x)
{
    const int64_t n = k->u.softmax.group;
    reference     r = reference_new((size_t)(k->u.softmax.rows * n));

    for (int64_t row = 0; row < k->u.softmax.rows; row++) {
        double sum = 0;

        for (int64_t i = 0; i < n; i++)
            sum += exp(x[row * n + i]);
        for (int64_t i = 0; i < n; i++)
            add(&r, (size_t)(row * n + i), exp(x[row * n + i]) / sum);
    }
    return r;
}

reference reference_softmax_back(const lm_kernel *k, const double *y, const double *dy)
{
    const int64_t n = k->u.softmax.group;
    reference     r = reference_new((size_t)(k->u.softmax.rows * n));

    for (int64_t row = 0; row < k->u.softmax.rows; row++) {
        double product = 0;

        for (int64_t i = 0; i < n; i++)
            product += y[row * n + i] * dy[row * n + i];
        for (int64_t i = 0; i < n; i++) {
            const size_t at = (size_t)(row * n + i);

            add(&r, at, y[at] * dy[at]);
            add(&r, at, -y[at] * product);
        }
    }
    return r;
}

reference reference_reduce(const lm_kernel *k, const double *x)
{
    const int64_t inner = k->u.reduce.inner, group = k->u.reduce.group;
    reference     r = reference_new((size_t)k->u.reduce.rows);

    for (int64_t row = 0; row < k->u.reduce.rows; row++)
        for (int64_t g = 0; g < group; g++)
            add(&r, (size_t)row, x[(row / inner * group + g) * inner + row % inner]);
    return r;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* One query of one head: probabilities of the keys it sees, 0 for the others; the logarithm of the
 * sum is returned. */
static double probabilities(const lm_kernel *k, const double *q, const double *keys, int64_t query,
                            double *p)
{
    const int64_t n = k->u.attention.keys, w = k->u.attention.width;
    double        sum = 0;

    for (int64_t j = 0; j < n; j++) {
        double score = 0;

        for (int64_t d = 0; d < w; d++)
            score += q[d] * keys[j * w + d];
        p[j] = k->u.attention.causal && j > query ? 0 : exp(score / sqrt((double)w));
        sum += p[j];
    }
    for (int64_t j = 0; j < n; j++)
        p[j] /= sum;
    return log(sum);
}

/* Where a head's queries, keys and so on begin. */
typedef struct head {
    size_t q, k, v, o, stats;
} head;

static head head_of(const lm_kernel *k, int64_t batch, int64_t h)
{
    const int64_t heads = k->u.attention.heads, kv = k->u.attention.kv_heads;
    const int64_t all = batch * heads + h, shared = batch * kv + h / (heads / kv);

    return (head){ (size_t)(all * k->u.attention.queries * k->u.attention.width),
                   (size_t)(shared * k->u.attention.keys * k->u.attention.width),
                   (size_t)(shared * k->u.attention.keys * k->u.attention.value_width),
                   (size_t)(all * k->u.attention.queries * k->u.attention.value_width),
                   (size_t)(all * k->u.attention.queries) };
}

reference reference_attention(const lm_kernel *k, const double *q, const double *keys,
                              const double *values, double *stats)
{
    const int64_t n = k->u.attention.keys, w = k->u.attention.width, v = k->u.attention.value_width;
    const int64_t heads = k->u.attention.batch * k->u.attention.heads;
    reference     r     = reference_new((size_t)(heads * k->u.attention.queries * v));
    double       *p     = malloc((size_t)n * sizeof *p);

    for (int64_t i = 0; i < heads * k->u.attention.queries; i++) {
        const int64_t h = i / k->u.attention.queries, query = i % k->u.attention.queries;
        const head    at      = head_of(k, h / k->u.attention.heads, h % k->u.attention.heads);
        const double  log_sum = probabilities(k, q + at.q + query * w, keys + at.k, query, p);

        if (stats)
            stats[at.stats + (size_t)query] = log_sum;
        for (int64_t j = 0; j < n; j++)
            for (int64_t d = 0; d < v; d++)
                add(&r, at.o + (size_t)(query * v + d), p[j] * values[at.v + (size_t)(j * v + d)]);
    }
    free(p);
    return r;
}

/* One query's part of all gradients. */
static void query_back(const lm_kernel *k, const head *at, int64_t query, const double *const x[3],
                       const double *d_o, double *p, reference d[3])
{
    const int64_t n = k->u.attention.keys, w = k->u.attention.width, v = k->u.attention.value_width;
    const size_t  q = at->q + (size_t)(query * w), o = at->o + (size_t)(query * v);
    const double  root = 1 / sqrt((double)w);
    double        mean = 0;

    (void)probabilities(k, x[0] + q, x[1] + at->k, query, p);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < v; i++)
            mean += p[j] * x[2][at->v + (size_t)(j * v + i)] * d_o[o + (size_t)i];
    for (int64_t j = 0; j < n; j++) {
        double dp = 0, ds;

        for (int64_t i = 0; i < v; i++) {
            const size_t value = at->v + (size_t)(j * v + i);

            dp += x[2][value] * d_o[o + (size_t)i];
            add(&d[2], value, p[j] * d_o[o + (size_t)i]);
        }
        ds = p[j] * (dp - mean) * root;
        for (int64_t i = 0; i < w; i++) {
            add(&d[0], q + (size_t)i, ds * x[1][at->k + (size_t)(j * w + i)]);
            add(&d[1], at->k + (size_t)(j * w + i), ds * x[0][q + (size_t)i]);
        }
    }
}

void reference_attention_back(const lm_kernel *k, const double *q, const double *keys,
                              const double *values, const double *d_o, reference d[3])
{
    const int64_t       b = k->u.attention.batch, h = k->u.attention.heads, n = k->u.attention.keys;
    const double *const x[3] = { q, keys, values };
    double             *p    = malloc((size_t)n * sizeof *p);

    d[0] = reference_new((size_t)(b * h * k->u.attention.queries * k->u.attention.width));
    d[1] = reference_new((size_t)(b * k->u.attention.kv_heads * n * k->u.attention.width));
    d[2] = reference_new((size_t)(b * k->u.attention.kv_heads * n * k->u.attention.value_width));
    for (int64_t i = 0; i < b * h * k->u.attention.queries; i++) {
        const int64_t all = i / k->u.attention.queries;
        const head    at  = head_of(k, all / h, all % h);

        query_back(k, &at, i % k->u.attention.queries, x, d_o, p, d);
    }
    free(p);
}
