/* How long measuring a point takes. */
#include "check.h"

#include "run/cost.h"

static const stopping stop = {
    .warmup = 2, .min_repeats = 5, .max_repeats = 20, .max_seconds = 1, .precision = 0.01
};

/* warm-up and repetitions: 20 of them, as many as fit into a second, but never fewer than 5 */
static void a_simulated_point_takes_its_repetitions(void **state)
{
    cost_model m;

    (void)state;
    cost_begin(&m, true);
    assert_close(cost_expected(&m, &stop, OBS_NETWORK, 0.01), 22 * 0.01, 1e-6);
    assert_close(cost_expected(&m, &stop, OBS_NETWORK, 0.1), 2 * 0.1 + 1, 1e-6);
    assert_close(cost_expected(&m, &stop, OBS_COLLECTIVE, 1), 7, 1e-6);
}

/* Half a second to prepare, and repetitions that take twice what they should. */
static void what_points_took_is_what_is_expected_of_others(void **state)
{
    cost_model m;

    (void)state;
    cost_begin(&m, false);
    for (int i = 1; i <= 20; i++)
        cost_learn(&m, &stop, OBS_NETWORK, 0.002 * i, 0.5 + 2 * 22 * 0.002 * i);
    assert_close(cost_expected(&m, &stop, OBS_NETWORK, 0.01), 0.5 + 2 * 0.22, 0.1);
    assert_close(cost_expected(&m, &stop, OBS_NETWORK, 0.04), 0.5 + 2 * 0.88, 0.1);
    /* other kinds of points are another matter */
    assert_close(cost_expected(&m, &stop, OBS_KERNEL, 0.01), 0.02 + 0.22, 1e-6);
}

/* Whatever is learned, nothing costs nothing: a budget is not to be filled with such points. */
static void no_point_is_free(void **state)
{
    cost_model m;

    (void)state;
    cost_begin(&m, false);
    for (int i = 1; i <= 50; i++)
        cost_learn(&m, &stop, OBS_NETWORK, 0.01 * i, 1.0 / i);
    for (double once = 1e-6; once < 10; once *= 10)
        assert_true(cost_expected(&m, &stop, OBS_NETWORK, once) > 0);
    cost_learn(&m, &stop, OBS_NETWORK, 0.01, 0); /* a clock that stood still says nothing */
    assert_true(cost_expected(&m, &stop, OBS_NETWORK, 1) > 0);
}

/* 1 GFLOP forward and 1 GB moved: on what is 100 times as fast a hundredth, but for the launch. */
static void what_no_formula_speaks_of_is_guessed_from_the_speeds_to_expect(void **state)
{
    const sweep core  = { .flops_per_second = 4e10, .bytes_per_second = 4e9 };
    const sweep gpu   = { .flops_per_second = 4e12, .bytes_per_second = 4e11 };
    sweep_point layer = { .row = { .kind = OBS_LAYER } };
    sweep_point ring  = { .row = { .kind = OBS_COLLECTIVE, .ranks = 4, .bytes = 1000000000 } };

    (void)state;
    layer.counts.flops_forward = 1000000000;
    layer.counts.read_bytes    = 1000000000;
    assert_close(cost_guess_once(&core, &layer), 3e-5 + 0.075 + 0.1, 1e-9);
    assert_close(cost_guess_once(&gpu, &layer), 3e-5 + 0.00075 + 0.001, 1e-9);
    assert_close(cost_guess_once(&core, &ring), 8e-5 + 2, 1e-9);
    assert_close(cost_guess_once(&gpu, &ring), 8e-5 + 0.02, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simulated_point_takes_its_repetitions),
        cmocka_unit_test(what_points_took_is_what_is_expected_of_others),
        cmocka_unit_test(no_point_is_free),
        cmocka_unit_test(what_no_formula_speaks_of_is_guessed_from_the_speeds_to_expect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
