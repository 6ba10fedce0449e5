/* What a kernel's results should be. */
#include "verify/expect.h"
#include "measure/kernel_kinds.h"

#include <math.h>
#include <string.h>

#include "network/autocast.h"
#include "verify/elements.h"
#include "verify/sizes.h"

static const reference nothing;

static bool given(const verify_trial *t, verify_tensor a, verify_tensor b)
{
    return t->value[a] && t->value[b];
}

static reference expect_conv(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    static const verify_tensor result[]    = { VERIFY_DST, VERIFY_DIFF_SRC, VERIFY_DIFF_OTHER };
    static const verify_tensor needed[][2] = { { VERIFY_SRC, VERIFY_OTHER },
                                               { VERIFY_DIFF_DST, VERIFY_OTHER },
                                               { VERIFY_SRC, VERIFY_DIFF_DST } };
    const lm_kernel           *k           = &t->kernel;
    double *const             *v           = t->value;

    if (!given(t, needed[k->pass][0], needed[k->pass][1]))
        return nothing;
    b->share = verify_sum_error(&t->how, k->op, k->dtype) +
               (v[VERIFY_BIAS] ? element_epsilon(k->dtype) : 0);
    if (out == VERIFY_DIFF_BIAS && k->pass == LM_GRAD_WEIGHT)
        return reference_conv_bias(k, verify_nhwc(t), v[VERIFY_DIFF_DST]);
    return out == result[k->pass]
               ? reference_conv(k, verify_nhwc(t), v[VERIFY_SRC], v[VERIFY_OTHER],
                                v[VERIFY_DIFF_DST], verify_forward(t) ? v[VERIFY_BIAS] : NULL)
               : nothing;
}

/* Factors are transposed where a framework's linear layer has them so. In FP8 both lie along the axis
 * that is summed over. */
static reference expect_gemm(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    const lm_kernel *k  = &t->kernel;
    const bool       f8 = k->dtype == LM_F8;

    if (out != VERIFY_DST || !given(t, VERIFY_SRC, VERIFY_OTHER))
        return nothing;
    b->share = verify_sum_error(&t->how, k->op, k->dtype);
    return reference_gemm(k, k->pass == LM_GRAD_WEIGHT && !f8,
                          (verify_forward(t) && k->u.gemm.batch == 1) || f8, t->value[VERIFY_SRC],
                          t->value[VERIFY_OTHER], t->value[VERIFY_BIAS]);
}

static reference expect_pool(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    const lm_kernel *k = &t->kernel;

    b->share = VERIFY_ROUNDINGS;
    if (verify_forward(t))
        return out == VERIFY_DST && t->value[VERIFY_SRC]
                   ? reference_pool(k, verify_nhwc(t), t->value[VERIFY_SRC])
                   : nothing;
    b->share += element_epsilon(k->dtype);
    if (out != VERIFY_DIFF_SRC || !t->value[VERIFY_DIFF_DST] ||
        (k->u.pool.mode == LM_POOL_MAX && !t->value[VERIFY_SRC]))
        return nothing;
    return reference_pool_back(k, verify_nhwc(t), t->value[VERIFY_SRC], t->value[VERIFY_DIFF_DST]);
}

/* By known statistics: (x - mean) / deviation times scale, and shift. */
static reference expect_known_norm(const verify_trial *t)
{
    const lm_kernel *k = &t->kernel;
    const size_t     n = (size_t)(k->u.norm.rows * k->u.norm.group);
    double *const   *v = t->value;
    reference        r = reference_new(n);

    for (int64_t row = 0; row < k->u.norm.rows; row++)
        for (int64_t i = 0; i < k->u.norm.group; i++) {
            const size_t at  = reference_of_row(k, verify_nhwc(t), row, i);
            const double hat = (v[VERIFY_SRC][at] - v[VERIFY_MEAN][row]) /
                               sqrt(v[VERIFY_VARIANCE][row] + REFERENCE_EPSILON);

            r.value[at] = hat * v[VERIFY_SCALE][row] + v[VERIFY_SHIFT][row];
            r.size[at]  = fabs(hat * v[VERIFY_SCALE][row]) + fabs(v[VERIFY_SHIFT][row]);
        }
    return r;
}

static reference expect_norm(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    const lm_kernel *k = &t->kernel;
    double *const   *v = t->value;
    reference        d[3], wanted = nothing;

    b->share = VERIFY_ROUNDINGS;
    if (!given(t, VERIFY_SRC, VERIFY_SCALE))
        return nothing;
    if (verify_forward(t) && out == VERIFY_DST && t->use == USE_EVALUATION && norm_over_channels(k))
        return given(t, VERIFY_MEAN, VERIFY_VARIANCE) && v[VERIFY_SHIFT] ? expect_known_norm(t)
                                                                         : nothing;
    if (verify_forward(t))
        return out == VERIFY_DST ? reference_norm(k, verify_nhwc(t), v[VERIFY_SRC], v[VERIFY_SCALE],
                                                  v[VERIFY_SHIFT])
                                 : nothing;
    if (!v[VERIFY_DIFF_DST])
        return nothing;
    b->of_largest = true;
    reference_norm_back(k, verify_nhwc(t), v[VERIFY_SRC], v[VERIFY_DIFF_DST], v[VERIFY_SCALE],
                        &d[0], &d[1], &d[2]);
    for (int i = 0; i < 3; i++) {
        static const verify_tensor names[] = { VERIFY_DIFF_SRC, VERIFY_DIFF_SCALE,
                                               VERIFY_DIFF_SHIFT };

        if (out == names[i])
            wanted = d[i];
        else
            reference_free(&d[i]);
    }
    return wanted;
}

static reference expect_softmax(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    const lm_kernel *k = &t->kernel;

    b->share      = VERIFY_ROUNDINGS;
    b->of_largest = !verify_forward(t);
    if (verify_forward(t))
        return out == VERIFY_DST && t->value[VERIFY_SRC]
                   ? reference_softmax(k, t->value[VERIFY_SRC])
                   : nothing;
    return out == VERIFY_DIFF_SRC && given(t, VERIFY_DST, VERIFY_DIFF_DST)
               ? reference_softmax_back(k, t->value[VERIFY_DST], t->value[VERIFY_DIFF_DST])
               : nothing;
}

/* Three gradients in one buffer. What lies between them is not told. */
static reference join(const reference d[3], const size_t at[3], size_t n)
{
    reference all = { verify_constant(n, (double)NAN), verify_constant(n, 0), n };

    for (int i = 0; i < 3; i++) {
        memcpy(all.value + at[i], d[i].value, d[i].n * sizeof *all.value);
        memcpy(all.size + at[i], d[i].size, d[i].n * sizeof *all.size);
    }
    return all;
}

static reference expect_attention(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    const lm_kernel      *k = &t->kernel;
    const attention_sizes s = verify_attention_sizes(k);
    double *const        *v = t->value;
    reference             d[3], all;

    b->of_largest = true;
    b->share      = (verify_forward(t) ? 1 : 2) *
               (4 * element_epsilon(k->dtype) + verify_sum_error(&t->how, k->op, k->dtype));
    if (!given(t, VERIFY_SRC, VERIFY_OTHER))
        return nothing;
    if (verify_forward(t))
        return out == VERIFY_DST ? reference_attention(k, v[VERIFY_SRC], v[VERIFY_OTHER],
                                                       v[VERIFY_OTHER] + s.k, NULL)
                                 : nothing;
    if (out != VERIFY_DIFF_SRC || !v[VERIFY_DIFF_DST])
        return nothing;
    reference_attention_back(k, v[VERIFY_SRC], v[VERIFY_OTHER], v[VERIFY_OTHER] + s.k,
                             v[VERIFY_DIFF_DST], d);
    all = join(d, (const size_t[]){ 0, s.q, s.q + s.k }, s.q + s.k + s.v);
    for (int i = 0; i < 3; i++)
        reference_free(&d[i]);
    return all;
}

/* Values that come out as they went in, or rounded to the result's type. */
static reference same(const double *from, size_t n)
{
    reference r = reference_new(n);

    memcpy(r.value, from, n * sizeof *from);
    return r;
}

static reference expect_rows(const verify_trial *t)
{
    const lm_kernel *k     = &t->kernel;
    const int64_t    width = k->u.gather.width;
    const double    *x = t->value[VERIFY_SRC], *index = t->value[VERIFY_INDEX];
    reference        r = reference_new((size_t)verify_size(t, VERIFY_DST));

    for (int64_t i = 0; i < k->u.gather.rows * width; i++) {
        const int64_t at = (int64_t)index[i / width] * width + i % width;

        r.value[verify_forward(t) ? i : at] += x[verify_forward(t) ? at : i];
        r.size[verify_forward(t) ? i : at] += verify_forward(t) ? 0 : fabs(x[i]);
    }
    return r;
}

static reference expect_map(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    const double *operand[10];
    bool          widens;

    if (out != VERIFY_DST)
        return nothing;
    if (autocast_is_cast(&t->kernel, &widens))
        return t->value[VERIFY_SRC] ? same(t->value[VERIFY_SRC], (size_t)t->kernel.u.map.elements)
                                    : nothing;
    for (int64_t i = 0; i < t->kernel.u.map.operands; i++)
        if (i >= 10 || !(operand[i] = t->value[VERIFY_OPERAND + i]))
            return nothing;
    b->of_one = 8;
    return reference_map(&t->kernel, operand);
}

/* State after one step from zeros, by the weights' gradient; the benchmark's rate leaves weights as they
 * are. Adadelta's second state goes by its rounded first. */
static reference expect_update(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    static const struct {
        double first, first_square, second_square;
    } after[] = {
        [OPTIMIZER_SGD] = { 0, 0, 0 },        [OPTIMIZER_MOMENTUM] = { 1, 0, 0 },
        [OPTIMIZER_ADAM] = { 0.1, 0, 0.001 }, [OPTIMIZER_ADAGRAD] = { 0, 1, 0 },
        [OPTIMIZER_ADADELTA] = { 0, 0.1, 0 }, [OPTIMIZER_RMSPROP] = { 0, 0.01, 0 },
    };
    const double *g = t->value[VERIFY_DIFF_OTHER];
    const size_t  n = (size_t)t->kernel.u.map.elements;
    reference     r;
    optimizer     o;

    if (!g || !t->value[VERIFY_SRC] || !optimizer_of_update(&t->kernel, &o))
        return nothing;
    b->of_one = 8;
    if (out == VERIFY_SRC)
        return same(t->value[VERIFY_SRC], n);
    if (out != VERIFY_OPERAND + 2 && (out != VERIFY_OPERAND + 3 || o != OPTIMIZER_ADAM))
        return nothing;
    r = reference_new(n);
    for (size_t i = 0; i < n; i++)
        r.value[i] = out == VERIFY_OPERAND + 2
                         ? after[o].first * g[i] + after[o].first_square * g[i] * g[i]
                         : after[o].second_square * g[i] * g[i];
    return r;
}

reference verify_expect(const verify_trial *t, verify_tensor out, verify_bound *b)
{
    const lm_kernel *k = &t->kernel;

    if (t->use == USE_UPDATE)
        return expect_update(t, out, b);
    switch ((enum lm_ops)k->op) {
    case LM_OP_CONV: return expect_conv(t, out, b);
    case LM_OP_GEMM: return expect_gemm(t, out, b);
    case LM_OP_POOL: return expect_pool(t, out, b);
    case LM_OP_NORM: return expect_norm(t, out, b);
    case LM_OP_SOFTMAX: return expect_softmax(t, out, b);
    case LM_OP_ATTENTION: return expect_attention(t, out, b);
    case LM_OP_MAP: return expect_map(t, out, b);
    case LM_OP_GATHER:
        b->share = VERIFY_ROUNDINGS + (verify_forward(t) ? 0 : element_epsilon(k->dtype));
        return out == VERIFY_DST && given(t, VERIFY_SRC, VERIFY_INDEX) ? expect_rows(t) : nothing;
    case LM_OP_REDUCE:
        b->share = VERIFY_ROUNDINGS;
        return out == VERIFY_DST && t->value[VERIFY_SRC] ? reference_reduce(k, t->value[VERIFY_SRC])
                                                         : nothing;
    case LM_OP_COPY:
        return out == VERIFY_DST && t->value[VERIFY_SRC]
                   ? same(t->value[VERIFY_SRC], (size_t)verify_size(t, VERIFY_DST))
                   : nothing;
    case LM_OP_OPAQUE:
    case LM_OP_ALLREDUCE: break;
    }
    return nothing;
}
