/* Prices of single layers on a device that nobody measured: scales, means, corrections. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "transfer/correct.h"
#include "transfer/layers.h"

static const transfer_options by_peaks = { .power = 0, .near = 0.5, .doubt_most = HUGE_VAL };

/* Peaks in TFLOP/s, bandwidth in GB/s. */
static device board(const char *name, double f32, double bandwidth, double processors)
{
    device d = { .name = name, .path = "d.ini", .line = 7 };

    for (int f = 0; f < N_DEVICE_FIGURES; f++)
        d.figure[f] = NAN;
    d.figure[DEVICE_F32]             = 1e12 * f32;
    d.figure[DEVICE_BANDWIDTH]       = 1e9 * bandwidth;
    d.figure[DEVICE_MULTIPROCESSORS] = processors;
    return d;
}

/* A machine whose convolutions cost nothing yet. */
static calibration *machine(void)
{
    calibration *cal = calloc(1, sizeof *cal);

    *cal        = (calibration){ .max_ranks = 1, .max_hosts = 1, .dtype = LM_F32 };
    cal->layers = calloc(1, sizeof *cal->layers);
    for (size_t s = 0; s < N_TIMES; s++)
        cal->intervals[0].of[s] = interval_unknown;
    assert_true(layer_class_make(&layer_class_conv, &cal->layers->of[0].columns));
    cal->layers->of[0].present = true;
    return cal;
}

static column *price(const calibration *cal, const char *name)
{
    const size_t at = columns_find(&cal->layers->of[0].columns, name);

    assert_true(at != COLUMN_NONE);
    return &cal->layers->of[0].columns.column[at];
}

static void set(calibration *cal, const char *name, double seconds, size_t measured)
{
    price(cal, name)->price = seconds;
    price(cal, name)->rows  = measured;
}

/* From 10 TFLOP/s, 500 GB/s, 50 multiprocessors to 40, 1000, 100, as coefficients of networks are.
 */
static void each_price_scales_with_its_resource(void **state)
{
    const device    a = board("a", 10, 500, 50), b = board("b", 40, 1000, 100);
    calibration    *cal = machine(), *out;
    transfer_source s   = { .cal = cal, .device = &a };
    lm_error        err;

    (void)state;
    set(cal, "call", 5e-6, 100);
    set(cal, "forward.direct.flops", 4e-12, 100);
    set(cal, "forward.input", 6e-12, 100);
    set(cal, "forward.direct.depth", 8e-9, 100);
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_OK);
    assert_int_equal(transfer_pool(&s, 1, &b, &by_peaks, &out, &err), LM_OK);
    assert_close(price(out, "call")->price * 1e6, 5, 1e-12);
    assert_close(price(out, "forward.direct.flops")->price * 1e12, 1, 1e-12);
    assert_close(price(out, "forward.input")->price * 1e12, 3, 1e-12);
    assert_close(price(out, "forward.direct.depth")->price * 1e9, 4, 1e-12);
    assert_int_equal(price(out, "call")->rows, 0); /* measured elsewhere */
    assert_true(isnan(out->layers->of[0].errors.mape));
    assert_true(out->transferred);
    calibration_free(out);
    calibration_free(cal);
}

/* One machine measured training, the other did not; of an algorithm that none took both say where
 * their fits began. */
static void what_was_not_measured_does_not_count(void **state)
{
    const device    a    = board("a", 10, 500, 50);
    calibration    *both = machine(), *one = machine(), *out;
    transfer_source s[2] = { { .cal = both, .device = &a }, { .cal = one, .device = &a } };

    (void)state;
    set(both, "forward.input", 2e-12, 100);
    set(one, "forward.input", 4e-12, 100);
    set(both, "backward.input", 2e-12, 100);
    set(both, "forward.plane.input", 1e-12, 0);
    set(one, "forward.plane.input", 2e-12, 0);
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, NULL), LM_OK);
    assert_int_equal(transfer_pool(s, 2, &a, &by_peaks, &out, NULL), LM_OK);
    assert_close(price(out, "forward.input")->price * 1e12, 3, 1e-12);
    assert_close(price(out, "backward.input")->price * 1e12, 2, 1e-12);
    assert_close(price(out, "forward.plane.input")->price * 1e12, 1.5, 1e-12);
    calibration_free(out);
    calibration_free(both);
    calibration_free(one);
}

/* Alike but for the architecture: 1.5 apart, e^(-2.25 / 0.5) of the weight. */
static void another_architecture_is_farther(void **state)
{
    const double    w = exp(-4.5);
    device          a = board("a", 10, 500, 50), b = a, c = a;
    calibration    *cal  = machine();
    transfer_source s[2] = { { .cal = cal, .device = &b }, { .cal = cal, .device = &c } };

    (void)state;
    a.capability = b.capability = "6.0";
    c.capability                = "7.0";
    set(cal, "call", 5e-6, 100);
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, NULL), LM_OK);
    assert_close(s[0].weight, 1 / (1 + w), 1e-12);
    assert_close(s[1].weight, w / (1 + w), 1e-12);
    c.capability = NULL; /* not known: tells nothing apart */
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, NULL), LM_OK);
    assert_close(s[0].weight, 0.5, 1e-12);
    calibration_free(cal);
}

static void waves_over_multiprocessors_are_of_all_or_none(void **state)
{
    const device    a = board("a", 10, 500, 50), b = board("b", 10, 500, 80);
    calibration    *with = machine(), *without = machine(), *out;
    transfer_source s[2] = { { .cal = with, .device = &a }, { .cal = without, .device = &a } };
    lm_error        err;

    (void)state;
    set(with, "call", 5e-6, 100);
    with->layers->multiprocessors = 50;
    assert_int_equal(transfer_prepare(s, 2, &b, &by_peaks, &err), LM_E_ARG);
    assert_non_null(strstr(err.text, "of one the multiprocessors were known"));
    assert_int_equal(transfer_prepare(s, 1, &b, &by_peaks, NULL), LM_OK);
    assert_int_equal(transfer_pool(s, 1, &b, &by_peaks, &out, NULL), LM_OK);
    assert_close(out->layers->multiprocessors, 80, 0);
    calibration_free(out);
    calibration_free(with);
    calibration_free(without);
}

/* All prices doubled: log 2 apart, of two machines to the power 3/2. */
static void doubt_is_how_far_machines_are_apart(void **state)
{
    const device    a   = board("a", 10, 500, 50);
    calibration    *one = machine(), *two = machine();
    transfer_source s[2] = { { .cal = one, .device = &a }, { .cal = two, .device = &a } };
    double          doubt;

    (void)state;
    set(one, "call", 1e-4, 100);
    set(two, "call", 2e-4, 100);
    assert_close(transfer_layers_deviation(one->layers, two->layers), log(2), 1e-12);
    assert_close(transfer_layers_deviation(one->layers, one->layers), 0, 0);
    assert_int_equal(transfer_doubt(s, 2, &a, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, pow(2, 1.5), 1e-12);
    calibration_free(one);
    calibration_free(two);
}

/* Forward passes that take twice what their only price says, ten of them: (10 x + 0.1) / (10 x^2 +
 * 0.1) at x = 1/2. What is behind them was not measured and stays. */
static void layers_correct_the_pass_they_are_of(void **state)
{
    const layer_shape shape = { .kind     = SHAPE_CONV,
                                .n        = 1,
                                .c_in     = 8,
                                .c_out    = 8,
                                .groups   = 1,
                                .in       = { 1, 4, 4 },
                                .out      = { 1, 4, 4 },
                                .window   = { 1, 3, 3 },
                                .stride   = { 1, 1, 1 },
                                .dilation = { 1, 1, 1 } };
    const observation what  = observation_blank;
    const intervals   own   = { .of[PHASE_INFERENCE] = { .low = 0.8, .high = 1.05 } };
    const interval   *i;
    calibration      *cal = machine();
    point             pt[10];
    const points      p = { .point = pt, .n_points = 10, .n_groups = 1 };
    correct_row      *r;
    correct_factors   f;
    correct_errors    e;
    size_t            n;

    (void)state;
    set(cal, "call", 1e-3, 100);
    set(cal, "backward.call", 1e-3, 100);
    for (size_t k = 0; k < 10; k++) {
        pt[k] = (point){ .row = &what, .shape = &shape };
        for (phase q = 0; q < N_PHASES; q++)
            pt[k].seconds[q] = NAN;
        pt[k].seconds[PHASE_INFERENCE] = 2e-3;
    }
    assert_int_equal(correct_rows(cal, &p, &r, &n, NULL), LM_OK);
    assert_int_equal(n, 10);
    assert_close(r[3].part[RESOURCE_HOST] * 1e3, 1, 1e-12);
    assert_close(r[3].part[CORRECT_BACKWARD + RESOURCE_HOST], 0, 0);
    assert_int_equal(correct_calibration(cal, NULL, r, n, &own, &f, &e, NULL), LM_OK);
    assert_close(price(cal, "call")->price * 1e3, 5.1 / 2.6, 1e-9);
    assert_close(price(cal, "backward.call")->price * 1e3, 1, 1e-9);
    assert_int_equal(e.groups, 10); /* each layer is one */
    i = &cal->intervals[0].of[PHASE_INFERENCE];
    /* ten ratios of 2 * 2.35 / 4.6 = 1.0217 and a prior one of 1, with an error of 0.1: t(11) is 1.796;
     * ten need no other interval */
    assert_close(log(i->high),
                 log(1.0217391) * 10 / 11 +
                     1.796 * sqrt((0.01 + 10.0 / 11 * pow(log(1.0217391), 2)) / 11 * (12.0 / 11)),
                 1e-3);
    free(r);
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_price_scales_with_its_resource),
        cmocka_unit_test(what_was_not_measured_does_not_count),
        cmocka_unit_test(another_architecture_is_farther),
        cmocka_unit_test(waves_over_multiprocessors_are_of_all_or_none),
        cmocka_unit_test(doubt_is_how_far_machines_are_apart),
        cmocka_unit_test(layers_correct_the_pass_they_are_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
