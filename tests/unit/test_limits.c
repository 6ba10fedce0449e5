/* Steps of a job under power limits. */
#include "check.h"

#include <math.h>

#include "device/limits.h"

/* Idle power 40 W, 160 W beyond it at the highest clock, voltage constant up to 0.6 of that clock and as the
 * clock above it; 8 ms at the highest clock, and 2 ms that no clock changes, half of them waiting. */
#define IDLE    40.0
#define DYNAMIC 160.0
#define KNEE    0.6
#define FIXED   0.002
#define CLOCKED 0.008
#define WAITS   0.5

static double dynamic(double x)
{
    const double v = x > KNEE ? x / KNEE : 1, top = 1 / KNEE;

    return x * v * v / (top * top);
}

static double clock_under(double limit_w)
{
    double low = 0, high = 1;

    if (IDLE + DYNAMIC <= limit_w)
        return 1;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;

        if (IDLE + DYNAMIC * dynamic(middle) > limit_w)
            high = middle;
        else
            low = middle;
    }
    return low;
}

static limit_row truth(double limit_w)
{
    const double x = clock_under(limit_w), seconds = FIXED + CLOCKED / x;

    return (limit_row){ .limit_w = limit_w,
                        .seconds = seconds,
                        .watts   = IDLE + DYNAMIC * dynamic(x) * (1 - WAITS * FIXED / seconds) };
}

static const limit_key key = { "net", "3x8x8", "momentum", 64, PHASE_STEP };

static void add(limit_curves *all, const double *limit_w, size_t n)
{
    lm_error err;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(limit_curves_add(all, &key, truth(limit_w[i]), &err), LM_OK);
}

/* Not in the order of their limits. */
static const double limits[] = { 250, 100, 200, 125, 175, 150 };

static void curve_tells_limits_between_and_beyond(void **state)
{
    const double asked[] = { 90, 110, 137, 190, 230, 400 };
    limit_curves all     = { .n = 0 };
    lm_error     err;

    (void)state;
    add(&all, limits, 6);
    assert_int_equal(limit_curves_fit(&all, &err), LM_OK);
    for (size_t i = 0; i < 6; i++) {
        const limit_row told = limit_curve_at(&all, limit_curves_find(&all, &key), asked[i]);

        assert_close(told.seconds / truth(asked[i]).seconds, 1, 0.01);
        assert_close(told.watts / truth(asked[i]).watts, 1, 0.015);
        assert_true(told.watts <= asked[i]);
    }
    assert_int_equal(all.rows, 6);
    assert_true(all.seconds_mape < 0.03 && all.watts_mape < 0.06);
    assert_true(all.seconds_low <= 1 && all.seconds_high >= 1);
    limit_curves_free(&all);
}

static void measured_limits_are_answered_as_measured(void **state)
{
    limit_curves all = { .n = 0 };
    lm_error     err;

    (void)state;
    add(&all, limits, 6);
    assert_int_equal(limit_curves_fit(&all, &err), LM_OK);
    for (size_t i = 0; i < 6; i++) {
        const limit_row told = limit_curve_at(&all, limit_curves_find(&all, &key), limits[i]);

        assert_close(told.seconds, truth(limits[i]).seconds, 1e-12);
        assert_close(told.watts, truth(limits[i]).watts, 1e-9);
    }
    limit_curves_free(&all);
}

static void two_limits_are_no_curve(void **state)
{
    limit_curves all = { .n = 0 };
    lm_error     err;

    (void)state;
    add(&all, limits, 2);
    assert_non_null(limit_curves_find(&all, &key));
    assert_int_equal(limit_curves_fit(&all, &err), LM_OK);
    assert_null(limit_curves_find(&all, &key));
    assert_int_equal(all.n, 0);
    limit_curves_free(&all);
}

static void repeats_count_by_their_mean(void **state)
{
    limit_curves all = { .n = 0 };
    lm_error     err;

    (void)state;
    for (int i = 1; i <= 3; i++)
        assert_int_equal(
            limit_curves_add(&all, &key, (limit_row){ 100, 0.01 * i, 60 + i, 0 }, &err), LM_OK);
    assert_int_equal(all.of[0].n, 1);
    assert_int_equal(all.of[0].row[0].repeats, 3);
    assert_close(all.of[0].row[0].seconds, 0.02, 1e-12);
    assert_close(all.of[0].row[0].watts, 62, 1e-9);
    limit_curves_free(&all);
}

static void jobs_differ_by_network_input_optimizer_batch_and_phase(void **state)
{
    const limit_key other[] = { { "net2", "3x8x8", "momentum", 64, PHASE_STEP },
                                { "net", "3x9x9", "momentum", 64, PHASE_STEP },
                                { "net", "3x8x8", "adam", 64, PHASE_STEP },
                                { "net", "3x8x8", "momentum", 65, PHASE_STEP },
                                { "net", "3x8x8", "momentum", 64, PHASE_INFERENCE } };
    limit_curves    all     = { .n = 0 };

    (void)state;
    add(&all, limits, 6);
    for (size_t i = 0; i < 5; i++)
        assert_null(limit_curves_find(&all, &other[i]));
    limit_curves_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curve_tells_limits_between_and_beyond),
        cmocka_unit_test(measured_limits_are_answered_as_measured),
        cmocka_unit_test(two_limits_are_no_curve),
        cmocka_unit_test(repeats_count_by_their_mean),
        cmocka_unit_test(jobs_differ_by_network_input_optimizer_batch_and_phase),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
