/* Steps of learned models of single layers: beside the default model's of the same times. */
#include "linear_net.h"
#include "steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layerwise/layerwise.h"
#include "machine/machine.h"
#include "models/learned.h"
#include "plan/cases.h"
#include "predict/step_power.h"

/* 8 -> 4 -> 8 without bias: at batch b 64 b FLOP forward and 128 bytes of weights each. */
static int enter(void **state)
{
    return linear_net_of(state, "[a]\ntype = linear\nfeatures = 4\nbias = no\n"
                                "[b]\ntype = linear\nfeatures = 8\nbias = no\n");
}

#define OVERLAP                                                                         \
    "[overlap]\nrows = 7\nspreads = 0\nslowdown = 0.5 s/s\nstretch = 0.25 s/s\ncopy = " \
    "0.0001 s/byte\nstraggler = 0.1 s/s\n"

/* All-reduces that the models share; of batch 10 a layer takes 0.32 s forward, 0.64 backward, and
 * 0.32 to update. */
static calibration *machine(const char *more)
{
    calibration *cal = NULL;
    lm_error     err = { LM_OK, "" };
    char         text[2000];

    snprintf(text, sizeof text,
             "[machine]\nmax_ranks = 8\n"
             "[counts.forward]\nflops = 0.0005 s/FLOP\ninputs = 0 s/element\noutputs = 0 "
             "s/element\nweights = 0 s/element\nlayers = 0 s/layer\n"
             "[counts.backward]\nflops = 0.001 s/FLOP\ninputs = 0 s/element\noutputs = 0 "
             "s/element\nweights = 0 s/element\nlayers = 0 s/layer\n"
             "[counts.update]\nlayers = 0 s/layer\nweights = 0.01 s/element\n"
             "[counts.sync]\nring_steps = 0.01 s/message\nring_bytes = 0.001 s/byte\n"
             "[layermeter.sync]\nring_steps = 0.01 s/message\nring_bytes = 0.001 s/byte\n%s",
             more);
    machine_load(folder_file("m.ini", text), &cal, &err);
    assert_string_equal(err.text, "");
    return cal;
}

/* Dense layers, each alike: seconds of a phase, with an interval. */
static int put_task(char *to, size_t size, const char *name, double seconds, const char *within)
{
    return snprintf(to, size,
                    "task %s seconds\nrows 80 20\nerror 0.1\ninterval%s\nphases 0\nfeatures 1\n"
                    "count batchsize 1 64\nlearner linear plain 1\nrange %g %g 1\nlogged 0\n"
                    "linear 1\nfactors %g 0\n",
                    name, within, seconds / 2, seconds * 2, seconds);
}

static layerwise_model *learned(const char *within)
{
    void    *m   = NULL;
    lm_error err = { LM_OK, "" };
    char     text[2000];
    int      n = snprintf(text, sizeof text, "layermeter learned prenet 4\ntasks 3\n");

    n += put_task(text + n, sizeof text - (size_t)n, "dense", 0.32, within);
    n += put_task(text + n, sizeof text - (size_t)n, "dense.backward", 0.64, within);
    put_task(text + n, sizeof text - (size_t)n, "dense.update", 0.32, within);
    kept_read(&layerwise_kept, "prenet", "m.prenet", text, &m, &err);
    assert_string_equal(err.text, "");
    return m;
}

static predictor by_counts(const calibration *cal)
{
    return (predictor){ .by      = step_model_of(cal, "counts"),
                        .cal     = cal,
                        .loads   = loads,
                        .model   = "counts",
                        .network = "n.ini",
                        .dtype   = LM_F32 };
}

/* To be closed. */
static predictor by_layers(const calibration *cal, layerwise_model *m, const char *update)
{
    predictor p = by_counts(cal);
    lm_error  err;

    p.model = "prenet";
    assert_int_equal(learned_open_with(&p, m, update, &err), LM_OK);
    return p;
}

static step_setup setup_of(const char *sync, int64_t nodes)
{
    step_setup s = step_setup_of(10, nodes);
    lm_error   err;

    assert_int_equal(sync_policy_parse(sync, &s.sync, &err), LM_OK);
    return s;
}

static void predicted(const predictor *who, const step_setup *s, prediction *out)
{
    lm_error err = { LM_OK, "" };

    predict_step(who, s, out, &err);
    assert_string_equal(err.text, "");
}

static void what_is_hidden_is_what_the_default_model_hides(void **state)
{
    static const char *const policies[] = { "once",          "tensor",    "ddp:1B",
                                            "ddp:100B",      "ddp:25MiB", "horovod:1KiB:1s",
                                            "horovod:1B:1ms" };
    static const char *const machines[] = { "", OVERLAP };

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        calibration    *cal   = machine(machines[m]);
        predictor       mine  = by_layers(cal, learned(""), "momentum");
        const predictor other = by_counts(cal);

        for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
            for (int64_t micro = 1; micro <= 3; micro += 2) {
                step_setup s = setup_of(policies[i], 4);
                prediction a, b;

                s.sync.accumulation = micro;
                predicted(&mine, &s, &a);
                predicted(&other, &s, &b);
                assert_close(a.forward, b.forward, 1e-9);
                assert_close(a.backward, b.backward, 1e-9);
                assert_close(a.sync, b.sync, 1e-9);
                assert_close(a.exposed, b.exposed, 1e-9);
                assert_close(a.copy, b.copy, 1e-9);
                assert_close(a.straggler, b.straggler, 1e-9);
                assert_close(a.grad, b.grad, 1e-9);
                assert_close(a.step, b.step, 1e-9);
                assert_int_equal(a.messages, b.messages);
            }
        predictor_close(&mine);
        calibration_free(cal);
    }
}

/* b's gradient is there at 0.64 s, a's at 1.28. */
static void buckets_are_ready_when_their_layers_are_done(void **state)
{
    calibration     *cal = machine("");
    predictor        who;
    const step_setup s = setup_of("tensor", 4);
    step_times       o;
    lm_error         err = { LM_OK, "" };

    (void)state;
    who = by_layers(cal, learned(""), "momentum");
    assert_int_equal(buckets_of(&who, &s, &o, &err), LM_OK);
    assert_int_equal(o.n, 2);
    assert_close(o.bucket[0].ready, 0.64, 1e-12);
    assert_close(o.bucket[1].ready, 1.28, 1e-12);
    assert_close(o.bucket[0].bytes, 128, 0);
    free(o.bucket);
    predictor_close(&who);
    calibration_free(cal);
}

/* Alone, what is exposed does not change with the bounds of what hides the rest: 1.2 times 0.64 and
 * 1.28 s, all-reduces as told. */
static void bounds_go_through_the_recurrence(void **state)
{
    calibration *cal =
        machine("[layermeter.intervals]\nsync = 0.5 .. 2, groups 5, per_octave 1.1\n");
    predictor        who;
    const step_setup s   = setup_of("tensor", 4);
    lm_error         err = { LM_OK, "" };
    prediction       p;
    cases            c;

    (void)state;
    who = by_layers(cal, learned(" 0.9 1.2 5 1.5"), "momentum");
    predicted(&who, &s, &p);
    /* a message of 128 bytes takes 6 * 0.01 + 1.5 * 0.128 = 0.252 s */
    assert_close(p.exposed, 0.252, 1e-9);
    assert_close(p.step, 0.64 + 1.28 + 0.252 + 0.64, 1e-9);
    assert_close(p.low[PHASE_STEP], 0.9 * (0.64 + 1.28 + 0.64) + 0.126, 1e-9);
    assert_close(p.high[PHASE_STEP], 1.2 * (0.64 + 1.28 + 0.64) + 0.504, 1e-9);
    assert_close(p.fast, p.step - 0.126, 1e-9);
    assert_close(p.slow, p.step + 0.252, 1e-9);
    assert_int_equal(cases_of_step(&who, &s, &p, &c, &err), LM_OK);
    assert_close(c.seconds[TIME_COMPUTE_LOW], 0.9 * (0.64 + 1.28 + 0.64) + 0.252, 1e-9);
    assert_close(c.seconds[TIME_COMPUTE_HIGH], 1.2 * (0.64 + 1.28 + 0.64) + 0.252, 1e-9);
    predictor_close(&who);
    calibration_free(cal);
}

static void what_a_step_is_made_of_adds_up(void **state)
{
    static const char *const policies[] = { "once", "tensor", "ddp:100B", "horovod:1KiB:1s" };
    calibration             *cal        = machine(OVERLAP);
    predictor                who;

    (void)state;
    who = by_layers(cal, learned(""), "momentum");
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        const step_setup s   = setup_of(policies[i], 4);
        lm_error         err = { LM_OK, "" };
        explanation     *e   = NULL;
        double           sum = 0;

        assert_int_equal(explain_step(&who, &s, &e, &err), LM_OK);
        for (size_t k = 0; k < e->n_shares; k++)
            sum += e->share[k].seconds;
        assert_close(sum, e->step.step, 1e-9);
        explanation_free(e);
    }
    predictor_close(&who);
    calibration_free(cal);
}

static void steps_alone_do_not_say_when_gradients_are_ready(void **state)
{
    calibration     *cal = machine("");
    void            *m   = NULL;
    predictor        who;
    const step_setup s   = setup_of("ddp", 4);
    lm_error         err = { LM_OK, "" };
    char text[] = "layermeter learned prenet 4\ntasks 1\ntask dense seconds\nrows 8 2\nerror\n"
                  "interval\nphases 0\nfeatures 1\nflag optimizer.sgd 0 1\nlearner linear plain 1\n"
                  "range 0.1 2 1\nlogged 0\nlinear 1\nfactors 1 0\n";
    prediction p;

    (void)state;
    assert_int_equal(kept_read(&layerwise_kept, "prenet", "m", text, &m, &err), LM_OK);
    who = by_layers(cal, m, "sgd");
    assert_false(predictor_tells_gradients(&who));
    assert_int_equal(predict_step(&who, &s, &p, &err), LM_E_UNSUPPORTED);
    assert_error(err, LM_E_UNSUPPORTED,
                 "prenet learned whole steps of layers of n.ini, which do not say when gradients "
                 "are ready: take --sync once, or measure backward passes of such layers, then fit "
                 "again");
    predictor_close(&who);
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_hidden_is_what_the_default_model_hides),
        cmocka_unit_test(buckets_are_ready_when_their_layers_are_done),
        cmocka_unit_test(bounds_go_through_the_recurrence),
        cmocka_unit_test(what_a_step_is_made_of_adds_up),
        cmocka_unit_test(steps_alone_do_not_say_when_gradients_are_ready),
    };

    return cmocka_run_group_tests(tests, enter, linear_net_leave);
}
