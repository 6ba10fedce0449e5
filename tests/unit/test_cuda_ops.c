/* Products, norms, softmax and sums of the GPU backend beside plain loops. */
#include "check.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_agrees.h"
#include "network/mixed/fp8.h"
#include "verify/half.h"

/* ---- product --------------------------------------------------------------------------------- */

static const struct gemm_shape {
    int64_t batch, m, n, k, bias;
} gemms[] = {
    { 1, 24, 16, 40, 1 },
    { 1, 16, 8, 8, 0 },
    { 6, 16, 24, 8, 0 },
};

enum { N_GEMMS = sizeof gemms / sizeof gemms[0] };

static void gemm_agrees(const struct gemm_shape *s, lm_dtype type, lm_pass pass, settings how)
{
    const bool   turn_a = pass == LM_GRAD_WEIGHT, turn_b = pass == LM_FORWARD && s->batch == 1;
    const size_t before = gpu_left();
    lm_kernel k = { .size = sizeof k, .op = LM_OP_GEMM, .pass = pass, .dtype = type, .repeat = 1 };
    double   *a, *b, *bias = NULL;
    gpu_case  c;

    k.u.gemm.batch = s->batch;
    k.u.gemm.m     = s->m;
    k.u.gemm.n     = s->n;
    k.u.gemm.k     = s->k;
    k.u.gemm.bias  = s->bias && pass == LM_FORWARD;
    if (!gpu_open_case(&c, &how, &k))
        return;
    a = gpu_give(&c, pass == LM_FORWARD ? CUDA_SRC : CUDA_DIFF_DST);
    b = gpu_give(&c, gpu_has(&c, CUDA_WEIGHTS) ? CUDA_WEIGHTS : CUDA_SRC_OTHER);
    if (k.u.gemm.bias)
        bias = gpu_give(&c, CUDA_BIAS);
    gpu_run(&c);
    gpu_agrees(&c, gpu_has(&c, CUDA_DIFF_WEIGHTS) ? CUDA_DIFF_WEIGHTS : CUDA_DST,
               reference_gemm(&k, turn_a, turn_b, a, b, bias), verify_sum_error(&how, k.op, type));
    free(a);
    free(b);
    free(bias);
    gpu_close_case(&c, before);
}

static void products_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GEMMS; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++)
            for (lm_pass pass = 0; pass < LM_N_PASSES; pass++)
                for (uint8_t tuned = 0; tuned < 2; tuned++) {
                    settings how = { { 0 } };

                    how.value[SETTING_ALGORITHMS] = tuned;
                    how.value[SETTING_MATH]       = tuned && gpu_types[t] == LM_F32;
                    gemm_agrees(&gemms[i], gpu_types[t], pass, how);
                }
}

/* Codes of FP8 from 1/8 to 4 on either side of zero, and what they say. */
static double *give_codes(const gpu_case *c, int argument, int mantissa, unsigned seed)
{
    const size_t s = gpu_slot(c, argument), n = c->kernel.base.slot[s].bytes;
    double      *random = reference_numbers(n, seed), *value = malloc(n * sizeof *value);
    uint8_t     *code = malloc(n);

    assert_non_null(value);
    assert_non_null(code);
    for (size_t i = 0; i < n; i++) {
        const int size = (mantissa == 3 ? 0x20 : 0x30) + (int)(fabs(random[i]) * 4096) % 0x10;

        code[i]  = (uint8_t)(size | (random[i] < 0 ? 0x80 : 0));
        value[i] = f8_value(code[i], mantissa);
    }
    gpu_put_bytes(c, s, code);
    free(random);
    free(code);
    return value;
}

/* Both factors lie along the axis that is summed over; gradients are e5m2. */
static void f8_agrees(int64_t m, int64_t n, int64_t depth, lm_pass pass, bool bias)
{
    const settings how     = { { 0 } };
    const size_t   before  = gpu_left();
    const double   scale[] = { 0.0078125, 0.5 };
    lm_kernel      half    = {
                .size = sizeof half, .op = LM_OP_GEMM, .pass = pass, .dtype = LM_BF16, .repeat = 1
    };
    lm_kernel k;
    double   *a, *b, *add = NULL;
    gpu_case  c;

    half.u.gemm.batch = 1;
    half.u.gemm.m     = m;
    half.u.gemm.n     = n;
    half.u.gemm.k     = depth;
    half.u.gemm.bias  = bias;
    k                 = fp8_product(&half);
    if (!gpu_open_case(&c, &how, &k))
        return;
    assert_true(c.kernel.tensor_cores);
    a = give_codes(&c, pass == LM_FORWARD ? CUDA_SRC : CUDA_DIFF_DST, pass == LM_FORWARD ? 3 : 2,
                   1);
    b = give_codes(&c, gpu_has(&c, CUDA_WEIGHTS) ? CUDA_WEIGHTS : CUDA_SRC_OTHER, 3, 2);
    gpu_put(&c, gpu_slot(&c, CUDA_FACTOR), &scale[0]);
    gpu_put(&c, gpu_slot(&c, CUDA_FACTOR_OTHER), &scale[1]);
    if (bias)
        add = gpu_give(&c, CUDA_BIAS);
    gpu_run(&c);
    for (int64_t i = 0; i < m * depth; i++)
        a[i] *= scale[0] * scale[1];
    /* sums of fewer bits, forward */
    gpu_agrees(&c, pass == LM_GRAD_WEIGHT ? CUDA_DIFF_WEIGHTS : CUDA_DST,
               reference_gemm(&k, false, true, a, b, add), 0x1p-12);
    free(a);
    free(b);
    free(add);
    gpu_close_case(&c, before);
}

static void products_in_f8_agree(void **state)
{
    (void)state;
    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        f8_agrees(32, 16, 48, pass, pass == LM_FORWARD);
        f8_agrees(16, 64, 16, pass, false);
    }
}

static void refuses_f8(const cuda_device *device, const lm_kernel *k, const char *why)
{
    const settings how = { { 0 } };
    cuda_kernel    out;
    lm_error       err;

    assert_int_equal(cuda_kernel_prepare(device, &how, k, USE_TRAINING, &out, &err),
                     LM_E_UNSUPPORTED);
    if (!strstr(err.text, why))
        fail_msg("'%s' is not in '%s'", why, err.text);
}

static void what_has_no_f8_is_refused(void **state)
{
    lm_kernel   k    = { .size = sizeof k, .op = LM_OP_GEMM, .dtype = LM_F8, .repeat = 1 };
    lm_kernel   cast = fp8_cast(LM_BF16, 32, 16, 2, LM_FORWARD);
    cuda_device old  = *gpu_device();

    (void)state;
    k.u.gemm.batch = 1;
    k.u.gemm.m = k.u.gemm.n = k.u.gemm.k = 32;
    refuses_f8(gpu_device(), &k, "no such element type"); /* a result of FP8 */
    k.u.gemm.result_bytes = 2;
    old.major             = 8;
    old.minor             = 6;
    refuses_f8(&old, &k, "has no FP8: its compute capability is 8.6, and 8.9 and later have it");
    refuses_f8(&old, &cast, "has no FP8");
    cast.u.map.width = 8;
    refuses_f8(gpu_device(), &cast, "no multiple of 16");
}

/* ---- norms ----------------------------------------------------------------------------------- */

static const struct norm_shape {
    int64_t rows, group, inner, rms, channels;
} norms[] = {
    { 8, 60, 15, 0, 0 },  /* batch norm of 4 x 8 x 15 pixels */
    { 16, 12, 1, 0, 0 },  /* of 12 x 16 values */
    { 8, 15, 15, 0, 1 },  /* of one sample */
    { 20, 64, 64, 0, 0 }, /* layer norm */
    { 20, 96, 96, 1, 0 }, /* RMS norm */
};

enum { N_NORMS = sizeof norms / sizeof norms[0] };

static void give_statistics(const gpu_case *c, const lm_kernel *k, bool nhwc, const double *x)
{
    row_statistics *s    = reference_statistics(k, nhwc, x);
    const size_t    rows = (size_t)k->u.norm.rows;
    double         *mean = calloc(rows, sizeof *mean), *inverse = calloc(rows, sizeof *inverse);

    for (size_t r = 0; r < rows; r++) {
        mean[r]    = s[r].mean;
        inverse[r] = s[r].inverse;
    }
    if (!k->u.norm.rms)
        gpu_put(c, gpu_slot(c, CUDA_MEAN), mean);
    gpu_put(c, gpu_slot(c, CUDA_VARIANCE), inverse);
    free(mean);
    free(inverse);
    free(s);
}

static void statistics_agree(const gpu_case *c, const lm_kernel *k, bool nhwc, const double *x)
{
    row_statistics *s       = reference_statistics(k, nhwc, x);
    double         *inverse = gpu_get(c, gpu_slot(c, CUDA_VARIANCE));

    for (size_t r = 0; r < (size_t)k->u.norm.rows; r++)
        assert_close(inverse[r], s[r].inverse, 1e-4 * s[r].inverse);
    free(inverse);
    free(s);
}

static void norm_agrees(const struct norm_shape *s, lm_dtype type, lm_pass pass, bool nhwc)
{
    const size_t before = gpu_left();
    lm_kernel k = { .size = sizeof k, .op = LM_OP_NORM, .pass = pass, .dtype = type, .repeat = 1 };
    const double error = 64 * (double)FLT_EPSILON;
    settings     how   = { { 0 } };
    double      *x, *scale, *shift = NULL, *dy = NULL;
    reference    dx, dscale, dshift;
    gpu_case     c;

    how.value[SETTING_LAYOUT] = nhwc;
    k.u.norm.rows             = s->rows;
    k.u.norm.group            = s->group;
    k.u.norm.inner            = s->inner;
    k.u.norm.rms              = s->rms;
    k.u.norm.channels         = s->channels;
    if (!gpu_open_case(&c, &how, &k))
        return;
    x     = gpu_give(&c, CUDA_SRC);
    scale = gpu_give(&c, CUDA_SCALE);
    if (pass == LM_FORWARD) {
        if (!s->rms)
            shift = gpu_give(&c, CUDA_SHIFT);
        gpu_run(&c);
        gpu_agrees(&c, CUDA_DST, reference_norm(&k, nhwc, x, scale, shift), error);
        statistics_agree(&c, &k, nhwc, x);
    } else {
        dy = gpu_give(&c, CUDA_DIFF_DST);
        give_statistics(&c, &k, nhwc, x);
        gpu_run(&c);
        reference_norm_back(&k, nhwc, x, dy, scale, &dx, &dscale, &dshift);
        gpu_agrees_from(&c, CUDA_DIFF_SRC, 0, dx, error, true);
        gpu_agrees_from(&c, CUDA_DIFF_SCALE, 0, dscale, error, true);
        if (s->rms)
            reference_free(&dshift);
        else
            gpu_agrees_from(&c, CUDA_DIFF_SHIFT, 0, dshift, error, true);
    }
    free(x);
    free(scale);
    free(shift);
    free(dy);
    gpu_close_case(&c, before);
}

static void norms_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_NORMS; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++)
            for (lm_pass pass = LM_FORWARD; pass <= LM_GRAD_INPUT; pass++)
                for (int nhwc = 0; nhwc < 2; nhwc++)
                    norm_agrees(&norms[i], gpu_types[t], pass, nhwc);
}

/* 3 (x - 0.5) / 2 + 1: statistics of the batch would give something else. A layer norm keeps its
 * own statistics. */
static void batch_norms_in_evaluation_take_known_statistics(void **state)
{
    const size_t before = gpu_left();

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int nhwc = 0; nhwc < 2; nhwc++) {
            static const double give[] = { 0.5, 4 - 1e-5, 3, 1 };
            static const int    to[]   = { CUDA_MEAN, CUDA_VARIANCE, CUDA_SCALE, CUDA_SHIFT };
            const size_t        rows   = (size_t)norms[i].rows;
            lm_kernel k   = { .size = sizeof k, .op = LM_OP_NORM, .dtype = LM_F32, .repeat = 1 };
            settings  how = { { 0 } };
            gpu_case  c;
            double   *x, *y, *all = calloc(rows, sizeof *all);

            how.value[SETTING_LAYOUT] = (uint8_t)nhwc;
            k.u.norm.rows             = norms[i].rows;
            k.u.norm.group            = norms[i].group;
            k.u.norm.inner            = norms[i].inner;
            k.u.norm.channels         = norms[i].channels;
            gpu_prepare(&c, &how, &k, USE_EVALUATION);
            x = gpu_give(&c, CUDA_SRC);
            for (size_t g = 0; g < sizeof to / sizeof to[0]; g++) {
                for (size_t r = 0; r < rows; r++)
                    all[r] = give[g];
                gpu_put(&c, gpu_slot(&c, to[g]), all);
            }
            gpu_run(&c);
            y = gpu_get(&c, gpu_slot(&c, CUDA_DST));
            for (size_t e = 0; e < rows * (size_t)norms[i].group; e++)
                assert_close(y[e] + 10, 3 * (x[e] - 0.5) / 2 + 1 + 10, 1e-6);
            free(all);
            free(x);
            free(y);
            gpu_close_case(&c, before);
        }
}

/* ---- softmax, sums --------------------------------------------------------------------------- */

static void softmax_agrees(lm_dtype type, lm_pass pass)
{
    const size_t   before = gpu_left();
    const settings how    = { { 0 } };
    lm_kernel      k      = {
                  .size = sizeof k, .op = LM_OP_SOFTMAX, .pass = pass, .dtype = type, .repeat = 1
    };
    double  *x, *dy;
    gpu_case c;

    k.u.softmax.rows  = 9;
    k.u.softmax.group = 33;
    if (!gpu_open_case(&c, &how, &k))
        return;
    x = gpu_give(&c, pass == LM_FORWARD ? CUDA_SRC : CUDA_DST);
    if (pass == LM_FORWARD) {
        gpu_run(&c);
        gpu_agrees(&c, CUDA_DST, reference_softmax(&k, x), 64 * (double)FLT_EPSILON);
    } else {
        dy = gpu_give(&c, CUDA_DIFF_DST);
        gpu_run(&c);
        gpu_agrees_from(&c, CUDA_DIFF_SRC, 0, reference_softmax_back(&k, x, dy),
                        64 * (double)FLT_EPSILON, true);
        free(dy);
    }
    free(x);
    gpu_close_case(&c, before);
}

static void softmaxes_agree(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_GPU_TYPES; t++)
        for (lm_pass pass = LM_FORWARD; pass <= LM_GRAD_INPUT; pass++)
            softmax_agrees(gpu_types[t], pass);
}

static void sums_agree(void **state)
{
    static const int64_t shapes[][3] = { { 12, 20, 1 },  { 12, 20, 12 }, { 12, 20, 4 },
                                         { 1, 7000, 1 }, { 3, 64, 1 },   { 10, 7000, 10 },
                                         { 1000, 1, 1 }, { 1, 1, 1 },    { 1040, 33, 520 },
                                         { 1000, 1, 40 } };
    const settings       how         = { { 0 } };

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++) {
            const size_t before = gpu_left();
            lm_kernel    k      = {
                        .size = sizeof k, .op = LM_OP_REDUCE, .dtype = gpu_types[t], .repeat = 1
            };
            double  *x;
            gpu_case c;

            k.u.reduce.rows  = shapes[i][0];
            k.u.reduce.group = shapes[i][1];
            k.u.reduce.inner = shapes[i][2];
            if (!gpu_open_case(&c, &how, &k))
                continue;
            x = gpu_give(&c, CUDA_SRC);
            gpu_run(&c);
            gpu_agrees(&c, CUDA_DST, reference_reduce(&k, x), 64 * (double)FLT_EPSILON);
            free(x);
            gpu_close_case(&c, before);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree),
        cmocka_unit_test(products_in_f8_agree),
        cmocka_unit_test(what_has_no_f8_is_refused),
        cmocka_unit_test(norms_agree),
        cmocka_unit_test(batch_norms_in_evaluation_take_known_statistics),
        cmocka_unit_test(softmaxes_agree),
        cmocka_unit_test(sums_agree),
    };

    return gpu_run_tests(tests);
}
