/* Order statistics and the errors of predictions, by hand. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/stats.h"

static void quantiles_are_linear_between_ranks(void **state)
{
    static const struct {
        double values[5];
        size_t n;
        double q, expected;
    } cases[] = {
        { { 7 }, 1, 0, 7 },
        { { 7 }, 1, 0.5, 7 },
        { { 7 }, 1, 1, 7 },
        { { 3, 1 }, 2, 0.5, 2 },
        { { 3, 1 }, 2, 0.25, 1.5 },
        { { 5, 1, 4, 2, 3 }, 5, 0, 1 },
        { { 5, 1, 4, 2, 3 }, 5, 1, 5 },
        { { 5, 1, 4, 2, 3 }, 5, 0.5, 3 },
        { { 5, 1, 4, 2, 3 }, 5, 0.9, 4.6 },    /* place 0.9 * 4 = 3.6, between 4 and 5 */
        { { 10, 20, 30, 40 }, 4, 0.95, 38.5 }, /* place 2.85 */
        { { -1, -1, -1 }, 3, 0.3, -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double values[5];

        memcpy(values, cases[i].values, sizeof values);
        assert_close(stats_quantile(values, cases[i].n, cases[i].q), cases[i].expected, 1e-14);
        for (size_t k = 1; k < cases[i].n; k++)
            assert_true(values[k - 1] <= values[k]);
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Rising, falling, up and down, few different ones, any; of sizes around where sorting changes its way. */
static void many_values_are_sorted_as_by_the_library(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (size_t n = 1; n < 3000; n = n < 40 ? n + 1 : 2 * n + 1)
        for (int kind = 0; kind < 5; kind++) {
            double *mine = malloc(n * sizeof *mine), *theirs = malloc(n * sizeof *theirs);

            for (size_t i = 0; i < n; i++)
                mine[i] = theirs[i] = kind == 0   ? (double)i
                                      : kind == 1 ? -(double)i
                                      : kind == 2 ? (double)(i < n / 2 ? i : n - i)
                                      : kind == 3 ? (double)(random_next(&random) % 3)
                                                  : (double)(random_next(&random) % 100000);
            qsort(theirs, n, sizeof *theirs, by_value);
            (void)stats_quantile(mine, n, 0.5);
            assert_memory_equal(mine, theirs, n * sizeof *mine);
            free(mine);
            free(theirs);
        }
}

/* An interval whose end is "as far off as it can be" must not become NaN, which reads as unknown.
 */
static void quantiles_take_infinite_values(void **state)
{
    double one[] = { 1, 2, INFINITY }, two[] = { 1, INFINITY, INFINITY };

    (void)state;
    assert_true(stats_quantile(two, 3, 1) == INFINITY);
    assert_true(stats_quantile(two, 3, 0.75) == INFINITY);
    assert_true(stats_quantile(one, 3, 0.75) == INFINITY);
    assert_true(stats_quantile(one, 3, 0.5) == 2);
    assert_true(stats_quantile(one, 3, 0) == 1);
}

static void the_median_deviation_forgets_outliers(void **state)
{
    /* median 3; deviations 2 1 0 1 97: median 1 */
    double values[] = { 5 - 4, 2, 3, 4, 100 }, scratch[5];
    double even[]   = { 1, 2, 4, 9 }; /* median 3; deviations 2 1 1 6: median 1.5 */

    (void)state;
    assert_close(stats_mad(values, scratch, 5), 1, 1e-15);
    assert_close(stats_mad(even, scratch, 4), 1.5, 1e-15);
    assert_close(stats_mad((double[]){ 7 }, scratch, 1), 0, 0);
}

/*
 * measured 1 2 4 5, predicted 1.1 1.8 4 6. Relative errors 0.1 0.1 0 0.2: mean 0.1, median 0.1.
 * Squared errors 0.01 0.04 0 1: mean 1.05 / 4. Mean of the measured 3, squares about it 4 1 1 4 =
 * 10; range 4.
 */
static void errors_of_predictions_match_hand_computation(void **state)
{
    static const double measured[] = { 1, 2, 4, 5 }, predicted[] = { 1.1, 1.8, 4, 6 };
    const stats_errors  e = stats_compare(predicted, measured, 4);

    (void)state;
    assert_int_equal(e.n, 4);
    assert_close(e.mape, 0.1, 1e-15);
    assert_close(e.median_ape, 0.1, 1e-15);
    assert_close(e.rmse, sqrt(1.05 / 4), 1e-15);
    assert_close(e.nrmse, sqrt(1.05 / 4) / 4, 1e-15);
    assert_close(e.r2, 1 - 1.05 / 10, 1e-15);
}

static void a_perfect_prediction_has_no_error(void **state)
{
    static const double measured[] = { 1e-6, 2e3, 4 };
    const stats_errors  e          = stats_compare(measured, measured, 3);

    (void)state;
    assert_true(e.mape == 0 && e.median_ape == 0 && e.rmse == 0 && e.nrmse == 0 && e.r2 == 1);
}

static void what_cannot_be_said_is_not_a_number(void **state)
{
    static const double measured[] = { 2, 2, 2 }, predicted[] = { 1, 2, 4 };
    stats_errors        e = stats_compare(predicted, measured, 3);

    (void)state;
    assert_close(e.mape, (0.5 + 0 + 1) / 3, 1e-15);
    assert_true(isnan(e.nrmse) && isnan(e.r2)); /* no spread to compare with */
    e = stats_compare(NULL, NULL, 0);
    assert_int_equal(e.n, 0);
    assert_true(isnan(e.mape) && isnan(e.median_ape) && isnan(e.rmse) && isnan(e.nrmse) &&
                isnan(e.r2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_linear_between_ranks),
        cmocka_unit_test(many_values_are_sorted_as_by_the_library),
        cmocka_unit_test(quantiles_take_infinite_values),
        cmocka_unit_test(the_median_deviation_forgets_outliers),
        cmocka_unit_test(errors_of_predictions_match_hand_computation),
        cmocka_unit_test(a_perfect_prediction_has_no_error),
        cmocka_unit_test(what_cannot_be_said_is_not_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
