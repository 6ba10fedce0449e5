/* Mean power from looks at a device: ramps, outliers, counters that stand still or begin anew. */
#include "check.h"

#include <math.h>

#include "base/random.h"
#include "device/power_series.h"

static double noise(uint64_t *state, double of)
{
    return of * ((double)random_below(state, 2001) / 1000 - 1);
}

static void a_steady_sensor_is_its_mean(void **state)
{
    power_series s = { 0 };
    power_mean   m;

    (void)state;
    for (int i = 0; i <= 10; i++)
        power_series_look(&s, 5 + 0.1 * i, NAN, i % 2 ? 102 : 98);
    m = power_settle(s.piece, s.n); /* the first look is of a time before */
    assert_close(m.watts, 100, 1e-9);
    assert_close(m.seconds, 1, 1e-9);
    assert_int_equal(m.pieces, 10);
    assert_int_equal(m.strange, 0);
    power_series_free(&s);
}

/* 30 W rising for 10 of 60 looks to 160 W. */
static void what_is_drawn_before_it_settles_is_left_out(void **state)
{
    power_piece p[60];
    uint64_t    seed = 5;
    power_mean  m;

    (void)state;
    for (int i = 0; i < 60; i++)
        p[i] = (power_piece){ 0.05, (i < 10 ? 30 + 13 * i : 160) + noise(&seed, 1) };
    m = power_settle(p, 60);
    assert_close(m.watts, 160, 0.005);
    assert_true(m.ramp_seconds > 0.4 && m.ramp_seconds < 0.7);
}

/* 20 looks at 30 W, 100 at 200 W, 30 at 35 W; and a single one among them. */
static void a_run_ends_before_its_log(void **state)
{
    power_piece p[150];
    uint64_t    seed = 4;
    power_mean  m;

    (void)state;
    for (int i = 0; i < 150; i++)
        p[i] = (power_piece){ 0.1, (i < 20 ? 30 : i < 120 ? 200 : 35) + noise(&seed, 2) };
    p[70].watts = 40;
    m           = power_settle_run(p, 150);
    assert_close(m.watts, 200, 0.003);
    assert_close(m.ramp_seconds, 2, 0.06); /* or one more */
    assert_close(m.tail_seconds, 3, 0.06);
    assert_int_equal(m.strange, 1);
    assert_true(m.deviation < 2);
    assert_true(power_settle(p, 150).watts < 190); /* a meter stops with the run */
}

static void no_ramp_is_seen_where_there_is_none(void **state)
{
    power_piece p[200];
    uint64_t    seed = 9;
    power_mean  m;

    (void)state;
    for (int i = 0; i < 200; i++)
        p[i] = (power_piece){ 0.01, 100 + noise(&seed, 5) };
    m = power_settle(p, 200);
    assert_close(m.watts, 100, 0.02);
    assert_true(m.seconds >= 1); /* at most the first half */
}

static void a_look_beyond_three_deviations_is_left_out(void **state)
{
    power_piece p[101];
    uint64_t    seed = 2;
    power_mean  m;

    (void)state;
    for (int i = 0; i < 101; i++)
        p[i] = (power_piece){ 0.1, i == 60 ? 900 : 100 + noise(&seed, 2) };
    m = power_settle(p, 101);
    assert_close(m.watts, 100, 0.02);
    assert_int_equal(m.strange, 1);
}

/* Pieces count by their time. */
static void long_pieces_count_more(void **state)
{
    const power_piece p[] = { { 1, 100 }, { 3, 120 } };

    (void)state;
    assert_close(power_settle(p, 2).watts, 115, 1e-12);
    assert_true(isnan(power_settle(p, 0).watts));
}

/* A counter that moves ten times a second, looked at five times as often: 150 W. */
static void a_counter_that_stands_still_says_nothing(void **state)
{
    power_series s = { 0 };
    power_mean   m;

    (void)state;
    for (int i = 0; i < 100; i++) {
        const double t = 0.013 + 0.02 * i;

        power_series_look(&s, t, 1000 + 150 * floor(t / 0.1) * 0.1, 999);
    }
    m = power_settle(s.piece, s.n);
    assert_close(m.watts, 150, 0.1); /* each step by the look behind it */
    assert_true(s.n >= 17 && s.n <= 19);
    power_series_free(&s);
}

static void a_counter_that_begins_anew_loses_one_piece(void **state)
{
    static const double joules[] = { 10, 20, 30, 40, 3, 13, 23 };
    power_series        s        = { 0 };

    (void)state;
    for (int i = 0; i < 7; i++)
        power_series_look(&s, i, joules[i], NAN);
    assert_int_equal(s.resets, 1);
    assert_int_equal(s.n, 3); /* 20-30, 30-40; 13-23, as 3 may be of any moment */
    assert_close(power_settle(s.piece, s.n).watts, 10, 1e-12);
    power_series_free(&s);
}

static void looks_without_anything_are_no_looks(void **state)
{
    power_series s = { 0 };

    (void)state;
    power_series_look(&s, 1, NAN, NAN);
    power_series_look(&s, 2, NAN, 50);
    power_series_look(&s, 2, NAN, 70); /* at the same time */
    assert_int_equal(s.n, 0);
    power_series_look(&s, 4, NAN, 60);
    assert_int_equal(s.n, 1);
    assert_close(s.piece[0].seconds, 2, 0);
    power_series_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_sensor_is_its_mean),
        cmocka_unit_test(what_is_drawn_before_it_settles_is_left_out),
        cmocka_unit_test(a_run_ends_before_its_log),
        cmocka_unit_test(no_ramp_is_seen_where_there_is_none),
        cmocka_unit_test(a_look_beyond_three_deviations_is_left_out),
        cmocka_unit_test(long_pieces_count_more),
        cmocka_unit_test(a_counter_that_stands_still_says_nothing),
        cmocka_unit_test(a_counter_that_begins_anew_loses_one_piece),
        cmocka_unit_test(looks_without_anything_are_no_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
