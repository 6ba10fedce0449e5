/** Sums of regression trees as data; predictions need no XGBoost. */
#ifndef LEARN_TREES_H
#define LEARN_TREES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "learn/lines.h"

#define TREES_FEATURES 4096
#define TREES_NODES    50000000

/** An inner node asks whether a feature, in single precision, is below a threshold. */
typedef struct tree_node {
    int32_t feature;      /**< -1: a leaf */
    float   value;        /**< threshold; of a leaf what it adds */
    int32_t below, above; /**< offset in nodes from this one; of a leaf 0 above, and below how many
                             rows it was grown on, 0: not told */
} tree_node;

typedef struct trees {
    size_t     n_features, n_trees, n_nodes;
    double     base;  /**< constant term */
    tree_node *node;  /**< of all trees, one behind the other */
    size_t    *begin; /**< of each tree, and the end of the last: n_trees + 1 */
} trees;

void trees_free(trees *t);

/** Prediction for one row of features. Pure. */
double trees_predict(const trees *t, const double *x);

#define TREES_STEPS 64 /**< of a way, at most; deeper trees have none */

/** A condition that holds of a row on its way down a tree. */
typedef struct tree_step {
    size_t feature;
    bool   below; /**< it is below the threshold; else at or above it */
    double threshold;
    double rows; /**< it was grown on for which this and all before it hold; NAN: not told */
} tree_step;

typedef struct tree_way {
    double    value; /**< of the leaf */
    size_t    n;     /**< 0: the tree is a leaf */
    tree_step step[TREES_STEPS];
} tree_way;

/** The way of one row of features down the k-th tree. LM_E_UNSUPPORTED: it has more steps.
 * LM_E_NOMEM. */
lm_status trees_way(const trees *t, size_t k, const double *x, tree_way *out, lm_error *err);

/** Reads or writes their text: a line of sizes, then a line per tree of
 * "feature:threshold:below:above" and leaves "=value:rows", the rows where they are told. Children
 * must follow their node, so that each tree ends. */
void trees_text(lines *l, trees **both);

#endif
