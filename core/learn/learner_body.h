/** What is in a learner: within this room. */
#ifndef LEARN_LEARNER_BODY_H
#define LEARN_LEARNER_BODY_H

#include "learn/learner.h"
#include "learn/linear.h"

typedef enum learner_body { BODY_LINEAR, BODY_TREES, BODY_MLP } learner_body;

static inline learner_body learner_body_of(learner_kind kind)
{
    return kind == LEARNER_LINEAR ? BODY_LINEAR : kind == LEARNER_MLP ? BODY_MLP : BODY_TREES;
}

/** Just one of the three is there. */
struct learner {
    learner_kind kind;
    bool         log;
    size_t       n_features;
    bool        *logged;    /**< of each feature: log(1 + x) is what is learned from */
    double       low, high; /**< of what was told */
    double       unit;      /**< the mean of that: without logarithms what the three tell is in
                               this, as XGBoost makes no branch that gains less than 1e-6 */
    linear *linear;
    trees  *trees;
    mlp    *mlp;
};

#endif
