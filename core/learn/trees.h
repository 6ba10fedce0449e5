/** Sums of regression trees as data; predictions need no XGBoost. */
#ifndef LEARN_TREES_H
#define LEARN_TREES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "learn/lines.h"

#define TREES_FEATURES 4096
#define TREES_NODES    50000000

/** An inner node tests whether a feature, in single precision, is below a threshold. */
typedef struct tree_node {
    int32_t feature; /**< -1: a leaf */
    float   value;   /**< threshold; for a leaf its value */
    /**
     * offset in nodes from this one. A leaf has `above` 0, and in `below` its number of training
     * rows, 0: unknown
     */
    int32_t below, above;
} tree_node;

typedef struct trees {
    size_t     n_features, n_trees, n_nodes;
    double     base;  /**< constant term */
    tree_node *node;  /**< nodes of all trees, one tree after the other */
    size_t    *begin; /**< start of each tree, and the end of the last: n_trees + 1 */
} trees;

void trees_free(trees *t);

/** Prediction for one row of features. Pure. */
double trees_predict(const trees *t, const double *x);

#define TREES_STEPS 64 /**< limit for a list of decisions; deeper trees have none */

/** A decision for a row in a tree. */
typedef struct tree_step {
    size_t feature;
    bool   below; /**< true: below the threshold; false: at or above it */
    double threshold;
    double rows; /**< training rows that fulfil this and all earlier conditions; NAN: unknown */
} tree_step;

typedef struct tree_way {
    double    value; /**< value of the leaf */
    size_t    n;     /**< 0: the tree is a leaf */
    tree_step step[TREES_STEPS];
} tree_way;

/**
 * The decisions of the k-th tree for one row of features. LM_E_UNSUPPORTED: there are more than
 * TREES_STEPS. LM_E_NOMEM.
 */
lm_status trees_way(const trees *t, size_t k, const double *x, tree_way *out, lm_error *err);

/**
 * Reads or writes the text: a line of sizes, then a line per tree with nodes
 * "feature:threshold:below:above" and leaves "=value:rows" (rows if known). Children follow their
 * node, so that each tree ends.
 */
void trees_text(lines *l, trees **both);

#endif
