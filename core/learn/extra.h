/**
 * Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): each tree sees all rows, and each node
 * takes, of one threshold at random for each feature, the one that leaves the least squares.
 */
#ifndef LEARN_EXTRA_H
#define LEARN_EXTRA_H

#include "learn/rows.h"
#include "learn/trees.h"

typedef struct extra_options {
    unsigned trees;
    unsigned depth;      /**< of each, at most */
    size_t   split_rows; /**< a node of fewer rows is a leaf */
    uint64_t seed;
} extra_options;

/** Grows them: predictions are their mean. The same seed gives the same trees. LM_E_ARG for rows that
 * make no sense, LM_E_NOMEM. */
lm_status extra_train(const learn_rows *rows, const extra_options *o, trees **out, lm_error *err);

#endif
