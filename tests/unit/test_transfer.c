/* Prices of single launches by datasheets. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "transfer/layers.h"

static void price(layer_model *m, size_t c, const char *name, resource r, double value)
{
    const size_t at = columns_need(&m->of[c].columns, name, "unit", r);

    m->of[c].columns.column[at].price = value;
    m->of[c].columns.column[at].floor = r == RESOURCE_HOST;
    m->of[c].columns.join             = layer_classes[c]->options.p;
    m->of[c].present                  = true;
}

static double price_of(const layer_model *m, size_t c, const char *name)
{
    const size_t at = columns_find(&m->of[c].columns, name);

    return at == COLUMN_NONE ? -1 : m->of[c].columns.column[at].price;
}

/* Peaks in FLOP/s, bandwidth in bytes/s, watts. */
static device board(double f32, double bandwidth, double processors, double power)
{
    device d = { .name = "a board", .path = "d.ini", .line = 7 };

    for (int f = 0; f < N_DEVICE_FIGURES; f++)
        d.figure[f] = NAN;
    d.figure[DEVICE_F32]             = f32;
    d.figure[DEVICE_BANDWIDTH]       = bandwidth;
    d.figure[DEVICE_MULTIPROCESSORS] = processors;
    d.figure[DEVICE_POWER]           = power;
    return d;
}

static lm_status carry(transfer_source *from, size_t n, const device *to, layer_model *m,
                       lm_error *err)
{
    transfer_options o = transfer_default;
    lm_status        status;

    o.launches = true;
    status     = transfer_prepare(from, n, to, &o, err);
    return status ? status : transfer_layers_pool(from, n, to, true, &m, err);
}

/* Twice the peak at the same power: half the time, times the root of 2 FLOP/s a watt more; twice
 * the bandwidth, half the time; the host as it is. */
static void prices_fall_with_what_they_depend_on(void **state)
{
    layer_model       a = { .learned = NULL }, b = { .learned = NULL };
    const device      there = board(10e12, 500e9, 80, 250), here = board(20e12, 1000e9, 100, 250);
    const calibration cal  = { .operators = &a, .dtype = LM_F32 };
    transfer_source   from = { .cal = &cal, .device = &there };

    (void)state;
    price(&a, LAUNCH_GEMM, "wave_flops", RESOURCE_FLOPS, 1);
    price(&a, LAUNCH_GEMM, "bytes", RESOURCE_BANDWIDTH, 2);
    price(&a, LAUNCH_GEMM, "floor", RESOURCE_HOST, 3);
    price(&a, LAUNCH_MAP, "bytes", RESOURCE_BANDWIDTH, 4);
    price(&b, LAUNCH_MAP, "bytes", RESOURCE_BANDWIDTH, 5);
    a.of[LAUNCH_GEMM].how = (tiling){ TILES_64, true, 80 };
    assert_int_equal(carry(&from, 1, &here, &b, NULL), LM_OK);
    assert_close(price_of(&b, LAUNCH_GEMM, "wave_flops"), sqrt(2) / 2, 1e-15);
    assert_close(price_of(&b, LAUNCH_GEMM, "bytes"), 1, 1e-15);
    assert_close(price_of(&b, LAUNCH_GEMM, "floor"), 3, 1e-15);
    assert_true(b.of[LAUNCH_GEMM].columns.column[2].floor);
    assert_int_equal(b.of[LAUNCH_GEMM].how.set, TILES_64);
    assert_close(b.of[LAUNCH_GEMM].how.multiprocessors, 100, 0);
    assert_close(price_of(&b, LAUNCH_MAP, "bytes"), 5, 0); /* measured */
    assert_false(b.of[LAUNCH_NORM].present);               /* nowhere */
    layer_model_free(&a);
    layer_model_free(&b);
}

/* Price of a product's FLOPs on `to`, where it is 1 s on `from`. */
static double product_on(const device *from, const device *to)
{
    layer_model       a = { .learned = NULL }, b = { .learned = NULL };
    const calibration cal    = { .operators = &a, .dtype = LM_F32 };
    transfer_source   source = { .cal = &cal, .device = from };
    double            price_there;

    price(&a, LAUNCH_GEMM, "wave_flops", RESOURCE_FLOPS, 1);
    a.of[LAUNCH_GEMM].how = (tiling){ TILES_64, true, 80 };
    assert_int_equal(carry(&source, 1, to, &b, NULL), LM_OK);
    price_there = price_of(&b, LAUNCH_GEMM, "wave_flops");
    layer_model_free(&a);
    layer_model_free(&b);
    return price_there;
}

/* Kepler's 192 lanes of a multiprocessor get 128 from its schedulers; nobody else has more than these. */
static void lanes_without_a_scheduler_are_idle(void **state)
{
    device there = board(10e12, 500e9, 80, 250), here = board(10e12, 500e9, 10, 250);

    (void)state;
    there.figure[DEVICE_CORES] = 80 * 64;
    here.figure[DEVICE_CORES]  = 10 * 128;
    assert_close(product_on(&there, &here), 1, 1e-15);
    here.figure[DEVICE_CORES] = 10 * 192;
    assert_close(product_on(&there, &here), 1.5, 1e-15);
    assert_close(product_on(&here, &there), 1 / 1.5, 1e-15);
}

/* Matrix cores that multiply in f32 at twice the rate, and at twice the demand on the limit of power: 1/2 x root of 2. */
static void products_of_f32_take_matrix_cores(void **state)
{
    device there = board(10e12, 500e9, 80, 250), here = board(10e12, 500e9, 80, 250);

    (void)state;
    here.figure[DEVICE_F32_MATRIX] = 20e12;
    assert_close(device_peak(&here, LM_F32), 20e12, 0);
    assert_close(device_peak(&there, LM_F32), 10e12, 0);
    assert_close(product_on(&there, &here), sqrt(2) / 2, 1e-15);
}

/* One source is the device itself, the other ln 2 away in bandwidth, of which half counts: weights
 * 1 and exp(-(ln 2 / 2)^2 / 0.5) = 0.7864. */
static void near_sources_weigh_more(void **state)
{
    layer_model       a = { .learned = NULL }, b = { .learned = NULL }, m = { .learned = NULL };
    const device      here = board(10e12, 500e9, NAN, NAN), far = board(10e12, 250e9, 80, 70);
    const calibration cal[]  = { { .operators = &a }, { .operators = &b } };
    transfer_source   from[] = { { .cal = &cal[0], .device = &here },
                                 { .cal = &cal[1], .device = &far } };
    const double      w      = exp(-log(2) * log(2) / 4 / 0.5);

    (void)state;
    price(&a, LAUNCH_MAP, "bytes", RESOURCE_BANDWIDTH, 1);
    price(&b, LAUNCH_MAP, "bytes", RESOURCE_BANDWIDTH, 6);
    assert_int_equal(carry(from, 2, &here, &m, NULL), LM_OK);
    assert_close(price_of(&m, LAUNCH_MAP, "bytes"), (1 + 3 * w) / (1 + w), 1e-14);
    assert_close(m.of[LAUNCH_MAP].how.multiprocessors, 0, 0);
    layer_model_free(&a);
    layer_model_free(&b);
    layer_model_free(&m);
}

static void an_unknown_peak_is_refused(void **state)
{
    layer_model       a = { .learned = NULL }, m = { .learned = NULL };
    const device      there = board(NAN, 500e9, 80, 250), here = board(10e12, 500e9, NAN, NAN);
    const calibration cal  = { .operators = &a };
    transfer_source   from = { .cal = &cal, .device = &there };
    lm_error          err  = { 0 };

    (void)state;
    price(&a, LAUNCH_GEMM, "wave_flops", RESOURCE_FLOPS, 1);
    assert_int_equal(carry(&from, 1, &here, &m, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "d.ini:7: 'a board' has no 'f32', by which arithmetic is carried over: say it in "
                 "a file of your own (--devices)");
    layer_model_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_fall_with_what_they_depend_on),
        cmocka_unit_test(lanes_without_a_scheduler_are_idle),
        cmocka_unit_test(products_of_f32_take_matrix_cores),
        cmocka_unit_test(near_sources_weigh_more),
        cmocka_unit_test(an_unknown_peak_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
