/**
 * Extremely randomised trees (Geurts, Ernst, Wehenkel 2006). Each tree sees all rows. Each node
 * draws one random threshold per feature, and chooses the one with the least squares.
 */
#ifndef LEARN_EXTRA_H
#define LEARN_EXTRA_H

#include "learn/rows.h"
#include "learn/trees.h"

typedef struct extra_options {
    unsigned trees;
    unsigned depth;      /**< limit for each tree */
    size_t   split_rows; /**< a node with fewer rows is a leaf */
    uint64_t seed;
} extra_options;

/**
 * Grows the trees; the prediction is their mean. The same seed gives the same trees. LM_E_ARG for
 * invalid rows, LM_E_NOMEM.
 */
lm_status extra_train(const learn_rows *rows, const extra_options *o, trees **out, lm_error *err);

#endif
