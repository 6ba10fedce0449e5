/* Robust non-negative least squares of dense rows, against problems solved by hand. */
#include "check.h"

#include <math.h>

#include "solve/factors.h"
#include "solve/robust.h"

static void an_outlier_counts_linearly(void **state)
{
    /* of one unknown with a = 1 and b = 0, 0, 0, 0, 4: with Huber 1 the loss 4 x^2 / 2 + (4 - x) is
     * least at x = 1 / 4; the mean is 0.8 */
    static const double a[] = { 1, 1, 1, 1, 1 }, b[] = { 0, 0, 0, 0, 4 };
    robust_problem      p = { .a = a, .b = b, .rows = 5, .places = 1, .n = 1, .huber = INFINITY };
    robust_work         w = { 0 };
    double              x = 0;

    (void)state;
    assert_int_equal(robust_solve(&p, &x, &w, NULL), LM_OK);
    assert_close(x, 0.8, 1e-9);
    p.huber  = 1;
    p.rounds = 60;
    assert_int_equal(robust_solve(&p, &x, &w, NULL), LM_OK);
    assert_close(x, 0.25, 1e-6);
    assert_close(w.weight[4], 1 / 3.75, 1e-6);
    assert_close(w.fit[0], 0.25, 1e-6);
    robust_work_free(&w);
}

static void a_ridge_holds_and_bounds_do(void **state)
{
    /* 2 x^2 / 2 ... rows say x = 3 twice, a ridge of 2 says 1: (2 * 3 + 2 * 1) / 4 = 2; the other
     * unknown would be below 0 */
    static const double  a[] = { 1, 0, 1, 0, 0, 1 }, b[] = { 3, 3, -5 };
    static const double  mu[] = { 2, 0 };
    const robust_problem p    = {
           .a = a, .b = b, .rows = 3, .places = 2, .n = 2, .mu = mu, .near = 1, .huber = INFINITY
    };
    robust_work w   = { 0 };
    double      x[] = { 0, 0 };

    (void)state;
    assert_int_equal(robust_solve(&p, x, &w, NULL), LM_OK);
    assert_close(x[0], 2, 1e-9);
    assert_true(x[1] == 0);
    robust_work_free(&w);
}

static void places_share_unknowns_and_sums_stand_for_rows(void **state)
{
    /* two places of one unknown, one of them scaled by 10: 1 x + 10 x 0.2 = 3 x = 1; the third place
     * has none. The same by sums over places, without a look at the rows */
    static const double a[] = { 1, 0.2, 7, 1, 0.2, -7 }, scale[] = { 1, 10, 1 };
    static const double gram[] = { 2, 0, 0, 0.4, 0.08, 0, 0, 0, 98 }, h[] = { 2, 0.4, 0 };
    static const size_t column[] = { 0, 0, 5 };
    robust_problem      p        = {
                    .a = a, .rows = 2, .places = 3, .n = 1, .column = column, .scale = scale, .huber = INFINITY
    };
    robust_work w = { 0 };
    double      x = 0, y = 0;

    (void)state;
    assert_int_equal(robust_solve(&p, &x, &w, NULL), LM_OK);
    assert_close(x, 1.0 / 3, 1e-9);
    p.gram = gram;
    p.h    = h;
    assert_int_equal(robust_solve(&p, &y, &w, NULL), LM_OK);
    assert_close(y, x, 1e-12);
    robust_work_free(&w);
}

/* 2.5 s of which 1 s is fixed: a part of 1 s takes half as much again, less what the ridge holds back.
 * (.4 f - .6)^2 + .1 (f - 1)^2 is least at f = .34 / .26. The other part is in no row. */
static void factors_are_held_near_what_was_there(void **state)
{
    const double part[]   = { 1, 0 };
    double       factor[] = { 1, 1 };
    factors_rows r;
    lm_error     err = { LM_OK, "" };

    (void)state;
    assert_int_equal(factors_rows_new(2, 1, &r, NULL), LM_OK);
    assert_int_equal(factors_rows_fit(&r, NULL, FACTORS_HUBER, factor, &err), LM_E_ARG);
    factors_rows_add(&r, part, 1, 2.5);
    assert_int_equal(factors_rows_fit(&r, NULL, FACTORS_HUBER, factor, NULL), LM_OK);
    assert_close(factor[0], .34 / .26, 1e-9);
    assert_close(factor[1], 1, 1e-9);
    factors_rows_free(&r);
}

static void shares_leave_rows_out(void **state)
{
    static const double a[] = { 1, 2, 4 }, share[] = { 1, 0, 1 };
    robust_problem      p = {
             .a = a, .rows = 3, .places = 1, .n = 1, .share = share, .huber = INFINITY
    };
    robust_work w = { 0 };
    double      x = 0;

    (void)state;
    assert_int_equal(robust_solve(&p, &x, &w, NULL), LM_OK);
    assert_close(x, 5.0 / 17, 1e-9); /* (1 + 4) / (1 + 16) */
    p.share = NULL;
    assert_int_equal(robust_solve(&p, &x, &w, NULL), LM_OK);
    assert_close(x, 7.0 / 21, 1e-9);
    robust_work_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outlier_counts_linearly),
        cmocka_unit_test(a_ridge_holds_and_bounds_do),
        cmocka_unit_test(places_share_unknowns_and_sums_stand_for_rows),
        cmocka_unit_test(factors_are_held_near_what_was_there),
        cmocka_unit_test(shares_leave_rows_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
