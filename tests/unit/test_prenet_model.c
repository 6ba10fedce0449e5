/* PreNeT's model of single layers: tasks, features, what it learns. */
#include "layerwise_cases.h"

#include "base/random.h"
#include "layerwise/layerwise.h"
#include "learn/boost.h"

static double value_of(const layerwise_features *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->of[i].name, name))
            return f->of[i].value;
    fail_msg("no feature %s", name);
    return NAN;
}

static void each_type_is_a_task(void **state)
{
    static const struct {
        const char *type, *geometry, *input, *task;
        phase       f;
    } cases[] = {
        { "conv2d", "filters=4 kernel=3", "3x8x8", "conv", PHASE_INFERENCE },
        { "conv2d; relu; mse_loss", "filters=4 kernel=3;;", "3x8x8", "conv", PHASE_STEP },
        { "pad; conv2d; tanh", "before=0,0 after=1,1; filters=4 kernel=3;", "3x8x8", "conv",
          PHASE_FORWARD },
        { "conv1d", "filters=4 kernel=3", "3x8", "conv.backward", PHASE_BACKWARD },
        { "linear", "features=7", "9", "dense.update", PHASE_UPDATE },
        { "rnn", "hidden=5", "4x3", "rnn", PHASE_STEP },
        { "gru", "hidden=5", "4x3", "rnn", PHASE_STEP },
        { "lstm", "hidden=5", "4x3", "rnn", PHASE_FORWARD },
        { "multi_head_attention", "heads=2", "4x6", "attention", PHASE_STEP },
        { "embedding", "vocabulary=10 width=4", "6:i64", "embedding", PHASE_STEP },
        { "layer_norm", "", "4x6", "layernorm", PHASE_STEP },
        { "relu", "", "9", NULL, PHASE_STEP },
        { "relu; linear", ";features=7", "9", NULL, PHASE_STEP }, /* what is before is not known */
        { "linear; linear", "features=7;features=7", "9", NULL, PHASE_STEP },
        { "linear; relu; tanh", "features=7;;", "9", NULL, PHASE_STEP },
        { "pad; linear", "before=0 after=1; features=7", "3x9", NULL, PHASE_STEP },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char           name[LAYERWISE_NAME] = "";
        made           m;
        layerwise_case c;
        bool           known;

        make(cases[i].type, cases[i].geometry, cases[i].input, 2, &m);
        c     = in_phase(&m, cases[i].f, "", NULL);
        known = layerwise_prenet.task(&c, name);
        if (known != !!cases[i].task || (known && strcmp(name, cases[i].task) != 0))
            fail_msg("%s: %s", cases[i].type, name);
        made_free(&m);
    }
}

/* The first layer of VGG16 behind a relu, with Adam: 9 x 3 x 64 weights and 64 biases, 224 x 224 x
 * 64 outputs. A device of 2 TFLOP/s and 10 cores, of which nothing else is known. */
static void a_convolution_has_its_published_features(void **state)
{
    device             on = { .name = "d" };
    layerwise_features f  = { .n = 0 };
    const double       n = 224.0 * 224, flops = 8 * n * 9 * 3 * 64;
    layerwise_case     c;
    made               m;

    (void)state;
    for (int k = 0; k < N_DEVICE_FIGURES; k++)
        on.figure[k] = NAN;
    on.figure[DEVICE_F32]   = 2e12;
    on.figure[DEVICE_CORES] = 10;
    make("conv2d; relu", "filters=64 kernel=3 padding=1;", "3x224x224", 8, &m);
    c = in_phase(&m, PHASE_STEP, "adam", &on);
    layerwise_prenet.features(&c, &f);
    assert_true(value_of(&f, "batchsize") == 8);
    assert_true(value_of(&f, "matsize") == 224);
    assert_true(value_of(&f, "padding.same") == 1);
    assert_true(value_of(&f, "padding.valid") == 0);
    assert_true(value_of(&f, "use_bias") == 1);
    assert_true(value_of(&f, "precision") == 32);
    assert_true(value_of(&f, "flops") == flops);
    assert_true(value_of(&f, "memory_weights") == 9 * 3 * 64 + 64);
    assert_true(value_of(&f, "memory_out") == 8 * n * 64);
    assert_true(value_of(&f, "memory_total") == 2 * (9 * 3 * 64 + 64 + 8 * n * 67));
    assert_true(value_of(&f, "activation.relu") == 1);
    assert_true(value_of(&f, "activation.tanh") == 0);
    assert_true(value_of(&f, "optimizer.adam") == 1);
    assert_true(value_of(&f, "optimizer.sgd") == 0);
    assert_true(value_of(&f, "cores") == 10);
    assert_true(isnan(value_of(&f, "bandwidth")));
    assert_close(value_of(&f, "flops/speed"), flops / 2000, 1e-12);
    made_free(&m);
}

/* Cells of three kinds are one task, and convolutions with and without padding: a flag each. */
static void cases_of_a_task_have_the_same_features(void **state)
{
    static const struct {
        const char *type, *geometry, *input, *flag;
    } cases[2][3] = {
        { { "rnn", "hidden=5", "4x3", "rnn_type.rnn" },
          { "gru", "hidden=5", "4x3", "rnn_type.gru" },
          { "lstm", "hidden=5 bidirectional=yes", "4x3", "rnn_type.lstm" } },
        { { "conv2d", "filters=2 kernel=3", "3x8x8", "padding.valid" },
          { "conv2d; relu", "filters=2 kernel=3 padding=1;", "3x8x8", "padding.same" },
          { "pad; conv2d", "before=0,0 after=1,1; filters=2 kernel=2", "3x8x8", "padding.same" } }
    };

    (void)state;
    for (size_t t = 0; t < 2; t++) {
        layerwise_features first = { .n = 0 };

        for (size_t i = 0; i < 3; i++) {
            layerwise_features f = { .n = 0 };
            made               m;
            layerwise_case     c;

            make(cases[t][i].type, cases[t][i].geometry, cases[t][i].input, 2, &m);
            c = in_phase(&m, PHASE_STEP, "sgd", NULL);
            layerwise_prenet.features(&c, &f);
            assert_true(value_of(&f, cases[t][i].flag) == 1);
            if (!i)
                first = f;
            assert_int_equal(f.n, first.n);
            for (size_t k = 0; k < f.n; k++)
                assert_string_equal(f.of[k].name, first.of[k].name);
            made_free(&m);
        }
    }
}

/* ---- learning -----------------------------------------------------------------------------------
 */

static device device_of(double tflops)
{
    device d = { .name = "d" };

    for (int k = 0; k < N_DEVICE_FIGURES; k++)
        d.figure[k] = NAN;
    d.figure[DEVICE_F32]       = tflops * 1e12;
    d.figure[DEVICE_BANDWIDTH] = 100e9;
    d.figure[DEVICE_MEMORY]    = 16e9;
    d.figure[DEVICE_CORES]     = 1000 * tflops;
    d.figure[DEVICE_CLOCK]     = 1e9;
    return d;
}

/* FLOPs at half of the peak. */
static double time_of(int64_t batch, int64_t in, int64_t out, double tflops)
{
    return 2 * (double)(batch * in * out) / (0.5e12 * tflops);
}

static layerwise_case layer_of(int64_t batch, int64_t in, int64_t out, const char *optimizer,
                               const device *on, made *m)
{
    char geometry[60], input[30];

    snprintf(geometry, sizeof geometry, "features=%lld bias=no", (long long)out);
    snprintf(input, sizeof input, "%lld", (long long)in);
    make("linear", geometry, input, batch, m);
    return in_phase(m, PHASE_STEP, optimizer, on);
}

/* 120 products, each on every device. */
static layerwise_data lesson(const device *on, size_t n)
{
    layerwise_data d    = { .kind = &layerwise_prenet };
    uint64_t       seed = 5;

    for (size_t i = 0; i < 120; i++) {
        const int64_t batch = 1 + (int64_t)random_below(&seed, 64);
        const int64_t in    = 100 + (int64_t)random_below(&seed, 900);
        const int64_t out   = 100 + (int64_t)random_below(&seed, 900);

        for (size_t k = 0; k < n; k++) {
            const double         tflops = on[k].figure[DEVICE_F32] / 1e12;
            made                 m;
            const layerwise_case c = layer_of(batch, in, out, "sgd", &on[k], &m);

            assert_int_equal(layerwise_data_add(&d, &c, LAYERWISE_SECONDS,
                                                time_of(batch, in, out, tflops), i, 0, NULL),
                             LM_OK);
            made_free(&m);
        }
    }
    return d;
}

static double told(const layerwise_model *m, int64_t batch, int64_t in, int64_t out,
                   const char *optimizer, const device *on, lm_error *err)
{
    made                 asked;
    const layerwise_case c = layer_of(batch, in, out, optimizer, on, &asked);
    layerwise_answer     answer;

    if (layerwise_predict(m, &c, LAYERWISE_SECONDS, &answer, err))
        answer.value = -1;
    made_free(&asked);
    return answer.value;
}

/* Logarithms of FLOPs are among the features: least squares are right, and best. */
static void the_best_learner_is_kept_and_told(void **state)
{
    const device         on   = device_of(2);
    const layerwise_data d    = lesson(&on, 1);
    layerwise_model     *m    = learn(&d, ""), *again;
    char                *text = text_of(m), *twice, word[40];

    (void)state;
    assert_int_equal(m->n_tasks, 1);
    assert_string_equal(m->task[0].name, "dense");
    assert_string_equal(layerwise_prenet.learner->name(m->task[0].learned, word, sizeof word),
                        "linear");
    assert_int_equal(m->task[0].judged.seen + m->task[0].judged.held, 120);
    assert_true(m->task[0].judged.mape < 0.01);
    for (size_t k = 0; k < m->task[0].n_features; k++) /* one device: its figures say nothing */
        assert_true(m->task[0].feature[k].sort != LAYERWISE_DEVICE);
    assert_close(told(m, 16, 333, 777, "sgd", NULL, NULL) / time_of(16, 333, 777, 2), 1, 0.01);
    /* of an optimizer that was not there it says nothing */
    assert_true(isnan(told(m, 16, 333, 777, "adam", NULL, NULL)));

    twice = strdup(text);
    assert_int_equal(layerwise_read("m", twice, &layerwise_prenet, &again, NULL), LM_OK);
    free(twice);
    twice = text_of(again);
    assert_string_equal(text, twice);
    assert_true(told(m, 9, 123, 456, "sgd", NULL, NULL) ==
                told(again, 9, 123, 456, "sgd", NULL, NULL));
    free(twice);
    free(text);
    layerwise_free(again);
    layerwise_free(m);
    layerwise_data_free((layerwise_data *)&d);
}

/* Each learner, where it is asked for. */
static void a_learner_may_be_chosen(void **state)
{
    static const char *const names[] = { "linear", "forest", "boosted", "xgboost", "mlp" };
    const device             on      = device_of(2);
    layerwise_data           d       = lesson(&on, 1);

    (void)state;
    for (size_t k = 0; k < 5; k++) {
        char             how[40], word[40];
        layerwise_model *m;

        if (k > 0 && k < 4 && !boost_available())
            continue;
        snprintf(how, sizeof how, "learner=%zu,logs=0,passes=2400", k + 1);
        m = learn(&d, how);
        layerwise_prenet.learner->name(m->task[0].learned, word, sizeof word);
        assert_true(!strncmp(word, names[k], strlen(names[k])));
        assert_string_equal(word + strlen(names[k]), ", no logarithm");
        layerwise_free(m);
    }
    layerwise_data_free(&d);
}

/* Where the choice was made of 100 rows, the learner of all 120 is judged by one of nine tenths of
 * them; else by all parts of the choice itself. */
static void it_is_judged_by_as_many_rows_as_it_keeps(void **state)
{
    const device     on  = device_of(2);
    layerwise_data   d   = lesson(&on, 1);
    layerwise_model *few = learn(&d, "learner=1,drawn=100"), *all = learn(&d, "learner=1");

    (void)state;
    assert_int_equal(few->task[0].judged.held, 12);
    assert_int_equal(few->task[0].judged.seen, 108);
    assert_int_equal(few->task[0].interval.groups, 12);
    assert_int_equal(all->task[0].judged.held, 120);
    layerwise_free(few);
    layerwise_free(all);
    layerwise_data_free(&d);
}

/* Learned on 1, 2 and 8 TFLOP/s, asked about 4: CT, operations over the peak, tells all of it. */
static void an_unseen_device_is_told_by_its_datasheet(void **state)
{
    const device     on[] = { device_of(1), device_of(2), device_of(8) }, other = device_of(4);
    layerwise_data   d   = lesson(on, 3);
    layerwise_model *m   = learn(&d, "learner=1");
    device           odd = other;
    lm_error         err = { LM_OK, "" };

    (void)state;
    assert_close(told(m, 16, 333, 777, "sgd", &other, NULL) / time_of(16, 333, 777, 4), 1, 0.02);
    assert_true(told(m, 16, 333, 777, "sgd", NULL, &err) == -1);
    assert_int_equal(err.code, LM_E_NOTFOUND);
    odd.figure[DEVICE_BANDWIDTH] = NAN;
    assert_true(told(m, 16, 333, 777, "sgd", &odd, &err) == -1);
    assert_non_null(strstr(err.text, "bandwidth"));
    layerwise_free(m);
    layerwise_data_free(&d);
}

/* One shape, however often: nothing is left to judge by, so nothing is said of the error. */
static void one_shape_is_not_judged(void **state)
{
    const device     on = device_of(2);
    layerwise_data   d  = { .kind = &layerwise_prenet };
    layerwise_model *m;
    char             word[40];

    (void)state;
    for (int64_t i = 1; i <= 60; i++) {
        made                 asked;
        const layerwise_case c = layer_of(i, 100, 200, "sgd", &on, &asked);

        assert_int_equal(
            layerwise_data_add(&d, &c, LAYERWISE_SECONDS, time_of(i, 100, 200, 2), 7, 0, NULL),
            LM_OK);
        made_free(&asked);
    }
    m = learn(&d, "");
    assert_int_equal(m->task[0].judged.held, 0);
    assert_true(isnan(m->task[0].judged.mape));
    assert_string_equal(layerwise_prenet.learner->name(m->task[0].learned, word, sizeof word),
                        "linear");
    assert_close(told(m, 33, 100, 200, "sgd", NULL, NULL) / time_of(33, 100, 200, 2), 1, 0.01);
    layerwise_free(m);
    layerwise_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_is_a_task),
        cmocka_unit_test(a_convolution_has_its_published_features),
        cmocka_unit_test(cases_of_a_task_have_the_same_features),
        cmocka_unit_test(the_best_learner_is_kept_and_told),
        cmocka_unit_test(a_learner_may_be_chosen),
        cmocka_unit_test(it_is_judged_by_as_many_rows_as_it_keeps),
        cmocka_unit_test(an_unseen_device_is_told_by_its_datasheet),
        cmocka_unit_test(one_shape_is_not_judged),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
