/** The explanation of a predicted step: seconds by layer, kernel class and regressor. */
#ifndef MODELS_EXPLANATION_H
#define MODELS_EXPLANATION_H

#include "models/step_model.h"

/** Layer number for costs of the whole step, such as the latency of an all-reduce. */
#define NO_LAYER ((size_t)-1)

/** The cost of one regressor in one time, for the kernels of one class in one layer. */
typedef struct share {
    size_t layer; /**< or NO_LAYER */
    phase  part;
    /** bit of the lm_pass of its kernels; 0: unknown, or kernels of updates */
    unsigned    passes;
    const char *kernels;   /**< their class; the layer's type if the model has no classes */
    const char *regressor; /**< "conv.bytes.forward", "flops" */
    const char *unit;      /**< unit of its count */
    double      count;
    double      coefficient; /**< seconds per unit */
    double      seconds;
    /** N_TERM_BOUNDS: the model does not know the bounds; then no share has one */
    term_bound bound;
    certainty  standing; /**< certainty of its coefficient at the whole network's count */
} share;

typedef struct explained_layer {
    const char *name, *type;
} explained_layer;

struct explanation {
    prediction step;
    int64_t    rank;  /**< layers are those of this rank of a pipeline; ranks: of it */
    int64_t    ranks; /**< 0: no pipeline */
    /** s of its backward passes: gradients of weights that run apart (zero-bubble); 0: none do */
    double           weight;
    phase            part[4]; /**< times that add up to the step */
    size_t           n_parts;
    explained_layer *layer; /**< in the order of execution */
    size_t           n_layers;
    share           *share; /**< their seconds add up to step.step */
    size_t           n_shares, room;
    bool             bounded; /**< the bounds of the shares are known */
    struct arena    *arena;   /**< owns all texts */
};

/**
 * A condition of a tree in the prediction for one layer. The tree is the one whose result is
 * nearest to that of all trees. Texts live as long as the call.
 */
typedef struct decision {
    const char *time; /**< phase */
    const char *by;   /**< "conv by forest" */
    size_t      tree, trees;
    size_t      step;    /**< number of the condition, from 1; 0: the tree has none */
    const char *feature; /**< NULL without a condition */
    double      value;   /**< value of the layer's feature */
    bool        below;   /**< true: below the threshold; false: at or above it */
    double      threshold;
    double      rows;      /**< training rows that remain after the condition; NAN: unknown */
    double      says, all; /**< result of the tree, and of all trees: s, or W */
    bool        watts;
} decision;

typedef void decision_taker(void *context, const decision *d);

/** Appends a share. LM_E_NOMEM. */
lm_status explanation_add(explanation *e, const share *s, lm_error *err);
/**
 * Appends a cost of the whole step under a name, if it is above 0 s. `kernels`: the class that it
 * counts as.
 */
lm_status explanation_add_whole(explanation *e, phase part, const char *kernels, const char *name,
                                double seconds, term_bound bound, certainty standing,
                                lm_error *err);
/** Copies a text; the copy lives as long as the explanation. NULL: out of memory. */
const char *explanation_keep(explanation *e, const char *text);
/** Copies the names of the layers from a network. LM_E_NOMEM. */
lm_status explanation_name_layers(explanation *e, const bound_network *net, lm_error *err);
/** Sum of the present shares of one time. */
double explanation_seconds(const explanation *e, phase part);

#endif
