/* Shrunk fits: what they recover, what they tie, what they ignore. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shrink/shrink.h"

enum { ROWS = 40, ITEMS = 6 };

/* Rows of two dense slots, their traffic and launches, with times by known coefficients. */
typedef struct made {
    shrink_row row[ROWS];
    term_item  item[ROWS][ITEMS];
} made;

static const char *const names[ITEMS] = { "conv1x1.flops.forward", "conv3x3.flops.forward",
                                          "gemm.flops.forward",    "conv.bytes.forward",
                                          "gemm.bytes.forward",    "conv.launches.forward" };
static const double      truth[ITEMS] = { 2e-11, 1e-11, 1.5e-11, 1e-10, 1.2e-10, 5e-6 };

static uint64_t seed;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / 9007199254740992.0;
}

static int by_term(const void *a, const void *b)
{
    const term_item *x = a, *y = b;

    return (x->term > y->term) - (x->term < y->term);
}

static void make(made *r)
{
    static const double size[ITEMS] = { 1e9, 1e9, 1e9, 1e8, 1e8, 1e4 };

    seed = 1;
    for (size_t i = 0; i < ROWS; i++) {
        r->row[i] = (shrink_row){ { r->item[i], ITEMS }, 0, i % 4, i };
        for (size_t k = 0; k < ITEMS; k++) {
            r->item[i][k] =
                (term_item){ (uint32_t)term_parse(names[k]), size[k] * pow(10, 2 * uniform() - 1) };
            r->row[i].seconds += truth[k] * r->item[i][k].value;
        }
        qsort(r->item[i], ITEMS, sizeof(term_item), by_term);
    }
}

static shrink_fit solve(const made *r, size_t n, size_t without, const shrink_options *o)
{
    shrink_rows rows;
    shrink_fit  f;

    assert_int_equal(shrink_rows_new(r->row, n, o->alike, &rows, NULL), LM_OK);
    assert_int_equal(shrink_solve(&rows, without, o, &f, NULL), LM_OK);
    shrink_rows_free(&rows);
    return f;
}

static void many_exact_rows_give_the_coefficients(void **state)
{
    const shrink_options loose = { .mu = 1e-9, .huber = 0.1, .rounds = 5 };
    made                 r;
    shrink_fit           f;

    (void)state;
    make(&r);
    f = solve(&r, ROWS, ROWS, &loose);
    assert_int_equal(f.rows, ROWS);
    assert_int_equal(f.n_used, ITEMS);
    for (size_t k = 0; k < ITEMS; k++) {
        const size_t t = term_parse(names[k]);

        assert_close(f.coefficient[t] / truth[k], 1, 1e-3);
        assert_true(f.known[t] > 0.999);
    }
}

/* The same rows, with a coefficient out of its bounds: it is held there, and the others make up for it. */
static void coefficients_stay_within_what_a_datasheet_allows(void **state)
{
    const shrink_options loose = { .mu = 1e-9, .huber = 0.1, .rounds = 5 };
    const size_t         flops = term_parse("gemm.flops.forward"),
                 free          = term_parse("conv3x3.flops.forward");
    const size_t bytes         = term_parse("gemm.bytes.forward"),
                 weights       = term_parse("gemm.weights.forward");
    const term_bounds wide = { 1e-11, 2e-10, 0 }, narrow = { 2e-11, 1e-10, 0 };
    made              r;
    shrink_rows       rows;
    shrink_fit        f;

    (void)state;
    make(&r);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < ITEMS; k++)
            if (r.item[i][k].term == bytes)
                r.item[i][k].term = (uint32_t)weights;
        qsort(r.item[i], ITEMS, sizeof(term_item), by_term);
    }
    assert_int_equal(shrink_rows_new(r.row, ROWS, loose.alike, &rows, NULL), LM_OK);
    rows.bounds = wide; /* 1.5e-11 and 1.2e-10 are within */
    assert_int_equal(shrink_solve(&rows, ROWS, &loose, &f, NULL), LM_OK);
    assert_close(f.coefficient[flops] / 1.5e-11, 1, 1e-3);
    assert_close(f.coefficient[weights] / 1.2e-10, 1, 1e-3);
    rows.bounds = narrow;
    assert_int_equal(shrink_solve(&rows, ROWS, &loose, &f, NULL), LM_OK);
    assert_close(f.coefficient[flops], 2e-11, 1e-12);
    assert_close(f.coefficient[weights], 1e-10, 1e-12);
    assert_true(f.known[flops] <= 0 && f.known[weights] <= 0 && isnan(f.spread[flops]));
    assert_true(f.n_used == ITEMS - 2 && f.known[free] > 0.999);
    assert_close(f.coefficient[free] / 1e-11, 1, 0.1); /* not what the held ones lack */
    shrink_rows_free(&rows);
}

static void a_heavy_ridge_ties_a_family(void **state)
{
    const shrink_options tied = { .mu = 1e6, .huber = 0.1, .rounds = 5 };
    made                 r;
    shrink_fit           f;

    (void)state;
    make(&r);
    f = solve(&r, ROWS, ROWS, &tied);
    for (size_t k = 1; k < 3; k++)
        assert_close(f.coefficient[term_parse(names[k])] / f.coefficient[term_parse(names[0])], 1,
                     1e-3);
    assert_true(f.known[term_parse(names[0])] < 0.01);
    /* between the smallest and the largest of the true ones */
    assert_true(f.coefficient[term_parse(names[0])] > 1e-11 &&
                f.coefficient[term_parse(names[0])] < 2e-11);
}

static void what_nobody_measured_has_its_slots_or_familys_coefficient(void **state)
{
    made       r;
    shrink_fit f;

    (void)state;
    make(&r);
    f = solve(&r, ROWS, ROWS, &shrink_default);
    /* another pass of a slot that was measured */
    assert_close(f.coefficient[term_parse("conv1x1.flops.grad_input")] / 2e-11, 1, 0.1);
    /* another slot of a family that was */
    assert_true(f.coefficient[term_parse("conv_large.flops.forward")] > 1e-11);
    assert_true(f.coefficient[term_parse("conv_large.flops.forward")] < 2e-11);
    assert_close(f.known[term_parse("conv_large.flops.forward")], 0, 0);
    /* a family that was not: a stated multiple of another's */
    assert_close(f.coefficient[term_parse("conv_depthwise.flops.forward")] /
                     f.coefficient[term_parse("conv_large.flops.forward")],
                 4, 1e-12);
    assert_close(f.coefficient[term_parse("conv_depthwise.planes.forward")] /
                     f.coefficient[term_parse("conv_depthwise.bytes.forward")],
                 64, 1e-12);
}

/* The rows' products are of another term instead. */
static void rename_gemm(made *r, const char *const name[2])
{
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < ITEMS; k++)
            for (size_t j = 0; j < 2; j++)
                if (r->item[i][k].term == term_parse(j ? names[4] : names[2]))
                    r->item[i][k].term = (uint32_t)term_parse(name[j]);
        qsort(r->item[i], ITEMS, sizeof(term_item), by_term);
    }
}

/* Between dense and depthwise convolutions, grouped ones reuse more than the latter: of one kind
 * alone the other is guessed, and both together are tied as one family. */
static void grouped_and_depthwise_do_not_stand_for_each_other(void **state)
{
    static const struct {
        const char *name[2];
        const char *unseen, *by;
        double      times;
    } cases[] = {
        { { "conv_depthwise.flops.forward", "conv_depthwise.bytes.forward" },
          "conv_grouped.flops.forward",
          "conv_stem.flops.forward",
          4 },
        { { "conv_grouped.flops.forward", "conv_grouped.bytes.forward" },
          "conv_depthwise.flops.forward",
          "conv_grouped.flops.forward",
          3 },
    };
    const shrink_options stiff = { .mu = 1e9, .huber = 10, .rounds = 0 };
    made                 r;
    shrink_fit           f;

    (void)state;
    for (size_t c = 0; c < 2; c++) {
        make(&r);
        rename_gemm(&r, cases[c].name);
        f = solve(&r, ROWS, ROWS, &stiff);
        assert_close(f.coefficient[term_parse(cases[c].unseen)] /
                         f.coefficient[term_parse(cases[c].by)],
                     cases[c].times, 1e-6);
    }
    make(&r);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < ITEMS; k++)
            r.item[i][k].term = (uint32_t)term_parse(k == 0   ? "conv1x1.flops.forward"
                                                     : k == 1 ? "conv_grouped.flops.forward"
                                                     : k == 2 ? "conv_depthwise.flops.forward"
                                                     : k == 3 ? "conv.bytes.forward"
                                                     : k == 4 ? "gemm.bytes.forward"
                                                              : "conv.launches.forward");
    f = solve(&r, ROWS, ROWS, &stiff);
    assert_close(f.coefficient[term_parse("conv_grouped.flops.forward")] /
                     f.coefficient[term_parse("conv_depthwise.flops.forward")],
                 1, 1e-6);
}

static void one_row_ten_times_too_slow_hardly_counts(void **state)
{
    made       r;
    shrink_fit clean, spoilt;

    (void)state;
    make(&r);
    clean = solve(&r, ROWS, ROWS, &shrink_default);
    r.row[3].seconds *= 10;
    spoilt = solve(&r, ROWS, ROWS, &shrink_default);
    for (size_t i = 0; i < ROWS; i++)
        assert_close(shrink_seconds(&spoilt, &r.row[i].terms) /
                         shrink_seconds(&clean, &r.row[i].terms),
                     1, 0.05);
}

static void a_fold_left_out_is_not_seen(void **state)
{
    made       r, other;
    shrink_fit a, b;

    (void)state;
    make(&r);
    make(&other);
    for (size_t i = 2; i < ROWS; i += 4)
        other.row[i].seconds *= 7;
    a = solve(&r, ROWS, 2, &shrink_default);
    b = solve(&other, ROWS, 2, &shrink_default);
    assert_int_equal(a.rows, ROWS * 3 / 4);
    for (size_t t = 0; t < N_TERMS; t++)
        assert_true(a.coefficient[t] == b.coefficient[t] ||
                    (isnan(a.coefficient[t]) && isnan(b.coefficient[t])));
}

static void time_scales_with_its_unit(void **state)
{
    made       r, milli;
    shrink_fit a, b;

    (void)state;
    make(&r);
    make(&milli);
    for (size_t i = 0; i < ROWS; i++)
        milli.row[i].seconds *= 1e3;
    a = solve(&r, ROWS, ROWS, &shrink_default);
    b = solve(&milli, ROWS, ROWS, &shrink_default);
    for (size_t i = 0; i < ROWS; i++)
        assert_close(shrink_seconds(&b, &r.row[i].terms) / shrink_seconds(&a, &r.row[i].terms), 1e3,
                     1e-6);
}

/* Elements of functions that are a thousandth of the time say nothing of what one costs; where they
 * are half of it, they do. */
static void a_correction_that_hardly_shows_stays_what_it_was_taken_for(void **state)
{
    const size_t elements = term_parse("map.elements.forward"),
                 bytes    = term_parse("map.bytes.forward");

    (void)state;
    for (int much = 0; much < 2; much++) {
        term_item  items[ROWS][ITEMS + 1];
        made       r;
        shrink_fit f;
        double     ratio;

        make(&r);
        for (size_t i = 0; i < ROWS; i++) {
            const double share = (much ? 1 : 1e-3) * (i % 2 ? 1 : 0.5) * r.row[i].seconds;

            memcpy(items[i], r.item[i], sizeof r.item[i]);
            items[i][ITEMS] = (term_item){ (uint32_t)elements, share / 1e-8 };
            r.row[i].seconds += share;
            r.row[i].terms = (term_vector){ items[i], ITEMS + 1 };
            qsort(items[i], ITEMS + 1, sizeof(term_item), by_term);
        }
        f     = solve(&r, ROWS, ROWS, &shrink_default);
        ratio = f.coefficient[elements] / f.coefficient[bytes];
        if (much)
            assert_close(f.coefficient[elements] / 1e-8, 1, 0.3);
        else
            assert_close(ratio / 8, 1, 0.5);
    }
}

/* Three rows of one network, all twice as slow, do not outvote three networks. */
static void rows_of_one_group_count_less(void **state)
{
    made       r;
    shrink_fit apart, together;
    double     pull_apart = 0, pull_together = 0;

    (void)state;
    make(&r);
    for (size_t i = 0; i < ROWS / 2; i++)
        r.row[i].seconds *= 1.1;
    apart = solve(&r, ROWS, ROWS, &shrink_default);
    for (size_t i = 0; i < ROWS / 2; i++)
        r.row[i].group = 0;
    together = solve(&r, ROWS, ROWS, &shrink_default);
    for (size_t i = ROWS / 2; i < ROWS; i++) {
        pull_apart += shrink_seconds(&apart, &r.row[i].terms) / r.row[i].seconds - 1;
        pull_together += shrink_seconds(&together, &r.row[i].terms) / r.row[i].seconds - 1;
    }
    assert_true(pull_apart > 0.3); /* 20 rows: more than 1.5 % each */
    assert_true(pull_together < 0.5 * pull_apart);
}

/* A pass that is twice as dear is told apart by the last stage only. */
static void without_the_last_stage_passes_cost_the_same(void **state)
{
    const size_t   forward = term_parse(names[3]), backward = term_parse("conv.bytes.grad_input");
    shrink_options o = shrink_default;
    made           r;
    shrink_fit     f;

    (void)state;
    make(&r);
    for (size_t i = 0; i < ROWS; i += 2)
        for (size_t k = 0; k < ITEMS; k++)
            if (r.item[i][k].term == forward) {
                r.item[i][k].term = (uint32_t)backward;
                r.row[i].seconds += truth[3] * r.item[i][k].value;
            }
    f = solve(&r, ROWS, ROWS, &o);
    assert_true(f.coefficient[backward] > 1.3 * f.coefficient[forward]);
    o.slots_only = true;
    f            = solve(&r, ROWS, ROWS, &o);
    assert_close(f.coefficient[backward] / f.coefficient[forward], 1, 1e-12);
}

/* Rows with errors, several a group: a fit without a fold is one to the others alone, whether each
 * group is in one fold, of which sums are at hand, or in several. */
static void a_fold_left_out_is_as_if_it_was_not_there(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        made r;

        make(&r);
        for (size_t i = 0; i < ROWS; i++) {
            r.row[i].group = whole ? i % 4 + 4 * (i / 12) : i / 3;
            r.row[i].seconds *= 0.7 + 0.6 * uniform();
        }
        for (size_t fold = 0; fold < 4; fold++) {
            const shrink_fit without = solve(&r, ROWS, fold, &shrink_default);
            shrink_fit       alone;
            made             others = r;
            size_t           n      = 0;

            for (size_t i = 0; i < ROWS; i++)
                if (r.row[i].fold != fold)
                    others.row[n++] = r.row[i];
            alone = solve(&others, n, ROWS, &shrink_default);
            assert_int_equal(without.rows, n);
            assert_int_equal(without.n_used, alone.n_used);
            for (size_t t = 0; t < N_TERMS; t++)
                if (alone.coefficient[t] > 0)
                    assert_close(without.coefficient[t] / alone.coefficient[t], 1, 1e-9);
            assert_close(without.weighted_rss / alone.weighted_rss, 1, 1e-9);
        }
    }
}

static void nothing_and_nonsense_are_refused(void **state)
{
    made        r;
    shrink_rows rows;
    shrink_fit  f;
    lm_error    err = { 0 };

    (void)state;
    make(&r);
    assert_int_equal(shrink_rows_new(r.row, 0, 0.5, &rows, &err), LM_OK);
    assert_int_equal(shrink_solve(&rows, ROWS, &shrink_default, &f, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "no rows to fit");
    shrink_rows_free(&rows);
    r.item[2][0].value = HUGE_VAL;
    assert_int_equal(shrink_rows_new(r.row, ROWS, 0.5, &rows, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "row 2: a term is not finite");
    r.row[1].seconds = 0;
    assert_int_equal(shrink_rows_new(r.row, ROWS, 0.5, &rows, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "row 1: time is not above 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_exact_rows_give_the_coefficients),
        cmocka_unit_test(a_heavy_ridge_ties_a_family),
        cmocka_unit_test(what_nobody_measured_has_its_slots_or_familys_coefficient),
        cmocka_unit_test(grouped_and_depthwise_do_not_stand_for_each_other),
        cmocka_unit_test(one_row_ten_times_too_slow_hardly_counts),
        cmocka_unit_test(a_fold_left_out_is_not_seen),
        cmocka_unit_test(time_scales_with_its_unit),
        cmocka_unit_test(a_correction_that_hardly_shows_stays_what_it_was_taken_for),
        cmocka_unit_test(rows_of_one_group_count_less),
        cmocka_unit_test(coefficients_stay_within_what_a_datasheet_allows),
        cmocka_unit_test(without_the_last_stage_passes_cost_the_same),
        cmocka_unit_test(a_fold_left_out_is_as_if_it_was_not_there),
        cmocka_unit_test(nothing_and_nonsense_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
