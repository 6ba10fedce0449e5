/* Steps that hide their all-reduces, from hand-made coefficients. */
#include "linear_net.h"
#include "steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit/fit.h"
#include "machine/machine.h"
#include "predict/predict.h"

/* 8 -> 4 -> 2 without bias: at batch b 64 b and 16 b FLOP forward, 128 and 32 bytes of weights. */
static int enter(void **state)
{
    return linear_net_of(state, "[a]\ntype = linear\nfeatures = 4\nbias = no\n"
                                "[b]\ntype = linear\nfeatures = 2\nbias = no\n");
}

static lm_status load_machine(const char *more, calibration **out, lm_error *err)
{
    char text[2000];

    snprintf(text, sizeof text,
             "[machine]\nmax_ranks = 8\n"
             "[counts.forward]\nflops = 0.001 s/FLOP\ninputs = 0 s/element\noutputs = 0 "
             "s/element\nweights = 0 s/element\nlayers = 0 s/layer\n"
             "[counts.backward]\nflops = 0.002 s/FLOP\ninputs = 0 s/element\noutputs = 0 "
             "s/element\nweights = 0 s/element\nlayers = 0 s/layer\n"
             "[counts.update]\nlayers = 0 s/layer\nweights = 0.01 s/element\n"
             "[counts.sync]\nring_steps = 0.01 s/message\nring_bytes = 0.001 s/byte\n%s",
             more);
    return machine_load(folder_file("m.ini", text), out, err);
}

static calibration *machine(const char *more)
{
    calibration *cal = NULL;
    lm_error     err = { LM_OK, "" };

    load_machine(more, &cal, &err);
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

/* Batch 10 on 4 nodes. */
static step_setup setup_of(const char *sync)
{
    step_setup s = step_setup_of(10, 4);
    lm_error   err;

    assert_int_equal(sync_policy_parse(sync, &s.sync, &err), LM_OK);
    return s;
}

static prediction told(const predictor *p, const step_setup *s)
{
    prediction out;
    lm_error   err = { LM_OK, "" };

    if (predict_step(p, s, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

/*
 * Backward 0.02 * 80 = 1.6 s: b's gradient is there at 0.32, a's at 1.6. A ring of 4 takes 6 * 0.01
 * and 1.5 * 0.001 a byte: 0.108 for b, 0.252 for a. Forward 0.8, update 40 * 0.01 = 0.4.
 */
static void tensors_travel_as_soon_as_they_are_ready(void **state)
{
    calibration     *cal = machine("");
    const predictor  p   = who(cal);
    const step_setup s   = setup_of("tensor");
    step_times       o;
    prediction       out;
    lm_error         err;

    (void)state;
    assert_int_equal(buckets_of(&p, &s, &o, &err), LM_OK);
    assert_int_equal(o.n, 2);
    assert_close(o.bucket[0].bytes, 32, 0);
    assert_close(o.bucket[0].ready, 0.32, 1e-12);
    assert_close(o.bucket[0].end, 0.428, 1e-12);
    assert_close(o.bucket[1].ready, 1.6, 1e-12);
    assert_close(o.bucket[1].end, 1.852, 1e-12);
    assert_true(o.bucket[0].first_layer > o.bucket[1].last_layer); /* the last layer's go first */
    free(o.bucket);

    out = told(&p, &s);
    assert_close(out.sync, 0.36, 1e-12);
    assert_close(out.exposed, 0.252, 1e-12);
    assert_close(out.grad, 0.652, 1e-12);
    assert_close(out.step, 0.8 + 1.6 + 0.652, 1e-12);
    /* how much a pass really hides nobody has measured here */
    assert_true(out.grounds.ledger.seconds[CERTAINTY_ASSUMED] >= 0.252 - 1e-12);
    calibration_free(cal);
}

/* One bucket of 160 bytes: 0.3 s, nothing of it hidden, as in one message. */
static void one_bucket_is_one_message(void **state)
{
    calibration     *cal = machine("");
    const predictor  p   = who(cal);
    const step_setup s = setup_of("ddp"), once = setup_of("once");
    const prediction a = told(&p, &s), b = told(&p, &once);

    (void)state;
    assert_close(a.exposed, 0.3, 1e-12);
    assert_close(a.step, b.step, 1e-12);
    calibration_free(cal);
}

/* Gradients travel in the last of three micro-steps only; in 16 bit they are half as many bytes. */
static void micro_steps_but_the_last_exchange_nothing(void **state)
{
    calibration    *cal = machine("");
    const predictor p   = who(cal);
    step_setup      s   = setup_of("tensor");
    prediction      out;

    (void)state;
    s.sync.accumulation = 3;
    s.sync.dtype        = LM_F16;
    out                 = told(&p, &s);
    assert_close(out.forward, 2.4, 1e-12);
    assert_close(out.backward, 4.8, 1e-12);
    assert_close(out.sync, 2 * 0.06 + 0.0015 * 80, 1e-12);
    assert_close(out.exposed, 0.06 + 0.0015 * 64, 1e-12);
    assert_close(out.step, 7.2 + out.exposed + 0.4, 1e-12);
    s.sync.rule = SYNC_ONCE;
    out         = told(&p, &s);
    assert_close(out.sync, 0.06 + 0.0015 * 80, 1e-12);
    calibration_free(cal);
}

/* Half as fast beside b's message of 0.108 s: 0.072 s of the pass are done in it at slowdown 0.5,
 * so that it ends 0.036 later. Copies of 32 and 128 bytes are DDP's, not single tensors'. */
static void constants_of_the_machine_count(void **state)
{
    calibration    *cal   = machine("[overlap]\nrows = 7\nspreads = 0\nslowdown = 0.5 s/s\n"
                                         "stretch = 0 s/s\ncopy = 0.0001 s/byte\nstraggler = 0 s/s\n");
    calibration    *again = NULL;
    const predictor p     = who(cal);
    step_setup      s     = setup_of("tensor");
    prediction      out   = told(&p, &s);
    lm_error        err;

    (void)state;
    assert_close(out.backward, 1.636, 1e-12);
    assert_close(out.exposed, 0.252, 1e-12);
    assert_true(out.copy == 0);
    s   = setup_of("ddp:1B");
    out = told(&p, &s);
    assert_close(out.copy, 0.016, 1e-12);
    assert_close(out.grad, 0.252 + 0.016 + 0.4, 1e-12);
    assert_int_equal(machine_save(cal, "again.ini", &err), LM_OK);
    assert_int_equal(machine_load("again.ini", &again, &err), LM_OK);
    assert_int_equal(again->overlapping.rows, 7);
    assert_close(again->overlapping.slowdown, 0.5, 0);
    assert_close(again->overlapping.copy, 0.0001, 0);
    calibration_free(again);
    calibration_free(cal);
}

/* Steps of several batches hold several programs, and schedules of a batch are made anew for each. */
static void a_program_outlives_its_schedule(void **state)
{
    const program_case four = {
        .work    = { .forward = 0.8, .backward = 1.6, .update = 0.4, .micro = 1, .compute = 2.4 },
        .batch   = 10,
        .ranks   = { 4, 1, 1 },
        .pass    = 1,
        .message = 1
    };
    calibration       *cal       = machine("");
    const sync_policy  each      = setup_of("tensor").sync;
    priced_program    *program   = NULL;
    gradient_schedule *gradients = NULL;
    step_times         before, after;
    lm_error           err;

    (void)state;
    assert_int_equal(gradient_schedule_even(160, LM_F32, 2, &gradients, &err), LM_OK);
    assert_int_equal(priced_program_of(cal, "counts", NULL, gradients, &each, &program, &err),
                     LM_OK);
    assert_true(priced_program_holds(program, gradients, 10, &each));
    priced_program_run(program, &four, &before);
    assert_true(before.exposed > 0);

    gradients->batch = 3; /* another may lie where that was */
    assert_false(priced_program_holds(program, gradients, 10, &each));
    gradient_schedule_free(gradients);
    priced_program_run(program, &four, &after);
    assert_true(after.exposed == before.exposed && after.step == before.step);
    priced_program_free(program);
    calibration_free(cal);
}

/* A message beside a pass takes half as long again: b's 0.108 s become 0.162, a's 0.252 0.378. In
 * one message nothing is beside it. */
static void messages_beside_a_pass_may_take_longer(void **state)
{
    calibration *cal =
        machine("[overlap]\nrows = 7\nspreads = 0\nslowdown = 0 s/s\nstretch = 0 s/s\n"
                "surcharge = 0.5 s/s\ncopy = 0 s/byte\nstraggler = 0 s/s\n");
    const predictor p   = who(cal);
    step_setup      s   = setup_of("tensor");
    prediction      out = told(&p, &s);

    (void)state;
    assert_close(out.sync, 0.162 + 0.378, 1e-12);
    assert_close(out.exposed, 0.378, 1e-12);
    s   = setup_of("once");
    out = told(&p, &s);
    assert_close(out.sync, 0.3, 1e-12);
    calibration_free(cal);
}

/* Of messages beside a pass the last one ends 0.01 s later: tensor by tensor as in one bucket; with
 * a lag of 0.005 behind a pass of 1.6 s only 0.008 s. */
static void the_last_message_has_to_be_noticed(void **state)
{
    static const struct {
        const char *lag;
        double      later;
    } cases[] = { { "", 0.01 }, { "lag = 0.005 s/s\n", 0.008 }, { "lag = 0.5 s/s\n", 0.01 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char         text[400];
        calibration *cal, *again = NULL;
        step_setup   s = setup_of("tensor");
        predictor    p;
        prediction   out;
        lm_error     err;

        snprintf(text, sizeof text,
                 "[overlap]\nrows = 7\nspreads = 0\nslowdown = 0 s/s\nstretch = 0 s/s\n"
                 "cold = 0.25 byte/byte\nlatency = 0.01 s\n%scopy = 0 s/byte\nstraggler = 0 s/s\n",
                 cases[i].lag);
        cal = machine(text);
        p   = who(cal);
        assert_int_equal(predict_step(&p, &s, &out, &err), LM_OK);
        assert_close(out.sync, 0.108 + 0.252 + cases[i].later, 1e-12);
        assert_close(out.exposed, 0.252 + cases[i].later, 1e-12);
        s = setup_of("once");
        assert_int_equal(predict_step(&p, &s, &out, &err), LM_OK);
        assert_close(out.exposed, 0.3, 1e-12);
        assert_int_equal(machine_save(cal, "again.ini", &err), LM_OK);
        assert_int_equal(machine_load("again.ini", &again, &err), LM_OK);
        assert_close(again->overlapping.latency, 0.01, 0);
        assert_close(again->overlapping.lag, cal->overlapping.lag, 0);
        assert_close(again->overlapping.cold, 0.25, 0);
        calibration_free(again);
        calibration_free(cal);
    }
}

/* Two devices of a node take 1.5 times as long for a pass, three, between what was measured, 2.
 * Nothing else changes: gradients are ready at the same share of the pass. */
static void devices_of_a_node_share_it(void **state)
{
    static const double times[] = { 1, 1.5, 2, 2.5, 3 };
    calibration *cal   = machine("[sharing.2]\nrows = 8\nforward = 1.5 s/s\nbackward = 1.5 s/s\n"
                                   "update = 1.25 s/s\n[sharing.4]\nrows = 8\nforward = 2.5 s/s\n"
                                   "backward = 2.5 s/s\n");
    calibration *again = NULL;
    predictor    p     = who(cal);
    lm_error     err;

    (void)state;
    assert_int_equal(machine_save(cal, "shared.ini", &err), LM_OK);
    assert_int_equal(machine_load("shared.ini", &again, &err), LM_OK);
    p.cal = again;
    for (int64_t devices = 1; devices <= 5; devices++) {
        const double by = times[devices - 1];
        step_setup   s  = setup_of("tensor");
        prediction   out;
        step_times   o;

        s.nodes   = 1;
        s.devices = devices;
        out       = told(&p, &s);
        assert_close(out.forward, 0.8 * by, 1e-12);
        assert_close(out.backward, 1.6 * by, 1e-12);
        assert_close(out.grad - out.exposed, 0.4 * (1 + 0.25 * (double)(devices - 1)), 1e-12);
        assert_int_equal(buckets_of(&p, &s, &o, &err), LM_OK);
        if (devices > 1)
            assert_close(o.bucket[0].ready, 0.32 * by, 1e-12);
        free(o.bucket);
    }
    calibration_free(again);
    calibration_free(cal);
}

/* What is left is never more than the whole, and a faster network never makes a step longer. */
static void bounds_of_any_policy_hold(void **state)
{
    static const char *const rule[] = { "once",    "tensor",     "ddp:1B",        "ddp:100B",
                                        "horovod", "horovod:1B", "horovod:1KB:0s" };
    calibration             *cal    = machine("");
    const predictor          p      = who(cal);

    (void)state;
    for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++) {
        double before = 0;

        for (int64_t nodes = 1; nodes <= 64; nodes *= 2) {
            step_setup s = setup_of(rule[i]);
            prediction out;

            s.nodes = nodes;
            out     = told(&p, &s);
            assert_true(out.exposed <= out.sync + 1e-12 && out.exposed >= 0);
            assert_true(out.step >= before - 1e-12);
            assert_close(out.step, out.forward + out.backward + out.grad, 1e-12);
            before = out.step;
        }
    }
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_travel_as_soon_as_they_are_ready),
        cmocka_unit_test(one_bucket_is_one_message),
        cmocka_unit_test(micro_steps_but_the_last_exchange_nothing),
        cmocka_unit_test(constants_of_the_machine_count),
        cmocka_unit_test(a_program_outlives_its_schedule),
        cmocka_unit_test(messages_beside_a_pass_may_take_longer),
        cmocka_unit_test(the_last_message_has_to_be_noticed),
        cmocka_unit_test(devices_of_a_node_share_it),
        cmocka_unit_test(bounds_of_any_policy_hold),
    };

    return cmocka_run_group_tests(tests, enter, linear_net_leave);
}
