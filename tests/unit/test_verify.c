/* Kernels beside plain loops: what agrees, what differs, and which kernels are of one kind. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "measure/plan.h"
#include "measure/kernel_kinds.h"
#include "verify/small.h"
#include "verify/verify.h"

enum { M = 4, N = 3, DEPTH = 5 };

static const settings usual;

static lm_kernel product(void)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_GEMM, .dtype = LM_F32, .repeat = 1 };

    k.u.gemm.batch = 1;
    k.u.gemm.m     = M;
    k.u.gemm.n     = N;
    k.u.gemm.k     = DEPTH;
    return k;
}

/* a b^T, as a linear layer has its weights. */
static verify_trial multiply(float c[M * N])
{
    const lm_kernel k = product();
    verify_trial    t = verify_new(&k, USE_TRAINING, &usual);
    float           a[M * DEPTH], b[N * DEPTH];

    assert_true(verify_give(&t, VERIFY_SRC, LM_F32, M * DEPTH, a));
    assert_true(verify_give(&t, VERIFY_OTHER, LM_F32, N * DEPTH, b));
    assert_false(verify_give(&t, VERIFY_DST, LM_F32, M * N, c)); /* a result */
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            c[i * N + j] = 0;
            for (int d = 0; d < DEPTH; d++)
                c[i * N + j] += a[i * DEPTH + d] * b[j * DEPTH + d];
        }
    return t;
}

static void a_product_agrees_until_an_element_is_wrong(void **state)
{
    float        c[M * N];
    verify_trial t = multiply(c);

    (void)state;
    assert_int_equal(verify_judge(&t), VERIFY_UNKNOWN);
    verify_take(&t, VERIFY_SRC, LM_F32, M * DEPTH, c); /* no result */
    assert_int_equal(verify_judge(&t), VERIFY_UNKNOWN);
    verify_take(&t, VERIFY_DST, LM_F32, M * N, c);
    assert_int_equal(verify_judge(&t), VERIFY_AGREES);
    c[M * N - 1] += 1e-3f;
    verify_take(&t, VERIFY_DST, LM_F32, M * N, c);
    assert_int_equal(verify_judge(&t), VERIFY_DIFFERS);
    assert_close(t.difference, 1e-3, 1e-5);
    assert_true(t.allowed < 1e-4);
    verify_free(&t);
}

static void what_is_no_number_differs(void **state)
{
    float        c[M * N];
    verify_trial t = multiply(c);

    (void)state;
    c[0] = NAN;
    verify_take(&t, VERIFY_DST, LM_F32, M * N, c);
    assert_int_equal(verify_judge(&t), VERIFY_DIFFERS);
    verify_free(&t);
}

/* A padded buffer holds something else than the tensor. */
static void buffers_of_another_size_are_not_compared(void **state)
{
    float        c[M * N + 1];
    verify_trial t = multiply(c);

    (void)state;
    verify_take(&t, VERIFY_DST, LM_F32, M * N + 1, c);
    assert_int_equal(verify_judge(&t), VERIFY_UNKNOWN);
    verify_take(&t, VERIFY_DST, LM_F32, M * N, c);
    assert_false(verify_give(&t, VERIFY_BIAS, LM_F32, M * N, c));
    assert_int_equal(verify_judge(&t), VERIFY_UNKNOWN);
    verify_free(&t);
}

/* A square image and window. */
static lm_kernel convolution(int64_t n, int64_t c_in, int64_t c_out, int64_t image, int64_t window,
                             int64_t stride)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_CONV, .dtype = LM_F32, .repeat = 1 };

    k.u.conv.n      = n;
    k.u.conv.c_in   = c_in;
    k.u.conv.c_out  = c_out;
    k.u.conv.groups = 1;
    for (int i = 0; i < 3; i++) {
        k.u.conv.in[i]       = i ? image : 1;
        k.u.conv.window[i]   = i ? window : 1;
        k.u.conv.stride[i]   = i ? stride : 1;
        k.u.conv.pad[i]      = i ? window / 2 : 0;
        k.u.conv.dilation[i] = 1;
        k.u.conv.out[i]      = i ? (image + 2 * (window / 2) - window) / stride + 1 : 1;
    }
    return k;
}

static bool alike(const lm_kernel *a, const lm_kernel *b)
{
    const lm_kernel small_a = small_kernel(a, USE_TRAINING),
                    small_b = small_kernel(b, USE_TRAINING);

    return kernels_equal(&small_a, &small_b);
}

static void kernels_that_differ_in_size_are_of_one_kind(void **state)
{
    const lm_kernel large   = convolution(64, 256, 512, 56, 3, 1);
    const lm_kernel small   = convolution(1, 64, 64, 7, 3, 1);
    const lm_kernel other[] = { convolution(64, 256, 512, 56, 3, 2),
                                convolution(64, 256, 512, 56, 1, 1),
                                convolution(64, 256, 512, 56, 5, 1),
                                convolution(64, 3, 512, 56, 3, 1) };
    lm_kernel       changed = large, tried;

    (void)state;
    assert_true(alike(&large, &small));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_false(alike(&large, &other[i]));
    changed.u.conv.groups = 256;
    assert_false(alike(&large, &changed));
    changed      = large;
    changed.pass = LM_GRAD_INPUT;
    assert_false(alike(&large, &changed));
    /* small, and a convolution still: 9 pixels, with a stride 5 */
    tried = small_kernel(&other[0], USE_TRAINING);
    assert_int_equal(tried.u.conv.in[1], 9);
    assert_int_equal(tried.u.conv.out[1], 5);
    assert_int_equal(tried.u.conv.in[0], 1);
    assert_true(lm_kernel_macs(&tried) < 1000000);
}

/* A square image of averages. */
static lm_kernel average(int64_t image, int64_t out, int64_t window, int64_t stride, int64_t taps)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_POOL, .dtype = LM_F32, .repeat = 1 };

    k.u.pool.n        = 16;
    k.u.pool.channels = 256;
    k.u.pool.mode     = LM_POOL_AVG;
    k.u.pool.taps     = taps;
    for (int i = 0; i < 3; i++) {
        k.u.pool.in[i]       = i ? image : 1;
        k.u.pool.out[i]      = i ? out : 1;
        k.u.pool.window[i]   = i ? window : 1;
        k.u.pool.stride[i]   = i ? stride : 1;
        k.u.pool.dilation[i] = 1;
    }
    return k;
}

/* Windows that the fields do not say stay so in the small kernel. AlexNet has 3 pixels in 6 windows
 * for images of 64, 7 in 6 for those of 256. */
static void adaptive_averages_are_a_kind_of_their_own(void **state)
{
    const lm_kernel more = average(3, 6, 1, 1, 0), uneven = average(13, 6, 3, 2, 18 * 18);
    const lm_kernel longer = average(17, 6, 4, 2, 22 * 22), strided = average(14, 7, 2, 2, 0);
    const lm_kernel even    = average(7, 6, 2, 1, 0);
    lm_kernel       largest = uneven, padded = more, small;

    (void)state;
    largest.u.pool.mode  = LM_POOL_MAX;
    padded.u.pool.pad[1] = 1;
    assert_true(pool_is_adaptive(&more));
    assert_true(pool_is_adaptive(&uneven));
    assert_false(pool_is_adaptive(&strided));
    assert_false(pool_is_adaptive(&even));
    assert_false(pool_is_adaptive(&padded));
    assert_true(alike(&uneven, &longer));
    assert_false(alike(&uneven, &more));
    assert_false(alike(&uneven, &strided));
    small = small_kernel(&uneven, USE_TRAINING); /* 0 1, 1 to 3, 3 to 5, 5 to 7, 7 8 */
    assert_true(pool_is_adaptive(&small));
    assert_int_equal(small.u.pool.in[0], 1);
    assert_int_equal(small.u.pool.out[2], 5);
    assert_int_equal(small.u.pool.window[2], 3);
    assert_int_equal(small.u.pool.taps, 13 * 13);
    small = small_kernel(&more, USE_TRAINING); /* each third pixel alone in two windows, of 12 */
    assert_true(pool_is_adaptive(&small));
    assert_int_equal(small.u.pool.out[2], 12);
    assert_int_equal(small.u.pool.window[2], 2);
    assert_int_equal(small.u.pool.taps, 18 * 18);
    small = small_kernel(&largest, USE_TRAINING);
    assert_false(pool_is_adaptive(&small));
}

/* Products do not depend on the layout of images, nor shorter types on the math of f32. */
static void settings_that_change_nothing_make_no_kind(void **state)
{
    const lm_kernel gemm = product(), conv = convolution(1, 64, 64, 7, 3, 1);
    lm_kernel       half = product();
    settings        how  = { { 0 } };

    (void)state;
    half.dtype                = LM_BF16;
    how.value[SETTING_LAYOUT] = 1;
    how.value[SETTING_LAUNCH] = 1;
    assert_int_equal(setting_parse(SETTING_MATH, "torch", &how.value[SETTING_MATH], NULL), LM_OK);
    assert_memory_equal(small_settings(&gemm, USE_TRAINING, &how).value, usual.value, N_SETTINGS);
    assert_memory_equal(small_settings(&half, USE_TRAINING, &how).value, usual.value, N_SETTINGS);
    assert_int_equal(small_settings(&conv, USE_TRAINING, &how).value[SETTING_LAYOUT], 1);
    assert_int_equal(small_settings(&conv, USE_TRAINING, &how).value[SETTING_LAUNCH], 0);
    assert_true(settings_tf32(&how, LM_OP_CONV));
    assert_false(settings_tf32(&how, LM_OP_GEMM));
    assert_true(verify_sum_error(&how, LM_OP_CONV, LM_F32) > 1e-3);
    assert_true(verify_sum_error(&how, LM_OP_GEMM, LM_F32) < 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_agrees_until_an_element_is_wrong),
        cmocka_unit_test(what_is_no_number_differs),
        cmocka_unit_test(buffers_of_another_size_are_not_compared),
        cmocka_unit_test(kernels_that_differ_in_size_are_of_one_kind),
        cmocka_unit_test(adaptive_averages_are_a_kind_of_their_own),
        cmocka_unit_test(settings_that_change_nothing_make_no_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
