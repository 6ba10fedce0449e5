/** Sums of regression trees as data; predictions need no XGBoost. */
#ifndef LEARN_TREES_H
#define LEARN_TREES_H

#include <stdint.h>
#include <stdio.h>

#include "learn/lines.h"

#define TREES_FEATURES 4096
#define TREES_NODES    50000000

/** An inner node asks whether a feature, in single precision, is below a threshold. */
typedef struct tree_node {
    int32_t feature;      /**< -1: a leaf */
    float   value;        /**< threshold; of a leaf what it adds */
    int32_t below, above; /**< offset in nodes from this one; of a leaf 0 */
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

/** Reads or writes their text: a line of sizes, then a line per tree of
 * "feature:threshold:below:above" and leaves "=value". Children must follow their node, so that
 * each tree ends. */
void trees_text(lines *l, trees **both);

#endif
