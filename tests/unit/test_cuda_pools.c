/* Poolings of the GPU backend beside plain loops, and beside what is computed by hand. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "gpu_agrees.h"

static const struct pool_shape {
    int64_t in[3], window[3], stride[3], pad[3], out[3], taps;
} pools[] = {
    { { 1, 9, 7 }, { 1, 3, 3 }, { 1, 2, 2 }, { 0, 1, 1 }, { 1, 5, 4 }, 0 },
    { { 1, 8, 8 }, { 1, 2, 2 }, { 1, 2, 2 }, { 0, 0, 0 }, { 1, 4, 4 }, 0 },
    { { 1, 7, 7 }, { 1, 7, 7 }, { 1, 1, 1 }, { 0, 0, 0 }, { 1, 1, 1 }, 0 },
    { { 4, 6, 6 }, { 2, 3, 3 }, { 2, 2, 2 }, { 0, 1, 1 }, { 2, 3, 3 }, 0 },
    /* an end that no window reads */
    { { 1, 9, 9 }, { 1, 3, 3 }, { 1, 2, 2 }, { 0, 0, 0 }, { 1, 3, 3 }, 0 },
};

/* Averages alone. Along an axis, windows hold in + out - gcd(in, out) pixels. */
static const struct pool_shape adaptive[] = {
    { { 1, 3, 3 }, { 1, 1, 1 }, { 1, 1, 1 }, { 0 }, { 1, 6, 6 }, 0 },
    { { 1, 5, 7 }, { 1, 3, 3 }, { 1, 1, 1 }, { 0 }, { 1, 3, 4 }, 7 * 10 },
    { { 2, 4, 9 }, { 2, 2, 3 }, { 1, 1, 1 }, { 0 }, { 3, 6, 5 }, 4 * 8 * 13 },
    /* more elements of a plane than a block has threads */
    { { 1, 23, 37 }, { 1, 3, 2 }, { 1, 2, 1 }, { 0 }, { 1, 11, 40 }, 33 * 76 },
};

enum {
    N_POOLS    = sizeof pools / sizeof pools[0],
    N_ADAPTIVE = sizeof adaptive / sizeof adaptive[0]
};

static void pool_agrees(const struct pool_shape *s, lm_dtype type, int64_t mode, lm_pass pass,
                        bool nhwc)
{
    const size_t before = gpu_left();
    lm_kernel k = { .size = sizeof k, .op = LM_OP_POOL, .pass = pass, .dtype = type, .repeat = 1 };
    settings  how = { { 0 } };
    double   *x = NULL, *y = NULL, *dy = NULL;
    gpu_case  c;

    how.value[SETTING_LAYOUT] = nhwc;
    k.u.pool.n                = 2;
    k.u.pool.channels         = 8;
    k.u.pool.mode             = mode;
    k.u.pool.taps             = s->taps;
    memcpy(k.u.pool.in, s->in, sizeof s->in);
    memcpy(k.u.pool.out, s->out, sizeof s->out);
    memcpy(k.u.pool.window, s->window, sizeof s->window);
    memcpy(k.u.pool.stride, s->stride, sizeof s->stride);
    memcpy(k.u.pool.pad, s->pad, sizeof s->pad);
    for (int a = 0; a < 3; a++)
        k.u.pool.dilation[a] = 1;
    if (!gpu_open_case(&c, &how, &k))
        return;
    if (gpu_has(&c, CUDA_SRC))
        x = gpu_give(&c, CUDA_SRC);
    if (pass != LM_FORWARD)
        dy = gpu_give(&c, CUDA_DIFF_DST);
    if (pass != LM_FORWARD && mode == LM_POOL_MAX) {
        reference forward = reference_pool(&k, nhwc, x);

        y             = forward.value;
        forward.value = NULL;
        reference_free(&forward);
        gpu_put(&c, gpu_slot(&c, CUDA_DST), y);
    }
    gpu_run(&c);
    /* what no window reads is not written: gradients there are left alone */
    if (pass == LM_FORWARD)
        gpu_agrees(&c, CUDA_DST, reference_pool(&k, nhwc, x), verify_sum_error(&how, k.op, type));
    else if (s != &pools[N_POOLS - 1])
        gpu_agrees(&c, CUDA_DIFF_SRC, reference_pool_back(&k, nhwc, x, dy),
                   verify_sum_error(&how, k.op, type) + element_epsilon(type));
    free(x);
    free(y);
    free(dy);
    gpu_close_case(&c, before);
}

static void poolings_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_POOLS; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++)
            for (int64_t mode = LM_POOL_MAX; mode <= LM_POOL_AVG; mode++)
                for (lm_pass pass = LM_FORWARD; pass <= LM_GRAD_INPUT; pass++)
                    for (int nhwc = 0; nhwc < 2; nhwc++)
                        pool_agrees(&pools[i], gpu_types[t], mode, pass, nhwc);
}

static void adaptive_averages_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ADAPTIVE; i++)
        for (size_t t = 0; t < N_GPU_TYPES; t++)
            for (lm_pass pass = LM_FORWARD; pass <= LM_GRAD_INPUT; pass++)
                for (int nhwc = 0; nhwc < 2; nhwc++)
                    pool_agrees(&adaptive[i], gpu_types[t], LM_POOL_AVG, pass, nhwc);
}

/* A row of pixels of two channels, the second ten times the first, beside what is given. */
static void averages_a_row(const double *x, int64_t in, const double *y, int64_t out, int64_t taps,
                           lm_pass pass, bool nhwc)
{
    lm_kernel k = {
        .size = sizeof k, .op = LM_OP_POOL, .pass = pass, .dtype = LM_F32, .repeat = 1
    };
    settings      how  = { { 0 } };
    const int64_t from = pass == LM_FORWARD ? in : out, to = pass == LM_FORWARD ? out : in;
    double        all[32], *got;
    gpu_case      c;

    how.value[SETTING_LAYOUT] = nhwc;
    k.u.pool.n                = 1;
    k.u.pool.channels         = 2;
    k.u.pool.mode             = LM_POOL_AVG;
    k.u.pool.taps             = taps;
    for (int a = 0; a < 3; a++) {
        k.u.pool.in[a]     = a == 2 ? in : 1;
        k.u.pool.out[a]    = a == 2 ? out : 1;
        k.u.pool.window[a] = a == 2 && in > 3 ? 3 : 1;
        k.u.pool.stride[a] = k.u.pool.dilation[a] = 1;
    }
    gpu_prepare(&c, &how, &k, USE_TRAINING);
    assert_string_equal(c.kernel.implementation, "own adaptive average");
    for (int64_t i = 0; i < 2 * from; i++)
        all[i] = nhwc ? x[i / 2] * (i % 2 ? 10 : 1) : x[i % from] * (i >= from ? 10 : 1);
    gpu_put(&c, gpu_slot(&c, pass == LM_FORWARD ? CUDA_SRC : CUDA_DIFF_DST), all);
    gpu_run(&c);
    got = gpu_get(&c, gpu_slot(&c, pass == LM_FORWARD ? CUDA_DST : CUDA_DIFF_SRC));
    for (int64_t i = 0; i < 2 * to; i++)
        assert_close(got[i], nhwc ? y[i / 2] * (i % 2 ? 10 : 1) : y[i % to] * (i >= to ? 10 : 1),
                     1e-5);
    free(got);
    gpu_release(&c);
}

/* Windows of 5 pixels in 3: 0 and 1, 1 to 3, 3 and 4. Of 3 in 6: each pixel twice. */
static void adaptive_averages_by_hand(void **state)
{
    static const double five[] = { 1, 3, 5, 9, 2 }, means[] = { 2, 17.0 / 3, 5.5 };
    static const double gradient[] = { 2, 3, 4 }, shares[] = { 1, 1 + 1, 1, 1 + 2, 2 };
    static const double three[] = { 1, 2, 4 }, twice[] = { 1, 1, 2, 2, 4, 4 };
    static const double six[] = { 1, 2, 3, 4, 5, 6 }, sums[] = { 3, 7, 11 };

    (void)state;
    for (int nhwc = 0; nhwc < 2; nhwc++) {
        averages_a_row(five, 5, means, 3, 7, LM_FORWARD, nhwc);
        averages_a_row(gradient, 5, shares, 3, 7, LM_GRAD_INPUT, nhwc);
        averages_a_row(three, 3, twice, 6, 0, LM_FORWARD, nhwc);
        averages_a_row(six, 3, sums, 6, 0, LM_GRAD_INPUT, nhwc);
    }
}

static void poolings_that_cannot_be_said_are_refused(void **state)
{
    lm_kernel   k   = { .size = sizeof k, .op = LM_OP_POOL, .dtype = LM_F32, .repeat = 1 };
    settings    how = { { 0 } };
    cuda_kernel out;
    lm_error    err;

    (void)state;
    k.u.pool.n = k.u.pool.channels = 1;
    for (int a = 0; a < 3; a++) {
        k.u.pool.in[a]     = a ? 7 : 1;
        k.u.pool.window[a] = k.u.pool.stride[a] = a ? 2 : 1;
        k.u.pool.dilation[a]                    = 1;
        k.u.pool.out[a]                         = a ? 4 : 1; /* ceil(7 / 2) */
    }
    assert_int_equal(cuda_kernel_prepare(gpu_device(), &how, &k, USE_TRAINING, &out, &err),
                     LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "padding behind"));
    k.u.pool.out[1] = k.u.pool.out[2] = 3;
    k.u.pool.dilation[2]              = 2;
    assert_int_equal(cuda_kernel_prepare(gpu_device(), &how, &k, USE_TRAINING, &out, &err),
                     LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "gaps"));
}

static void refuses_adaptive(const lm_kernel *k, const char *why)
{
    const settings how = { { 0 } };
    cuda_kernel    out;
    lm_error       err;

    assert_int_equal(cuda_kernel_prepare(gpu_device(), &how, k, USE_TRAINING, &out, &err),
                     LM_E_UNSUPPORTED);
    if (!strstr(err.text, why))
        fail_msg("'%s' is not in '%s'", why, err.text);
}

static void adaptive_poolings_without_a_kernel_are_refused(void **state)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_POOL, .dtype = LM_F32, .repeat = 1 };

    (void)state;
    k.u.pool.n = k.u.pool.channels = 1;
    for (int a = 0; a < 3; a++) {
        k.u.pool.in[a]     = a ? 3 : 1;
        k.u.pool.out[a]    = a ? 6 : 1;
        k.u.pool.window[a] = k.u.pool.stride[a] = k.u.pool.dilation[a] = 1;
    }
    k.u.pool.mode = LM_POOL_MAX;
    refuses_adaptive(&k, "no adaptive maxima of more outputs than inputs");
    k.u.pool.mode = LM_POOL_AVG;
    k.dtype       = LM_F64;
    refuses_adaptive(&k, "element type");
    k.dtype            = LM_F32;
    k.u.pool.window[2] = 2; /* no windows of such a pool */
    k.u.pool.window[1] = 2;
    refuses_adaptive(&k, "no padding behind");
    k.u.pool.in[2]  = 46341; /* squared, more than 2^31 */
    k.u.pool.out[2] = 46342;
    k.u.pool.taps   = (3 + 6 - 3) * (46341 + 46342 - 1);
    refuses_adaptive(&k, "adaptive windows beyond 31 bits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poolings_agree),
        cmocka_unit_test(adaptive_averages_agree),
        cmocka_unit_test(adaptive_averages_by_hand),
        cmocka_unit_test(poolings_that_cannot_be_said_are_refused),
        cmocka_unit_test(adaptive_poolings_without_a_kernel_are_refused),
    };

    return gpu_run_tests(tests);
}
