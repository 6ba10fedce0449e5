/**
 * What prices of single layers leave over, learned: regression trees of log(measured / priced).
 *
 *   seconds = priced x exp(r),   r = sum of trees, held between quantiles of what they were
 *             grown on; 0 where a count, phase, optimizer ... lies outside of that
 *
 * Physics first: the prices are fitted without it and stay what they are. Whether there is a
 * residual is decided by shapes that neither the prices nor the trees saw, which also end the
 * growth: the error on rows that were learned from says nothing.
 */
#ifndef SINGLE_RESIDUAL_H
#define SINGLE_RESIDUAL_H

#include "learn/trees.h"
#include "single/model.h"
#include "single/residual_features.h"

typedef struct layer_residual {
    size_t         rows;        /**< that it was learned from */
    size_t         judged;      /**< rows of shapes held out */
    double         mape_priced; /**< of these, by prices alone ... */
    double         mape;        /**< ... and with the residual */
    double         low, high;   /**< of r */
    residual_space space;
    trees         *trees;
} layer_residual;

/** Of each class; NULL: none. */
typedef struct residual_set {
    layer_residual *of[N_LAYER_CLASSES];
} residual_set;

/** Can one be learned of the class? Of layers that are no product it cannot: they have no shape. */
bool residual_learnable(size_t class);

/** Rows, of a class, below which nothing is learned. */
#define RESIDUAL_ROWS 200

/**
 * Learns from those rows that are `in` (NULL: all): prices and trees without a fifth of the shapes
 * at a time, until 2,000 rows have been judged or all fifths have; where the mean relative error on
 * these falls by 3 % or more, prices and trees of all rows. The prices are left in `r`, as
 * layer_rows_fit() does.
 *
 * @param time of the rows, in their order
 * @param out  NULL: nothing was gained, or there are too few rows. Its figures of the judgement
 *             then stand in *judged, which may be NULL
 * @return LM_E_UNSUPPORTED in a build without XGBoost, LM_E_ARG for too few rows for prices,
 *         LM_E_NOMEM
 */
lm_status residual_learn(layer_rows *r, const layer_time *time, const bool *in,
                         layer_residual **out, layer_residual *judged, lm_error *err);
void      residual_free(layer_residual *r);

/** r of a row that was priced; 0 outside of what it was learned from. LM_E_NOMEM. */
lm_status residual_of(layer_residual *r, const priced_row *row, double *out, lm_error *err);

void residual_set_free(residual_set *s);

#endif
