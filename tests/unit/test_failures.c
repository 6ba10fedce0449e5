/* Failures, checkpoints and what both cost a run. */
#include "check.h"

#include <math.h>

#include "plan/failures.h"

#define HOUR 3600.

/* 10 devices that fail each 1000 h, checkpoints of a minute, restarts of five: by Daly's equations 37
 * and 20 with a calculator. */
static void a_run_takes_what_dalys_equations_say(void **state)
{
    const failure_model f = { 1000 * HOUR, 60, 300 };
    const failure_cost  c = failures_of_run(&f, 10, 1e6);

    (void)state;
    assert_close(failures_interval(60, 100 * HOUR), 6532.731548123939, 1e-12);
    assert_close(c.every, 6532.731548123939, 1e-12);
    assert_close(c.seconds, 1019330.9461551098, 1e-12);
    assert_close(c.failures, 2.8314748504308604, 1e-12);
    /* Young's first term, sqrt(2 * 60 * 360000) = 6572.67, less the checkpoint, is near */
    assert_close(c.every, sqrt(2 * 60 * 100 * HOUR) - 60, 5e-3);
}

/* No other interval makes the run shorter. */
static void the_interval_is_the_best(void **state)
{
    const failure_model f    = { 1000 * HOUR, 600, 300 };
    const double        mtbf = f.mtbf / 1000, best = failures_interval(600, mtbf);
    double              least = INFINITY, at = 0;

    (void)state;
    for (double t = 10; t < 20000; t *= 1.01) {
        const double s = expm1((t + 600) / mtbf) / t;

        at    = s < least ? t : at;
        least = fmin(s, least);
    }
    assert_close(at, best, 2e-2);
}

static void where_nothing_fails_nothing_is_lost(void **state)
{
    const failure_model none = { 0, 60, 300 }, rare = { 1e15, 1e-9, 300 };
    const failure_cost  c = failures_of_run(&none, 8, 1234);

    (void)state;
    assert_true(c.seconds == 1234 && c.failures == 0);
    assert_close(failures_of_run(&rare, 1, 1234).seconds, 1234, 1e-9);
    assert_true(isnan(failures_of_run(&rare, 1, NAN).seconds));
}

static void a_run_that_fails_before_its_checkpoint_never_ends(void **state)
{
    const failure_model f = { 1000, 60, 1e6 };

    (void)state;
    assert_true(isinf(failures_of_run(&f, 1, 1e6).seconds));
    assert_close(failures_interval(2000, 1000), 1000, 1e-15);
    /* a run shorter than the interval writes one checkpoint */
    assert_close(failures_of_run(&(failure_model){ 1e9, 60, 300 }, 1, 10).every, 10, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_takes_what_dalys_equations_say),
        cmocka_unit_test(the_interval_is_the_best),
        cmocka_unit_test(where_nothing_fails_nothing_is_lost),
        cmocka_unit_test(a_run_that_fails_before_its_checkpoint_never_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
