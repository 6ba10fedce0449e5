/** Importance of the features of a learned model, by permutation. */
#ifndef LAYERWISE_IMPORTANCE_H
#define LAYERWISE_IMPORTANCE_H

#include "layerwise/layerwise_model.h"

/** One feature of one task; the flags of one word ("optimizer.sgd", ...) are one. */
typedef struct layerwise_worth {
    const char *model, *task, *feature; /**< "seconds" of a task as in its name; with ", watts" */
    size_t      rows;
    double      error; /**< mean relative error on the rows that were learned from */
    double      rise;  /**< by how much it rises where the feature's values are dealt out anew */
} layerwise_worth;

typedef void layerwise_worth_taker(void *context, const layerwise_worth *w);

/**
 * Deals the values of each feature out anew among the rows, which breaks what it tells and keeps
 * how it is distributed (Breiman 2001, section 10), and asks the model again. Rows are those that it
 * was taught: a learner that knows them by heart makes features look better than they are.
 *
 * @param seed the same one gives the same again
 * @param take told all features of a task, the most important one first
 * @return what layerwise_predict_lot() returns, LM_E_NOMEM
 */
lm_status layerwise_importance(const layerwise_model *m, const layerwise_data *d, uint64_t seed,
                               layerwise_worth_taker *take, void *context, lm_error *err);

#endif
