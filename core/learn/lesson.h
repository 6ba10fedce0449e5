/**
 * Residuals: regression trees of log(measured / priced), whatever is priced.
 *
 *   seconds = priced x exp(r),   r = sum of trees, held between quantiles of what they were
 *             grown on; 0 where a count, phase, optimizer ... lies outside of that
 *
 * Prices are fitted first, and stay. Held-out shapes, which neither the prices nor the trees saw,
 * end the growth, and decide whether there is a residual at all.
 */
#ifndef LEARN_LESSON_H
#define LEARN_LESSON_H

#include "learn/residual_space.h"
#include "learn/trees.h"

typedef struct residual_trees {
    size_t         rows;        /**< that it was learned from */
    size_t         judged;      /**< rows of shapes held out */
    double         mape_priced; /**< of these, by prices alone ... */
    double         mape;        /**< ... and with the residual */
    double         low, high;   /**< of r */
    residual_space space;
    trees         *trees;
} residual_trees;

void residual_free(residual_trees *r);

/** r of a row's features: 0 outside of what it was learned from. */
double residual_at(const residual_trees *r, bool word, const double *x);

/** Rows below which nothing is learned. */
#define RESIDUAL_ROWS 150

/** A row as it was priced; its features beside. */
typedef struct priced_look {
    double seconds; /**< by prices; not above 0: there is nothing to learn from, or to predict */
    bool   word;    /**< it is of a word, see residual_space_holds() */
} priced_look;

/** Rows of one class to learn from. */
typedef struct lesson {
    void           *context;
    size_t          n;
    const double   *seconds; /**< measured; not above 0: not to be seen */
    const uint64_t *shape;   /**< of each row: those of one shape are judged together */
    /** Fits prices to the rows that are `in`. LM_E_ARG: too few. */
    lm_status (*price)(void *context, const bool *in, lm_error *err);
    /** A row by these prices, and its features, into x (space.n). */
    lm_status (*look)(void *context, size_t row, residual_space *s, double *x, priced_look *out,
                      lm_error *err);
} lesson;

/**
 * Holds out a fifth of the shapes at a time, until 2,000 rows are judged or all fifths are. Where
 * the mean relative error on held-out rows falls by 3 % or more, it learns from all rows. The prices
 * of all rows are fitted last in any case.
 *
 * @param space  the features, without ranges
 * @param out    NULL: nothing was gained, or there are too few rows
 * @param judged its figures of the judgement, also where nothing was gained; may be NULL
 * @return LM_E_UNSUPPORTED in a build without XGBoost, LM_E_ARG for too few rows for prices,
 * LM_E_NOMEM
 */
lm_status lesson_learn(const lesson *l, const residual_space *space, residual_trees **out,
                       residual_trees *judged, lm_error *err);

#endif
