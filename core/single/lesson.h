/**
 * What prices leave over, learned: regression trees of log(measured / priced), whatever is priced.
 *
 *   seconds = priced x exp(r),   r = sum of trees, held between quantiles of what they were
 *             grown on; 0 where a count, phase, optimizer ... lies outside of that
 *
 * Physics first: the prices are fitted without it and stay what they are. Whether there is a
 * residual is decided by shapes that neither the prices nor the trees saw, which also end the
 * growth: the error on rows that were learned from says nothing.
 */
#ifndef SINGLE_LESSON_H
#define SINGLE_LESSON_H

#include "learn/trees.h"
#include "single/residual_space.h"

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

/** What is learned from, of one class. */
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
 * Prices and trees without a fifth of the shapes at a time, until 2,000 rows have been judged or
 * all fifths have; where the mean relative error on these falls by 3 % or more, prices and trees of
 * all rows. In any case the prices of all rows are fitted last.
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
