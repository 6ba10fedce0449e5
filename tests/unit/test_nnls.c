/* Non-negative least squares from normal equations, against hand-solved problems and solve/lsq.h.
 */
#include "check.h"

#include <string.h>

#include "solve/lsq.h"
#include "solve/nnls.h"

static uint64_t seed;

static double uniform(void) /* in [0, 1); Knuth's MMIX constants */
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) / 9007199254740992.0;
}

static void unbounded_minimum_is_taken_where_it_is_positive(void **state)
{
    /* 2 x + y = 4, x + 3 y = 7: x = 1, y = 2 */
    static const double gram[] = { 2, 1, 1, 3 }, h[] = { 4, 7 };
    double              x[] = { 0, 0 };

    (void)state;
    assert_int_equal(nnls_solve(gram, h, 2, x, NULL), LM_OK);
    assert_close(x[0], 1, 1e-9);
    assert_close(x[1], 2, 1e-9);
}

static void a_negative_coefficient_stays_at_zero(void **state)
{
    /* without the bound y = -1, x = 2; with it x = h0 / g00 = 1.5 */
    static const double gram[] = { 2, 1, 1, 3 }, h[] = { 3, -1 };
    double              x[] = { 0, 0 };

    (void)state;
    assert_int_equal(nnls_solve(gram, h, 2, x, NULL), LM_OK);
    assert_close(x[0], 1.5, 1e-9);
    assert_true(x[1] == 0);
}

static void columns_of_zeros_and_equal_columns_do_no_harm(void **state)
{
    static const double gram[] = { 1, 1, 0, 1, 1, 0, 0, 0, 0 }, h[] = { 2, 2, 0 };
    double              x[] = { 0, 0, 5 };

    (void)state;
    assert_int_equal(nnls_solve(gram, h, 3, x, NULL), LM_OK);
    assert_close(x[0] + x[1], 2, 1e-8);
    assert_true(x[2] == 0);
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    static const double gram[] = { NAN }, h[] = { 1 };
    double              x[] = { 0 };
    lm_error            err = { 0 };

    (void)state;
    assert_int_equal(nnls_solve(gram, h, 1, x, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "column 0: not finite");
}

enum { ROWS = 30, COLUMNS = 8 };

/* The same problem by QR and by normal equations; wherever the search begins. */
static void agrees_with_the_one_on_factored_rows(void **state)
{
    (void)state;
    for (seed = 1; seed < 400; seed++) {
        double           a[ROWS * COLUMNS], b[ROWS], gram[COLUMNS * COLUMNS] = { 0 };
        double           h[COLUMNS] = { 0 }, x[COLUMNS], scale[COLUMNS];
        const uint64_t   begin      = seed;
        lsq_problem      p          = { a, b, NULL, ROWS, COLUMNS };
        lsq_block        block;
        const lsq_block *blocks[] = { &block };
        lsq_solution     s;

        for (size_t j = 0; j < COLUMNS; j++)
            scale[j] = pow(10, 12 * uniform() - 6);
        for (size_t i = 0; i < ROWS; i++) {
            b[i] = uniform();
            for (size_t j = 0; j < COLUMNS; j++)
                a[i * COLUMNS + j] = (uniform() - 0.3) * scale[j];
        }
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++) {
                h[j] += a[i * COLUMNS + j] * b[i];
                for (size_t k = 0; k < COLUMNS; k++)
                    gram[j * COLUMNS + k] += a[i * COLUMNS + j] * a[i * COLUMNS + k];
            }
        for (size_t j = 0; j < COLUMNS; j++)
            x[j] = uniform() < 0.5 ? 0 : uniform() / scale[j];
        assert_int_equal(nnls_solve(gram, h, COLUMNS, x, NULL), LM_OK);
        assert_int_equal(lsq_factor(&p, &block, NULL), LM_OK);
        assert_int_equal(lsq_solve(blocks, 1, true, &s, NULL), LM_OK);
        for (size_t j = 0; j < COLUMNS; j++)
            assert_close(x[j] * scale[j], s.x[j] * scale[j], 1e-6);
        seed = begin;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbounded_minimum_is_taken_where_it_is_positive),
        cmocka_unit_test(a_negative_coefficient_stays_at_zero),
        cmocka_unit_test(columns_of_zeros_and_equal_columns_do_no_harm),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(agrees_with_the_one_on_factored_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
