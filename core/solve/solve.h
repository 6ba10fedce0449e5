/**
 * Prices of columns from rows of which each part takes its cheapest alternative.
 *
 * For a given choice the model is linear in the prices, so the choice and a robust relative
 * non-negative least squares fit take turns: divide rows by the measured time, choose under the
 * present prices, weight residuals beyond `huber` down (Huber 1964), solve. A p above 1 is fitted
 * by Gauss-Newton: d(t)/d(floor) = (floor/t)^(p-1), the same of work, with steps halved until the
 * robust loss falls.
 *
 * The choice needs prices to begin with. Rows of stage 0 are fitted alone; then columns begin with
 * the price of another (column.from) and all rows take part. A column that too few rows have, given
 * the choice, keeps its price: an algorithm that nobody takes must not become free.
 *
 * Rounds run on a sample of the rows, drawn by a seed, and then once on all of them. By the sample
 * p is chosen, too.
 */
#ifndef SOLVE_SOLVE_H
#define SOLVE_SOLVE_H

#include "solve/rows.h"

typedef struct solve_options {
    double p;
    /** p is 4 where that lowers the mean relative error of the sample by 5 %: where the overhead of
     * a call hides behind its work, and nobody waits for it. */
    bool   may_overlap;
    double huber; /**< relative residual beyond which errors count linearly */
    double power; /**< of the measured time that residuals are divided by: 1, relative */
    /** mu of mu (price / family's - 1)^2, beside the sum of squared relative residuals, for columns
     * with a parent; their families are fitted first. */
    double ridge;
    bool orphans; /**< columns of a family that costs nothing are fitted; else they cost nothing */
    double   damping; /**< of Levenberg-Marquardt, to begin with, p not 1; 0: steps are halved */
    int      rounds;  /**< in each stage */
    size_t   least;   /**< rows that a column needs to get a price of its own */
    size_t   sample;  /**< rows of all rounds but the last; 0: all */
    uint64_t seed;
} solve_options;

/** p 1, Huber 0.1, relative, no ridge, 8 rounds, 15 rows, a sample of 4,000. */
extern const solve_options solve_default;

/**
 * Fits the prices of `c` to rows, which begins with those it has.
 *
 * @param in which rows take part; NULL: all
 * @return LM_E_ARG if there are none, or for numbers that are not finite; LM_E_NOMEM
 */
lm_status solve_prices(const rows *r, const bool *in, const solve_options *o, columns *c,
                       lm_error *err);

#endif
