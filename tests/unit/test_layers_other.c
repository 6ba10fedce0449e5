/* Layers of which only their kernels are known: what these move and compute, by hand; prices that
 * made times come back, rare kinds are held to what all kinds cost. */
#include "single_shape.h"

#include <math.h>
#include <string.h>

#include "asking.h"
#include "base/random.h"
#include "machine_text.h"
#include "single/busy.h"
#include "single/whole.h"

/* 2 x 3 elements of 4 bytes: each read and written once. Backward reads two and writes one. */
static void a_function_of_elements_is_one_launch(void **state)
{
    layer_work  w;
    layer_shape s = shape("relu", "", "3", 2, &w);

    (void)state;
    assert_int_equal(s.kind, SHAPE_WORK);
    assert_ptr_equal(s.work, &w);
    assert_close(w.of[WORK_MAP][LM_FORWARD].launches, 1, 0);
    assert_close(w.of[WORK_MAP][LM_FORWARD].bytes, 48, 0);
    assert_close(w.of[WORK_MAP][LM_GRAD_INPUT].bytes, 72, 0);
    assert_close(w.of[WORK_NORM][LM_FORWARD].launches, 0, 0);
    assert_close(s.weights, 0, 0);
    assert_close(s.inputs, 6, 0);
    assert_close(s.outputs, 6, 0);
}

/* Weight and bias of 16 are updated; running statistics are not. */
static void weights_are_those_with_a_gradient(void **state)
{
    layer_work        w;
    const layer_shape s = shape("batch_norm", "", "16x4x4", 2, &w);

    (void)state;
    assert_int_equal(s.kind, SHAPE_WORK);
    assert_close(s.weights, 32, 0);
    assert_close(w.of[WORK_BATCH_NORM][LM_FORWARD].launches, 1, 0);
}

static void convolutions_and_products_keep_their_shapes(void **state)
{
    layer_work w;

    (void)state;
    assert_int_equal(shape("conv2d", "filters=4 kernel=3", "3x8x8", 1, &w).kind, SHAPE_CONV);
    assert_int_equal(shape("linear", "features=4", "8", 1, &w).kind, SHAPE_DENSE);
    assert_int_equal(layer_class_of(&(layer_shape){ .kind = SHAPE_WORK }), LAYER_OTHER);
}

#define ROWS 60

/* Forward passes of functions and norms of random sizes: 2 us a call and launch together, and so
 * many seconds a byte. */
static void prices_that_made_the_times_come_back(void **state)
{
    static const double per_byte[2] = { 1e-10, 3e-10 };
    layer_work          work[ROWS];
    layer_shape         s[ROWS];
    layer_time          time[ROWS];
    layer_model         m;
    uint64_t            seed = 1;
    char                input[40];

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const work_kind kind = i % 2 ? WORK_BATCH_NORM : WORK_MAP;

        snprintf(input, sizeof input, "%dx8x8", 1 + (int)random_below(&seed, 4000));
        s[i]    = shape(i % 2 ? "batch_norm" : "relu", "", input, 1 + (int64_t)(i % 7), &work[i]);
        time[i] = (layer_time){ &s[i], forward,
                                2e-6 + per_byte[i % 2] * work[i].of[kind][LM_FORWARD].bytes };
    }
    assert_int_equal(layer_model_fit(time, ROWS, &m, NULL), LM_OK);
    assert_true(m.of[LAYER_OTHER].present);
    for (size_t i = 0; i < ROWS; i++)
        assert_close(seconds_by(&m, &s[i], &forward) / time[i].seconds, 1, 0.02);
    layer_model_free(&m);
}

/* A kind that nobody measured costs what all kinds do, not nothing; a pass that nobody measured is
 * not known. */
static void a_kind_that_was_not_measured_is_not_free(void **state)
{
    const layer_run training = { .backward = true, .alone = true, .input_gradient = true };
    layer_work      work[ROWS], pool;
    layer_shape     s[ROWS];
    layer_time      time[ROWS];
    layer_model     m;
    char            input[40];
    double          seconds;

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(input, sizeof input, "%zu", 1000 * (i + 1));
        s[i]    = shape("relu", "", input, 4, &work[i]);
        time[i] = (layer_time){ &s[i], forward, 1e-10 * work[i].of[WORK_MAP][LM_FORWARD].bytes };
    }
    assert_int_equal(layer_model_fit(time, ROWS, &m, NULL), LM_OK);
    s[0]    = shape("max_pool2d", "kernel=2", "64x64x64", 4, &pool);
    seconds = seconds_by(&m, &s[0], &forward);
    assert_true(seconds > 0.5e-10 * pool.of[WORK_POOL][LM_FORWARD].bytes);
    assert_true(isnan(seconds_by(&m, &s[0], &training)));
    layer_model_free(&m);
}

/* A file that names a family and none of its kinds. */
static void by_prices(const char *prices, layer_model *out)
{
    calibration *cal;
    char         text[300];

    snprintf(text, sizeof text, "[layermeter.single.other]\nrows = 20\n%s", prices);
    cal  = machine_text_of(text);
    *out = *cal->layers;
    free(cal->layers);
    cal->layers = NULL;
    calibration_free(cal);
}

static void a_kind_that_no_file_names_costs_what_its_family_does(void **state)
{
    layer_work        work;
    const layer_shape s = shape("relu", "", "1000", 4, &work);
    layer_model       m;

    (void)state;
    by_prices("all.bytes = 2e-12 s/byte, rows 20\n", &m);
    assert_close(seconds_by(&m, &s, &forward) / (2e-12 * 2 * 4000 * 4), 1, 1e-12);
    layer_model_free(&m);
}

static const layer_run evaluation = { .forward = true, .evaluation = true, .alone = true };

/* 16 channels over 2 x 4 x 4: in training statistics of 16 rows of 32; in evaluation mode they are
 * known, and what drops elements does nothing. */
static void evaluation_does_less(void **state)
{
    layer_work w;

    (void)state;
    shape("batch_norm", "", "16x4x4", 2, &w);
    assert_close(w.of[WORK_BATCH_NORM][LM_FORWARD].rows, 16, 0);
    assert_close(w.of[WORK_BATCH_NORM][LM_FORWARD].elements, 512, 0);
    assert_close(w.inference[WORK_BATCH_NORM].launches, 0, 0);
    assert_close(w.inference[WORK_SCALE].bytes, 2 * 512 * 4, 0);
    shape("layer_norm", "", "4x16", 2, &w);
    assert_close(w.inference[WORK_NORM].rows, 8, 0);
    assert_close(w.inference[WORK_SCALE].launches, 0, 0);
    shape("dropout", "", "16", 2, &w);
    assert_close(w.of[WORK_MAP][LM_FORWARD].launches, 1, 0);
    assert_close(w.inference[WORK_MAP].launches, 0, 0);
}

/* Calls of 20 us, which hide behind work: (20^4 + work^4)^(1/4); the same added up. */
static void what_a_call_costs_adds_or_hides(void **state)
{
    (void)state;
    for (int hides = 0; hides < 2; hides++) {
        layer_work  work[ROWS];
        layer_shape s[ROWS];
        layer_time  time[ROWS];
        layer_model m;
        char        input[40];

        for (size_t i = 0; i < ROWS; i++) {
            double busy;

            snprintf(input, sizeof input, "%zu", 400 * (i * i + 1));
            s[i] = shape("relu", "", input, 4, &work[i]);
            busy = 1e-11 * work[i].of[WORK_MAP][LM_FORWARD].bytes;
            time[i] =
                (layer_time){ &s[i], forward,
                              hides ? pow(pow(20e-6, 4) + pow(busy, 4), 0.25) : 20e-6 + busy };
        }
        assert_int_equal(layer_model_fit(time, ROWS, &m, NULL), LM_OK);
        assert_close(columns_join(&m.of[LAYER_OTHER].columns), hides ? 4 : 1, 0);
        for (size_t i = 0; i < ROWS; i++)
            assert_close(seconds_by(&m, &s[i], &forward) / time[i].seconds, 1, 0.01);
        assert_true(seconds_by(&m, &s[0], &evaluation) > 19e-6);
        layer_model_free(&m);
    }
}

static size_t one(const column *c)
{
    (void)c;
    return 0;
}

/* Parts of a time add up to it, whatever hides behind what. */
static void splits_add_up(void **state)
{
    layer_work  work[ROWS];
    layer_shape s[ROWS];
    layer_time  time[ROWS];
    layer_model m;
    char        input[40];
    double      sum = 0;
    layer_asker by;

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(input, sizeof input, "%zu", 400 * (i * i + 1));
        s[i]    = shape("relu", "", input, 4, &work[i]);
        time[i] = (layer_time){ &s[i], forward,
                                fmax(20e-6, 1e-11 * work[i].of[WORK_MAP][LM_FORWARD].bytes) };
    }
    assert_int_equal(layer_model_fit(time, ROWS, &m, NULL), LM_OK);
    by = layer_asker_of(&m);
    assert_int_equal(layer_model_split(&by, &s[25], &forward, one, &sum, NULL), LM_OK);
    assert_close(sum / seconds_by(&m, &s[25], &forward), 1, 1e-9);
    layer_asker_free(&by);
    layer_model_free(&m);
}

/* Elements of 4 bytes cost 2 ps a byte where a function of them reads and writes each: memory's
 * rate. */
#define STREAM "forward.map.bytes = 2e-12 s/byte, rows 20\n"

/* 16 channels of 2 x 64 elements on 4 multiprocessors: 512 steps. An average of 2 x 2 reads 8,192
 * bytes and writes a quarter. */
static void memory_takes_what_its_bytes_do(void **state)
{
    static const struct {
        const char *prices, *type, *geometry;
        double      arithmetic, traffic, memory; /* seconds */
    } cases[] = {
        { STREAM, "relu", "", 0, 16384 * 2e-12, 16384 * 2e-12 },
        /* half as long again would be a cache's; a quarter may be memory's */
        { STREAM "forward.pool.bytes = 6e-12 s/byte\n", "avg_pool2d", "kernel=2", 0, 10240 * 6e-12,
          1.25 * 10240 * 2e-12 },
        /* read twice, written once, and no price of its own says so */
        { STREAM "forward.batch_norm.bytes = 0 s/byte\nforward.batch_norm.steps = 1e-9 s/step\n",
          "batch_norm", "", 512e-9, 0, 24576 * 2e-12 },
        /* not more than the device works */
        { STREAM "forward.batch_norm.bytes = 1e-13 s/byte\n", "batch_norm", "", 0, 16384 * 1e-13,
          16384 * 1e-13 },
        /* nobody knows memory's rate */
        { "forward.pool.bytes = 6e-12 s/byte\n", "avg_pool2d", "kernel=2", 0, 10240 * 6e-12,
          10240 * 6e-12 },
    };
    const layer_run run = { .forward = true, .multiprocessors = 4 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layer_work        work;
        const layer_shape s = shape(cases[i].type, cases[i].geometry, "16x8x8", 2, &work);
        layer_model       m;
        layer_busy        busy;
        layer_asker       by;

        by_prices(cases[i].prices, &m);
        by = layer_asker_of(&m);
        assert_int_equal(layer_busy_of(&by, &s, &run, &busy, NULL), LM_OK);
        layer_asker_free(&by);
        assert_close(busy.arithmetic, cases[i].arithmetic, 1e-9);
        assert_close(busy.traffic, cases[i].traffic, 1e-9);
        assert_close(busy.memory, cases[i].memory, 1e-9);
        assert_close(busy.seconds, cases[i].arithmetic + cases[i].traffic, 1e-9);
        layer_model_free(&m);
    }
}

/* Channels of 2 x 64 elements on 4 multiprocessors, at 1 ns a step and 1 fs a byte: 128 channels
 * are 32 for each of these, 128 x 32 steps. One more, and others go on while one waits. */
static void steps_count_up_to_the_rows_that_are_kept_at_once(void **state)
{
    static const char prices[] = "forward.batch_norm.steps = 1e-9 s/step\n"
                                 "forward.batch_norm.bytes = 1e-15 s/byte\n";
    const layer_run   run      = { .forward = true, .multiprocessors = 4 };

    (void)state;
    for (int channels = 128; channels < 130; channels++) {
        char        input[20];
        layer_work  work;
        layer_shape s;
        layer_model m;

        snprintf(input, sizeof input, "%dx8x8", channels);
        s = shape("batch_norm", "", input, 2, &work);
        by_prices(prices, &m);
        assert_close(seconds_by(&m, &s, &run),
                     1e-15 * channels * 128 * 8 + (channels > 128 ? 0 : 4096e-9), 1e-15);
        layer_model_free(&m);
    }
}

/* Their FLOPs grow with their bytes: no column has them. */
static void norms_have_no_price_of_a_flop(void **state)
{
    (void)state;
    assert_true(layer_class_knows(&layer_class_other, "forward.map.flops"));
    assert_false(layer_class_knows(&layer_class_other, "forward.norm.flops"));
}

/* Norms at 3 ns a row and memory's 2 ps a byte, as functions of elements: of 56 x 56 rows by those
 * of up to 28 x 28. What few rows cannot tell apart is as it is for other kinds. */
static void norms_of_more_rows_are_told_by_those_of_fewer(void **state)
{
    static const char *const input[] = { "7x7x768", "14x14x384", "28x28x192", "56x56x96" };
    layer_work               work[ROWS + 4];
    layer_shape              s[ROWS + 4];
    layer_time               time[ROWS + 4];
    layer_model              m;
    char                     elements[40];

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(elements, sizeof elements, "%zu", 1000 * (i * i + 1));
        s[i] = shape(i % 2 ? "relu" : "gelu", "", elements, 32, &work[i]);
        time[i] =
            (layer_time){ &s[i], forward, 20e-6 + 2e-12 * work[i].of[WORK_MAP][LM_FORWARD].bytes };
    }
    for (size_t i = 0; i < 4; i++) {
        const kernel_work *w = &work[ROWS + i].of[WORK_NORM][LM_FORWARD];

        s[ROWS + i] = shape("layer_norm", "", input[i], 32, &work[ROWS + i]);
        time[ROWS + i] =
            (layer_time){ &s[ROWS + i], forward, 20e-6 + 2e-12 * w->bytes + 3e-9 * w->rows };
    }
    assert_int_equal(layer_model_fit(time, ROWS + 3, &m, NULL), LM_OK);
    assert_close(seconds_by(&m, &s[ROWS + 3], &forward) / time[ROWS + 3].seconds, 1, 0.15);
    layer_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_of_elements_is_one_launch),
        cmocka_unit_test(weights_are_those_with_a_gradient),
        cmocka_unit_test(convolutions_and_products_keep_their_shapes),
        cmocka_unit_test(prices_that_made_the_times_come_back),
        cmocka_unit_test(evaluation_does_less),
        cmocka_unit_test(what_a_call_costs_adds_or_hides),
        cmocka_unit_test(splits_add_up),
        cmocka_unit_test(a_kind_that_was_not_measured_is_not_free),
        cmocka_unit_test(memory_takes_what_its_bytes_do),
        cmocka_unit_test(steps_count_up_to_the_rows_that_are_kept_at_once),
        cmocka_unit_test(norms_have_no_price_of_a_flop),
        cmocka_unit_test(norms_of_more_rows_are_told_by_those_of_fewer),
        cmocka_unit_test(a_kind_that_no_file_names_costs_what_its_family_does),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
