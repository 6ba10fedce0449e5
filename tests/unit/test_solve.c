/* Fits in which parts take their cheapest alternative: prices that made the times come back. */
#include "check.h"

#include <math.h>

#include "base/random.h"
#include "solve/solve.h"

static size_t need(columns *c, const char *name, double price)
{
    const size_t at = columns_need(c, name, "FLOP", RESOURCE_FLOPS);

    assert_true(at != COLUMN_NONE);
    c->column[at].price = price;
    return at;
}

static double price(const columns *c, size_t at)
{
    return c->column[at].price;
}

static void the_cheapest_alternative_of_each_part_counts(void **state)
{
    columns      c    = { 0 };
    rows         r    = { 0 };
    const size_t host = need(&c, "host", 5), a = need(&c, "a", 2), b = need(&c, "b", 3);
    row_item     vector[8];
    size_t       n;
    row_cost     cost;

    (void)state;
    c.column[host].floor = true;
    rows_begin(&r, NAN, 1, 0);
    rows_item(&r, host, 1);
    rows_item(&r, a, 10); /* 20 whatever comes */
    rows_part(&r);
    rows_alternative(&r);
    rows_item(&r, a, 4); /* 8 */
    rows_alternative(&r);
    rows_item(&r, b, 2); /* 6 + 1 */
    rows_item(&r, a, 0.5);
    rows_item(&r, a, 0);
    rows_part(&r);
    rows_alternative(&r);
    rows_item(&r, b, 1); /* 3 */
    assert_int_equal(rows_check(&r, NULL), LM_OK);
    assert_int_equal(rows_longest(&r), 5);
    cost = rows_cost(&r, 0, &c, (const double[]){ 5, 2, 3 }, vector, &n);
    assert_true(cost.floor == 5 && cost.work == 20 + 7 + 3);
    assert_int_equal(n, 5);
    assert_true(vector[2].column == b && vector[2].value == 2);
    assert_true(rows_seconds(cost, 1) == 35);
    /* a at 1: its alternative is cheaper now */
    cost = rows_cost(&r, 0, &c, (const double[]){ 5, 1, 3 }, NULL, &n);
    assert_true(cost.work == 10 + 4 + 3 && n == 4);
    assert_true(fabs(rows_seconds((row_cost){ 3, 4 }, 2) - 5) < 1e-12);
    assert_true(rows_seconds((row_cost){ 0, 0 }, 3) == 0);
    assert_true(fabs(rows_seconds((row_cost){ 2, 1 }, 4) - pow(17, 0.25)) < 1e-15);
    assert_true(fabs(rows_slope(3, 5, 2) - 0.6) < 1e-15 && rows_slope(3, 5, 4) == 0.6 * 0.6 * 0.6);
    assert_true(rows_slope(3, 7, 1) == 1 && rows_slope(0, 0, 4) == 1);
    assert_true(fabs(rows_priced(&r, 0, &c) - 35) < 1e-12);
    rows_free(&r);
    columns_free(&c);
}

/* 200 rows of a floor and one part with two algorithms: 1e-4 + min(2e-9 x, 1e-3 + 5e-10 x). */
static void add_rows(rows *r, size_t host, size_t slow, size_t start, size_t fast, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = 1e4 * pow(10, 3.0 * (double)i / (double)n);

        rows_begin(r, 1e-4 + fmin(2e-9 * x, 1e-3 + 5e-10 * x), 1, 0);
        rows_item(r, host, 1);
        rows_part(r);
        rows_alternative(r);
        rows_item(r, slow, x);
        rows_alternative(r);
        rows_item(r, start, 1);
        rows_item(r, fast, x);
    }
}

static void prices_and_choice_are_recovered(void **state)
{
    solve_options o    = solve_default;
    columns       c    = { 0 };
    rows          r    = { 0 };
    const size_t  host = need(&c, "host", 0), slow = need(&c, "slow", 4e-9),
                 start = need(&c, "start", 2e-3), fast = need(&c, "fast", 1e-9);

    (void)state;
    add_rows(&r, host, slow, start, fast, 200);
    o.rounds = 20;
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    assert_true(fabs(price(&c, host) / 1e-4 - 1) < 1e-3);
    assert_true(fabs(price(&c, slow) / 2e-9 - 1) < 1e-3);
    assert_true(fabs(price(&c, start) / 1e-3 - 1) < 1e-3);
    assert_true(fabs(price(&c, fast) / 5e-10 - 1) < 1e-3);
    /* they meet at x = 1e-3 / 1.5e-9 = 6.7e5: 122 of the 200 rows lie below */
    assert_int_equal(c.column[slow].rows, 122);
    assert_int_equal(c.column[fast].rows, 78);
    rows_free(&r);
    columns_free(&c);
}

static void a_sample_and_one_round_on_all_rows_give_the_same(void **state)
{
    solve_options o    = solve_default;
    columns       c    = { 0 };
    rows          r    = { 0 };
    const size_t  host = need(&c, "host", 0), slow = need(&c, "slow", 4e-9),
                 start = need(&c, "start", 2e-3), fast = need(&c, "fast", 1e-9);

    (void)state;
    add_rows(&r, host, slow, start, fast, 1000);
    o.rounds = 20;
    o.sample = 150;
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    assert_true(fabs(price(&c, slow) / 2e-9 - 1) < 1e-3);
    assert_true(fabs(price(&c, fast) / 5e-10 - 1) < 1e-3);
    assert_int_equal(c.column[slow].rows + c.column[fast].rows, 1000);
    rows_free(&r);
    columns_free(&c);
}

/* Nobody takes what is dear to begin with, so its price is not 0 afterwards. It is no measured price: what is told is the
 * other algorithm's, 3e-9 x 100, also where 7e-9 x 1 is less. */
static void an_algorithm_that_too_few_rows_take_keeps_its_price(void **state)
{
    solve_options o = solve_default;
    columns       c = { 0 };
    rows          r = { 0 };
    const size_t  a = need(&c, "a", 1e-9), b = need(&c, "b", 7e-9);

    (void)state;
    for (int i = 1; i <= 100; i++) {
        rows_begin(&r, 3e-9 * i, 1, 0);
        rows_part(&r);
        rows_alternative(&r);
        rows_item(&r, a, i);
        rows_alternative(&r);
        rows_item(&r, b, i > 90 ? 1 : i); /* 10 of them would: too few of 15 */
    }
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    assert_true(price(&c, b) == 7e-9);
    assert_int_equal(c.column[b].rows, 0);
    assert_true(fabs(price(&c, a) / 3e-9 - 1) < 1e-3);
    assert_close(1e7 * rows_priced(&r, 99, &c), 3, 1e-2);
    c.column[a].rows = 0; /* no price is measured: the cheapest of all */
    assert_close(1e9 * rows_priced(&r, 99, &c), 7, 1e-6);
    rows_free(&r);
    columns_free(&c);
}

/* 30 rows take a part whose price is not fitted: what it costs is not the other column's. */
static void a_price_that_is_kept_is_taken_off_the_times(void **state)
{
    solve_options o = solve_default;
    columns       c = { 0 };
    rows          r = { 0 };
    const size_t  a = need(&c, "a", 0), b = need(&c, "b", 10);

    (void)state;
    for (int i = 1; i <= 30; i++) {
        rows_begin(&r, i <= 10 ? 2 * i + 10 : 2 * i, 1, 0);
        rows_item(&r, a, i);
        rows_item(&r, b, i <= 10);
    }
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    assert_true(price(&c, b) == 10 && fabs(price(&c, a) - 2) < 1e-4);
    rows_free(&r);
    columns_free(&c);
}

/* The second stage's rows could do with algorithm `direct` alone; `clever` is found to be cheaper
 * only because it begins with half of what the first stage says it costs. */
static void rows_of_the_first_stage_give_the_second_its_start(void **state)
{
    solve_options o = solve_default;

    (void)state;
    for (int with = 0; with < 2; with++) {
        columns      c    = { 0 };
        rows         r    = { 0 };
        const size_t seen = need(&c, "seen", 0), direct = need(&c, "direct", 1e-9),
                     clever = need(&c, "clever", 9e-9);

        if (with) {
            c.column[clever].from  = seen;
            c.column[clever].share = 0.5;
        }
        for (int i = 1; i <= 60; i++) {
            const double x = 1e6 * i;

            rows_begin(&r, 4e-9 * x, 1, 0);
            rows_item(&r, seen, x);
            rows_begin(&r, i % 2 ? 3e-9 * x : 2.5e-9 * x, 1, 1);
            rows_part(&r);
            rows_alternative(&r);
            rows_item(&r, direct, i % 2 ? x : 4 * x);
            rows_alternative(&r);
            rows_item(&r, clever, i % 2 ? 4 * x : x);
        }
        assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
        assert_true(fabs(price(&c, seen) / 4e-9 - 1) < 1e-4);
        if (with) {
            assert_true(fabs(price(&c, direct) / 3e-9 - 1) < 1e-4);
            assert_true(fabs(price(&c, clever) / 2.5e-9 - 1) < 1e-4);
        } else {
            assert_true(price(&c, clever) == 9e-9); /* nobody took it */
        }
        rows_free(&r);
        columns_free(&c);
    }
}

/* Three of 60 rows could be ten times as fast by an algorithm at its start price: they say whether it is there. */
static void an_algorithm_that_few_rows_take_counts_if_they_confirm_it(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        columns      c      = { 0 };
        rows         r      = { 0 };
        const size_t direct = need(&c, "direct", 3e-9), clever = need(&c, "clever", 2e-9);

        for (int i = 1; i <= 60; i++) {
            const double x   = 1e6 * i;
            const bool   few = i % 20 == 0;

            rows_begin(&r, (few && there ? 2e-10 : 2e-9) * x, 1, 0);
            rows_part(&r);
            rows_alternative(&r);
            rows_item(&r, direct, x);
            if (few) {
                rows_alternative(&r);
                rows_item(&r, clever, x / 10);
            }
        }
        assert_int_equal(solve_prices(&r, NULL, &solve_default, &c, NULL), LM_OK);
        assert_true(price(&c, clever) == 2e-9 && fabs(price(&c, direct) / 2e-9 - 1) < 1e-3);
        assert_int_equal(c.column[clever].rows, there ? 3 : 0);
        assert_true(fabs(rows_priced(&r, 19, &c) / (there ? 4e-3 : 4e-2) - 1) < 1e-3);
        rows_free(&r);
        columns_free(&c);
    }
}

static void floor_and_work_that_overlap_are_told_apart(void **state)
{
    solve_options o    = solve_default;
    columns       c    = { 0 };
    rows          r    = { 0 };
    const size_t  host = need(&c, "host", 0), a = need(&c, "a", 0), b = need(&c, "b", 0);
    uint64_t      seed = 3;

    (void)state;
    c.column[host].floor = true;
    o.p                  = 4;
    o.rounds             = 30;
    for (int i = 0; i < 300; i++) {
        const double x = pow(10, (double)random_below(&seed, 5000) / 1000);
        const double y = pow(10, (double)random_below(&seed, 5000) / 1000);

        rows_begin(&r, rows_seconds((row_cost){ 3e-5, 1e-9 * x + 4e-9 * y }, 4), 1, 0);
        rows_item(&r, host, 1);
        rows_item(&r, a, x);
        rows_item(&r, b, y);
        rows_begin(&r, rows_seconds((row_cost){ 3e-5, 1e-8 * x + 4e-8 * y }, 4), 1, 0);
        rows_item(&r, host, 1);
        rows_item(&r, a, 10 * x);
        rows_item(&r, b, 10 * y);
    }
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    assert_true(fabs(price(&c, host) / 3e-5 - 1) < 0.01);
    assert_true(fabs(price(&c, a) / 1e-9 - 1) < 0.01);
    assert_true(fabs(price(&c, b) / 4e-9 - 1) < 0.01);
    rows_free(&r);
    columns_free(&c);
}

/* Seconds of a floor and of work say themselves how they join; also those of a sample do. */
static void whether_floors_hide_is_told_by_the_rows(void **state)
{
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++)
        for (double p = 1; p <= 4; p += 3) {
            solve_options o    = solve_default;
            columns       c    = { 0 };
            rows          r    = { 0 };
            const size_t  host = need(&c, "host", 0), a = need(&c, "a", 0);

            c.column[host].floor = true;
            o.may_overlap        = true;
            o.rounds             = 30;
            o.sample             = sampled ? 200 : 0;
            for (int i = 0; i < 1000; i++) {
                const double x = pow(10, (double)i / 200);

                rows_begin(&r, rows_seconds((row_cost){ 3e-5, 1e-8 * x }, p), 1, 0);
                rows_item(&r, host, 1);
                rows_item(&r, a, x);
            }
            assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
            assert_true(columns_join(&c) == p);
            assert_true(fabs(price(&c, host) / 3e-5 - 1) < 0.01);
            assert_true(fabs(price(&c, a) / 1e-8 - 1) < 0.01);
            assert_int_equal(c.column[a].rows, 1000);
            rows_free(&r);
            columns_free(&c);
        }
}

/* 100 rows say 2 and 25 say 3; the family is 2.2 of them, before the robust weights. With mu, the
 * price of the 25 rows minimises sum (c/3 - 1)^2 + mu (c/family - 1)^2. */
static void prices_are_held_near_their_family(void **state)
{
    solve_options o      = solve_default;
    columns       c      = { 0 };
    rows          r      = { 0 };
    const size_t  family = need(&c, "all", 0), many = need(&c, "many", 0), few = need(&c, "few", 0),
                 none = need(&c, "none", 0);
    double by_hand, f;

    (void)state;
    c.column[many].parent = c.column[few].parent = c.column[none].parent = family;
    for (int i = 1; i <= 125; i++) {
        rows_begin(&r, i <= 100 ? 2 * i : 3 * i, 1, 0);
        rows_item(&r, i <= 100 ? many : few, i);
    }
    o.ridge = 5;
    o.huber = 10; /* all rows count in full */
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    /* family: minimises 100 (f/2 - 1)^2 + 25 (f/3 - 1)^2 */
    f       = (100 / 2.0 + 25 / 3.0) / (100 / 4.0 + 25 / 9.0);
    by_hand = (25 / 3.0 + 5 / f) / (25 / 9.0 + 5 / (f * f));
    assert_true(fabs(price(&c, family) / f - 1) < 1e-5);
    assert_true(fabs(price(&c, few) / by_hand - 1) < 1e-5);
    assert_true(fabs(price(&c, none) / f - 1) < 1e-5);
    assert_int_equal(c.column[none].rows, 0);
    rows_free(&r);
    columns_free(&c);
}

/* A launch of one kind takes 5 us, of the other 160, and both hide the same work; beside it the
 * first has 20 us that do not grow, which could be its floor as well. */
static void floors_of_a_family_may_lie_far_apart(void **state)
{
    solve_options o   = solve_default;
    columns       c   = { 0 };
    rows          r   = { 0 };
    const size_t  all = need(&c, "all", 0), once = need(&c, "once", 0), grows = need(&c, "work", 0);
    const size_t  of[2][3] = { { need(&c, "a", 0), need(&c, "a.once", 0), need(&c, "a.work", 0) },
                               { need(&c, "b", 0), need(&c, "b.once", 0), need(&c, "b.work", 0) } };
    const double  start[2] = { 5e-6, 1.6e-4 };
    uint64_t      seed     = 7;

    (void)state;
    c.column[all].floor = true;
    for (int k = 0; k < 2; k++) {
        c.column[of[k][0]].floor  = true;
        c.column[of[k][0]].parent = all;
        c.column[of[k][1]].parent = once;
        c.column[of[k][2]].parent = grows;
    }
    o.p       = 4;
    o.huber   = 0.2;
    o.ridge   = 0.01;
    o.orphans = true;
    o.damping = 0.01;
    o.least   = 1;
    for (int i = 0; i < 400; i++) {
        const int    k    = i % 2;
        const double x    = pow(10, (double)random_below(&seed, 5000) / 1000);
        const double work = 1e-8 * x + (k ? 0 : 2e-5);

        rows_begin(&r, rows_seconds((row_cost){ start[k], work }, 4), 1, 0);
        rows_item(&r, of[k][0], 1);
        rows_item(&r, of[k][1], 1);
        rows_item(&r, of[k][2], x);
    }
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    for (int k = 0; k < 2; k++) {
        assert_true(fabs(price(&c, of[k][0]) / start[k] - 1) < 0.1);
        assert_true(fabs(price(&c, of[k][2]) / 1e-8 - 1) < 0.1);
    }
    rows_free(&r);
    columns_free(&c);
}

static void outliers_hardly_count(void **state)
{
    solve_options o = solve_default;
    columns       c = { 0 };
    rows          r = { 0 };
    const size_t  a = need(&c, "a", 0);

    (void)state;
    for (int i = 1; i <= 100; i++) {
        rows_begin(&r, i % 10 ? 2 * i : 20 * i, 1, 0);
        rows_item(&r, a, i);
    }
    assert_int_equal(solve_prices(&r, NULL, &o, &c, NULL), LM_OK);
    assert_true(price(&c, a) > 2 && price(&c, a) < 2.05);
    rows_free(&r);
    columns_free(&c);
}

static void without_rows_there_is_no_fit(void **state)
{
    columns  c   = { 0 };
    rows     r   = { 0 };
    lm_error err = { 0 };

    (void)state;
    need(&c, "a", 1);
    assert_int_equal(solve_prices(&r, NULL, &solve_default, &c, &err), LM_E_ARG);
    rows_begin(&r, 2, 1, 0);
    rows_item(&r, 0, 1);
    assert_int_equal(solve_prices(&r, (const bool[]){ false }, &solve_default, &c, &err), LM_E_ARG);
    assert_string_equal(err.text, "no rows to fit to");
    rows_free(&r);
    columns_free(&c);
}

static void columns_are_found_by_name(void **state)
{
    columns c = { 0 };

    (void)state;
    for (int i = 0; i < 200; i++) {
        char name[20];

        snprintf(name, sizeof name, "column %d", i);
        assert_int_equal(columns_need(&c, name, "byte", RESOURCE_BANDWIDTH), i);
    }
    assert_int_equal(columns_need(&c, "column 7", "byte", RESOURCE_BANDWIDTH), 7);
    assert_int_equal(columns_find(&c, "column 199"), 199);
    assert_true(columns_find(&c, "column 200") == COLUMN_NONE);
    assert_string_equal(c.column[7].unit, "byte");
    assert_int_equal(resource_parse(resource_name(RESOURCE_DEPTH)), RESOURCE_DEPTH);
    assert_int_equal(resource_parse("space"), N_RESOURCES);
    columns_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_alternative_of_each_part_counts),
        cmocka_unit_test(prices_and_choice_are_recovered),
        cmocka_unit_test(a_sample_and_one_round_on_all_rows_give_the_same),
        cmocka_unit_test(an_algorithm_that_too_few_rows_take_keeps_its_price),
        cmocka_unit_test(a_price_that_is_kept_is_taken_off_the_times),
        cmocka_unit_test(rows_of_the_first_stage_give_the_second_its_start),
        cmocka_unit_test(an_algorithm_that_few_rows_take_counts_if_they_confirm_it),
        cmocka_unit_test(floor_and_work_that_overlap_are_told_apart),
        cmocka_unit_test(whether_floors_hide_is_told_by_the_rows),
        cmocka_unit_test(prices_are_held_near_their_family),
        cmocka_unit_test(floors_of_a_family_may_lie_far_apart),
        cmocka_unit_test(outliers_hardly_count),
        cmocka_unit_test(without_rows_there_is_no_fit),
        cmocka_unit_test(columns_are_found_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
