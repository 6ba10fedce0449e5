/* Steps, epochs and scaling from hand-made coefficients, by hand and by brute force. */
#include "linear_net.h"
#include "steps.h"

#include "machine/machine.h"
#include "predict/scaling.h"

/* A machine by a latency a message and seconds a byte, and what stands behind each coefficient. */
static calibration *machine(double latency, double per_byte, const char *behind,
                            const char *intervals_text)
{
    char         text[2000];
    calibration *cal = NULL;
    lm_error     err = { LM_OK, "" };

    snprintf(
        text, sizeof text,
        "[machine]\nmax_ranks = 8\n"
        "[counts.forward]\nflops = 0.001 s/FLOP%s\ninputs = 0 s/element\noutputs = 0 "
        "s/element\n"
        "weights = 0 s/element\nlayers = 0.5 s/layer\n"
        "[counts.backward]\nflops = 0.002 s/FLOP\ninputs = 0 s/element\noutputs = 0 s/element\n"
        "weights = 0 s/element\nlayers = 0 s/layer\n"
        "[counts.update]\nlayers = 0 s/layer\nweights = 0.01 s/element\n"
        "[counts.sync]\nring_steps = %.17g s/message\nring_bytes = %.17g s/byte\n%s",
        behind, latency, per_byte, intervals_text);
    machine_load(folder_file("m.ini", text), &cal, &err);
    assert_string_equal(err.text, "");
    return cal;
}

static predictor who(const calibration *cal)
{
    return (predictor){ .by      = step_model_of(cal, "counts"),
                        .cal     = cal,
                        .loads   = loads,
                        .model   = "counts",
                        .network = "n.ini",
                        .dtype   = LM_F32 };
}

/*
 * forward 0.064 b + 2 * 0.5, backward 0.128 b, update 0.32; a ring of N sends 2 (N - 1) messages
 * and 2 (N - 1) / N * 128 bytes: at N = 4, 6 * 0.25 + 192 * 0.001 = 1.692.
 */
static void a_step_is_the_sum_of_its_parts(void **state)
{
    calibration    *cal = machine(0.25, 0.001, "", "");
    const predictor p   = who(cal);
    prediction      out;
    lm_error        err;

    (void)state;
    assert_int_equal(step_at(&p, 10, 1, &out, &err), LM_OK);
    assert_close(out.forward, 1.64, 1e-14);
    assert_close(out.backward, 1.28, 1e-14);
    assert_close(out.grad, 0.32, 1e-14);
    assert_true(out.sync == 0);
    assert_close(out.step, 3.24, 1e-14);
    assert_true(isnan(out.low[PHASE_STEP]) && isnan(out.high[PHASE_STEP]));
    assert_int_equal(out.grounds.n_beyond, 0);

    assert_int_equal(step_at(&p, 10, 4, &out, &err), LM_OK);
    assert_close(out.sync, 1.692, 1e-14);
    assert_close(out.grad, 1.692 + 0.32, 1e-14);
    assert_close(out.step, 3.24 + 1.692, 1e-14);
    assert_int_equal(out.batch, 10);
    assert_int_equal(out.nodes, 4);

    assert_int_equal(step_at(&p, 10, 0, &out, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "0 nodes: must be 1 or more");
    assert_int_equal(step_at(&p, 0, 1, &out, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "batch 0: must be 1 or more");
    calibration_free(cal);
}

/* 64 b FLOP, 2 layers, 32 weights: 0.064 b + 3 + 2 * 0.5 + 32 * 0.01. Several nodes need parts. */
static void a_step_that_was_measured_as_a_whole_is_one_part(void **state)
{
    calibration *cal = NULL;
    predictor    p;
    prediction   out;
    lm_error     err = { LM_OK, "" };

    (void)state;
    machine_load(folder_file("s.ini", "[machine]\nmax_ranks = 1\n[counts.step]\n"
                                      "flops = 0.001 s/FLOP\ninputs = 0 s/element\n"
                                      "outputs = 0 s/element\none = 3 s/step\n"
                                      "layers = 0.5 s/layer\nweights = 0.01 s/element\n"),
                 &cal, &err);
    assert_string_equal(err.text, "");
    p = who(cal);
    assert_int_equal(step_at(&p, 10, 1, &out, &err), LM_OK);
    assert_close(out.step, 0.64 + 3 + 1 + 0.32, 1e-14);
    assert_true(isnan(out.forward) && isnan(out.backward) && isnan(out.grad));
    assert_true(out.sync == 0 && out.messages == 0); /* one device exchanges nothing */
    assert_int_equal(step_at(&p, 10, 2, &out, &err), LM_E_NOTFOUND);
    calibration_free(cal);
}

/* Each part from 0.8 to 1.5 times its time: so is the sum, where steps have no interval of their
 * own. */
static void the_interval_adds_up_like_the_parts(void **state)
{
    calibration    *cal = machine(0.25, 0.001, "",
                                  "[counts.intervals]\nforward = 0.8 .. 1.5, groups 3\n"
                                     "backward = 0.8 .. 1.5, groups 3\nupdate = 0.8 .. 1.5, groups 3\n"
                                     "sync = 0.8 .. 1.5, groups 4\n");
    const predictor p   = who(cal);
    prediction      out;

    (void)state;
    assert_int_equal(step_at(&p, 10, 4, &out, NULL), LM_OK);
    assert_close(out.low[PHASE_STEP], 0.8 * 4.932, 1e-14);
    assert_close(out.high[PHASE_STEP], 1.5 * 4.932, 1e-14);
    calibration_free(cal);
}

/* All times 0.8 or 1.5 times as long: so is a step that hides its all-reduce, but for what is not
 * known to have an interval. */
/*
 * A device of 32 FLOP/s: 640 FLOP forward take 20 s, where the coefficients say 1.64, and as
 * many backward, as nothing wants the gradient of the input. A fast enough one leaves them, and holds the low end alone: 640 FLOP at 500 a second.
 */
static void no_time_and_no_low_end_is_below_the_roofline(void **state)
{
    calibration *cal = machine(0.25, 0.001, "",
                               "[counts.intervals]\nforward = 0.5 .. 2, groups 3, per_octave 1.1\n"
                               "backward = 0.9 .. 2, groups 3, per_octave 1.1\n"
                               "update = 0.5 .. 2, groups 3, per_octave 1.1\n");
    predictor    p   = who(cal);
    prediction   out;

    (void)state;
    p.roof.flops = 32;
    assert_int_equal(step_at(&p, 10, 1, &out, NULL), LM_OK);
    assert_close(out.forward, 20, 1e-14);
    assert_close(out.low[PHASE_FORWARD], 20, 1e-14);
    assert_close(out.high[PHASE_FORWARD], 40, 1e-14);
    assert_close(out.step, 40.32, 1e-14);
    assert_close(ledger_seconds(&out.grounds.ledger), 40.32, 1e-14);
    assert_close(out.low[PHASE_STEP], 40, 1e-14);
    p.roof.flops = 500;
    assert_int_equal(step_at(&p, 10, 1, &out, NULL), LM_OK);
    assert_close(out.forward, 1.64, 1e-14);
    assert_close(out.low[PHASE_FORWARD], 1.28, 1e-14);
    assert_close(out.low[PHASE_BACKWARD], 1.28, 1e-14);
    calibration_free(cal);
}

static void the_interval_of_a_step_in_buckets_holds_it(void **state)
{
    calibration    *cal = machine(0.25, 0.001, "",
                                  "[counts.intervals]\nforward = 0.8 .. 1.5, groups 3\n"
                                     "backward = 0.8 .. 1.5, groups 3\nupdate = 0.8 .. 1.5, groups 3\n"
                                     "sync = 0.8 .. 1.5, groups 4\n");
    const predictor p   = who(cal);
    step_setup      s   = step_setup_of(10, 4);
    prediction      out;
    double          beside;

    (void)state;
    assert_int_equal(sync_policy_parse("ddp:32", &s.sync, NULL), LM_OK);
    assert_int_equal(predict_step(&p, &s, &out, NULL), LM_OK);
    beside = out.copy + out.straggler;
    assert_close(out.low[PHASE_STEP], 0.8 * (out.step - beside) + beside, 1e-9);
    assert_close(out.high[PHASE_STEP], 1.5 * (out.step - beside) + beside, 1e-9);
    calibration_free(cal);
}

/* 320 .. 640 FLOP were measured, batches 5 to 10, on up to 8 ranks. */
static void counts_outside_their_range_are_marked(void **state)
{
    static const struct {
        int64_t     batch, nodes;
        const char *what;
    } cases[] = {
        { 10, 8, "" },          { 5, 1, "" },           { 20, 1, "flops x2" },
        { 1, 1, "flops x0.2" }, { 10, 16, "nodes x2" }, { 40, 12, "nodes x1.5, flops x4" },
    };
    calibration    *cal = machine(0.25, 0.001, ", range 320 .. 640", "");
    const predictor p   = who(cal);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prediction out;
        char       text[200], start[6];

        assert_int_equal(step_at(&p, cases[i].batch, cases[i].nodes, &out, NULL), LM_OK);
        assert_string_equal(grounds_beyond(&out.grounds, text, sizeof text), cases[i].what);
        /* cut where there is no more room */
        snprintf(start, sizeof start, "%s", cases[i].what);
        assert_string_equal(grounds_beyond(&out.grounds, text, sizeof start), start);
    }
    calibration_free(cal);
}

static void a_model_without_an_update_of_its_own_knows_no_sync(void **state)
{
    calibration *cal = NULL;
    predictor    p;
    prediction   out;
    lm_error     err = { LM_OK, "" };

    (void)state;
    machine_load(
        folder_file("m.ini",
                    "[machine]\nmax_ranks = 8\n"
                    "[convmeter.forward]\nflops = 0.001 s/FLOP\ninputs = 0 s/element\n"
                    "outputs = 0 s/element\none = 3 s/step\n"
                    "[convmeter.backward]\nflops = 0 s/FLOP\ninputs = 0 s/element\n"
                    "outputs = 0 s/element\none = 5 s/step\n"
                    "[convmeter.grad_one]\nlayers = 0.5 s/layer\n"
                    "[convmeter.grad_many]\nlayers = 0 s/layer\nweights = 0.125 s/element\n"
                    "nodes = 2 s/node\n"),
        &cal, &err);
    assert_string_equal(err.text, "");
    p       = who(cal);
    p.model = "convmeter";
    assert_int_equal(step_at(&p, 10, 1, &out, &err), LM_OK);
    assert_close(out.step, 3.64 + 5 + 1, 1e-14);
    assert_true(out.sync == 0);
    assert_int_equal(step_at(&p, 10, 3, &out, &err), LM_OK);
    assert_close(out.grad, 4 + 6, 1e-14);
    assert_close(out.step, 3.64 + 5 + 10, 1e-14);
    assert_true(isnan(out.sync));
    calibration_free(cal);
}

static void a_missing_formula_says_how_to_get_it(void **state)
{
    calibration *cal = machine(0.25, 0.001, "", "");
    predictor    p   = who(cal);
    prediction   out;
    lm_error     err;
    int64_t      turning;

    (void)state;
    cal->fitted[form_find("counts", PHASE_SYNC)].present = false;
    assert_int_equal(step_at(&p, 10, 1, &out, &err), LM_OK); /* one node needs none */
    assert_int_equal(step_at(&p, 10, 2, &out, &err), LM_E_NOTFOUND);
    assert_error(
        err, LM_E_NOTFOUND,
        "the machine file: no all-reduce was measured: calibrate on 2 ranks or more "
        "(mpirun), then fit again, or name the interconnect of the devices, or a similar one (--interconnect pcie4, nvlink4)");
    /* nor is there a turning point to be found */
    assert_int_equal(turning_at(&p, SCALING_WEAK, 10, &turning, &err), LM_E_NOTFOUND);
    assert_error(
        err, LM_E_NOTFOUND,
        "the machine file: no all-reduce was measured: calibrate on 2 ranks or more "
        "(mpirun), then fit again, or name the interconnect of the devices, or a similar one (--interconnect pcie4, nvlink4)");
    p.model = "nnls";
    assert_int_equal(step_at(&p, 10, 1, &out, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "the machine file has no nnls.forward: calibrate whole networks, then "
                 "fit again");
    p.model   = "counts";
    p.network = "gone.ini";
    assert_int_equal(step_at(&p, 10, 1, &out, &err), LM_E_IO);
    assert_error(err, LM_E_IO, "gone.ini: No such file or directory");
    calibration_free(cal);
}

/* Batch 10 on each of 4: 40 samples in 4.932 s, 25 steps for 1000; one node does 10 in 3.24 s. */
static void weak_scaling_keeps_the_batch_of_each_device(void **state)
{
    calibration    *cal = machine(0.25, 0.001, "", "");
    const predictor p   = who(cal);
    scale_point     out;

    (void)state;
    assert_int_equal(curve_at(&p, SCALING_WEAK, 10, 4, 1000, &out, NULL), LM_OK);
    assert_int_equal(out.step.batch, 10);
    assert_int_equal(out.global_batch, 40);
    assert_close(out.samples_per_second, 40 / 4.932, 1e-14);
    assert_close(out.speedup, 40 / 4.932 * 3.24 / 10, 1e-14);
    assert_close(out.efficiency, 3.24 / 4.932, 1e-14);
    assert_int_equal(out.steps_per_epoch, 25);
    assert_close(out.epoch_seconds, 25 * 4.932, 1e-12);
    /* one sample more is one step more */
    assert_int_equal(curve_at(&p, SCALING_WEAK, 10, 4, 1001, &out, NULL), LM_OK);
    assert_int_equal(out.steps_per_epoch, 26);
    assert_int_equal(curve_at(&p, SCALING_WEAK, 10, 1, 1, &out, NULL), LM_OK);
    assert_int_equal(out.steps_per_epoch, 1);
    assert_close(out.speedup, 1, 0);
    assert_close(out.efficiency, 1, 0);
    /* 0: nobody knows the samples of an epoch */
    assert_int_equal(curve_at(&p, SCALING_WEAK, 10, 4, 0, &out, NULL), LM_OK);
    assert_close(out.samples_per_second, 40 / 4.932, 1e-14);
    assert_int_equal(out.steps_per_epoch, 0);
    assert_true(isnan(out.epoch_seconds));
    calibration_free(cal);
}

/*
 * 100 over 8: each takes ceil(100 / 8) = 13, together 104, 10 steps for 1000. A step at batch 13:
 * 0.192 * 13 + 1 + 0.32 = 3.816, and the ring of 8: 14 * 0.25 + 224 * 0.001 = 3.724. One node with
 * all of 100: 19.2 + 1.32 = 20.52.
 */
static void strong_scaling_shares_one_batch(void **state)
{
    calibration    *cal = machine(0.25, 0.001, "", "");
    const predictor p   = who(cal);
    scale_point     out;

    (void)state;
    assert_int_equal(curve_at(&p, SCALING_STRONG, 100, 8, 1000, &out, NULL), LM_OK);
    assert_int_equal(out.step.batch, 13);
    assert_int_equal(out.global_batch, 100); /* not 8 * 13: the rest is no work of the batch */
    assert_close(out.step.step, 3.816 + 3.724, 1e-14);
    assert_int_equal(out.steps_per_epoch, 10);
    assert_close(out.epoch_seconds, 75.4, 1e-12);
    assert_close(out.speedup, 20.52 / 7.54, 1e-13);
    assert_close(out.efficiency, 20.52 / 7.54 / 8, 1e-13);
    /* more nodes than samples: each takes one, and some have none */
    assert_int_equal(curve_at(&p, SCALING_STRONG, 3, 8, 1000, &out, NULL), LM_OK);
    assert_int_equal(out.step.batch, 1);
    assert_int_equal(out.global_batch, 3);
    calibration_free(cal);
}

/*
 * A step of T0 + 2 a (N - 1): doubling N gains less than a tenth when
 * 2 (T0 + 2 a N - 2 a) < 1.1 (T0 + 4 a N - 2 a), that is N > (0.9 T0 - 1.8 a) / (0.4 a).
 * T0 = 3.24, a = 0.01: above 724.5.
 */
static void the_turning_point_matches_its_formula(void **state)
{
    calibration    *cal = machine(0.01, 0, "", "");
    const predictor p   = who(cal);
    predictor       free_messages;
    int64_t         out;

    (void)state;
    assert_int_equal(turning_at(&p, SCALING_WEAK, 10, &out, NULL), LM_OK);
    assert_int_equal(out, 725);
    calibration_free(cal);
    cal           = machine(0, 0, "", ""); /* free communication: it never stops to pay */
    free_messages = who(cal);
    assert_int_equal(turning_at(&free_messages, SCALING_WEAK, 10, &out, NULL), LM_OK);
    assert_int_equal(out, 0);
    calibration_free(cal);
}

#define BRUTE 1024

static int64_t brute_turning_point(const predictor *p, scaling_kind kind, int64_t batch)
{
    for (int64_t n = 1; n <= BRUTE; n++) {
        scale_point now, twice;

        assert_int_equal(curve_at(p, kind, batch, n, 1000000, &now, NULL), LM_OK);
        assert_int_equal(curve_at(p, kind, batch, 2 * n, 1000000, &twice, NULL), LM_OK);
        if (kind == SCALING_WEAK ? twice.samples_per_second < 1.1 * now.samples_per_second
                                 : 1 / twice.samples_per_second > 0.95 / now.samples_per_second)
            return n;
    }
    return 0;
}

static void turning_points_match_a_scan_of_all_numbers_of_nodes(void **state)
{
    static const struct {
        double  latency, per_byte;
        int64_t batch;
    } cases[] = {
        { 0.25, 0.001, 10 }, { 0.25, 0, 1 },    { 0.02, 0.0001, 10 }, { 0.02, 0.1, 64 },
        { 3, 0, 10 },        { 0.05, 0, 1000 }, { 0.013, 0.017, 77 }, { 0.1, 1e-5, 4096 },
    };

    size_t found = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int kind = SCALING_WEAK; kind <= SCALING_STRONG; kind++) {
            calibration    *cal = machine(cases[i].latency, cases[i].per_byte, "", "");
            const predictor p   = who(cal);
            int64_t         out;

            assert_int_equal(turning_at(&p, (scaling_kind)kind, cases[i].batch, &out, NULL), LM_OK);
            found += out >= 1 && out <= BRUTE;
            assert_int_equal(out <= BRUTE ? out : 0,
                             brute_turning_point(&p, (scaling_kind)kind, cases[i].batch));
            calibration_free(cal);
        }
    assert_true(found >= 10); /* most of them turn within what the scan covers */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_sum_of_its_parts),
        cmocka_unit_test(a_step_that_was_measured_as_a_whole_is_one_part),
        cmocka_unit_test(the_interval_adds_up_like_the_parts),
        cmocka_unit_test(the_interval_of_a_step_in_buckets_holds_it),
        cmocka_unit_test(counts_outside_their_range_are_marked),
        cmocka_unit_test(a_model_without_an_update_of_its_own_knows_no_sync),
        cmocka_unit_test(a_missing_formula_says_how_to_get_it),
        cmocka_unit_test(no_time_and_no_low_end_is_below_the_roofline),
        cmocka_unit_test(weak_scaling_keeps_the_batch_of_each_device),
        cmocka_unit_test(strong_scaling_shares_one_batch),
        cmocka_unit_test(the_turning_point_matches_its_formula),
        cmocka_unit_test(turning_points_match_a_scan_of_all_numbers_of_nodes),
    };

    return cmocka_run_group_tests(tests, linear_net_enter, linear_net_leave);
}
