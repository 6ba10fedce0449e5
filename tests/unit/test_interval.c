/* Intervals from ratios on groups that were left out. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "fit/interval.h"
#include "fit/spread.h"

/* 29 ratios of groups of their own: 1 - 0.9 * 30 / 29 = 2 / 29 may lie outside, so the farthest on each
 * side. Rounded, 1 / 29 is a little more than that. */
static void what_may_just_lie_outside_does(void **state)
{
    residual r[29];
    interval i = interval_unknown;

    (void)state;
    for (size_t k = 0; k < 29; k++)
        r[k] = (residual){ 0.86 + 0.01 * (double)k, k, 0 };
    assert_int_equal(interval_bounds(r, 29, &i, NULL), LM_OK);
    assert_close(i.low, 0.87, 1e-14);
    assert_close(i.high, 1.13, 1e-14);
}

/* 18 groups of 20 ratios, 0.82 to 1.179 in steps of a thousandth, dealt out: the groups do not
 * differ, so these are worth 360. What may lie outside is 1 - 0.9 * 361 / 360 = 9.75 %, half of it
 * on each side, which is 17.55 of 360: the 18th from each end is the bound. */
static void bounds_hold_the_central_share_of_what_was_left_out(void **state)
{
    residual r[360];
    interval i = interval_unknown;

    (void)state;
    for (size_t k = 0; k < 360; k++)
        r[k] = (residual){ 0.82 + 1e-3 * (double)k, k % 18, 0 };
    assert_int_equal(interval_bounds(r, 360, &i, NULL), LM_OK);
    assert_int_equal(i.groups, 18);
    assert_close(i.low, 0.837, 1e-14);
    assert_close(i.high, 1.162, 1e-14);
    assert_true(interval_known(&i));
}

/* Each group has one ratio twenty times: worth 20, so 1 - 0.9 * 21 / 20 = 5.5 % may lie outside, half
 * of it on each side, which is less than the 1 / 20 of a group. */
static void groups_that_deviate_alike_are_worth_one_ratio_each(void **state)
{
    residual r[400];
    interval i = interval_unknown;

    (void)state;
    for (size_t k = 0; k < 400; k++)
        r[k] = (residual){ 0.82 + 0.02 * (double)(k % 20), k % 20, 0 };
    assert_int_equal(interval_bounds(r, 400, &i, NULL), LM_OK);
    assert_close(i.low, 0.82, 1e-14);
    assert_close(i.high, 1.20, 1e-14);
}

/*
 * Logarithms of 40 groups of two: numbers a, evenly from -0.78 to 0.78, each once 0.3 above and
 * once 0.3 below. Mean square within 80 * 0.3^2 / 40 = 0.18; between 2 sum(a^2) / 39 = 2 * 8.528 /
 * 39 = 0.43733, so the component between is (0.43733 - 0.18) / 2 = 0.128667. Worth (0.128667 +
 * 0.18) / (0.128667 / 40 + 0.18 * 20 / 1600) = 56.45 ratios. Outside may lie 1 - 0.9 * (1 + 1
 * / 56.45) = 8.406 %, on each side 4.203 %, which is 3.36 of 80: the fourth from each end is the
 * bound, -1.08, -1.04, -1.00, -0.96.
 */
static void what_ratios_are_worth_is_by_components_of_variance(void **state)
{
    residual r[80];
    interval i = interval_unknown;

    (void)state;
    for (size_t k = 0; k < 80; k++)
        r[k] = (residual){ exp(-0.78 + 0.04 * (double)(k / 2) + (k % 2 ? 0.3 : -0.3)), k / 2, 0 };
    assert_int_equal(interval_bounds(r, 80, &i, NULL), LM_OK);
    assert_close(i.low, exp(-0.96), 1e-14);
    assert_close(i.high, exp(0.96), 1e-14);
}

/* 40 groups: 1 - 0.9 * 41 / 40 = 7.75 % may lie outside, of which a group that is far off in all of
 * its 400 ratios is 2.5 %. Of the ratios it is nine tenths. */
static void each_group_weighs_the_same(void **state)
{
    residual r[439];
    interval i = interval_unknown;

    (void)state;
    for (size_t k = 0; k < 439; k++)
        r[k] = k < 400 ? (residual){ 10, 0, 0 } : (residual){ 1.1, k - 399, 0 };
    assert_int_equal(interval_bounds(r, 439, &i, NULL), LM_OK);
    assert_int_equal(i.groups, 40);
    assert_close(i.high, 1.1, 0);
    assert_close(i.low, 1, 0); /* always around the prediction itself */
}

/*
 * Logarithms 0.1, 0.2, 0.3: mean 0.2, variance 0.01. The prior group adds 0.01, and 3/4 of 0.2^2: over
 * 4 degrees of freedom (0.01 + 2 * 0.01 + 0.03) / 4 = 0.015. The mean moves a quarter of the way to 0.
 * The bounds are 0.15 -+ t sqrt(0.015 * 1.25), and t(4) of 90 % is 2.132.
 */
static void few_groups_are_normal_with_one_group_before_them(void **state)
{
    residual r[] = { { exp(0.2), 4, 0 }, { exp(0.3), 7, 0 }, { exp(0.1), 9, 0 } };
    interval i   = interval_unknown;

    (void)state;
    assert_int_equal(interval_bounds(r, 3, &i, NULL), LM_OK);
    assert_int_equal(i.groups, 3);
    assert_close(log(i.low), 0.15 - 2.132 * sqrt(0.01875), 2e-3);
    assert_close(log(i.high), 0.15 + 2.132 * sqrt(0.01875), 2e-3);
}

/* Three groups that agree: what is left is the prior, 0.1^2 / 4, and 1 is enclosed. */
static void groups_that_agree_leave_the_prior(void **state)
{
    residual r[] = { { 1, 0, 0 }, { 1, 1, 0 }, { 1, 2, 0 } }, alike[30];
    interval i   = interval_unknown;

    (void)state;
    assert_int_equal(interval_bounds(r, 3, &i, NULL), LM_OK);
    assert_close(log(i.high), 2.132 * 0.05 * sqrt(1.25), 2e-3);
    assert_close(i.low * i.high, 1, 1e-12);
    for (size_t k = 0; k < 30; k++) /* 18 groups are few, 19 are not */
        alike[k] = (residual){ 1, k, 0 };
    assert_int_equal(interval_bounds(alike, 18, &i, NULL), LM_OK);
    assert_true(i.high > 1.01);
    assert_int_equal(interval_bounds(alike, 19, &i, NULL), LM_OK);
    assert_close(i.high, 1, 0);
}

/* Two ratios of one group each: what varies within groups counts, too. Logarithms -0.3, 0.3 in each of
 * three groups: variance within 0.18, none between, so six ratios: 7 degrees of freedom, (0.01 + 5 * 0.18)
 * / 7 = 0.13; t(7) of 90 % is 1.8946. */
static void ratios_of_groups_that_do_not_differ_count_each(void **state)
{
    residual r[6];
    interval i = interval_unknown;

    (void)state;
    for (size_t k = 0; k < 6; k++)
        r[k] = (residual){ exp(k % 2 ? 0.3 : -0.3), k / 2, 0 };
    assert_int_equal(interval_bounds(r, 6, &i, NULL), LM_OK);
    assert_close(log(i.high), 1.8946 * sqrt(0.13 * (1 + 1.0 / 7)), 1e-3);
}

/* A prediction of 0 is infinitely far off: no distribution, so the range. */
static void the_bounds_of_an_infinite_ratio_are_the_range(void **state)
{
    residual r[] = { { 0.8, 4, 0 }, { HUGE_VAL, 7, 0 }, { 0.9, 9, 0 } };
    interval i   = interval_unknown;

    (void)state;
    assert_int_equal(interval_bounds(r, 3, &i, NULL), LM_OK);
    assert_close(i.low, 0.8, 0);
    assert_true(isinf(i.high));
}

static void fewer_groups_say_nothing(void **state)
{
    residual r[] = { { 0.8, 0, 0 }, { 1.2, 0, 0 }, { 1.05, 1, 0 } };
    interval i   = interval_unknown;

    (void)state;
    for (size_t n = 0; n <= 3; n++) {
        assert_int_equal(interval_bounds(r, n, &i, NULL), LM_OK);
        assert_true(isnan(i.low) && isnan(i.high));
        assert_int_equal(interval_growth(r, n, &i, NULL), LM_OK);
        assert_false(interval_known(&i));
    }
}

/*
 * Bounds 0.8 .. 1.25. 2.5 lies an octave above them one octave beyond; 0.2 two octaves below them
 * four octaves beyond, so a half for each; 1 within. Three groups: all must be held.
 */
static void bounds_widen_as_errors_grow(void **state)
{
    residual r[] = { { 1.24, 5, 0 }, { 2.5, 0, 1 }, { 0.2, 1, 4 }, { 1, 2, 3 }, { 9, 6, 0 } };
    interval i   = { .low = 0.8, .high = 1.25 };

    (void)state;
    assert_int_equal(interval_growth(r, 5, &i, NULL), LM_OK);
    assert_close(i.per_octave, 2, 1e-14);
    assert_close(i.octaves, 4, 0); /* the farthest */
    for (size_t k = 0; k < 5; k++) /* two groups beyond only: the rule */
        if (r[k].group == 2)
            r[k].beyond = 0;
    assert_int_equal(interval_growth(r, 5, &i, NULL), LM_OK);
    assert_close(i.per_octave, INTERVAL_PER_OCTAVE, 0);
    assert_close(i.octaves, 0, 0);
}

/* An octave above the bounds a quarter of an octave beyond: no steeper than over a whole one. */
static void an_error_just_beyond_makes_no_steep_slope(void **state)
{
    residual r[] = { { 2.5, 0, 0.25 }, { 1, 1, 0.5 }, { 1, 2, 0.5 } };
    interval i   = { .low = 0.8, .high = 1.25 };

    (void)state;
    assert_int_equal(interval_growth(r, 3, &i, NULL), LM_OK);
    assert_close(i.per_octave, 2, 1e-14);
}

/* Doubled for each of two octaves that were seen, by 1.1 for each behind them. */
static void a_slope_holds_as_far_as_it_was_seen(void **state)
{
    const interval i = { .groups     = 3,
                         .low        = 0.8,
                         .high       = 1.25,
                         .per_octave = 2,
                         .octaves    = 2,
                         .range      = { { NAN, NAN }, { 8, 16 }, { NAN, NAN } } };
    double         low, high;

    (void)state;
    interval_at(&i, 1, (double[]){ 1, 4, 1 }, &low, &high);
    assert_close(low, 0.4, 1e-14);
    interval_at(&i, 1, (double[]){ 1, 256, 1 }, &low, &high);
    assert_close(low, 0.8 / (4 * 1.1 * 1.1), 1e-14);
    assert_close(high, 1.25 * (4 * 1.1 * 1.1), 1e-14);
}

static void bounds_widen_by_the_farthest_of_all_scopes(void **state)
{
    const interval i = { .groups     = 3,
                         .low        = 0.8,
                         .high       = 1.25,
                         .per_octave = 2,
                         .range      = { { 1, 8 }, { 2, 16 }, { NAN, NAN } } };
    double         low, high;

    (void)state;
    assert_close(interval_beyond(&i, (double[]){ 2, 16, 99 }), 0, 0);
    assert_close(interval_beyond(&i, (double[]){ 16, 64, 99 }), 2, 1e-14);
    assert_close(interval_beyond(&i, (double[]){ 0.125, 1, 99 }), 3, 1e-14);
    assert_close(interval_beyond(&i, (double[]){ 2, NAN, NAN }), 0, 0);
    interval_at(&i, 2, (double[]){ 2, 16, 1 }, &low, &high);
    assert_close(low, 1.6, 1e-14);
    assert_close(high, 2.5, 1e-14);
    interval_at(&i, 2, (double[]){ 2, 64, 1 }, &low, &high);
    assert_close(low, 0.4, 1e-14);
    assert_close(high, 10, 1e-14);
    interval_at(&i, -2, (double[]){ -2, 16, 1 }, &low, &high);
    assert_close(low, -2.5, 1e-14);
    assert_close(high, -1.6, 1e-14);
}

/* Of 0.9 .. 1.2 the width is log(4/3); 0.6 is log(1.5) below, 1.5 log(1.25) above, each 20 times. */
static void an_interval_is_scored_by_its_width_and_by_what_it_misses(void **state)
{
    (void)state;
    assert_close(interval_score(0.9, 1.2, 1.0), log(4.0 / 3), 1e-12);
    assert_close(interval_score(0.9, 1.2, 0.6), log(4.0 / 3) + 20 * log(1.5), 1e-12);
    assert_close(interval_score(0.9, 1.2, 1.5), log(4.0 / 3) + 20 * log(1.25), 1e-12);
    assert_true(isinf(interval_score(0, 1.2, 1.0)));
}

/* A sigma of 0.2 / 1.6449 makes a p95 of 1.2 medians. Of three repetitions the interpolated percentile
 * lies a tenth below the largest, which is on average 0.8694 sigma above the median (Blom: quantile
 * 2.625 / 3.25); unknown numbers count as many. */
static void a_percentile_follows_from_the_spread_and_the_number_of_repetitions(void **state)
{
    const repeat_spread s = { 0.2 / 1.6448536269514722, 9 };

    (void)state;
    assert_close(spread_p95(&s, 2), 2.4, 1e-12);
    assert_close(spread_p95_of(s.sigma, 0, 2), 2.4, 1e-12);
    assert_close(spread_p95_of(1, 3, 2), 2 * (1 + 0.9 * 0.8694238), 1e-6);
    assert_true(isnan(spread_p95(&(repeat_spread){ 0, 0 }, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_is_scored_by_its_width_and_by_what_it_misses),
        cmocka_unit_test(what_may_just_lie_outside_does),
        cmocka_unit_test(bounds_hold_the_central_share_of_what_was_left_out),
        cmocka_unit_test(groups_that_deviate_alike_are_worth_one_ratio_each),
        cmocka_unit_test(what_ratios_are_worth_is_by_components_of_variance),
        cmocka_unit_test(each_group_weighs_the_same),
        cmocka_unit_test(few_groups_are_normal_with_one_group_before_them),
        cmocka_unit_test(groups_that_agree_leave_the_prior),
        cmocka_unit_test(ratios_of_groups_that_do_not_differ_count_each),
        cmocka_unit_test(the_bounds_of_an_infinite_ratio_are_the_range),
        cmocka_unit_test(fewer_groups_say_nothing),
        cmocka_unit_test(bounds_widen_as_errors_grow),
        cmocka_unit_test(an_error_just_beyond_makes_no_steep_slope),
        cmocka_unit_test(a_slope_holds_as_far_as_it_was_seen),
        cmocka_unit_test(bounds_widen_by_the_farthest_of_all_scopes),
        cmocka_unit_test(a_percentile_follows_from_the_spread_and_the_number_of_repetitions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
