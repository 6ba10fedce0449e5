/**
 * Residuals: regression trees of log(measured / priced).
 *
 *   seconds = priced x exp(r),   r = sum of trees, clamped to quantiles of the training data;
 *             0 if a count, phase, optimizer ... lies outside the training data
 *
 * Prices are fitted first and then fixed. Held-out shapes end the growth of trees, and decide
 * whether the residual is kept.
 */
#ifndef LEARN_LESSON_H
#define LEARN_LESSON_H

#include "learn/residual_space.h"
#include "learn/trees.h"

typedef struct residual_trees {
    size_t         rows;        /**< of training data */
    size_t         judged;      /**< held-out rows */
    double         mape_priced; /**< held-out error, by prices alone ... */
    double         mape;        /**< ... and with the residual */
    double         low, high;   /**< limits of r */
    residual_space space;
    trees         *trees;
} residual_trees;

void residual_free(residual_trees *r);

/** r of a row's features; 0 outside the training data. */
double residual_at(const residual_trees *r, bool word, const double *x);

/** Minimum of rows for learning. */
#define RESIDUAL_ROWS 150

/** Price of a row. */
typedef struct priced_look {
    double seconds; /**< by prices; 0 or less: the row is skipped */
    bool   word;    /**< the row has a word, see residual_space_holds() */
} priced_look;

/** Rows of one class to learn from. */
typedef struct lesson {
    void           *context;
    size_t          n;
    const double   *seconds; /**< measured; 0 or less: the row is skipped */
    const uint64_t *shape;   /**< of each row; a shape is held out as a whole */
    /** Fits prices to the rows with in[row]. LM_E_ARG: too few rows. */
    lm_status (*price)(void *context, const bool *in, lm_error *err);
    /** Prices a row, and writes its features to x (space.n). */
    lm_status (*look)(void *context, size_t row, residual_space *s, double *x, priced_look *out,
                      lm_error *err);
} lesson;

/**
 * Learns a residual. It holds out a fifth of the shapes at a time, until 2,000 rows or all fifths
 * are judged. If the mean relative error on held-out rows falls by 3 % or more, it learns from all
 * rows. Finally it fits the prices to all rows, in any case.
 *
 * @param space  the features, without ranges
 * @param out    NULL: no gain, or too few rows
 * @param judged held-out errors, also without a gain; may be NULL
 * @return LM_E_UNSUPPORTED in a build without XGBoost, LM_E_ARG for too few rows for prices,
 *         LM_E_NOMEM
 */
lm_status lesson_learn(const lesson *l, const residual_space *space, residual_trees **out,
                       residual_trees *judged, lm_error *err);

#endif
