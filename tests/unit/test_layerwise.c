/* Learned models of single layers: Justus' features, and what is learned. */
#include "layerwise_cases.h"

#include <stdlib.h>

#include "base/random.h"
#include "layerwise/layerwise.h"

#define ROWS 400

/* ---- Justus' features ---------------------------------------------------------------------------
 */

static void features_are_the_keys_of_a_layer(void **state)
{
    static const struct {
        const char *name;
        double      value;
    } expected[] = {
        { "batch", 4 },
        { "matsize", 9 }, /* without the padding in front */
        { "kernelsize", 4 },
        { "channels_in", 3 },
        { "channels_out", 16 },
        { "strides", 2 },
        { "padding.same", 1 },
        { "use_bias", 0 },
        { "activation.relu", 0 },
        { "activation.tanh", 1 },
        { "activation.sigmoid", 0 },
        { "activation.other", 0 },
        { "optimizer.sgd", 0 },
        { "optimizer.adadelta", 0 },
        { "optimizer.adagrad", 0 },
        { "optimizer.momentum", 0 },
        { "optimizer.adam", 1 },
        { "optimizer.rmsprop", 0 },
        { "optimizer.other", 0 },
        { "bandwidth", 2e11 },
        { "cores", 10 },
        { "clock", NAN },
        { "memory", NAN },
        { "f32", NAN },
    };
    device             on = { .name = "d" };
    layerwise_features f  = { .n = 0 };
    layerwise_case     c;
    char               task[LAYERWISE_NAME];
    made               m;

    (void)state;
    for (device_figure k = 0; k < N_DEVICE_FIGURES; k++)
        on.figure[k] = NAN;
    on.figure[DEVICE_BANDWIDTH] = 2e11;
    on.figure[DEVICE_CORES]     = 10;
    make("pad; conv2d; tanh; mse_loss",
         "before=1,1 after=2,2; filters=16 kernel=4 stride=2 bias=no; ;", "3x9x9", 4, &m);
    c = in_phase(&m, PHASE_STEP, "adam", &on);
    assert_true(layerwise_justus.task(&c, task));
    assert_string_equal(task, "conv");
    layerwise_justus.features(&c, &f);
    assert_int_equal(f.n, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < f.n; i++) {
        assert_string_equal(f.of[i].name, expected[i].name);
        if (!(f.of[i].value == expected[i].value ||
              (isnan(f.of[i].value) && isnan(expected[i].value))))
            fail_msg("%s is %g, not %g", f.of[i].name, f.of[i].value, expected[i].value);
    }
    made_free(&m);
}

/* A pool of 3 x 3 at every second pixel, padded; a GRU both ways over 7 steps. */
static void pools_and_recurrent_layers_have_their_keys(void **state)
{
    static const struct {
        const char *type, *geometry, *input, *task;
        struct {
            const char *name;
            double      value;
        } of[10];
    } cases[] = {
        { "max_pool2d",
          "kernel=3 stride=2 padding=1",
          "6x9x9",
          "pool",
          { { "batch", 4 },
            { "matsize", 9 },
            { "kernelsize", 3 },
            { "channels_in", 6 },
            { "strides", 2 },
            { "padding.same", 1 },
            { "pool.max", 1 },
            { "activation.relu", 0 } } },
        { "avg_pool2d",
          "kernel=2,8",
          "6x9x16",
          "pool",
          { { "batch", 4 },
            { "matsize", 12 },
            { "kernelsize", 4 },
            { "channels_in", 6 },
            { "strides", 4 },
            { "padding.same", 0 },
            { "pool.max", 0 },
            { "activation.relu", 0 } } },
        { "gru",
          "hidden=5 layers=2 bidirectional=yes",
          "7x3",
          "rnn",
          { { "batch", 4 },
            { "sequence", 7 },
            { "dim_input", 3 },
            { "dim_hidden", 5 },
            { "layers", 2 },
            { "bidirectional", 1 },
            { "recurrence.rnn", 0 },
            { "recurrence.gru", 1 },
            { "recurrence.lstm", 0 },
            { "recurrence.other", 0 } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layerwise_features f                    = { .n = 0 };
        char               task[LAYERWISE_NAME] = "";
        layerwise_case     c;
        made               m;

        make(cases[i].type, cases[i].geometry, cases[i].input, 4, &m);
        c = in_phase(&m, PHASE_STEP, "sgd", NULL);
        assert_true(layerwise_justus.task(&c, task));
        assert_string_equal(task, cases[i].task);
        layerwise_justus.features(&c, &f);
        for (size_t k = 0; k < 10 && cases[i].of[k].name; k++) {
            assert_string_equal(f.of[k].name, cases[i].of[k].name);
            assert_true(f.of[k].value == cases[i].of[k].value);
        }
        made_free(&m);
    }
}

/* "published" are the settings of the published model; what is behind it changes them. */
static void published_settings_have_a_name(void **state)
{
    double usual[LAYERWISE_SETTINGS], set[LAYERWISE_SETTINGS];

    (void)state;
    assert_int_equal(layerwise_settings(&layerwise_justus, NULL, usual, NULL), LM_OK);
    assert_int_equal(layerwise_settings(&layerwise_justus, "published, epochs=7", set, NULL),
                     LM_OK);
    for (size_t i = 0; layerwise_justus.setting[i].name; i++) {
        const char  *name     = layerwise_justus.setting[i].name;
        const double expected = !strcmp(name, "epochs")    ? 7
                                : !strcmp(name, "rate")    ? 0.1
                                : !strcmp(name, "epsilon") ? 0.1
                                                           : usual[i];

        assert_true(set[i] == expected);
    }
    assert_int_equal(layerwise_settings(&layerwise_prenet, "published", set, NULL), LM_OK);
    assert_true(set[1] == 0); /* seconds, not logarithms */
}

static void convolutions_and_products_are_tasks(void **state)
{
    static const struct {
        const char *type, *geometry, *input, *task;
        phase       f;
    } cases[] = {
        { "linear", "features=7", "9", "dense", PHASE_INFERENCE },
        { "linear; relu", "features=7;", "9", "dense", PHASE_FORWARD },
        { "linear; relu; mse_loss", "features=7;;", "9", "dense", PHASE_STEP },
        { "linear", "features=7", "9", "dense.backward", PHASE_BACKWARD },
        { "conv2d", "filters=4 kernel=3", "3x8x8", "conv.grad_weight", PHASE_GRAD_WEIGHT },
        { "conv2d", "filters=4 kernel=3", "3x8x8", "conv.update", PHASE_UPDATE },
        { "conv2d", "filters=4 kernel=3 groups=4", "4x8x8", NULL, PHASE_STEP },
        { "conv2d", "filters=4 kernel=3 dilation=2", "4x8x8", NULL, PHASE_STEP },
        { "max_pool2d", "kernel=2", "3x8x8", "pool", PHASE_STEP },
        { "linear; linear", "features=7; features=7", "9", NULL, PHASE_STEP },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char           name[LAYERWISE_NAME] = "";
        made           m;
        layerwise_case c;
        bool           known;

        make(cases[i].type, cases[i].geometry, cases[i].input, 2, &m);
        c     = in_phase(&m, cases[i].f, "", NULL);
        known = layerwise_justus.task(&c, name);
        if (known != !!cases[i].task || (known && strcmp(name, cases[i].task) != 0))
            fail_msg("%s %s: '%s'", cases[i].type, phase_name(cases[i].f), name);
        made_free(&m);
    }
}

static void a_word_that_nobody_knows_is_another(void **state)
{
    static const char *const words[] = { "a", "b", NULL };
    layerwise_features       f       = { .n = 0 };

    (void)state;
    layerwise_add_words(&f, "w", words, "b");
    layerwise_add_words(&f, "w", words, "c");
    layerwise_add_words(&f, "w", words, "");
    assert_int_equal(f.n, 9);
    for (size_t i = 0; i < f.n; i++)
        assert_true(f.of[i].value == (i == 1 || i == 5) && f.of[i].sort == LAYERWISE_FLAG);
    assert_string_equal(f.of[2].name, "w.other");
}

/* ---- learning -----------------------------------------------------------------------------------
 */

/* Dense layers with sgd, 0.1 ms and 2 ns a weight; on device i (of two) i times as long. */
static layerwise_data layers_of(size_t n, const device *const *on, size_t n_devices)
{
    layerwise_data d    = { .kind = &layerwise_justus };
    lm_error       err  = { LM_OK, "" };
    uint64_t       seed = 3;

    for (size_t i = 0; i < n; i++) {
        const size_t   at = i % n_devices;
        const uint64_t a = 10 + random_below(&seed, 400), b = 10 + random_below(&seed, 400);
        char           geometry[40], input[20];
        made           m;
        layerwise_case c;

        snprintf(geometry, sizeof geometry, "features=%d", (int)b);
        snprintf(input, sizeof input, "%d", (int)a);
        make("linear", geometry, input, 8, &m);
        c = in_phase(&m, PHASE_STEP, "sgd", on ? on[at] : NULL);
        if (layerwise_data_add(&d, &c, LAYERWISE_SECONDS,
                               (double)(1 + at) * (1e-4 + 2e-9 * (double)(a * b)), i / 4, i, &err))
            fail_msg("%s", err.text);
        made_free(&m);
    }
    return d;
}

static double ask(const layerwise_model *m, const layerwise_case *c, double *beyond)
{
    layerwise_answer told;
    lm_error         err = { LM_OK, "" };

    if (layerwise_predict(m, c, LAYERWISE_SECONDS, &told, &err))
        fail_msg("%s", err.text);
    if (beyond)
        *beyond = told.beyond;
    return told.value;
}

static void what_was_learned_is_told_and_kept(void **state)
{
    layerwise_data   d = layers_of(ROWS, NULL, 1);
    layerwise_model *m = learn(&d, "layers=2,epochs=60"), *same = learn(&d, "layers=2,epochs=60");
    layerwise_model *back = NULL;
    char            *text = text_of(m), *again = text_of(same);
    lm_error         err = { LM_OK, "" };
    double           beyond;
    made             asked;
    layerwise_case   c;

    (void)state;
    assert_int_equal(m->n_tasks, 1);
    assert_string_equal(m->task[0].name, "dense");
    assert_int_equal(m->task[0].judged.held, ROWS / 10);
    assert_int_equal(m->task[0].judged.seen, ROWS - ROWS / 10);
    assert_true(m->task[0].judged.mape < 0.1);
    assert_int_equal(m->task[0].interval.groups, ROWS / 10 / 4); /* whole groups are held */
    assert_true(m->task[0].interval.low > 0.7 && m->task[0].interval.low <= 1);
    assert_true(m->task[0].interval.high < 1.4 && m->task[0].interval.high >= 1);
    assert_string_equal(text, again); /* the same seed */

    make("linear", "features=200", "300", 8, &asked);
    c = in_phase(&asked, PHASE_STEP, "sgd", NULL);
    assert_close(1e4 * ask(m, &c, &beyond), 2.2, 0.1);
    assert_true(beyond == 1);
    free(again);
    again = strdup(text);
    assert_int_equal(layerwise_read("m", again, &layerwise_justus, &back, &err), LM_OK);
    assert_true(ask(back, &c, NULL) == ask(m, &c, NULL));
    free(again);
    again = text_of(back);
    assert_string_equal(text, again);

    /* no row was of another optimizer, of none, or of another phase */
    c.optimizer = "adam";
    assert_true(isnan(ask(m, &c, NULL)));
    c.optimizer = "sgd";
    c.phase     = PHASE_BACKWARD;
    assert_true(isnan(ask(m, &c, NULL)));
    made_free(&asked);
    make("linear", "features=200", "300", 24, &asked);
    c = in_phase(&asked, PHASE_STEP, "sgd", NULL);
    ask(m, &c, &beyond);
    assert_close(beyond, 3, 1e-12); /* batches of 8 alone */
    made_free(&asked);
    free(text);
    free(again);
    layerwise_free(m);
    layerwise_free(same);
    layerwise_free(back);
    layerwise_data_free(&d);
}

static bool even(const void *context, size_t from)
{
    (void)context;
    return from % 2 == 0;
}

static void lots_are_told_as_single_cases_are(void **state)
{
    layerwise_data   d = layers_of(ROWS, NULL, 1);
    layerwise_model *m = learn(&d, "layers=1,epochs=5");
    layerwise_answer told[ROWS];
    lm_error         err = { LM_OK, "" };

    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        told[i].value = -1;
    assert_int_equal(layerwise_predict_lot(m, &d.lot[0], even, NULL, told, &err), LM_OK);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(i % 2 ? told[i].value == -1 : told[i].value > 0);
    layerwise_free(m);
    layerwise_data_free(&d);
}

static void several_devices_need_their_figures(void **state)
{
    device              one = { .name = "one" }, two = { .name = "two" };
    const device *const on[]    = { &one, &two };
    const device *const blank[] = { &one, NULL };
    double              setting[LAYERWISE_SETTINGS];
    lm_error            err = { LM_OK, "" };
    layerwise_data      d;
    layerwise_model    *m = NULL;
    layerwise_case      c;
    made                asked;

    (void)state;
    for (device_figure k = 0; k < N_DEVICE_FIGURES; k++)
        one.figure[k] = two.figure[k] = 5;
    two.figure[DEVICE_BANDWIDTH] = 10;
    d                            = layers_of(ROWS, on, 2);
    m                            = learn(&d, "layers=2,epochs=120");
    make("linear", "features=200", "300", 8, &asked);
    c = in_phase(&asked, PHASE_STEP, "sgd", &one);
    assert_close(1e4 * ask(m, &c, NULL), 2.2, 0.15);
    c.on = &two;
    assert_close(1e4 * ask(m, &c, NULL), 4.4, 0.15);
    c.on = NULL;
    {
        layerwise_answer told;

        assert_int_equal(layerwise_predict(m, &c, LAYERWISE_SECONDS, &told, &err), LM_E_NOTFOUND);
        assert_error(
            err, LM_E_NOTFOUND,
            "it was learned from several devices and needs bandwidth of this one: name the "
            "device (--device)");
    }
    made_free(&asked);
    layerwise_free(m);
    layerwise_data_free(&d);

    m = NULL;
    d = layers_of(ROWS, blank, 2);
    assert_int_equal(layerwise_settings(d.kind, NULL, setting, &err), LM_OK);
    assert_int_equal(layerwise_learn(&d, setting, 1, NULL, NULL, &m, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "justus: dense: bandwidth is not known of one of the devices: name each by its "
                 "datasheet ('layermeter devices'), or learn of one device");
    layerwise_data_free(&d);
}

/* A learner that says 1 s, and 1 s more for each flag of a device in a row: the last three features. */
static lm_status learn_nothing(const char *task, const learner_rows *rows, layerwise_target target,
                               const double *setting, uint64_t seed, void **out,
                               layerwise_judgement *judged, double *left_out, lm_error *err)
{
    size_t *width = malloc(sizeof *width);

    (void)task;
    (void)target;
    (void)setting;
    (void)seed;
    (void)err;
    assert_non_null(width);
    *width  = rows->n_features;
    *out    = width;
    *judged = (layerwise_judgement){ rows->n, 0, NAN };
    for (size_t i = 0; i < rows->n; i++)
        left_out[i] = NAN;
    return LM_OK;
}

static lm_status count_flags(const void *learned, const double *x, size_t n, double *y,
                             lm_error *err)
{
    const size_t width = *(const size_t *)learned;

    (void)err;
    for (size_t i = 0; i < n; i++, x += width)
        y[i] = 1 + x[width - 3] + x[width - 2] + x[width - 1];
    return LM_OK;
}

/* Who is left out has a name that the others do not: as of any device that nobody learned from, all
 * flags are 0. */
static void a_device_that_is_left_out_has_no_name(void **state)
{
    static const char *const       names[]  = { "gpu.a_1", "gpu.b", "gpu.c" };
    static const layerwise_learner counting = { .learn   = learn_nothing,
                                                .predict = count_flags,
                                                .free    = free };
    device              one = { .name = "a 1" }, two = { .name = "b" }, three = { .name = "c" };
    const device *const on[] = { &one, &two, &three };
    layerwise_kind      kind;
    layerwise_data      d;
    layerwise_model    *m;
    layerwise_task     *t;

    (void)state;
    for (device_figure k = 0; k < N_DEVICE_FIGURES; k++)
        one.figure[k] = two.figure[k] = three.figure[k] = 5;
    d            = layers_of(ROWS, on, 3);
    kind         = *d.kind;
    kind.learner = &counting;
    kind.word[0] = "gpu";
    kind.word[1] = NULL;
    d.kind       = &kind;
    for (size_t i = 0; i < d.lot->n; i++)
        d.lot->y[i] = 1;
    m = learn(&d, "gpu=1");
    t = &m->task[0];
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(t->feature[t->n_features - 3 + i].name, names[i]);
    assert_true(t->unseen.low == 1 && t->unseen.high == 1);
    layerwise_free(m);
    layerwise_data_free(&d);
}

static void too_little_teaches_nothing(void **state)
{
    double           setting[LAYERWISE_SETTINGS];
    lm_error         err = { LM_OK, "" };
    layerwise_model *m   = NULL;
    layerwise_data   d = layers_of(199, NULL, 1), none = { .kind = &layerwise_justus };

    (void)state;
    assert_int_equal(layerwise_settings(d.kind, "", setting, &err), LM_OK);
    assert_int_equal(layerwise_learn(&d, setting, 1, NULL, NULL, &m, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "justus: the most frequent type is 'dense', with 199 times; it needs 200 or "
                 "more: measure more");
    assert_int_equal(layerwise_learn(&none, setting, 1, NULL, NULL, &m, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "justus learns from single layers, and the file has none that it knows");
    layerwise_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_the_keys_of_a_layer),
        cmocka_unit_test(pools_and_recurrent_layers_have_their_keys),
        cmocka_unit_test(published_settings_have_a_name),
        cmocka_unit_test(convolutions_and_products_are_tasks),
        cmocka_unit_test(a_word_that_nobody_knows_is_another),
        cmocka_unit_test(what_was_learned_is_told_and_kept),
        cmocka_unit_test(lots_are_told_as_single_cases_are),
        cmocka_unit_test(several_devices_need_their_figures),
        cmocka_unit_test(a_device_that_is_left_out_has_no_name),
        cmocka_unit_test(too_little_teaches_nothing),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
