/** Importance of the features of a learned model, by permutation. */
#ifndef LAYERWISE_IMPORTANCE_H
#define LAYERWISE_IMPORTANCE_H

#include "layerwise/layerwise_model.h"

/**
 * Importance of one feature of a task; the flags of one word ("optimizer.sgd", ...) count as one
 * feature.
 */
typedef struct layerwise_worth {
    const char *model, *task, *feature; /**< task: as its name, for power with ", watts" */
    size_t      rows;
    double      error; /**< mean relative error on the training rows */
    double      rise;  /**< increase of the error if the feature's values are shuffled */
} layerwise_worth;

typedef void layerwise_worth_taker(void *context, const layerwise_worth *w);

/**
 * Shuffles the values of each feature among the rows, which keeps their distribution (Breiman 2001,
 * section 10), and predicts again. The rows are the training rows: a learner that has memorised
 * them makes features look better than they are.
 *
 * @param seed the same seed gives the same result
 * @param take receives all features of a task, the most important one first
 * @return errors of layerwise_predict_lot(), LM_E_NOMEM
 */
lm_status layerwise_importance(const layerwise_model *m, const layerwise_data *d, uint64_t seed,
                               layerwise_worth_taker *take, void *context, lm_error *err);

#endif
