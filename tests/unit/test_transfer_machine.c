/* Coefficients carried over by datasheets: scales, means, marks, doubt. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "transfer/transfer.h"

/* Peaks in TFLOP/s, bandwidth in GB/s. */
static device board(const char *name, double f32, double f16, double bandwidth, double processors,
                    double watts)
{
    device d = { .name = name, .path = "d.ini", .line = 7 };

    for (int f = 0; f < N_DEVICE_FIGURES; f++)
        d.figure[f] = NAN;
    d.figure[DEVICE_F32]             = 1e12 * f32;
    d.figure[DEVICE_F16]             = 1e12 * f16;
    d.figure[DEVICE_BANDWIDTH]       = 1e9 * bandwidth;
    d.figure[DEVICE_MULTIPROCESSORS] = processors;
    d.figure[DEVICE_POWER]           = watts;
    return d;
}

static size_t forward(void)
{
    return form_find("layermeter", PHASE_FORWARD);
}

static size_t term(const char *name)
{
    const size_t t = term_parse(name);

    assert_true(t < N_TERMS);
    return t;
}

/* A machine with a forward pass of which nothing is known yet. */
static calibration *machine(lm_dtype dtype)
{
    calibration *cal = calloc(1, sizeof *cal);
    fitted      *f   = &cal->fitted[forward()];

    *cal       = (calibration){ .max_ranks = 1, .max_hosts = 1, .dtype = dtype };
    f->present = true;
    f->term    = malloc(N_TERMS * sizeof *f->term);
    for (size_t t = 0; t < N_TERMS; t++)
        f->term[t] = (coefficient){ NAN, NAN, NAN, NAN, true, false, NAN };
    for (size_t s = 0; s < N_TIMES; s++)
        cal->intervals[0].of[s] = interval_unknown;
    cal->settings = term_settings_default;
    return cal;
}

static void set(calibration *cal, const char *name, double value)
{
    cal->fitted[forward()].term[term(name)] =
        (coefficient){ value, value / 10, 2, 8, true, false, 1 };
}

static const coefficient *get(const calibration *cal, const char *name)
{
    return &cal->fitted[forward()].term[term(name)];
}

static const transfer_options by_peaks = { .power = 0, .near = 0.5, .doubt_most = HUGE_VAL };

/* From 10 TFLOP/s, 500 GB/s, 50 multiprocessors to 40, 1000, 100: arithmetic a quarter, traffic a
 * half, a step of a multiprocessor 100 / 50 x 1 / 4, launches as they are. */
static void each_resource_has_its_scale(void **state)
{
    const device    a = board("a", 10, NAN, 500, 50, NAN), b = board("b", 40, NAN, 1000, 100, NAN);
    calibration    *cal = machine(LM_F32), *out;
    transfer_source s   = { .cal = cal, .device = &a };
    lm_error        err;

    (void)state;
    set(cal, "conv1x1.flops.forward", 4e-12);
    set(cal, "max_pool.flops.forward", 8e-12);
    set(cal, "conv.bytes.forward", 6e-12);
    set(cal, "gemm.weights.forward", 2e-12);
    set(cal, "norm.planes.forward", 8e-9);
    set(cal, "conv.launches.forward", 5e-6);
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_OK);
    assert_close(s.weight, 1, 1e-15);
    assert_int_equal(transfer_pool(&s, 1, &b, &by_peaks, &out, &err), LM_OK);
    assert_close(get(out, "conv1x1.flops.forward")->value * 1e12, 1, 1e-12);
    assert_close(get(out, "max_pool.flops.forward")->value * 1e12, 2, 1e-12);
    assert_close(get(out, "conv.bytes.forward")->value * 1e12, 3, 1e-12);
    assert_close(get(out, "gemm.weights.forward")->value * 1e12, 1, 1e-12);
    assert_close(get(out, "norm.planes.forward")->value * 1e9, 4, 1e-12);
    assert_close(get(out, "conv.launches.forward")->value * 1e6, 5, 1e-12);
    assert_true(isnan(get(out, "conv3x3.flops.forward")->value));
    calibration_free(out);
    calibration_free(cal);
}

/* Nothing of it was measured there; what terms the machines saw is known still. */
static void what_is_carried_over_is_marked(void **state)
{
    const device    a = board("a", 10, NAN, 500, 50, NAN), b = board("b", 40, NAN, 1000, 100, NAN);
    calibration    *cal = machine(LM_F32), *out;
    transfer_source s   = { .cal = cal, .device = &a };
    const coefficient *c;
    lm_error           err;

    (void)state;
    set(cal, "conv1x1.flops.forward", 4e-12);
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_OK);
    assert_int_equal(transfer_pool(&s, 1, &b, &by_peaks, &out, &err), LM_OK);
    c = get(out, "conv1x1.flops.forward");
    assert_true(out->transferred);
    assert_close(c->known, 0, 0);
    assert_true(isnan(c->standard_error));
    assert_close(c->low, 2, 0);
    assert_close(c->high, 8, 0);
    assert_int_equal(out->fitted[forward()].rows, 0);
    calibration_free(out);
    calibration_free(cal);
}

/* 0.04 and 0.16 TFLOP/s per watt: four times, to the power 1/2: twice. */
static void peaks_per_watt_slow_arithmetic_down(void **state)
{
    const device a = board("a", 10, NAN, 500, 50, 250), b = board("b", 40, NAN, 1000, 100, 250);
    const transfer_options o   = { .power = 0.5, .near = 0.5 };
    calibration           *cal = machine(LM_F32);
    transfer_source        s   = { .cal = cal, .device = &a };

    (void)state;
    set(cal, "conv1x1.flops.forward", 4e-12);
    set(cal, "norm.planes.forward", 4e-9);
    assert_int_equal(transfer_prepare(&s, 1, &b, &o, NULL), LM_OK);
    assert_close(s.scale.of[RESOURCE_FLOPS], 0.5, 1e-12);
    assert_close(s.scale.of[RESOURCE_DEPTH], 1, 1e-12);
    assert_close(s.scale.of[RESOURCE_HOST], 1, 0);
    calibration_free(cal);
}

/* Tensor cores: f16 eight times, f32 twice. */
static void products_scale_by_the_peak_of_their_type(void **state)
{
    const device    a = board("a", 10, 20, 500, 50, NAN), b = board("b", 20, 160, 500, 50, NAN);
    calibration    *half = machine(LM_F16), *cast = machine(LM_F32), *out;
    transfer_source s = { .cal = half, .device = &a };

    (void)state;
    set(half, "conv1x1.flops.forward", 8e-12);
    set(half, "conv_depthwise.flops.forward", 8e-12);
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, NULL), LM_OK);
    assert_int_equal(transfer_pool(&s, 1, &b, &by_peaks, &out, NULL), LM_OK);
    assert_close(get(out, "conv1x1.flops.forward")->value * 1e12, 1, 1e-12);
    assert_close(get(out, "conv_depthwise.flops.forward")->value * 1e12, 4, 1e-12);
    calibration_free(out);

    /* tensors are of f32, products are not */
    set(cast, "conv1x1.flops.forward", 8e-12);
    assert_true(calibration_note(cast, "settings", "amp=f16 layout=nchw"));
    s.cal = cast;
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, NULL), LM_OK);
    assert_close(s.scale.of[RESOURCE_FLOPS], 0.125, 1e-12);
    calibration_free(half);
    calibration_free(cast);
}

/* f32 twice, TF32 four times: products by the one that they were measured in. */
static void products_in_tf32_scale_by_its_peak(void **state)
{
    device          a = board("a", 10, 40, 500, 50, NAN), b = board("b", 20, 160, 500, 50, NAN);
    calibration    *cal   = machine(LM_F32);
    transfer_source s     = { .cal = cal, .device = &a };
    device          c     = a;
    transfer_source two[] = { s, s };
    lm_error        err;

    (void)state;
    set(cal, "conv1x1.flops.forward", 8e-12);
    assert_true(calibration_note(cal, "settings", "layout=nchw math=tf32"));
    a.figure[DEVICE_TF32] = 20e12;
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text,
                        "d.ini:7: 'b' has no 'tf32', by which arithmetic is carried over: say it "
                        "in a file of your own (--devices)");
    b.figure[DEVICE_TF32] = 80e12;
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_OK);
    assert_close(s.scale.of[RESOURCE_FLOPS], 0.25, 1e-12);
    assert_close(s.scale.scalar, 1, 0); /* nothing else is computed */

    /* c has all of b's TF32, and a half of its f32: it is as near as can be. a is (ln 4) / 2 away */
    two[1].device         = &c;
    c.figure[DEVICE_TF32] = 80e12;
    assert_int_equal(transfer_prepare(two, 2, &b, &by_peaks, &err), LM_OK);
    assert_close(two[1].weight, 1 / (1 + exp(-log(4) * log(4) / 4 / (2 * 0.25))), 1e-12);

    /* autocast, and other types of weights, are not TF32 */
    assert_int_equal(settings_rate_dtype("math=tf32 mixed=bf16", LM_F32), LM_BF16);
    assert_int_equal(settings_rate_dtype("amp=f16 math=tf32", LM_F32), LM_F16);
    assert_int_equal(settings_rate_dtype("math=tf32", LM_F64), LM_F64);
    calibration_free(cal);
}

/* a is as the new device is. Its host counts, unless it is of layouts, or there is none. */
static void the_host_is_that_of_the_nearest_machine(void **state)
{
    const device    a = board("a", 10, NAN, 500, 50, NAN), c = board("c", 30, NAN, 1500, 150, NAN);
    calibration    *near = machine(LM_F32), *far = machine(LM_F32), *out;
    transfer_source s[] = { { .cal = far, .device = &c }, { .cal = near, .device = &a } };
    const struct {
        size_t rows;
        bool   laid;
        double of;
    } cases[] = { { 3, false, 1e-6 }, { 3, true, 2e-6 }, { 0, false, 2e-6 } };

    (void)state;
    set(near, "conv1x1.flops.forward", 4e-12);
    set(far, "conv1x1.flops.forward", 4e-12);
    far->host = (host_time){ .rows = 9, .seconds = { 2e-6 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        near->host =
            (host_time){ .rows = cases[i].rows, .laid = cases[i].laid, .seconds = { 1e-6 } };
        assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, NULL), LM_OK);
        assert_int_equal(transfer_pool(s, 2, &a, &by_peaks, &out, NULL), LM_OK);
        assert_close(out->host.seconds[HOST_FORWARD] * 1e6, cases[i].of * 1e6, 1e-12);
        calibration_free(out);
    }
    calibration_free(near);
    calibration_free(far);
}

/* Means of logarithms by weight, 1/2 each here; a machine without factors has 1. A start scales as the
 * host does, here not at all. For networks of tokens alone, if all are. */
static void factors_by_steps_are_means_of_logarithms(void **state)
{
    const device    a   = board("a", 10, NAN, 500, 50, NAN);
    calibration    *one = machine(LM_F32), *two = machine(LM_F32), *out;
    transfer_source s[] = { { .cal = one, .device = &a }, { .cal = two, .device = &a } };

    (void)state;
    set(one, "gemm.bytes.forward", 4e-12);
    set(two, "gemm.bytes.forward", 4e-12);
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, NULL), LM_OK);
    assert_int_equal(transfer_pool(s, 2, &a, &by_peaks, &out, NULL), LM_OK);
    assert_false(out->by_steps.known);
    calibration_free(out);
    one->by_steps = (laid_factors){ true, true, { 0.25, 1, 4, 1 }, 2e-6, { 1, 16, 1, 1 } };
    assert_int_equal(transfer_pool(s, 2, &a, &by_peaks, &out, NULL), LM_OK);
    assert_true(out->by_steps.known && out->by_steps.tokens);
    assert_close(out->by_steps.of[LAID_PRODUCTS], 0.5, 1e-12);
    assert_close(out->by_steps.of[LAID_ATTENTION], 1, 1e-12);
    assert_close(out->by_steps.of[LAID_MOVES], 2, 1e-12);
    assert_close(out->by_steps.start * 1e6, 1, 1e-12);
    assert_close(out->by_steps.others[RESOURCE_FLOPS], 4, 1e-12);
    assert_close(out->by_steps.others[RESOURCE_HOST], 1, 1e-12);
    calibration_free(out);
    two->by_steps = (laid_factors){ true, false, { 1, 1, 1, 9 }, 0, { 1, 1, 1, 1 } };
    assert_int_equal(transfer_pool(s, 2, &a, &by_peaks, &out, NULL), LM_OK);
    assert_true(out->by_steps.known && !out->by_steps.tokens);
    assert_close(out->by_steps.of[LAID_UPDATE], 3, 1e-12);
    calibration_free(out);
    calibration_free(one);
    calibration_free(two);
}

/* 1.25e-13 s/FLOP is 8 of 10 TFLOP/s: at most 1.25 times as fast. Other prices have no such bound. */
static void factors_by_steps_keep_products_below_the_peak(void **state)
{
    const device    a   = board("a", 10, NAN, 500, 50, NAN);
    calibration    *cal = machine(LM_F32), *out;
    transfer_source s   = { .cal = cal, .device = &a };

    (void)state;
    set(cal, "gemm.flops.forward", 1.25e-13);
    set(cal, "map.bytes.forward", 1e-15);
    cal->by_steps = (laid_factors){ true, true, { 0.5, 0.5, 0.5, 1 }, 0, { 1, 1, 1, 1 } };
    assert_int_equal(transfer_prepare(&s, 1, &a, &by_peaks, NULL), LM_OK);
    assert_int_equal(transfer_pool(&s, 1, &a, &by_peaks, &out, NULL), LM_OK);
    assert_close(out->by_steps.of[LAID_PRODUCTS], 0.8, 1e-12);
    assert_close(out->by_steps.of[LAID_ATTENTION], 0.5, 1e-12);
    assert_close(out->by_steps.of[LAID_MOVES], 0.5, 1e-12);
    calibration_free(out);
    calibration_free(cal);
}

/* a is as b is; c has e times as much of three figures, half of that apart in each: d^2 = 3/4, its
 * weight e^(-3/2) of a's. */
static void near_machines_count_more(void **state)
{
    const double    r = exp(1), w = exp(-1.5);
    const device    a = board("a", 10, NAN, 500, 50, NAN), b = a;
    const device    c    = board("c", 10 * r, NAN, 500 * r, 50 * r, NAN);
    calibration    *near = machine(LM_F32), *far = machine(LM_F32), *out;
    transfer_source s[2] = { { .cal = far, .device = &c }, { .cal = near, .device = &a } };

    (void)state;
    set(near, "conv1x1.flops.forward", 1e-12);
    set(far, "conv1x1.flops.forward", 3e-12 / r); /* 3e-12 on b */
    set(far, "conv.launches.forward", 7e-6);      /* nobody else knows it */
    assert_int_equal(transfer_prepare(s, 2, &b, &by_peaks, NULL), LM_OK);
    assert_close(s[0].weight, w / (1 + w), 1e-12);
    assert_close(s[1].weight, 1 / (1 + w), 1e-12);
    assert_int_equal(transfer_pool(s, 2, &b, &by_peaks, &out, NULL), LM_OK);
    assert_close(get(out, "conv1x1.flops.forward")->value * 1e12, (1 + 3 * w) / (1 + w), 1e-12);
    assert_close(get(out, "conv.launches.forward")->value * 1e6, 7, 1e-12);
    calibration_free(out);
    calibration_free(near);
    calibration_free(far);
}

static void a_figure_that_is_not_known_is_named(void **state)
{
    const device    a = board("a", 10, NAN, 500, 50, NAN), b = board("b", 40, NAN, NAN, 100, NAN);
    calibration    *cal = machine(LM_F32);
    transfer_source s   = { .cal = cal, .device = &a };
    lm_error        err;

    (void)state;
    set(cal, "conv1x1.flops.forward", 4e-12);
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_OK); /* no traffic */
    set(cal, "conv.bytes.forward", 4e-12);
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "d.ini:7: 'b' has no 'bandwidth', by which traffic is carried over: say it in a "
                 "file of your own (--devices)");
    set(cal, "conv.bytes.forward", 0); /* held at its bound: as good as none */
    assert_int_equal(transfer_prepare(&s, 1, &b, &by_peaks, &err), LM_OK);
    assert_int_equal(transfer_prepare(&s, 1, &b, &transfer_default, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "'a' has no 'power'"));
    calibration_free(cal);
}

static void machines_must_belong_together(void **state)
{
    const device    a  = board("a", 10, 20, 500, 50, NAN);
    calibration    *c0 = machine(LM_F32), *c1 = machine(LM_F16);
    transfer_source s[2] = { { .cal = c0, .device = &a }, { .cal = c1, .device = &a } };
    lm_error        err;

    (void)state;
    assert_int_equal(transfer_prepare(s, 1, &a, &by_peaks, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "no coefficients of the model 'layermeter' to carry over");
    set(c0, "conv1x1.flops.forward", 1e-12);
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "machines of different element types cannot be combined: 'a' is of f32, 'a' "
                 "of f16");
    c1->dtype         = LM_F32;
    c1->settings.tile = 32;
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, &err), LM_E_ARG);
    c1->settings.tile = c0->settings.tile;
    assert_true(calibration_note(c1, "settings", "layout=nhwc"));
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, &err), LM_E_ARG);
    assert_non_null(strstr(err.text, "'layout=nhwc'"));
    calibration_free(c0);
    calibration_free(c1);
}

/* On one device, 1.2 against 1: 1.2^(3/2). One machine shows nothing. */
static void doubt_is_what_leaving_machines_out_shows(void **state)
{
    device                 a    = board("a", 10, NAN, 500, 50, NAN);
    const device           near = board("near", 10 * exp(1), NAN, 500, 50, NAN);
    device                 far  = board("far", 10 * exp(4), NAN, 500, 50, NAN);
    const transfer_options most = { .near = 0.5, .doubt_most = 1.1 };
    calibration           *c0 = machine(LM_F32), *c1 = machine(LM_F32);
    transfer_source        s[2] = { { .cal = c0, .device = &a }, { .cal = c1, .device = &a } };
    double                 doubt;

    (void)state;
    set(c0, "conv1x1.flops.forward", 1e-12);
    set(c1, "conv1x1.flops.forward", 1.2e-12);
    assert_int_equal(transfer_doubt(s, 2, &a, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, pow(1.2, 1.5), 1e-12);
    /* a peak e times as high is half a distance of 1 away */
    assert_int_equal(transfer_doubt(s, 1, &a, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, TRANSFER_DOUBT_LEAST, 0);
    assert_int_equal(transfer_doubt(s, 1, &near, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, sqrt(TRANSFER_DOUBT), 1e-12);
    assert_int_equal(transfer_doubt(s, 1, &far, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, TRANSFER_DOUBT, 0);
    /* Kepler reaches another share of its datasheet than what came after it */
    a.capability   = "5.2";
    far.capability = "3.7";
    assert_int_equal(transfer_doubt(s, 1, &far, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, TRANSFER_DOUBT_OLD, 0);
    a.capability = "3.5";
    assert_int_equal(transfer_doubt(s, 1, &far, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, TRANSFER_DOUBT, 0);
    a.capability = NULL;
    assert_int_equal(transfer_doubt(s, 2, &a, &most, &doubt, NULL), LM_OK);
    assert_close(doubt, 1.1, 0);
    set(c1, "conv1x1.flops.forward", 1e-12);
    assert_int_equal(transfer_doubt(s, 2, &a, &by_peaks, &doubt, NULL), LM_OK);
    assert_close(doubt, TRANSFER_DOUBT_LEAST, 0);
    calibration_free(c0);
    calibration_free(c1);
}

/* Two architectures, 1.5 against 1: to the power 3/2. What is half as far from
 * one of them as they are from each other is half as doubtful, what is farther as doubtful. */
static void doubt_is_less_of_what_has_a_near_machine(void **state)
{
    const struct {
        const char *capability;
        double      share;
    } cases[]         = { { "6.0", 0 }, { "6.5", 0.5 }, { "7.5", 0.5 }, { "9.0", 1 } };
    device          a = board("a", 10, NAN, 500, 50, NAN), b = a, to = a;
    calibration    *c0 = machine(LM_F32), *c1 = machine(LM_F32);
    transfer_source s[2] = { { .cal = c0, .device = &a }, { .cal = c1, .device = &b } };

    (void)state;
    a.capability = "6.0";
    b.capability = "7.0";
    set(c0, "conv1x1.flops.forward", 1e-12);
    set(c1, "conv1x1.flops.forward", 1.5e-12);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double doubt;

        to.capability = cases[i].capability;
        assert_int_equal(transfer_doubt(s, 2, &to, &by_peaks, &doubt, NULL), LM_OK);
        assert_close(doubt, fmax(pow(1.5, 1.5 * cases[i].share), TRANSFER_DOUBT_LEAST), 1e-12);
    }
    calibration_free(c0);
    calibration_free(c1);
}

/* Together they hold what each holds; then half as much again, in squares of logarithms. */
static void intervals_are_joined_and_widened(void **state)
{
    const device    a  = board("a", 10, NAN, 500, 50, NAN);
    calibration    *c0 = machine(LM_F32), *c1 = machine(LM_F32), *out;
    transfer_source s[2] = { { .cal = c0, .device = &a }, { .cal = c1, .device = &a } };
    interval       *i;

    (void)state;
    set(c0, "conv1x1.flops.forward", 1e-12);
    set(c1, "conv1x1.flops.forward", 1e-12);
    c0->intervals[0].of[PHASE_STEP] =
        (interval){ 8, 0.9, 1.4, 1.1, { { 1e-3, 1 }, { 1, 64 }, { 1, 1 } }, 0 };
    c1->intervals[0].of[PHASE_STEP] =
        (interval){ 5, 0.6, 1.2, 1.3, { { 1e-3, 1 }, { 8, 256 }, { 1, 1 } }, 2.5 };
    assert_int_equal(transfer_prepare(s, 2, &a, &by_peaks, NULL), LM_OK);
    assert_int_equal(transfer_pool(s, 2, &a, &by_peaks, &out, NULL), LM_OK);
    assert_true(transfer_widen(out, 1.5, "assumed"));
    i = &out->intervals[0].of[PHASE_STEP];
    assert_int_equal(i->groups, 5);
    assert_close(log(i->high * i->low), log(0.6 * 1.4), 1e-12); /* about the same middle */
    assert_close(log(i->high / i->low), 2 * sqrt(pow(log(1.4 / 0.6) / 2, 2) + pow(log(1.5), 2)),
                 1e-12);
    assert_close(i->per_octave, 1.3, 0);
    assert_close(i->octaves, 2.5, 0); /* of the steeper one */
    assert_close(i->range[SCOPE_BATCH].low, 1, 0);
    assert_close(i->range[SCOPE_BATCH].high, 256, 0);
    assert_true(isnan(i->range[SCOPE_SECONDS].low)); /* of another device */
    assert_false(interval_known(&out->intervals[0].of[PHASE_FORWARD]));
    calibration_free(out);
    calibration_free(c0);
    calibration_free(c1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_has_its_scale),
        cmocka_unit_test(what_is_carried_over_is_marked),
        cmocka_unit_test(peaks_per_watt_slow_arithmetic_down),
        cmocka_unit_test(products_scale_by_the_peak_of_their_type),
        cmocka_unit_test(products_in_tf32_scale_by_its_peak),
        cmocka_unit_test(the_host_is_that_of_the_nearest_machine),
        cmocka_unit_test(factors_by_steps_are_means_of_logarithms),
        cmocka_unit_test(factors_by_steps_keep_products_below_the_peak),
        cmocka_unit_test(near_machines_count_more),
        cmocka_unit_test(a_figure_that_is_not_known_is_named),
        cmocka_unit_test(machines_must_belong_together),
        cmocka_unit_test(doubt_is_what_leaving_machines_out_shows),
        cmocka_unit_test(doubt_is_less_of_what_has_a_near_machine),
        cmocka_unit_test(intervals_are_joined_and_widened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
