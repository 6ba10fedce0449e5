/* Learners behind one interface: what they learn, which is best, text. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kept_text.h"
#include "learn/learner.h"
#include "learn/linear.h"

#define N 300

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* A product of counts, as layers have them, and a flag that halves it. */
static learner_rows products(double *x, double *y, uint64_t seed)
{
    for (size_t i = 0; i < N; i++) {
        x[3 * i]     = 100 + 900 * uniform(&seed);
        x[3 * i + 1] = 100 + 900 * uniform(&seed);
        x[3 * i + 2] = (double)(random_next(&seed) % 2);
        y[i]         = 1e-9 * x[3 * i] * x[3 * i + 1] * (x[3 * i + 2] > 0 ? 0.5 : 1);
    }
    return (learner_rows){ x, y, NULL, N, 3 };
}

PART(learner);

/* ---- least squares ------------------------------------------------------------------------------
 */

/* y = 7 + 2 a - 3 b; c is always 5. */
static void a_plane_is_found(void **state)
{
    const double     x[] = { 0, 0, 5, 1, 0, 5, 0, 1, 5, 4, 2, 5 }, y[] = { 7, 9, 4, 9 };
    const learn_rows rows = { x, y, 4, 3 };
    linear          *l    = NULL;

    (void)state;
    assert_int_equal(linear_train(&rows, &l, NULL), LM_OK);
    assert_close(l->factor[0], 2, 1e-12);
    assert_close(l->factor[1], -3, 1e-12);
    assert_true(l->factor[2] == 0);
    assert_close(linear_predict(l, (const double[]){ 10, 1, 5 }), 24, 1e-12);
    linear_free(l);
}

/* Of all that fit, the shortest: of two flags that are one word each takes half, +-1 around 2. */
static void words_spelt_out_as_flags_are_told_apart(void **state)
{
    const double     x[] = { 1, 0, 0, 1, 1, 0, 0, 1 }, y[] = { 3, 1, 3, 1 };
    const learn_rows rows = { x, y, 4, 2 };
    linear          *l    = NULL;

    (void)state;
    assert_int_equal(linear_train(&rows, &l, NULL), LM_OK);
    assert_close(l->base, 2, 1e-12);
    assert_close(l->factor[0], 1, 1e-12);
    assert_close(l->factor[1], -1, 1e-12);
    linear_free(l);
}

/* ---- learners -----------------------------------------------------------------------------------
 */

/* Logarithms make a product a sum, which least squares find but for log(1 + x) in place of log(x);
 * without them it is no plane. The mean of the times would be off by 130 %. */
static void products_are_learned(void **state)
{
    static const double most[2][N_LEARNERS] = { { 0.45, 0.2, 0.15, 0.2, 0.1, 0.2 },
                                                { 0.01, 0.15, 0.12, 0.15, 0.05, 0.15 } };
    double              x[3 * N], y[N], other_x[3 * N], other_y[N], told[N];
    const learner_rows  rows = products(x, y, 1), other = products(other_x, other_y, 2);

    (void)state;
    for (learner_kind k = 0; k < N_LEARNERS; k++)
        for (int log = 0; log < 2; log++) {
            const learner_options o = learner_usual(k, log);
            learner              *l = NULL;
            stats_errors          e;

            if (!learner_available(k))
                continue;
            assert_int_equal(learner_train(&rows, &o, &l, NULL), LM_OK);
            assert_int_equal(learner_kind_of(l), k);
            assert_int_equal(learner_is_log(l), log);
            assert_int_equal(learner_n_features(l), 3);
            assert_int_equal(learner_predict(l, other.x, N, told, NULL), LM_OK);
            e = stats_compare(told, other_y, N);
            if (!(e.mape < most[log][k]))
                print_error("%s log %d: %g\n", learner_name(k), log, e.mape);
            assert_true(e.mape < most[log][k]);
            learner_free(l);
        }
}

/* 1 up to 19, 3 from 20 on: leaves of two rows or more lie on one side but those next to the step; where nothing differs,
 * one leaf is the mean. */
static void extra_trees_cut_at_a_step(void **state)
{
    const learner_options o = learner_usual(LEARNER_EXTRA, false);
    double                x[40], y[40], told[2];
    const double          asked[] = { 3, 36 };
    learner              *l       = NULL;

    (void)state;
    for (int i = 0; i < 40; i++) {
        x[i] = i;
        y[i] = i < 20 ? 1 : 3;
    }
    assert_int_equal(learner_train(&(learner_rows){ x, y, NULL, 40, 1 }, &o, &l, NULL),
                     LM_OK);
    assert_int_equal(learner_predict(l, asked, 2, told, NULL), LM_OK);
    assert_close(told[0], 1, 1e-5);
    assert_close(told[1], 3, 1e-5);
    learner_free(l);
    for (int i = 0; i < 40; i++)
        x[i] = 7;
    assert_int_equal(learner_train(&(learner_rows){ x, y, NULL, 40, 1 }, &o, &l, NULL),
                     LM_OK);
    assert_int_equal(learner_predict(l, asked, 2, told, NULL), LM_OK);
    assert_close(told[0], 2, 1e-5);
    learner_free(l);
}

/* 1 .. 4 has been seen; least squares would go on to -1 and to 1000. */
static void nothing_is_told_far_from_what_was_seen(void **state)
{
    const double          x[] = { 1, 2, 3, 4 }, y[] = { 1, 2, 3, 4 }, far[] = { -1, 2.5, 1000 };
    const learner_rows    rows = { x, y, NULL, 4, 1 };
    const learner_options o    = learner_usual(LEARNER_LINEAR, false);
    learner              *l    = NULL;
    double                told[3];

    (void)state;
    assert_int_equal(learner_train(&rows, &o, &l, NULL), LM_OK);
    assert_int_equal(learner_predict(l, far, 3, told, NULL), LM_OK);
    assert_close(told[0], 0.1, 1e-12);
    assert_close(told[1], 2.5, 1e-12);
    assert_close(told[2], 40, 1e-12);
    learner_free(l);
}

/* The same seed, the same text; read back it says the same, to the last bit; cut short anywhere it
 * is refused. */
static void text_holds_all_of_it(void **state)
{
    double             x[3 * N], y[N], told[N], again[N];
    const learner_rows rows = products(x, y, 1);

    (void)state;
    for (learner_kind k = 0; k < N_LEARNERS; k++) {
        learner_options o = learner_usual(k, k % 2);
        learner        *l = NULL, *twin = NULL, *read;
        char           *text, *other;

        if (!learner_available(k))
            continue;
        o.boost.trees = 5;
        o.mlp.epochs  = 3;
        assert_int_equal(learner_train(&rows, &o, &l, NULL), LM_OK);
        assert_int_equal(learner_train(&rows, &o, &twin, NULL), LM_OK);
        text  = learner_written(l);
        other = learner_written(twin);
        assert_string_equal(text, other);
        free(other);
        assert_non_null(read = learner_read("l", text, NULL));
        assert_int_equal(learner_predict(l, x, N, told, NULL), LM_OK);
        assert_int_equal(learner_predict(read, x, N, again, NULL), LM_OK);
        for (size_t i = 0; i < N; i++)
            assert_true(told[i] == again[i]);
        for (size_t cut = 0; cut < strlen(text) - 25; cut += strlen(text) / 50 + 1) {
            lm_error err  = { LM_OK, "" };
            char    *copy = strdup(text);

            copy[cut] = '\0';
            assert_null(learner_read("l", copy, &err));
            assert_true(!strncmp(err.text, "l:", 2));
            free(copy);
        }
        free(text);
        learner_free(read);
        learner_free(twin);
        learner_free(l);
    }
}

static void what_is_no_learner_is_refused(void **state)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        { "", "l:1: the file ends here; expected 'learner ...'" },
        { "learner\n", "l:1: '' is none of linear, forest, boosted, xgboost, mlp, extra" },
        { "learner linear square 1\n", "l:1: 'square' is none of plain, log" },
        { "learner linear log\n", "l:1: expected 1 numbers, found 0" },
        { "learner linear log 5000\n", "l:1: expected whole numbers from 1 to 4096, found '5000'" },
        { "learner linear log 1\nrange 0 1 1\n", "l:2: number 1 is 0: expected more than 0" },
        { "learner linear log 1\nrange 2 1 1\n", "l:2: a range from 2 to 1" },
        { "learner linear log 1\nrange nan 1 1\n", "l:2: number 1 is nan" },
        { "learner linear log 2\nrange 1 1 1\nlogged 1\n", "l:3: expected 2 numbers, found 1" },
        { "learner linear log 1\nrange 1 1 1\nlogged 1\ntrees 1 0\nbase 0\n",
          "l:4: expected 'linear ...', found 'trees 1 0'" },
        { "learner linear log 1\nrange 1 1 1\nlogged 1\nlinear 2\nfactors 0 1 2\n",
          "l:5: linear of 2 features, a learner of 1" },
        { "learner linear log 1\nrange 1 1 1\nlogged 1\nlinear 1\nfactors 0 nan\n",
          "l:5: number 2 is nan" },
        { "learner mlp log 1\nrange 1 1 1\nlogged 1\nmlp 1\nmean 0\ndeviation 1\ntarget 0 1\n"
          "unit nan 0\n",
          "l:8: number 1 is nan" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_error err = { LM_OK, "" };

        assert_null(learner_read("l", cases[i].text, &err));
        assert_string_equal(err.text, cases[i].what);
    }
}

static void bad_rows_are_refused(void **state)
{
    double                x[] = { 1, 2 }, y[] = { 1, 0 };
    learner_rows          rows = { x, y, NULL, 2, 1 };
    const learner_options o    = learner_usual(LEARNER_LINEAR, true);
    learner              *l    = NULL;
    lm_error              err  = { LM_OK, "" };

    (void)state;
    assert_int_equal(learner_train(&rows, &o, &l, &err), LM_E_ARG);
    assert_string_equal(err.text, "row 2: 0 to be told, expected more than 0");
    y[1] = 1;
    x[0] = NAN;
    assert_int_equal(learner_train(&rows, &o, &l, &err), LM_E_ARG);
    assert_string_equal(err.text, "row 1: feature 1 is nan");
    rows.n = 0;
    assert_int_equal(learner_train(&rows, &o, &l, &err), LM_E_ARG);
    assert_string_equal(err.text, "0 rows of 1 features to learn from");
}

/* ---- which is best ------------------------------------------------------------------------------
 */

#define GROUPS 40
#define EACH   10

/* y is x but for what is the same in all rows of a group: trees learn that by heart, and where the
 * group is not seen it is of no use, least squares are better. */
static learner_rows by_heart(double *x, double *y, uint64_t *group)
{
    uint64_t seed = 3;

    for (size_t g = 0; g < GROUPS; g++) {
        const double at = 10 + 90 * uniform(&seed), off = 0.7 + 0.6 * uniform(&seed);

        for (size_t i = g * EACH; i < (g + 1) * EACH; i++) {
            x[i]     = at;
            y[i]     = at * off;
            group[i] = 1000 + g;
        }
    }
    return (learner_rows){ x, y, group, GROUPS * EACH, 1 };
}

static void groups_are_judged_whole(void **state)
{
    static double         x[GROUPS * EACH], y[GROUPS * EACH];
    static uint64_t       group[GROUPS * EACH];
    const learner_options candidate[] = { learner_usual(LEARNER_FOREST, true),
                                          learner_usual(LEARNER_LINEAR, true) };
    learner_rows          rows        = by_heart(x, y, group);
    size_t                best        = 9;
    stats_errors          errors[2];

    (void)state;
    if (!learner_available(LEARNER_FOREST))
        skip();
    assert_int_equal(
        learner_best(&rows, candidate, 2, &learner_trial_usual, &best, errors, NULL, NULL), LM_OK);
    assert_int_equal(best, 1);
    assert_int_equal(errors[0].n, GROUPS * EACH);
    assert_true(errors[0].mape > errors[1].mape);
    assert_true(errors[1].mape < 0.25);
    rows.group = NULL; /* row by row it looks the other way round */
    assert_int_equal(
        learner_best(&rows, candidate, 2, &learner_trial_usual, &best, errors, NULL, NULL), LM_OK);
    assert_int_equal(best, 0);
    assert_true(errors[0].mape < 0.01);
}

/* Of 400 rows 100 are drawn, and parts left out until 15 are judged: one of 20. */
static void few_rows_are_drawn_from_many(void **state)
{
    static double         x[GROUPS * EACH], y[GROUPS * EACH];
    static uint64_t       group[GROUPS * EACH];
    const learner_options o     = learner_usual(LEARNER_LINEAR, true);
    const learner_trial   trial = { .folds = 5, .rows = 100, .judged = 15, .seed = 1 };
    const learner_rows    rows  = by_heart(x, y, group);
    size_t                best = 9, judged              = 0;
    double                left_out[GROUPS * EACH], mape = 0;
    stats_errors          e;

    (void)state;
    assert_int_equal(learner_best(&rows, &o, 1, &trial, &best, &e, left_out, NULL), LM_OK);
    assert_int_equal(best, 0);
    assert_int_equal(e.n, 20);
    for (size_t i = 0; i < rows.n; i++)
        if (!isnan(left_out[i])) {
            mape += fabs(left_out[i] / y[i] - 1) / 20;
            judged++;
        }
    assert_int_equal(judged, 20);
    assert_close(mape, e.mape, 1e-12);
}

static void one_group_is_refused(void **state)
{
    const double          x[] = { 1, 2, 3 }, y[] = { 1, 2, 3 };
    const uint64_t        group[] = { 7, 7, 7 };
    const learner_rows    rows    = { x, y, group, 3, 1 };
    const learner_options o       = learner_usual(LEARNER_LINEAR, true);
    lm_error              err     = { LM_OK, "" };
    size_t                best;

    (void)state;
    assert_int_equal(learner_best(&rows, &o, 1, &learner_trial_usual, &best, NULL, NULL, &err),
                     LM_E_ARG);
    assert_string_equal(err.text,
                        "all 3 rows are of one group: nothing is left to judge a learner by");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_is_found),
        cmocka_unit_test(words_spelt_out_as_flags_are_told_apart),
        cmocka_unit_test(products_are_learned),
        cmocka_unit_test(extra_trees_cut_at_a_step),
        cmocka_unit_test(nothing_is_told_far_from_what_was_seen),
        cmocka_unit_test(text_holds_all_of_it),
        cmocka_unit_test(what_is_no_learner_is_refused),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(groups_are_judged_whole),
        cmocka_unit_test(few_rows_are_drawn_from_many),
        cmocka_unit_test(one_group_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
