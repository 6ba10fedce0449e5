/* How good predictions and their intervals are. */
#include "nets.h"

#include "fit/comparison.h"

#define N 5

static workloads    *loads;
static observations *obs;
static points        p;

/* Chains of 1, 2, 4, 8 and 16 ReLUs, whose update took what is in `measured`. */
static const double layers[N] = { 1, 2, 4, 8, 16 }, measured[N] = { 1, 2.2, 3.6, 8.8, 15 };

static int enter(void **state)
{
    char     rows[600] = "kind,name,phase,seconds,batch\n";
    lm_error err       = { LM_OK, "" };

    if (nets_enter(state))
        return -1;
    for (int i = 0; i < N; i++) {
        char name[32], text[200];

        snprintf(name, sizeof name, "r%d.ini", (int)layers[i]);
        snprintf(text, sizeof text,
                 "[network]\nname = r\n[x]\ntype = input\nshape = 8\n[a.1..%d]\ntype = relu\n",
                 (int)layers[i]);
        folder_file(name, text);
        snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "network,%s,update,%.17g,%d\n",
                 name, measured[i], 1 << i);
    }
    folder_file("o.csv", rows);
    if (workloads_new(nets_registry, &loads, &err) || observations_load("o.csv", &obs, &err) ||
        points_from(obs, loads, &p, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int leave(void **state)
{
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    return nets_leave(state);
}

/* T = c L by ordinary least squares. */
static double predicted_without(size_t without)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < N; i++)
        if (i != without) {
            sum += layers[i] * measured[i];
            squares += layers[i] * layers[i];
        }
    return layers[without] * sum / squares;
}

/*
 * The interval of a network is that of the ratios of the four others. The first and the last one leave the range of times that the others took: it
 * widens by 10 % for each octave, as fewer than three of the others do so.
 */
static void an_interval_comes_from_the_other_networks(void **state)
{
    split      by;
    comparison c[N];
    lm_error   err;

    (void)state;
    assert_int_equal(split_new(&p, &(split_rule){ .kind = SPLIT_NETWORK }, &by, &err), LM_OK);
    assert_int_equal(compare_points(&p, "convmeter", &by, NULL, c, &err), LM_OK);
    assert_true(isnan(c[0].low[PHASE_GRAD]));
    assert_int_equal(compare_left_out(&p, "convmeter", &by, c, &err), LM_OK);
    for (size_t k = 0; k < N; k++) {
        const double predicted = predicted_without(k);
        double       wider     = 1;
        residual     others[N];
        interval     of = interval_unknown;
        size_t       n  = 0;

        for (size_t i = 0; i < N; i++)
            if (i != k)
                others[n++] = (residual){ measured[i] / predicted_without(i), i, 0 };
        assert_int_equal(interval_bounds(others, n, &of, &err), LM_OK);
        if (k == 0 && predicted < measured[1])
            wider = pow(1.1, log2(measured[1] / predicted));
        if (k == N - 1 && predicted > measured[N - 2])
            wider = pow(1.1, log2(predicted / measured[N - 2]));
        assert_close(c[k].predicted[PHASE_GRAD], predicted, 1e-12);
        assert_close(c[k].low[PHASE_GRAD], predicted * of.low / wider, 1e-12);
        assert_close(c[k].high[PHASE_GRAD], predicted * of.high * wider, 1e-12);
        assert_true(isnan(c[k].low[PHASE_STEP])); /* no step was measured */
    }
    split_free(&by);
}

/* Batches 8 and 16, of networks that nothing else was measured of: the other three networks state
 * the interval, in which each was left out in turn. */
static void beyond_a_range_the_rest_states_the_interval(void **state)
{
    const split_rule rule = { .kind = SPLIT_BATCH, .from = 8, .to = INT64_MAX };
    residual         left[3];
    interval         of = interval_unknown;
    split            by;
    comparison       c[N];
    lm_error         err;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        double sum = 0, squares = 0;

        for (size_t i = 0; i < 3; i++)
            if (i != k) {
                sum += layers[i] * measured[i];
                squares += layers[i] * layers[i];
            }
        left[k] = (residual){ measured[k] / (layers[k] * sum / squares), k, 0 };
    }
    assert_int_equal(interval_bounds(left, 3, &of, &err), LM_OK);
    assert_int_equal(split_new(&p, &rule, &by, &err), LM_OK);
    assert_int_equal(compare_points(&p, "convmeter", &by, NULL, c, &err), LM_OK);
    assert_int_equal(compare_left_out(&p, "convmeter", &by, c, &err), LM_OK);
    for (size_t k = 0; k < N; k++) {
        const double predicted = layers[k] * (1 + 2 * 2.2 + 4 * 3.6) / 21;
        const double wider     = pow(1.1, log2(predicted / 3.6));

        if (k < 3) {
            assert_true(isnan(c[k].predicted[PHASE_GRAD]) && isnan(c[k].low[PHASE_GRAD]));
            continue;
        }
        assert_close(c[k].predicted[PHASE_GRAD], predicted, 1e-12);
        assert_close(c[k].low[PHASE_GRAD], predicted * of.low / wider, 1e-12);
        assert_close(c[k].high[PHASE_GRAD], predicted * of.high * wider, 1e-12);
    }
    split_free(&by);
}

/* Of five points one is not predicted and one has no interval; of the three that have one, two lie
 * inside. Widths are 1 / 2, 2 / 4 and 8 / 4. */
static void coverage_and_width_are_of_stated_intervals(void **state)
{
    static const double predicted[N] = { 2, 4, 4, 1, NAN }, seconds[N] = { 2.5, 3, 9, 1, 1 },
                        low[N] = { 1.5, 3, 0, NAN, NAN }, high[N] = { 2.5, 5, 8, NAN, NAN };
    comparison c[N];
    split      by;
    judgement  j;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        c[i].predicted[PHASE_STEP] = predicted[i];
        c[i].measured[PHASE_STEP]  = seconds[i];
        c[i].low[PHASE_STEP]       = low[i];
        c[i].high[PHASE_STEP]      = high[i];
    }
    assert_int_equal(split_new(&p, &(split_rule){ .kind = SPLIT_NETWORK }, &by, NULL), LM_OK);
    j = validate_judge(&p, c, PHASE_STEP, &by, SPLIT_ALWAYS);
    assert_int_equal(j.errors.n, 4);
    assert_int_equal(j.n_stated, 3);
    assert_close(j.coverage, 2.0 / 3, 1e-15);
    assert_close(j.width, 0.5, 1e-15);
    assert_close(j.errors.mape, (0.2 + 1.0 / 3 + 5.0 / 9 + 0) / 4, 1e-15);
    j = validate_judge(&p, c, PHASE_STEP, &by, 2);
    assert_int_equal(j.errors.n, 1);
    assert_close(j.coverage, 0, 0);
    j = validate_judge(&p, c, PHASE_STEP, &by, 3);
    assert_int_equal(j.n_stated, 0);
    assert_true(isnan(j.coverage) && isnan(j.width));
    assert_false(validate_tells(&p, PHASE_UPDATE)); /* of one node: PHASE_GRAD */
    split_free(&by);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_comes_from_the_other_networks),
        cmocka_unit_test(beyond_a_range_the_rest_states_the_interval),
        cmocka_unit_test(coverage_and_width_are_of_stated_intervals),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
