/* Power by what a step's time goes to, clock and limit: by hand, as physics has it, and recovered
 * from powers that were made. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/power.h"
#include "device/power_fit.h"
#include "predict/step_power.h"

/* A made-up board: 30 W at rest, 150 W at its limit, 1000 MHz, a knee at 500 MHz. */
static power_model board(void)
{
    power_model m = power_unknown;

    m.bound_w[BOUND_ARITHMETIC] = 130;
    m.bound_w[BOUND_TRAFFIC]    = 110;
    m.bound_w[BOUND_LAUNCH]     = 50;
    m.idle_w                    = 30;
    m.memory_w                  = 20;
    m.cap_w                     = 150;
    m.top_mhz                   = 1000;
    m.knee_mhz                  = 500;
    return m;
}

static const power_load mixed = { .share = { 0.5, 0.3, 0.2 } };

/* V is 2 at 1000 MHz and 1.5 at 750, in units of what the knee takes. */
static void dynamic_power_is_clock_times_squared_voltage(void **state)
{
    const power_model m = board();
    power_model       flat;

    (void)state;
    assert_close(power_dynamic(&m, 1000), 1, 1e-15);
    assert_close(power_dynamic(&m, 750), 0.75 * 1.5 * 1.5 / 4, 1e-15);
    assert_close(power_dynamic(&m, 500), 0.5 / 4, 1e-15);
    assert_close(power_dynamic(&m, 250), 0.25 / 4, 1e-15);
    flat       = m;
    flat.slope = 0;
    assert_close(power_dynamic(&flat, 250), 0.25, 1e-15);
}

/* A rank computes 6 s, sends 1 s and waits 3 s; the ranks compute 4 s on average, and so wait 6 s. */
static void ranks_with_less_work_draw_what_waiting_takes(void **state)
{
    const bottleneck_of b    = { .seconds = { [BOTTLENECK_ARITHMETIC] = 4,
                                              [BOTTLENECK_TRAFFIC]    = 2,
                                              [BOTTLENECK_INTER_NODE] = 1,
                                              [BOTTLENECK_BUBBLE]     = 3 },
                                 .others  = 2.0 / 3 };
    const prediction    step = { .nodes = 2, .devices = 1, .step = 10 };
    const power_load    load = step_load(&b);
    power_model         m    = board();
    step_energy         e;

    (void)state;
    assert_close(load.share[BOUND_ARITHMETIC], 0.4 * 2 / 3, 1e-12);
    assert_close(load.share[BOUND_TRAFFIC], 0.2 * 2 / 3, 1e-12);
    assert_close(load.wait, 0.6, 1e-12);
    m.wait_w = 60;
    e = step_energy_of(&m, &b, &step, &(power_state){ .watts = 100, .mhz = NAN, .stretch = 1 });
    assert_close(e.messages, 2 * 60 * 1, 1e-9);
    assert_close(e.bubbles, 2 * 60 * 5, 1e-9);
    assert_close(e.computing, 2 * 1000 - 2 * 60 * 6, 1e-9);
}

static void power_is_what_time_goes_to(void **state)
{
    const power_model m = board();

    (void)state;
    /* 0.5 x 130 + 0.3 x 110 + 0.2 x 50 = 108; of it 30 and 0.3 x 20 do not follow the clock */
    assert_close(power_draw(&m, &mixed, NAN), 108, 1e-12);
    assert_close(power_draw(&m, &mixed, 1000), 108, 1e-12);
    assert_close(power_draw(&m, &mixed, 500), 36 + 72 * 0.125, 1e-12);
    assert_close(power_usual(&m, &mixed).watts, 108, 1e-12);
    assert_close(power_usual(&m, &mixed).mhz, 1000, 1e-12);
    assert_close(power_usual(&m, &mixed).stretch, 1, 0);
}

/* Rest 30, most at work 130: 80 midway, until waiting was measured. At half the clock 0.4 of arithmetic
 * takes 0.8, the whole 1.4: waiting is 0.3 / 1.4 of it. */
static void waiting_draws_between_rest_and_work(void **state)
{
    const power_load load = { .share = { 0.4, 0.2, 0.1 }, .wait = 0.3, .join = 1 };
    power_model      m    = board();
    power_range      w    = power_waiting(&m);
    power_load       slow;

    (void)state;
    assert_close(w.value, 80, 1e-12);
    assert_close(w.low, 30, 1e-12);
    assert_close(w.high, 130, 1e-12);
    assert_close(power_draw(&m, &load, NAN), 0.4 * 130 + 0.2 * 110 + 0.1 * 50 + 0.3 * 80, 1e-12);
    assert_close(power_slow_down(&load, 2, &slow), 1.4, 1e-12);
    assert_close(slow.wait, 0.3 / 1.4, 1e-12);
    assert_close(slow.share[BOUND_LAUNCH], 0.1 / 1.4, 1e-12);
    m.idle_w = NAN; /* what launches draw is the least that is known */
    assert_close(power_waiting(&m).low, 50, 1e-12);
    m.wait_w = 65;
    w        = power_waiting(&m);
    assert_close(w.low + w.value + w.high, 3 * 65, 1e-12);
    assert_close(power_draw(&m, &load, NAN), 0.4 * 130 + 0.2 * 110 + 0.1 * 50 + 0.3 * 65, 1e-12);
}

/* At half the clock the work of 0.7 takes 1.1, and 0.2 of waiting for such work as many times as long; the other
 * 0.1, a message, stays. */
static void bubbles_last_as_long_as_the_work_of_others(void **state)
{
    const power_load load = { .share = { 0.4, 0.2, 0.1 }, .wait = 0.3, .bubble = 0.2, .join = 1 };
    const double     all  = 1.1 + 0.2 * 1.1 / 0.7 + 0.1;
    power_load       slow;

    (void)state;
    assert_close(power_slow_down(&load, 2, &slow), all, 1e-12);
    assert_close(slow.bubble, 0.2 * 1.1 / 0.7 / all, 1e-12);
    assert_close(slow.wait, (0.2 * 1.1 / 0.7 + 0.1) / all, 1e-12);
    assert_close(slow.share[BOUND_ARITHMETIC], 0.8 / all, 1e-12);
    assert_close(slow.share[BOUND_LAUNCH], 0.1 / all, 1e-12);
}

/* A device that works half of the time draws 130 W in that half, and 80 in the other: a limit of 110 W slows
 * it, although the mean is 105. */
static void a_limit_holds_while_the_device_works(void **state)
{
    const power_model m    = board();
    const power_load  load = { .share = { 0.5, 0, 0 }, .wait = 0.5, .join = 1 };
    const power_load  work = { .share = { 1, 0, 0 }, .join = 1 };
    const power_state s    = power_held(&m, &load, NAN, 110);

    (void)state;
    assert_close(power_usual(&m, &load).watts, 105, 1e-12);
    assert_true(s.mhz < 1000);
    assert_close(power_draw(&m, &work, s.mhz), 110, 1e-6);
    assert_close(s.stretch, 0.5 + 0.5 * 1000 / s.mhz, 1e-9);
}

/* At half the clock 0.5 of arithmetic takes 1; with the rest, 1.5: shares 2/3, 1/5, 2/15. */
static void arithmetic_slows_with_the_clock_and_traffic_does_not(void **state)
{
    const power_model m = board();
    const power_state s = power_held(&m, &mixed, 500, NAN);
    const double watts  = 30 + 0.2 * 20 + 0.125 * (100 * 2. / 3 + (80 - 20) * 0.2 + 20 * 2. / 15);

    (void)state;
    assert_close(s.stretch, 1.5, 1e-12);
    assert_close(s.watts, watts, 1e-12);
    assert_close(s.mhz, 500, 0);
}

/* 0.6 of work hides behind what takes (1 - 0.6^4)^(1/4); at half the clock it is 0.3 more. */
static void waiting_gives_way_to_what_grows_beside_it(void **state)
{
    const power_load load   = { .share = { 0.3, 0.3, 0.4 }, .join = 4 };
    const double     all    = pow(1 - pow(0.6, 4) + pow(0.9, 4), 0.25);
    const double     half[] = { 0.6 / all, 0.3 / all, 1 - 0.9 / all };
    power_load       slow, again, at_once;

    (void)state;
    assert_close(power_slow_down(&load, 2, &slow), all, 1e-12);
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        assert_close(slow.share[k], half[k], 1e-12);
    assert_close(power_slow_down(&load, 4, &at_once), all * power_slow_down(&slow, 2, &again),
                 1e-12);
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        assert_close(again.share[k], at_once.share[k], 1e-12);
}

/* Of 0.6 of traffic 0.4 are a cache's: with 0.2 of arithmetic, 0.6 take twice as long. Of 0.6 of
 * arithmetic memory bounds 0.4: 0.2 do. */
static void what_memory_bounds_keeps_its_time(void **state)
{
    static const struct {
        power_load load;
        double     all, share[N_TERM_BOUNDS], memory;
    } cases[] = {
        { { .share = { 0.2, 0.6, 0.2 }, .more = 0.4 }, 1.6, { 0.4, 1, 0.2 }, 0.2 },
        { { .share = { 0.6, 0.2, 0.2 }, .more = -0.4 }, 1.2, { 0.8, 0.2, 0.2 }, 0.6 },
    };
    const power_model m = board();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double all = cases[i].all;
        double       top = 0;
        power_load   slow;

        assert_close(power_slow_down(&cases[i].load, 2, &slow), all, 1e-12);
        for (term_bound k = 0; k < N_TERM_BOUNDS; k++) {
            assert_close(slow.share[k], cases[i].share[k] / all, 1e-12);
            top += slow.share[k] * m.bound_w[k];
        }
        assert_close(power_memory_share(&slow), cases[i].memory / all, 1e-12);
        /* 500 MHz: an eighth of all but rest and memory's */
        assert_close(power_held(&m, &cases[i].load, 500, NAN).watts,
                     30 + 20 * cases[i].memory / all +
                         0.125 * (top - 30 - 20 * cases[i].memory / all),
                     1e-12);
    }
}

static void the_clock_falls_until_the_limit_holds(void **state)
{
    const power_load all = { .share = { 1, 0, 0 } };
    power_model      m   = board();
    power_state      s;

    (void)state;
    /* a limit of 80 W leaves half of 100 W: f v^2 = 1/2, of which f^3 is as f >= 1/2: 0.7937 */
    s = power_held(&m, &all, NAN, 80);
    assert_close(s.watts, 80, 1e-9);
    assert_close(s.mhz, 1000 * cbrt(0.5), 1e-9);
    assert_close(s.stretch, 1 / cbrt(0.5), 1e-9);
    /* a clock below that is kept, one above is not */
    assert_close(power_held(&m, &all, 500, 80).mhz, 500, 0);
    assert_close(power_held(&m, &all, 950, 80).mhz, 1000 * cbrt(0.5), 1e-9);
    /* measured under the limit, the time is that of the clock it left */
    m.cap_w = 80;
    s       = power_usual(&m, &all);
    assert_close(s.watts, 80, 1e-9);
    assert_close(s.mhz, 1000 * cbrt(0.5), 1e-9);
    assert_close(s.stretch, 1, 0);
    assert_close(power_held(&m, &all, 500, NAN).stretch, cbrt(0.5) / 0.5, 1e-9);
    /* and a higher limit lets it go */
    s = power_held(&m, &all, NAN, 200);
    assert_close(s.mhz, 1000, 1e-9);
    assert_close(s.stretch, cbrt(0.5), 1e-9);
    assert_close(s.watts, 130, 1e-9);
}

static void what_is_not_known_is_not_answered(void **state)
{
    power_model m = board();

    (void)state;
    m.idle_w = NAN;
    assert_true(power_known(&m) && !power_clocks_known(&m));
    assert_close(power_held(&m, &mixed, NAN, NAN).watts, 108, 1e-12);
    assert_true(isnan(power_held(&m, &mixed, NAN, NAN).mhz));
    assert_true(isnan(power_held(&m, &mixed, 500, NAN).watts));
    assert_true(isnan(power_held(&m, &mixed, NAN, 100).stretch));
    assert_close(power_held(&m, &mixed, NAN, 120).watts, 108, 1e-12);
    assert_false(power_known(&power_unknown));
}

/* 72 W of 108 W beyond rest; measured 90 W it is 60 of 78, at every clock. */
static void what_was_measured_is_carried_to_other_clocks(void **state)
{
    power_model m   = board();
    power_model own = power_as_measured(&m, &mixed, 90);

    (void)state;
    assert_close(power_usual(&own, &mixed).watts, 90, 1e-12);
    assert_close(power_draw(&own, &mixed, 500) - 30, (power_draw(&m, &mixed, 500) - 30) * 60 / 78,
                 1e-12);
    /* held by the limit: the model's own demand, or the limit where that is more */
    m.cap_w = 100;
    own     = power_as_measured(&m, &mixed, 99.5);
    assert_close(power_draw(&own, &mixed, NAN), 108, 1e-12);
    m.bound_w[BOUND_ARITHMETIC] = 100; /* 93 W */
    own                         = power_as_measured(&m, &mixed, 99.5);
    assert_close(power_draw(&own, &mixed, NAN), 99.5, 1e-12);
}

/* Held at 500 MHz the model says 14 1/6 W beyond rest and 1.5 times as long, at 250 MHz 2.5 times;
 * half of these watts were measured, so half are drawn at 250, too. */
static void what_was_measured_at_a_held_clock_is_carried_to_another(void **state)
{
    power_model  m    = board();
    const double then = 4 + 0.125 * (100 * 2. / 3 + (80 - 20) * 0.2 + 20 * 2. / 15);
    const double now  = 20 * 0.12 + 0.0625 * (100 * 0.8 + (80 - 20) * 0.12 + 20 * 0.08);
    power_state  s    = power_carried(&m, &mixed, 30 + then / 2, 500, 250);

    (void)state;
    assert_close(s.mhz, 250, 0);
    assert_close(s.watts, 30 + now / 2, 1e-12);
    assert_close(s.stretch, 2.5 / 1.5, 1e-12);
    /* from the usual clock it is power_as_measured() */
    s = power_carried(&m, &mixed, 90, NAN, 250);
    assert_close(s.watts, 30 + now * 60 / 78, 1e-12);
    assert_close(s.stretch, 2.5, 1e-12);
    /* time alone */
    s = power_carried(&m, &mixed, NAN, 500, 250);
    assert_true(isnan(s.watts));
    assert_close(s.stretch, 2.5 / 1.5, 1e-12);
    m.knee_mhz = NAN;
    s          = power_carried(&m, &mixed, 90, 500, 250);
    assert_true(isnan(s.watts) && isnan(s.stretch));
}

static power_load random_load(uint64_t *state)
{
    power_load l   = { .join = random_below(state, 2) ? 4 : 1 };
    double     all = 0;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        all += l.share[k] = (double)random_below(state, 1000) + 1;
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        l.share[k] /= all;
    l.more = l.share[BOUND_TRAFFIC] * (double)random_below(state, 1001) / 1000 -
             l.share[BOUND_ARITHMETIC] * (double)random_below(state, 1001) / 1000;
    return l;
}

/* No limit is exceeded, a higher clock is never slower nor draws less. */
static void limits_hold_whatever_runs(void **state)
{
    const power_model m    = board();
    uint64_t          seed = 7;

    (void)state;
    for (int i = 0; i < 500; i++) {
        const power_load l    = random_load(&seed);
        const double     cap  = 35 + (double)random_below(&seed, 120);
        power_state      last = { .watts = 0, .stretch = HUGE_VAL };

        for (double mhz = 100; mhz <= 1000; mhz += 50) {
            const power_state s = power_held(&m, &l, mhz, cap);

            assert_true(s.watts <= cap * (1 + 1e-9) || s.mhz <= 51);
            assert_true(s.mhz <= mhz && s.watts >= last.watts * (1 - 1e-9));
            assert_true(s.stretch <= last.stretch * (1 + 1e-9) && s.stretch >= 1 - 1e-9);
            last = s;
        }
    }
}

/* Energy of pure arithmetic is least at the knee or below, its product with time later on. */
static void best_clocks_are_found(void **state)
{
    const double     grid[] = { 200, 400, 500, 600, 800, 1000 };
    const power_load all = { .share = { 1, 0, 0 } }, traffic = { .share = { 0, 1, 0 } };
    power_model      m = board();
    power_state      at[6];

    (void)state;
    m.bound_w[BOUND_ARITHMETIC] = 150;
    clocks_try(&m, &all, NAN, grid, 6, at);
    /* (30 + 120 f^3) / f: 90 at 0.5, 93 at 0.6; over f^2: 155, 143, 150 from 0.6 on */
    assert_int_equal(clocks_best(at, 6, BEST_ENERGY), 2);
    assert_int_equal(clocks_best(at, 6, BEST_EDP), 4);
    assert_int_equal(clocks_best(at, 6, BEST_TIME), 5);
    clocks_try(&m, &traffic, NAN, grid, 6, at);
    assert_int_equal(clocks_best(at, 6, BEST_ENERGY), 0);
    assert_int_equal(clocks_best(at, 6, BEST_TIME), 0); /* of equals the lowest */
}

/* ---- fits ---------------------------------------------------------------------------------------
 */

#define ROWS 120

static size_t make_rows(const power_model *m, const double *clocks, size_t n_clocks, double noise,
                        power_row row[ROWS])
{
    uint64_t seed = 3;

    for (size_t i = 0; i < ROWS; i++) {
        const double mhz = n_clocks ? clocks[i % n_clocks] : NAN;

        row[i] = (power_row){ .load = random_load(&seed), .mhz = mhz, .group = i % 6 };
        if (n_clocks)
            row[i].watts = power_draw(m, &row[i].load, mhz);
        else
            row[i].watts = power_usual(m, &row[i].load).watts;
        row[i].watts *= 1 + noise * ((double)random_below(&seed, 2001) / 1000 - 1);
    }
    return ROWS;
}

static void a_made_board_is_found_again_from_several_clocks(void **state)
{
    static const double clocks[] = { 250, 400, 550, 700, 850, 1000 };
    const power_model   m        = board();
    power_row           row[ROWS];
    power_model         found;
    lm_error            err = { LM_OK, "" };

    (void)state;
    make_rows(&m, clocks, 6, 0, row);
    assert_int_equal(power_fit(row, ROWS, &power_unknown, &found, &err), LM_OK);
    assert_close(found.knee_mhz, 500, 0.03);
    assert_close(found.idle_w, 30, 0.02);
    assert_close(found.bound_w[BOUND_ARITHMETIC], 130, 0.02);
    assert_close(found.bound_w[BOUND_TRAFFIC], 110, 0.02);
    assert_close(found.bound_w[BOUND_LAUNCH], 50, 0.05);
    assert_close(found.memory_w, 20, 0.1);
    assert_close(found.top_mhz, 1000, 0);
    assert_true(found.mape < 0.005 && found.held_out_mape < 0.005);
    assert_int_equal(found.rows, ROWS);
    assert_int_equal(found.groups, 6);
    make_rows(&m, clocks, 6, 0.05, row);
    assert_int_equal(power_fit(row, ROWS, &power_unknown, &found, &err), LM_OK);
    assert_true(found.held_out_mape < 0.05);
    assert_close(found.knee_mhz, 500, 0.2);
    assert_true(found.low > 0.9 && found.low < 1 && found.high < 1.1 && found.high > 1);
}

static void one_clock_tells_what_is_drawn_there(void **state)
{
    const power_model m = board();
    power_row         row[ROWS];
    power_model       found, told = power_unknown;
    lm_error          err = { LM_OK, "" };

    (void)state;
    make_rows(&m, NULL, 0, 0, row);
    assert_int_equal(power_fit(row, ROWS, &power_unknown, &found, &err), LM_OK);
    assert_close(found.bound_w[BOUND_ARITHMETIC], 130, 1e-6);
    assert_close(found.bound_w[BOUND_LAUNCH], 50, 1e-6);
    assert_true(isnan(found.idle_w) && !power_clocks_known(&found));
    told.idle_w   = 30;
    told.top_mhz  = 1000;
    told.knee_mhz = 500;
    assert_int_equal(power_fit(row, ROWS, &told, &found, &err), LM_OK);
    assert_close(found.bound_w[BOUND_ARITHMETIC], 130, 1e-6);
    assert_true(power_clocks_known(&found));
}

/* Half of the rows are held by the limit; what they would draw is found by the others. */
static void rows_at_the_limit_draw_that_or_more(void **state)
{
    power_model m = board(), found, told = power_unknown;
    power_row   row[ROWS];
    lm_error    err    = { LM_OK, "" };
    size_t      capped = 0;

    (void)state;
    m.cap_w = told.cap_w = 95;
    make_rows(&m, NULL, 0, 0, row);
    for (size_t i = 0; i < ROWS; i++)
        capped += row[i].watts >= 95;
    assert_true(capped > ROWS / 4 && capped < ROWS * 3 / 4);
    assert_int_equal(power_fit(row, ROWS, &told, &found, &err), LM_OK);
    assert_close(found.bound_w[BOUND_ARITHMETIC], 130, 0.02);
    assert_close(found.bound_w[BOUND_TRAFFIC], 110, 0.02);
    assert_true(found.mape < 0.01);
}

static void too_few_powers_are_refused(void **state)
{
    power_row   row[3] = { { mixed, 100, NAN, 0 }, { mixed, 100, NAN, 0 }, { mixed, 100, NAN, 1 } };
    power_model found;
    lm_error    err = { LM_OK, "" };

    (void)state;
    assert_int_equal(power_fit(row, 3, &power_unknown, &found, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "3 powers, a fit needs 4 or more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dynamic_power_is_clock_times_squared_voltage),
        cmocka_unit_test(power_is_what_time_goes_to),
        cmocka_unit_test(ranks_with_less_work_draw_what_waiting_takes),
        cmocka_unit_test(bubbles_last_as_long_as_the_work_of_others),
        cmocka_unit_test(a_limit_holds_while_the_device_works),
        cmocka_unit_test(arithmetic_slows_with_the_clock_and_traffic_does_not),
        cmocka_unit_test(waiting_draws_between_rest_and_work),
        cmocka_unit_test(waiting_gives_way_to_what_grows_beside_it),
        cmocka_unit_test(what_memory_bounds_keeps_its_time),
        cmocka_unit_test(the_clock_falls_until_the_limit_holds),
        cmocka_unit_test(what_is_not_known_is_not_answered),
        cmocka_unit_test(what_was_measured_is_carried_to_other_clocks),
        cmocka_unit_test(what_was_measured_at_a_held_clock_is_carried_to_another),
        cmocka_unit_test(limits_hold_whatever_runs),
        cmocka_unit_test(best_clocks_are_found),
        cmocka_unit_test(a_made_board_is_found_again_from_several_clocks),
        cmocka_unit_test(one_clock_tells_what_is_drawn_there),
        cmocka_unit_test(rows_at_the_limit_draw_that_or_more),
        cmocka_unit_test(too_few_powers_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
