/** The explanation of a predicted step: seconds by layer, kernel class and regressor. */
#ifndef MODELS_EXPLANATION_H
#define MODELS_EXPLANATION_H

#include "models/step_model.h"

/** The layer of costs of the whole step, such as the latency of an all-reduce. */
#define NO_LAYER ((size_t)-1)

/** The cost of one regressor in one time, in the kernels of one class of one layer. */
typedef struct share {
    size_t      layer; /**< or NO_LAYER */
    phase       part;
    unsigned    passes;    /**< bit of the lm_pass of its kernels; 0: not told, or of updates */
    const char *kernels;   /**< their class; of models that know none the layer's type */
    const char *regressor; /**< "conv.bytes.forward", "flops" */
    const char *unit;      /**< what one of it is */
    double      count;
    double      coefficient; /**< seconds per unit */
    double      seconds;
    term_bound  bound;    /**< N_TERM_BOUNDS: the model does not know it, of none of the shares */
    certainty   standing; /**< of its coefficient at the whole network's count */
} share;

typedef struct explained_layer {
    const char *name, *type;
} explained_layer;

struct explanation {
    prediction       step;
    phase            part[4]; /**< whose times add up to the step */
    size_t           n_parts;
    explained_layer *layer; /**< in the order of execution */
    size_t           n_layers;
    share           *share; /**< their seconds add up to step.step */
    size_t           n_shares, room;
    bool             bounded; /**< it is known what bounds the shares */
    struct arena    *arena;   /**< owns all texts */
};

/** A condition that a tree asks on its way to what it says of one layer: the tree whose answer comes
 * nearest to that of all. Texts live as long as the call. */
typedef struct decision {
    const char *time; /**< phase */
    const char *by;   /**< "conv by forest" */
    size_t      tree, trees;
    size_t      step;    /**< from 1; 0: the tree asks nothing */
    const char *feature; /**< NULL where it asks nothing */
    double      value;   /**< of the layer's feature */
    bool        below;   /**< it is below the threshold; else at or above it */
    double      threshold;
    double      rows;      /**< of the tree that are left then; NAN: not told */
    double      says, all; /**< the tree, and all of them: s, or W */
    bool        watts;
} decision;

typedef void decision_taker(void *context, const decision *d);

/** Appends a share. LM_E_NOMEM. */
lm_status explanation_add(explanation *e, const share *s, lm_error *err);
/** Appends a cost of the whole step under a name, if it is above 0 s. */
lm_status explanation_add_whole(explanation *e, phase part, const char *name, double seconds,
                                term_bound bound, certainty standing, lm_error *err);
/** A copy of a text that lives as long as the explanation; NULL when memory runs out. */
const char *explanation_keep(explanation *e, const char *text);
/** Takes the names of its layers from a network. LM_E_NOMEM. */
lm_status explanation_name_layers(explanation *e, const bound_network *net, lm_error *err);
/** Seconds of the shares of one time so far. */
double explanation_seconds(const explanation *e, phase part);

#endif
