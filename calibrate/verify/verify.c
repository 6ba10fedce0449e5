/* One kernel beside plain loops on the CPU. */
#include "verify/verify.h"
#include "measure/kernel_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/elements.h"
#include "verify/expect.h"
#include "verify/half.h"
#include "verify/sizes.h"

double verify_sum_error(const settings *how, lm_op op, lm_dtype type)
{
    const bool tf32 = type == LM_F32 && settings_tf32(how, op);

    return VERIFY_ROUNDINGS + (tf32 ? 0x1p-9 : 0) + (type == LM_F8 ? 0x1p-12 : 0);
}

verify_trial verify_new(const lm_kernel *k, kernel_use use, const settings *how)
{
    return (verify_trial){ .kernel = *k, .use = use, .how = *how };
}

void verify_free(verify_trial *t)
{
    for (size_t i = 0; i < N_VERIFY; i++)
        free(t->value[i]);
    memset(t->value, 0, sizeof t->value);
}

/* ---- what is given --------------------------------------------------------------------------- */

double *verify_constant(size_t n, double value)
{
    double *v = malloc((n + 1) * sizeof *v);

    for (size_t i = 0; v && i < n; i++)
        v[i] = value;
    return v;
}

static double *value_of(reference r)
{
    free(r.size);
    return r.value;
}

/* Without an evaluation's known statistics: those of the source, which the forward kernel kept. */
static double *statistics(const verify_trial *t, bool mean)
{
    const lm_kernel *k = &t->kernel;
    row_statistics  *s;
    double          *v;

    if (!t->value[VERIFY_SRC])
        return NULL;
    s = reference_statistics(k, verify_nhwc(t), t->value[VERIFY_SRC]);
    v = verify_constant((size_t)k->u.norm.rows, 0);
    for (int64_t r = 0; r < k->u.norm.rows; r++)
        v[r] = mean ? s[r].mean : s[r].inverse;
    free(s);
    return v;
}

static double *statistics_in(const verify_trial *t, verify_tensor tensor, size_t n)
{
    if (t->use == USE_EVALUATION && norm_over_channels(&t->kernel))
        return tensor == VERIFY_MEAN       ? verify_constant(n, 0.5)
               : tensor == VERIFY_VARIANCE ? verify_constant(n, 1.5)
                                           : NULL;
    if (verify_forward(t))
        return NULL;
    if (tensor == VERIFY_VARIANCE) {
        double *v = statistics(t, false);

        for (size_t i = 0; v && i < n; i++)
            v[i] = 1 / (v[i] * v[i]) - REFERENCE_EPSILON;
        return v;
    }
    return statistics(t, tensor == VERIFY_MEAN);
}

/* Outputs of the forward kernel that a backward kernel reads. */
static double *kept(const verify_trial *t, bool sums)
{
    const lm_kernel *k   = &t->kernel;
    double *const   *v   = t->value;
    double          *log = NULL;
    reference        o;

    if (k->op == LM_OP_SOFTMAX)
        return reference_numbers((size_t)verify_size(t, VERIFY_DST), VERIFY_DST);
    if (!v[VERIFY_SRC] || (k->op == LM_OP_ATTENTION && !v[VERIFY_OTHER]))
        return NULL;
    if (k->op == LM_OP_POOL)
        return value_of(reference_pool(k, verify_nhwc(t), v[VERIFY_SRC]));
    log = verify_constant(verify_attention_sizes(k).rows, 0);
    o   = reference_attention(k, v[VERIFY_SRC], v[VERIFY_OTHER],
                              v[VERIFY_OTHER] + verify_attention_sizes(k).k, log);
    if (sums) {
        reference_free(&o);
        return log;
    }
    free(log);
    return value_of(o);
}

static double *rows_of_table(const lm_kernel *k)
{
    double *v = verify_constant((size_t)k->u.gather.rows, 0);

    for (int64_t i = 0; v && i < k->u.gather.rows; i++)
        v[i] = (double)((7 * i + 3) % k->u.gather.table_rows);
    return v;
}

/* An output of the forward kernel, where another reads it or adds to it. */
static double *output(const verify_trial *t, size_t n)
{
    const lm_op op = t->kernel.op;

    if (verify_forward(t))
        return NULL;
    if (op == LM_OP_GATHER)
        return verify_constant(n, 0);
    return op == LM_OP_SOFTMAX || op == LM_OP_POOL || op == LM_OP_ATTENTION ? kept(t, false) : NULL;
}

/* Results are not given. */
static double *input(const verify_trial *t, verify_tensor tensor, size_t n)
{
    const bool update = t->use == USE_UPDATE;

    if (tensor == VERIFY_DST)
        return output(t, n);
    if (tensor >= VERIFY_MEAN && tensor <= VERIFY_VARIANCE)
        return t->kernel.op != LM_OP_ATTENTION ? statistics_in(t, tensor, n)
               : verify_forward(t)             ? NULL
                                               : kept(t, true);
    if (tensor == VERIFY_INDEX)
        return rows_of_table(&t->kernel);
    if (tensor == VERIFY_DIFF_SRC || tensor == VERIFY_DIFF_BIAS || tensor == VERIFY_DIFF_SCALE ||
        tensor == VERIFY_DIFF_SHIFT || (tensor == VERIFY_DIFF_OTHER && !update))
        return NULL;
    return tensor > VERIFY_OPERAND && update ? verify_constant(n, 0)
                                             : reference_numbers(n, (unsigned)tensor);
}

/* FP8: the first factor of a backward product is a gradient, with 2 bits of fraction. */
static int fraction_bits(const verify_trial *t, verify_tensor tensor)
{
    return tensor == VERIFY_SRC && !verify_forward(t) ? 2 : 3;
}

bool verify_give(verify_trial *t, verify_tensor tensor, lm_dtype type, size_t n, void *out)
{
    const size_t size = (size_t)lm_dtype_bytes(type);
    double      *v;

    if (tensor == VERIFY_NONE)
        return false;
    if ((int64_t)n != verify_size(t, tensor)) {
        t->odd = true;
        return false;
    }
    if (!(v = input(t, tensor, n)))
        return false;
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)out + i * size;

        if (type == LM_F8) {
            const int bits = fraction_bits(t, tensor);

            *(uint8_t *)at = f8_bits(v[i], bits);
            v[i]           = f8_value(*(uint8_t *)at, bits);
        } else {
            element_write(type, at, v[i]);
            v[i] = element_read(type, at);
        }
    }
    free(t->value[tensor]);
    t->value[tensor] = v;
    return true;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void compare(verify_trial *t, double got, double right, double allowed)
{
    const double difference = fabs(got - right), ratio = difference / allowed;

    if (isnan(right) || ratio <= t->ratio)
        return;
    t->difference = difference;
    t->allowed    = allowed;
    t->ratio      = isnan(ratio) ? (double)INFINITY : ratio;
}

void verify_take(verify_trial *t, verify_tensor tensor, lm_dtype type, size_t n, const void *from)
{
    const size_t size = (size_t)lm_dtype_bytes(type);
    verify_bound b    = { 0, false, 0 };
    double       most = 0;
    reference    r;

    if (tensor == VERIFY_NONE || type == LM_F8 || (int64_t)n != verify_size(t, tensor))
        return;
    r = verify_expect(t, tensor, &b);
    if (!r.n)
        return;
    for (size_t i = 0; i < r.n; i++)
        most = fmax(most, r.size[i]);
    for (size_t i = 0; i < r.n; i++) {
        const double epsilon = element_epsilon(type), right = r.value[i];

        compare(t, element_read(type, (const char *)from + i * size), right,
                epsilon * fabs(right) + b.share * (b.of_largest ? most : r.size[i]) +
                    b.of_one * epsilon * fmax(1, fabs(right)) + 1e-7);
    }
    t->compared++;
    reference_free(&r);
}

verify_verdict verify_judge(const verify_trial *t)
{
    if (!t->compared || t->odd)
        return VERIFY_UNKNOWN;
    return t->ratio <= 1 ? VERIFY_AGREES : VERIFY_DIFFERS;
}
