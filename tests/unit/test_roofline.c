/* The least time that a datasheet allows: peaks, tricks of convolutions, weights behind a cache. */
#include "check.h"

#include <math.h>

#include "device/roofline.h"

/* 10 TFLOP/s in f32, 40 as TF32, 500 GB/s behind a cache of 1 MB. */
static void board(double figure[N_DEVICE_FIGURES])
{
    for (size_t i = 0; i < N_DEVICE_FIGURES; i++)
        figure[i] = NAN;
    figure[DEVICE_F32]       = 10e12;
    figure[DEVICE_TF32]      = 40e12;
    figure[DEVICE_BANDWIDTH] = 500e9;
    figure[DEVICE_L2]        = 1e6;
}

static double least(const roofline *r, const char *name, double value, double weights)
{
    const term_item   item = { (uint32_t)term_parse(name), value };
    const term_vector v    = { &item, 1 };

    assert_true(item.term < N_TERMS);
    return roofline_seconds(r, &v, weights);
}

static void products_take_no_less_than_the_peak_allows(void **state)
{
    double   figure[N_DEVICE_FIGURES];
    roofline r;

    (void)state;
    board(figure);
    r = roofline_of(figure, LM_F32, false);
    assert_close(roofline_flop(&r), 1e-13, 1e-14);
    assert_close(least(&r, "gemm.flops.forward", 1e12, 0), 0.1, 1e-14);
    assert_close(least(&r, "conv3x3.flops.grad_input", 1e12, 0), 0.025, 1e-14); /* a quarter */
    assert_close(least(&r, "attention.flops.forward", 1e12, 0), 0.05, 1e-14);   /* a half */
    assert_close(least(&r, "conv_depthwise.flops.forward", 1e12, 0), 0, 0);
    r = roofline_of(figure, LM_F32, true);
    assert_close(least(&r, "gemm.flops.forward", 1e12, 0), 0.025, 1e-14);
    r = roofline_of(figure, LM_F16, true); /* not in the datasheet */
    assert_close(least(&r, "gemm.flops.forward", 1e12, 0), 0, 0);
}

static void weights_come_from_memory_once_but_for_what_a_cache_holds(void **state)
{
    double   figure[N_DEVICE_FIGURES];
    roofline r;

    (void)state;
    board(figure);
    r = roofline_of(figure, LM_F32, false);
    assert_close(least(&r, "gemv.weights.forward", 501e6, 1e12), 1e-3, 1e-14);
    /* a loop reads the same weights again */
    assert_close(least(&r, "gemm.weights.forward", 501e6, 101e6), 0.2e-3, 1e-14);
    assert_close(least(&r, "gemm.weights.forward", 5e5, 1e12), 0, 0); /* from the cache */
    assert_close(least(&r, "update.bytes.grad_weight", 501e6, 0), 1e-3, 1e-14);
    assert_close(least(&r, "map.bytes.forward", 501e6, 0), 0, 0); /* activations may stay there */
    figure[DEVICE_L2] = NAN;
    r                 = roofline_of(figure, LM_F32, false);
    assert_close(least(&r, "gemv.weights.forward", 501e6, 1e12), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_take_no_less_than_the_peak_allows),
        cmocka_unit_test(weights_come_from_memory_once_but_for_what_a_cache_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
