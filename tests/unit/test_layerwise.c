/* Learned models of single layers: Justus' features, what is learned, text, networks as sums. */
#include "nets.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "baselines/justus.h"
#include "baselines/layerwise_network.h"
#include "network/single.h"

#define LAYERS 8
#define ROWS   400

/* Layers in a row, bound. */
typedef struct made {
    network           *net;
    bound_network     *bound;
    const bound_layer *layer[LAYERS];
    size_t             n;
} made;

static void make(const char *type, const char *geometry, const char *input, int64_t batch,
                 made *out)
{
    lm_error err = { LM_OK, "" };

    *out = (made){ .n = 0 };
    if (single_bind(type, geometry, input, batch, LM_F32, nets_registry, &out->net, &out->bound,
                    &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < out->bound->n_layers; i++)
        if (strcmp(out->bound->layer[i].decl->type, "input") != 0)
            out->layer[out->n++] = &out->bound->layer[i];
}

static void made_free(made *m)
{
    bound_network_free(m->bound);
    network_free(m->net);
}

static layerwise_case in_phase(const made *m, phase f, const char *optimizer, const device *on)
{
    return (layerwise_case){ .layer     = m->layer,
                             .n_layers  = m->n,
                             .phase     = f,
                             .batch     = m->bound->options.batch,
                             .dtype     = LM_F32,
                             .optimizer = optimizer,
                             .settings  = "",
                             .on        = on,
                             .clock_mhz = NAN };
}

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
        { "max_pool2d", "kernel=2", "3x8x8", NULL, PHASE_STEP },
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

static layerwise_model *learn(const layerwise_data *d, const char *settings)
{
    double           setting[LAYERWISE_SETTINGS];
    layerwise_model *m   = NULL;
    lm_error         err = { LM_OK, "" };

    if (layerwise_settings(d->kind, settings, setting, &err) ||
        layerwise_learn(d, setting, 1, NULL, NULL, &m, &err))
        fail_msg("%s", err.text);
    return m;
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

static char *text_of(const layerwise_model *m)
{
    char  *text = NULL;
    size_t n;
    FILE  *out = open_memstream(&text, &n);

    layerwise_write(out, m);
    fclose(out);
    return text;
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
            "it was learned of several devices and needs bandwidth of this one: name it by "
            "its datasheet (--device)");
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

static void too_little_teaches_nothing(void **state)
{
    double           setting[LAYERWISE_SETTINGS];
    lm_error         err = { LM_OK, "" };
    layerwise_model *m   = NULL;
    layerwise_data   d = layers_of(199, NULL, 1), none = { .kind = &layerwise_justus };

    (void)state;
    assert_int_equal(layerwise_settings(d.kind, "", setting, &err), LM_OK);
    assert_int_equal(layerwise_learn(&d, setting, 1, NULL, NULL, &m, &err), LM_E_ARG);
    assert_error(
        err, LM_E_ARG,
        "justus: 199 times of 'dense' are the most there are of a kind; it learns of 200 or "
        "more: measure more");
    assert_int_equal(layerwise_learn(&none, setting, 1, NULL, NULL, &m, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "justus learns of single layers, and there are none it knows");
    layerwise_data_free(&d);
}

/* ---- text ---------------------------------------------------------------------------------------
 */

/* Of one task, by hand: e^0.7 - 1 milliseconds. */
static const char by_hand[] = "layermeter model justus 1\n"
                              "tasks 1\n"
                              "task dense seconds\n"
                              "rows 90 10\n"
                              "error 0.1\n"
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
        { "justus 1", "justus 3",
          "f:1: a model of version '3', this program reads 1 to 2: fit the observations again",
          LM_E_UNSUPPORTED },
        { "justus 1", "justus 2", "f:6: expected 'interval ...', found 'features 2'", LM_E_SYNTAX },
        { "justus 1\ntasks 1\ntask dense seconds\nrows 90 10\nerror 0.1\n",
          "justus 2\ntasks 1\ntask dense seconds\nrows 90 10\nerror 0.1\ninterval 1.1 .. 2, groups 3\n",
          "f:6: interval: expected bounds around 1 and a factor per octave of 1 or more",
          LM_E_ARG },
        { "justus 1", "prenet 1", "f:1: a model 'prenet', not 'justus'", LM_E_NOTFOUND },
        { "layermeter model", "layermeter residual",
          "f:1: expected 'layermeter model ...', found 'layermeter residual justus 1'",
          LM_E_SYNTAX },
        { "unit 0.5 0 0.25", "unit 0.5 nan 0.25", "f:14: number 2 is nan", LM_E_ARG },
        { "unit 0.5 0 0.25", "unit 0.5 0", "f:14: expected 3 numbers, found 2", LM_E_SYNTAX },
        { "unit 0.5 0 0.25\n", "", "f:14: the file ends here; expected 'unit ...'", LM_E_SYNTAX },
        { "unit_of_log 0.001", "unit_of_log 0", "f:9: a unit of 0", LM_E_ARG },
        { "seconds", "watts", "f:3: justus tells no 'watts'", LM_E_NOTFOUND },
        { "1 64", "64 1", "f:7: a range from 64 to 1", LM_E_ARG },
        { "error 0.1", "error -1", "f:5: error: -1: below 0", LM_E_ARG },
        { "mlp 2\nmean 0 0\ndeviation 1 1\ntarget 0 1\nunit 0.5 0 0.25\n",
          "mlp 1\nmean 0\ndeviation 1\ntarget 0 1\nunit 0.5 0\n",
          "f:14: learned of 1 features, of which 2 are named", LM_E_ARG },
        { "unit 0.5 0 0.25\n", "unit 0.5 0 0.25\ntask\n", "f:14: more behind the last task",
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
    for (size_t n = 0; n + 6 < sizeof by_hand; n++) { /* the last number stays one for a while */
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
    char             text[700];
    lm_error         err = { LM_OK, "" };
    layerwise_model *m   = NULL;

    (void)state;
    snprintf(text, sizeof text, "%.*s2\n%.*sinterval 0.8 .. 1.5, groups 7, per_octave 1.2\n%s",
             (int)(strstr(by_hand, "1\n") - by_hand), by_hand,
             (int)(strstr(by_hand, "features") - strstr(by_hand, "tasks")),
             strstr(by_hand, "tasks"), strstr(by_hand, "features"));
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

/* ---- networks -----------------------------------------------------------------------------------
 */

static lm_status see(void *context, layerwise_case *c)
{
    char *text = context;

    for (size_t i = 0; i < c->n_layers; i++) {
        strcat(text, i ? "+" : " ");
        strcat(text, c->layer[i]->decl->name);
    }
    return LM_OK;
}

/* A function that two read is by itself; so is padding that does. */
static void functions_belong_to_the_layer_before_them(void **state)
{
    bound_text            net       = nets_bind("[network]\nname = n\n"
                                                                 "[x]\ntype = input\nshape = 3x8x8\n"
                                                                 "[p]\ntype = pad\nbefore = 0,0\nafter = 1,1\n"
                                                                 "[c]\ntype = conv2d\nfilters = 4\nkernel = 3\n"
                                                                 "[r]\ntype = relu\n"
                                                                 "[d]\ntype = conv2d\nfilters = 4\nkernel = 1\n"
                                                                 "[s]\ntype = add\ninputs = d, r\n"
                                                                 "[t]\ntype = tanh\n"
                                                                 "[flat]\ntype = flatten\n"
                                                                 "[f]\ntype = linear\nfeatures = 2\n"
                                                                 "[loss]\ntype = cross_entropy\n",
                                                2);
    const layerwise_setup how       = { "sgd", "", NULL, NAN };
    char                  text[200] = "";
    lm_error              err       = { LM_OK, "" };

    (void)state;
    if (!net.bound)
        fail_msg("%s", net.err.text);
    assert_int_equal(layerwise_each(net.bound, true, &how, see, text, &err), LM_OK);
    assert_string_equal(text, " p+c+r d s t f loss");
    *text = '\0';
    assert_int_equal(layerwise_each(net.bound, false, &how, see, text, &err), LM_OK);
    assert_string_equal(text, " p c r d s t f loss");
    nets_free(&net);
}

/* The same, of relu or no function. */
static const char of_relu[] = "layermeter model justus 1\n"
                              "tasks 1\n"
                              "task dense seconds\n"
                              "rows 90 10\n"
                              "error 0.1\n"
                              "features 4\n"
                              "count batch 1 64\n"
                              "flag activation.relu 0 1\n"
                              "flag activation.other 0 0\n"
                              "flag optimizer.sgd 0 1\n"
                              "unit_of_log 0.001\n"
                              "mlp 4\n"
                              "mean 0 0 0 0\n"
                              "deviation 1 1 1 1\n"
                              "target 0 1\n"
                              "unit 0.5 0 0 0 0.25\n";

static lm_status add_step(void *context, const layerwise_case *c, const double seconds[N_PHASES],
                          lm_error *err)
{
    double *sum = context;

    (void)c;
    (void)err;
    if (!isnan(seconds[PHASE_STEP]))
        *sum += seconds[PHASE_STEP];
    return LM_OK;
}

static void networks_are_sums_of_their_layers(void **state)
{
    bound_text            net = nets_bind("[network]\nname = n\n"
                                                     "[x]\ntype = input\nshape = 9\n"
                                                     "[a]\ntype = linear\nfeatures = 5\n"
                                                     "[r]\ntype = relu\n"
                                                     "[b]\ntype = linear\nfeatures = 2\n"
                                                     "[e]\ntype = elu\n"
                                                     "[loss]\ntype = cross_entropy\n",
                                          8);
    const layerwise_setup how = { "sgd", "", NULL, NAN };
    layerwise_model      *m   = NULL;
    lm_error              err = { LM_OK, "" };
    layerwise_sum         sum;
    char                  text[600];

    (void)state;
    if (!net.bound)
        fail_msg("%s", net.err.text);
    strcpy(text, of_relu);
    assert_int_equal(layerwise_read("f", text, &layerwise_justus, &m, &err), LM_OK);
    assert_int_equal(layerwise_sum_of(m, net.bound, &how, &sum, &err), LM_OK);
    assert_close(1e3 * sum.seconds[PHASE_FORWARD], 2 * expm1(0.5), 1e-6);
    assert_close(1e3 * sum.seconds[PHASE_INFERENCE], 2 * expm1(0.5), 1e-6);
    assert_close(1e3 * sum.seconds[PHASE_STEP], 2 * expm1(0.75), 1e-6);
    assert_true(isnan(sum.seconds[PHASE_BACKWARD]) && isnan(sum.seconds[PHASE_UPDATE]));
    assert_int_equal(sum.told[PHASE_STEP], 2);
    assert_int_equal(sum.untold[PHASE_STEP], 2); /* elu, the loss */
    assert_int_equal(sum.told[PHASE_BACKWARD], 0);
    assert_true(sum.beyond == 1);
    assert_true(isnan(sum.low[PHASE_STEP])); /* a file without intervals */
    assert_int_equal(sum.other[PHASE_FORWARD], 0);
    assert_int_equal(sum.other[PHASE_BACKWARD],
                     2); /* steps are told, their backward passes are not */
    assert_int_equal(sum.other[PHASE_UPDATE],
                     2 + 1); /* the loss has none, and its step is unknown */
    {
        double shown = 0;

        assert_int_equal(layerwise_sum_each(m, net.bound, &how, add_step, &shown, &sum, &err),
                         LM_OK);
        assert_true(shown == sum.seconds[PHASE_STEP]);
    }
    layerwise_free(m);
    nets_free(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_the_keys_of_a_layer),
        cmocka_unit_test(convolutions_and_products_are_tasks),
        cmocka_unit_test(a_word_that_nobody_knows_is_another),
        cmocka_unit_test(what_was_learned_is_told_and_kept),
        cmocka_unit_test(lots_are_told_as_single_cases_are),
        cmocka_unit_test(several_devices_need_their_figures),
        cmocka_unit_test(too_little_teaches_nothing),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(cut_short_anywhere_it_is_refused),
        cmocka_unit_test(intervals_widen_beyond_what_was_learned_from),
        cmocka_unit_test(a_feature_that_nobody_knows_is_of_another_version),
        cmocka_unit_test(functions_belong_to_the_layer_before_them),
        cmocka_unit_test(networks_are_sums_of_their_layers),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
