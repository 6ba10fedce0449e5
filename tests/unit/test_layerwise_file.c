/* The text of learned models of single layers: what is refused, and what a file tells. */
#include "layerwise_cases.h"

#include <stdlib.h>

#include "base/random.h"
#include "layerwise/layerwise.h"

/* Of one task, by hand: e^0.7 - 1 milliseconds. */
static const char by_hand[] = "layermeter learned justus 4\n"
                              "tasks 1\n"
                              "task dense seconds\n"
                              "rows 90 10\n"
                              "error 0.1\n"
                              "interval\n"
                              "phases 0\n"
                              "features 2\n"
                              "count batch 1 64\n"
                              "flag optimizer.sgd 0 1\n"
                              "unit_of_log 0.001\n"
                              "mlp 2\n"
                              "mean 0 0\n"
                              "deviation 1 1\n"
                              "target 0 1\n"
                              "unit 0.5 0 0.25\n";

static lm_status read_with(const char *from, const char *to, lm_error *err)
{
    const char      *at = strstr(by_hand, from);
    char             text[600];
    layerwise_model *m = NULL;
    lm_status        status;

    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - by_hand), by_hand, to, at + strlen(from));
    status = layerwise_read("f", text, &layerwise_justus, &m, err);
    layerwise_free(m);
    return status;
}

static void what_is_no_model_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *text;
        lm_status   code;
    } cases[] = {
        { "justus 4", "justus 5", "f:1: of version 5, this program reads 4", LM_E_UNSUPPORTED },
        { "learned justus 4", "model justus 3",
          "f:1: was written by an older version: run 'layermeter fit OBSERVATIONS -o FILE' again",
          LM_E_UNSUPPORTED },
        { "interval\n", "", "f:6: expected 'interval ...', found 'phases 0'", LM_E_SYNTAX },
        { "interval\n", "interval 1.1 2 3 1.1\n",
          "f:6: interval: expected bounds around 1 and a factor per octave of 1 or more",
          LM_E_ARG },
        { "interval\n", "interval 0.9 2 3\n", "f:6: expected 4 numbers, found 3", LM_E_SYNTAX },
        { "phases 0\n", "", "f:7: expected 'phases ...', found 'features 2'", LM_E_SYNTAX },
        { "phases 0\n", "phases 1\nnight 0.9 1.1 20 1.1\n",
          "f:8: expected 'forward ...', found 'night 0.9 1.1 20 1.1'", LM_E_SYNTAX },
        { "phases 0\n", "phases 1\nstep 1.1 2 20 1.1\n",
          "f:8: step: expected bounds around 1 and a factor per octave of 1 or more", LM_E_ARG },
        { "justus 4", "prenet 4", "f:1: holds 'prenet', not 'justus'", LM_E_NOTFOUND },
        { "layermeter learned", "layermeter taught",
          "f:1: expected 'layermeter learned ...', found 'layermeter taught justus 4'",
          LM_E_SYNTAX },
        { "unit 0.5 0 0.25", "unit 0.5 nan 0.25", "f:16: number 2 is nan", LM_E_ARG },
        { "unit 0.5 0 0.25", "unit 0.5 0", "f:16: expected 2 numbers, found 1", LM_E_SYNTAX },
        { "unit 0.5 0 0.25\n", "", "f:16: the file ends here; expected 'unit ...'", LM_E_SYNTAX },
        { "unit_of_log 0.001", "unit_of_log 0", "f:11: number 1 is 0: expected more than 0",
          LM_E_ARG },
        { "seconds", "watts", "f:3: justus tells no watts", LM_E_ARG },
        { "seconds", "joules", "f:3: 'joules' is none of seconds, watts", LM_E_NOTFOUND },
        { "1 64", "64 1", "f:9: a range from 64 to 1", LM_E_ARG },
        { "error 0.1", "error -1", "f:5: number 1 is -1: expected 0 or more", LM_E_ARG },
        { "mlp 2\nmean 0 0\ndeviation 1 1\ntarget 0 1\nunit 0.5 0 0.25\n",
          "mlp 1\nmean 0\ndeviation 1\ntarget 0 1\nunit 0.5 0\n",
          "f:16: learned of 1 features, of which 2 are named", LM_E_ARG },
        { "unit 0.5 0 0.25\n", "unit 0.5 0 0.25\ntask\n", "f:17: more than was written: 'task'",
          LM_E_SYNTAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_error err = { LM_OK, "" };

        assert_int_equal(read_with(cases[i].from, cases[i].to, &err), cases[i].code);
        assert_error(err, cases[i].code, "%s", cases[i].text);
    }
}

static void cut_short_anywhere_it_is_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n + 1 < sizeof by_hand; n++) {
        char            *text = strndup(by_hand, n);
        lm_error         err  = { LM_OK, "" };
        layerwise_model *m    = NULL;

        if (!layerwise_read("f", text, &layerwise_justus, &m, &err))
            fail_msg("%zu bytes were read", n);
        assert_memory_equal(err.text, "f:", 2);
        free(text);
    }
}

/* Of a file of today: around 1, wider by the factor for each octave beyond. */
static void intervals_widen_beyond_what_was_learned_from(void **state)
{
    static const struct {
        int64_t batch;
        double  wider;
    } cases[] = { { 64, 1 }, { 256, 1.2 * 1.2 } };
    const char      *at;
    char             text[700];
    lm_error         err = { LM_OK, "" };
    layerwise_model *m   = NULL;

    (void)state;
    at = strstr(by_hand, "interval\n");
    snprintf(text, sizeof text, "%.*sinterval 0.8 1.5 7 1.2\n%s", (int)(at - by_hand), by_hand,
             strchr(at, '\n') + 1);
    assert_int_equal(layerwise_read("f", text, &layerwise_justus, &m, &err), LM_OK);
    assert_int_equal(m->task[0].interval.groups, 7);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        made             asked;
        layerwise_case   c;
        layerwise_answer told;

        make("linear", "features=2", "3", cases[i].batch, &asked);
        c = in_phase(&asked, PHASE_FORWARD, "", NULL);
        assert_int_equal(layerwise_predict(m, &c, LAYERWISE_SECONDS, &told, &err), LM_OK);
        assert_close(told.low, 0.8 * told.value / cases[i].wider, 1e-12);
        assert_close(told.high, 1.5 * told.value * cases[i].wider, 1e-12);
        made_free(&asked);
    }
    layerwise_free(m);
}

/* Steps are told within 0.875 to 1.125, inference within 0.5 to 2, of which forward passes have
 * theirs; what else there is, the whole task's. */
static void phases_have_intervals_of_their_own(void **state)
{
    static const struct {
        phase  f;
        double low, high;
    } cases[] = { { PHASE_STEP, 0.875, 1.125 },
                  { PHASE_INFERENCE, 0.5, 2 },
                  { PHASE_FORWARD, 0.5, 2 } };
    const char      *at;
    char             text[900], again[900], *written;
    lm_error         err = { LM_OK, "" };
    layerwise_model *m   = NULL;
    made             asked;

    (void)state;
    at = strstr(by_hand, "interval\n");
    snprintf(text, sizeof text,
             "%.*sinterval 0.75 1.5 70 1.25\nphases 2\nstep 0.875 1.125 40 1.5\n"
             "inference 0.5 2 30 1.5\n%s",
             (int)(at - by_hand), by_hand, strstr(by_hand, "features"));
    strcpy(again, text);
    if (layerwise_read("f", text, &layerwise_justus, &m, &err))
        fail_msg("%s", err.text);
    make("linear", "features=2", "3", 8, &asked);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const layerwise_case c = in_phase(&asked, cases[i].f, "", NULL);
        layerwise_answer     told;

        assert_int_equal(layerwise_predict(m, &c, LAYERWISE_SECONDS, &told, &err), LM_OK);
        assert_close(told.low, cases[i].low * told.value, 1e-12);
        assert_close(told.high, cases[i].high * told.value, 1e-12);
    }
    assert_true(layerwise_interval(&m->task[0], PHASE_UPDATE) == &m->task[0].interval);
    made_free(&asked);
    written = text_of(m);
    assert_string_equal(strstr(written, "interval"), strstr(again, "interval"));
    free(written);
    layerwise_free(m);
}

/* Forward passes that lie all over the place beside steps that do not. */
static void phases_are_judged_apart(void **state)
{
    layerwise_data   d    = { .kind = &layerwise_justus };
    lm_error         err  = { LM_OK, "" };
    uint64_t         seed = 7;
    layerwise_model *m;
    const interval  *forward, *step;

    (void)state;
    for (size_t i = 0; i < 1200; i++) {
        const bool     steps = i % 2;
        const uint64_t a     = 10 + random_below(&seed, 400);
        const double   apart = steps ? 1 : 0.6 + 0.008 * (double)random_below(&seed, 100);
        char           geometry[40];
        made           x;
        layerwise_case c;

        snprintf(geometry, sizeof geometry, "features=%d", (int)a);
        make("linear", geometry, "100", 8, &x);
        c = in_phase(&x, steps ? PHASE_STEP : PHASE_INFERENCE, steps ? "sgd" : "", NULL);
        if (layerwise_data_add(&d, &c, LAYERWISE_SECONDS, apart * (1e-4 + 2e-7 * (double)a), i / 2,
                               i, &err))
            fail_msg("%s", err.text);
        made_free(&x);
    }
    m       = learn(&d, "layers=2,epochs=60");
    forward = &m->task[0].of_phase[PHASE_INFERENCE];
    step    = &m->task[0].of_phase[PHASE_STEP];
    assert_int_equal(step->groups, 60);
    assert_true(forward->high / forward->low > 1.6 && forward->high / forward->low < 2.6);
    assert_true(step->high / step->low < 1.3);
    assert_true(m->task[0].interval.high / m->task[0].interval.low < forward->high / forward->low);
    assert_false(interval_known(&m->task[0].of_phase[PHASE_FORWARD]));
    layerwise_free(m);
    layerwise_data_free(&d);
}

static void a_feature_that_nobody_knows_is_of_another_version(void **state)
{
    char             text[600];
    lm_error         err = { LM_OK, "" };
    layerwise_model *m   = NULL;
    made             asked;
    layerwise_case   c;
    layerwise_answer told;

    (void)state;
    snprintf(text, sizeof text, "%s", by_hand);
    memcpy(strstr(text, "batch"), "betch", 5);
    assert_int_equal(layerwise_read("f", text, &layerwise_justus, &m, &err), LM_OK);
    make("linear", "features=2", "3", 8, &asked);
    c = in_phase(&asked, PHASE_FORWARD, "", NULL);
    assert_int_equal(layerwise_predict(m, &c, LAYERWISE_SECONDS, &told, &err), LM_E_NOTFOUND);
    assert_error(
        err, LM_E_NOTFOUND,
        "'dense' has no feature 'betch' that comes next: learned by another version? fit the "
        "observations again");
    made_free(&asked);
    layerwise_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(cut_short_anywhere_it_is_refused),
        cmocka_unit_test(intervals_widen_beyond_what_was_learned_from),
        cmocka_unit_test(phases_have_intervals_of_their_own),
        cmocka_unit_test(phases_are_judged_apart),
        cmocka_unit_test(a_feature_that_nobody_knows_is_of_another_version),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
