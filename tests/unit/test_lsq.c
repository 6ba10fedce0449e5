/* Least squares: recovery, errors, rank, non-negativity, parts. */
#include "check.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "solve/lsq.h"

static lsq_solution solve(const double *a, const double *b, const double *weight, size_t rows,
                          size_t columns, bool non_negative)
{
    const lsq_problem p = { a, b, weight, rows, columns };
    lsq_block         block;
    const lsq_block  *blocks[] = { &block };
    lsq_solution      s;

    assert_int_equal(lsq_factor(&p, &block, NULL), LM_OK);
    assert_int_equal(lsq_solve(blocks, 1, non_negative, &s, NULL), LM_OK);
    return s;
}

/* A generator of our own, so that the problems are the same everywhere (Knuth's MMIX constants). */
static uint64_t seed;

static double uniform(void) /* in [0, 1) */
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / 9007199254740992.0;
}

static void exact_data_give_exact_coefficients(void **state)
{
    /* b = 2 a0 - 3 a1 + 0.5 a2 */
    static const double a[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 2, -1, 4 };
    static const double b[] = { 2, -3, 0.5, -0.5, 9 };
    const lsq_solution  s   = solve(a, b, NULL, 5, 3, false);

    (void)state;
    assert_close(s.x[0], 2, 1e-14);
    assert_close(s.x[1], -3, 1e-14);
    assert_close(s.x[2], 0.5, 1e-14);
    assert_int_equal(s.rank, 3);
    assert_close(s.weighted_rss, 0, 1e-25);
    for (size_t j = 0; j < 3; j++) {
        assert_true(s.determined[j]);
        assert_false(s.at_bound[j]);
    }
}

static void as_many_rows_as_coefficients_leave_no_standard_error(void **state)
{
    static const double a[] = { 2, 0, 0, 4 }, b[] = { 1, 1 };
    const lsq_solution  s = solve(a, b, NULL, 2, 2, false);

    (void)state;
    assert_close(s.x[0], 0.5, 1e-15);
    assert_close(s.x[1], 0.25, 1e-15);
    assert_true(isnan(s.standard_error[0]) && isnan(s.standard_error[1]));
}

/*
 * By hand. Minimise sum w^2 (x0 + x1 t - b)^2 with t = 0, 1, 2, b = 1, 3, 4, w = 1, 2, 1. Squared
 * weights 1, 4, 1: S = 6, St = 6, Stt = 4 + 4 = 8, Sb = 1 + 12 + 4 = 17, Stb = 12 + 8 = 20;
 * determinant 6 * 8 - 36 = 12; x0 = (17 * 8 - 6 * 20) / 12 = 4/3, x1 = (6 * 20 - 6 * 17) / 12 =
 * 3/2. Residuals 1/3, -1/6, 1/3: weighted squares 1/9 + 4/36 + 1/9 = 1/3. One degree of freedom:
 * variance 1/3, so the standard errors are sqrt(1/3 * 8/12) = sqrt(2/9) and sqrt(1/3 * 6/12) =
 * sqrt(1/6).
 */
static void weights_and_standard_errors_match_a_problem_solved_by_hand(void **state)
{
    static const double a[] = { 1, 0, 1, 1, 1, 2 }, b[] = { 1, 3, 4 }, w[] = { 1, 2, 1 };
    const lsq_solution  s = solve(a, b, w, 3, 2, false);

    (void)state;
    assert_close(s.x[0], 4.0 / 3, 1e-14);
    assert_close(s.x[1], 1.5, 1e-14);
    assert_close(s.weighted_rss, 1.0 / 3, 1e-14);
    assert_close(s.standard_error[0], sqrt(2.0 / 9), 1e-14);
    assert_close(s.standard_error[1], sqrt(1.0 / 6), 1e-14);
}

/* The straight line of any textbook: se(slope)^2 = s^2 / Sxx, se(intercept)^2 = s^2 (1/n + mean^2 /
 * Sxx). */
static void standard_errors_follow_the_textbook(void **state)
{
    static const double t[] = { 1, 2, 4, 7, 11 }, b[] = { 2.1, 2.9, 5.2, 7.8, 12.4 };
    double              a[10], mean = 5, sxx = 0, rss = 0;
    lsq_solution        s;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        a[2 * i]     = 1;
        a[2 * i + 1] = t[i];
        sxx += (t[i] - mean) * (t[i] - mean);
    }
    s = solve(a, b, NULL, 5, 2, false);
    for (size_t i = 0; i < 5; i++)
        rss += (s.x[0] + s.x[1] * t[i] - b[i]) * (s.x[0] + s.x[1] * t[i] - b[i]);
    assert_close(s.weighted_rss, rss, 1e-12);
    assert_close(s.standard_error[1], sqrt(rss / 3 / sxx), 1e-12);
    assert_close(s.standard_error[0], sqrt(rss / 3 * (1.0 / 5 + mean * mean / sxx)), 1e-12);
}

/* Orthonormal columns have condition 1; [1 1; 0 e] scaled to length 1 has a larger one. */
static void the_condition_is_that_of_columns_of_length_one(void **state)
{
    static const double a[] = { 3, 0, 0, 1e6, 0, 0 }, b[] = { 1, 1, 0 };
    const lsq_solution  s = solve(a, b, NULL, 3, 2, false);
    /* columns (1, 0), (1, 1) / sqrt 2: singular values sqrt(1 +- 1 / sqrt 2), ratio 1 + sqrt 2 */
    static const double tilted[] = { 1, 5, 0, 5, 0, 0 };
    const lsq_solution  t        = solve(tilted, b, NULL, 3, 2, false);

    (void)state;
    assert_close(s.condition, 1, 1e-14);
    assert_close(t.condition, 1 + sqrt(2), 1e-13);
}

static void collinear_columns_are_flagged_and_the_others_are_not(void **state)
{
    /* column 2 = 3 * column 0; column 1 stands alone; b = 6 * column 0 + 5 * column 1 */
    static const double a[] = { 1, 0, 3, 2, 1, 6, 3, 0, 9, 4, 7, 12, 5, 1, 15 };
    double              b[5];
    lsq_solution        s;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        b[i] = 6 * a[3 * i] + 5 * a[3 * i + 1];
    s = solve(a, b, NULL, 5, 3, false);
    assert_int_equal(s.rank, 2);
    assert_false(s.determined[0]);
    assert_true(s.determined[1]);
    assert_false(s.determined[2]);
    assert_close(s.x[1], 5, 1e-12);
    assert_close(s.x[0] + 3 * s.x[2], 6, 1e-12);
    /* the shortest solution in columns of length 1 splits evenly: x0 |a0| = x2 |a2| */
    assert_close(s.x[0], 3, 1e-12);
    assert_close(s.x[2], 1, 1e-12);
    assert_true(isnan(s.standard_error[0]) && isnan(s.standard_error[2]));
    assert_true(s.standard_error[1] >= 0);
}

static void a_column_of_zeros_is_undetermined_and_zero(void **state)
{
    static const double a[] = { 1, 0, 2, 0, 3, 0 }, b[] = { 2, 4, 6.3 };

    (void)state;
    for (int non_negative = 0; non_negative < 2; non_negative++) {
        const lsq_solution s = solve(a, b, NULL, 3, 2, non_negative);

        assert_int_equal(s.rank, 1);
        assert_true(s.determined[0]);
        assert_false(s.determined[1]);
        assert_false(s.at_bound[1]);
        assert_true(s.x[1] == 0);
        assert_close(s.x[0], (2 + 8 + 18.9) / 14, 1e-14);
    }
}

static void a_constant_that_is_all_zero_still_solves(void **state)
{
    static const double a[] = { 0, 0, 0, 0, 0, 0 }, b[] = { 1, 2, 2 };

    (void)state;
    for (int non_negative = 0; non_negative < 2; non_negative++) {
        const lsq_solution s = solve(a, b, NULL, 3, 2, non_negative);

        assert_int_equal(s.rank, 0);
        assert_close(s.weighted_rss, 9, 1e-14);
        assert_false(s.determined[0] || s.determined[1]);
    }
}

/* The same problem in other units: columns times 1e-12 and 1e12. */
static void the_rank_does_not_depend_on_units(void **state)
{
    static const double scale[] = { 1e-12, 1e12, 1 };
    double              a[36], scaled[36], b[12];
    lsq_solution        s, t;

    (void)state;
    seed = 7;
    for (size_t i = 0; i < 12; i++) {
        b[i] = uniform();
        for (size_t j = 0; j < 3; j++) {
            a[3 * i + j]      = uniform();
            scaled[3 * i + j] = a[3 * i + j] * scale[j];
        }
    }
    for (int non_negative = 0; non_negative < 2; non_negative++) {
        s = solve(a, b, NULL, 12, 3, non_negative);
        t = solve(scaled, b, NULL, 12, 3, non_negative);
        assert_int_equal(t.rank, s.rank);
        assert_true(s.rank == 3 || non_negative);
        assert_close(t.condition, s.condition, 1e-9);
        assert_close(t.weighted_rss, s.weighted_rss, 1e-12);
        for (size_t j = 0; j < 3; j++) {
            assert_close(t.x[j] * scale[j], s.x[j], 1e-11);
            assert_int_equal(t.determined[j], s.determined[j]);
            if (!isnan(s.standard_error[j]))
                assert_close(t.standard_error[j] * scale[j], s.standard_error[j], 1e-11);
        }
    }
}

/* Residual sum of squares of the unconstrained solution over a subset of columns, by normal
 * equations and Gauss elimination; false if a coefficient is negative. */
static bool brute_subset(const double *a, const double *b, size_t rows, size_t columns,
                         unsigned mask, double x[5], double *rss)
{
    double m[5][6] = { { 0 } };
    size_t pick[5], n = 0;

    for (size_t j = 0; j < columns; j++)
        if (mask & 1u << j)
            pick[n++] = j;
    for (size_t p = 0; p < n; p++) {
        for (size_t q = 0; q < n; q++)
            for (size_t i = 0; i < rows; i++)
                m[p][q] += a[i * columns + pick[p]] * a[i * columns + pick[q]];
        for (size_t i = 0; i < rows; i++)
            m[p][n] += a[i * columns + pick[p]] * b[i];
    }
    for (size_t p = 0; p < n; p++)
        for (size_t q = 0; q < n; q++) {
            const double f = m[q][p] / m[p][p];

            for (size_t c = p; c <= n && q != p; c++)
                m[q][c] -= f * m[p][c];
        }
    memset(x, 0, 5 * sizeof *x);
    for (size_t p = 0; p < n; p++) {
        x[pick[p]] = m[p][n] / m[p][p];
        if (x[pick[p]] < 0)
            return false;
    }
    *rss = 0;
    for (size_t i = 0; i < rows; i++) {
        double r = -b[i];

        for (size_t j = 0; j < columns; j++)
            r += a[i * columns + j] * x[j];
        *rss += r * r;
    }
    return true;
}

/* The optimum's support is some subset whose own solution is not negative: the best of those is it.
 */
static void non_negative_solutions_are_the_best_of_all_subsets(void **state)
{
    size_t at_bound = 0;

    (void)state;
    seed = 20240701;
    for (int problem = 0; problem < 200; problem++) {
        const size_t columns = 1 + (size_t)problem % 5,
                     rows    = columns + 1 + (size_t)(uniform() * 8);
        double       a[14 * 5], b[14], best = INFINITY, best_x[5] = { 0 };
        lsq_solution s;

        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < columns; j++)
                a[i * columns + j] = uniform() - (problem % 3 ? 0.3 : 0);
            b[i] = uniform() - 0.4;
        }
        for (unsigned mask = 0; mask < 1u << columns; mask++) {
            double x[5], rss;

            if (brute_subset(a, b, rows, columns, mask, x, &rss) && rss < best) {
                best = rss;
                memcpy(best_x, x, sizeof x);
            }
        }
        s = solve(a, b, NULL, rows, columns, true);
        assert_close(s.weighted_rss, best, 1e-9);
        for (size_t j = 0; j < columns; j++) {
            assert_true(s.x[j] >= 0);
            assert_close(s.x[j], best_x[j], 1e-6);
            assert_int_equal(s.at_bound[j], best_x[j] == 0);
            at_bound += s.at_bound[j];
        }
    }
    assert_true(at_bound > 50); /* the bound is put to the test */
}

static void what_is_positive_anyway_is_not_changed_by_the_bound(void **state)
{
    static const double a[] = { 1, 1, 1, 2, 1, 3, 1, 4 }, b[] = { 3.1, 4.9, 7.2, 8.8 };
    const lsq_solution  s = solve(a, b, NULL, 4, 2, false), t = solve(a, b, NULL, 4, 2, true);

    (void)state;
    for (size_t j = 0; j < 2; j++) {
        assert_close(t.x[j], s.x[j], 1e-13);
        assert_close(t.standard_error[j], s.standard_error[j], 1e-12);
    }
}

/* x1 would be negative; held at 0, x0 = sum(a0 b) / sum(a0^2) = (1 + 1 + 0) / 3 */
static void a_coefficient_at_its_bound_says_so(void **state)
{
    static const double a[] = { 1, 0, 1, 1, 1, 2 }, b[] = { 1, 1, 0 };
    const lsq_solution  s = solve(a, b, NULL, 3, 2, true);

    (void)state;
    assert_close(s.x[0], 2.0 / 3, 1e-14);
    assert_true(s.x[1] == 0);
    assert_true(s.at_bound[1]);
    assert_false(s.at_bound[0]);
    assert_true(isnan(s.standard_error[1]));
    assert_int_equal(s.rank, 1);
    /* rss = (1/3)^2 + (1/3)^2 + (2/3)^2, two degrees of freedom */
    assert_close(s.weighted_rss, 6.0 / 9, 1e-14);
    assert_close(s.standard_error[0], sqrt(6.0 / 9 / 2 / 3), 1e-14);
}

static void parts_factored_apart_solve_as_the_whole(void **state)
{
    enum { ROWS = 40, COLUMNS = 4 };
    double              a[ROWS * COLUMNS], b[ROWS], w[ROWS];
    static const size_t cut[] = {
        0, 1, 3, 17, 18, ROWS
    }; /* parts smaller than the number of columns too */
    lsq_block        part[5];
    const lsq_block *blocks[6];
    lsq_solution     whole, together, without;

    (void)state;
    seed = 3;
    for (size_t i = 0; i < ROWS; i++) {
        b[i] = uniform();
        w[i] = 0.5 + uniform();
        for (size_t j = 0; j < COLUMNS; j++)
            a[i * COLUMNS + j] = uniform();
    }
    for (size_t k = 0; k < 5; k++) {
        const lsq_problem p = { a + cut[k] * COLUMNS, b + cut[k], w + cut[k], cut[k + 1] - cut[k],
                                COLUMNS };

        assert_int_equal(lsq_factor(&p, &part[k], NULL), LM_OK);
        blocks[k] = &part[k];
    }
    blocks[5] = NULL;
    whole     = solve(a, b, w, ROWS, COLUMNS, false);
    assert_int_equal(lsq_solve(blocks, 6, false, &together, NULL), LM_OK);
    for (size_t j = 0; j < COLUMNS; j++) {
        assert_close(together.x[j], whole.x[j], 1e-13);
        assert_close(together.standard_error[j], whole.standard_error[j], 1e-13);
    }
    assert_close(together.weighted_rss, whole.weighted_rss, 1e-13);

    /* the last part left out is the problem of the first 18 rows */
    blocks[4] = NULL;
    whole     = solve(a, b, w, 18, COLUMNS, false);
    assert_int_equal(lsq_solve(blocks, 6, false, &without, NULL), LM_OK);
    for (size_t j = 0; j < COLUMNS; j++)
        assert_close(without.x[j], whole.x[j], 1e-12);
}

static void what_cannot_be_fitted_is_refused(void **state)
{
    static const double one[LSQ_MAX_COLUMNS + 1] = { 1 };
    double              a[4] = { 1, 2, 3, 4 }, b[2] = { 1, 2 }, w[2] = { 1, 1 };
    lsq_problem         p = { a, b, w, 2, 2 };
    lsq_block           block;
    const lsq_block    *blocks[] = { &block, NULL };
    lsq_solution        s;
    lm_error            err;

    (void)state;
    p.rows = 0;
    assert_int_equal(lsq_factor(&p, &block, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "no rows to fit");
    p = (lsq_problem){ one, one, NULL, 1, LSQ_MAX_COLUMNS + 1 };
    assert_int_equal(lsq_factor(&p, &block, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "33 coefficients: 1 to 32 can be fitted");
    p.columns = 0;
    assert_int_equal(lsq_factor(&p, &block, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "0 coefficients: 1 to 32 can be fitted");

    p    = (lsq_problem){ a, b, w, 2, 2 };
    a[3] = NAN;
    assert_int_equal(lsq_factor(&p, &block, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "row 1: a regressor is not finite");
    a[3] = INFINITY;
    assert_int_equal(lsq_factor(&p, &block, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "row 1: a regressor is not finite");
    a[3] = 4;
    b[0] = NAN;
    assert_int_equal(lsq_factor(&p, &block, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "row 0: a value or weight is not finite");
    b[0] = 1;
    w[1] = INFINITY;
    assert_int_equal(lsq_factor(&p, &block, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "row 1: a value or weight is not finite");
    w[1] = 1;

    p.rows = 1;
    assert_int_equal(lsq_factor(&p, &block, &err), LM_OK);
    assert_int_equal(lsq_solve(blocks, 2, false, &s, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "1 rows are too few for 2 coefficients");
    assert_int_equal(lsq_solve(blocks + 1, 1, false, &s, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "0 rows are too few for 0 coefficients");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_data_give_exact_coefficients),
        cmocka_unit_test(as_many_rows_as_coefficients_leave_no_standard_error),
        cmocka_unit_test(weights_and_standard_errors_match_a_problem_solved_by_hand),
        cmocka_unit_test(standard_errors_follow_the_textbook),
        cmocka_unit_test(the_condition_is_that_of_columns_of_length_one),
        cmocka_unit_test(collinear_columns_are_flagged_and_the_others_are_not),
        cmocka_unit_test(a_column_of_zeros_is_undetermined_and_zero),
        cmocka_unit_test(a_constant_that_is_all_zero_still_solves),
        cmocka_unit_test(the_rank_does_not_depend_on_units),
        cmocka_unit_test(non_negative_solutions_are_the_best_of_all_subsets),
        cmocka_unit_test(what_is_positive_anyway_is_not_changed_by_the_bound),
        cmocka_unit_test(a_coefficient_at_its_bound_says_so),
        cmocka_unit_test(parts_factored_apart_solve_as_the_whole),
        cmocka_unit_test(what_cannot_be_fitted_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
