/**
 * Fits prices of columns to rows in which each part uses its cheapest alternative.
 *
 * For a given choice of alternatives the model is linear in the prices. So the choice alternates
 * with a robust relative non-negative least squares fit. One round divides rows by the measured
 * time, chooses under the present prices, gives residuals above `huber` less weight (Huber 1964),
 * and solves. For p above 1 the fit is Gauss-Newton: d(t)/d(floor) = (floor/t)^(p-1), the same for
 * work, with steps halved until the robust loss falls.
 *
 * The first choice needs initial prices. Rows of stage 0 are fitted alone. Then columns start with
 * the price of another column (column.from), and all rows are used. A column keeps its price if,
 * under the present choice, too few rows use it: an unused algorithm must not become free.
 *
 * Rounds run on a random sample of the rows, and finally once on all rows. The sample also decides
 * p.
 */
#ifndef SOLVE_SOLVE_H
#define SOLVE_SOLVE_H

#include "solve/rows.h"

typedef struct solve_options {
    double p;
    /**
     * Use p = 4 if this lowers the mean relative error of the sample by 5 %. This is the case if
     * the overhead of a call overlaps its work.
     */
    bool   may_overlap;
    double huber; /**< relative residual above which errors count linearly */
    double power; /**< residuals are divided by the measured time to this power; 1: relative */
    /**
     * Factor mu of mu (price / family's - 1)^2, relative to the sum of squared relative residuals,
     * for columns with a parent. Families are fitted first.
     */
    double ridge;
    bool   orphans; /**< fit the columns of a family whose price is 0; else they cost nothing */
    /** first damping of Levenberg-Marquardt, for p other than 1; 0: steps are halved instead */
    double   damping;
    int      rounds; /**< per stage */
    size_t   least;  /**< rows that a column needs for a price of its own */
    size_t   sample; /**< rows in all rounds except the last; 0: all rows */
    uint64_t seed;
} solve_options;

/** p 1, Huber 0.1, relative, no ridge, 8 rounds, 15 rows, a sample of 4,000. */
extern const solve_options solve_default;

/**
 * Fits the prices of `c` to rows, starting with the present prices.
 *
 * @param in rows to use; NULL: all
 * @return LM_E_ARG if there are none, or for numbers that are not finite; LM_E_NOMEM
 */
lm_status solve_prices(const rows *r, const bool *in, const solve_options *o, columns *c,
                       lm_error *err);

#endif
