/** What a predicted step is made of: seconds by layer, block, class of kernels or regressor. */
#ifndef PREDICT_EXPLAIN_H
#define PREDICT_EXPLAIN_H

#include "predict/price.h"

/** Of no layer: what a step costs as a whole, such as the latency of an all-reduce. */
#define NO_LAYER ((size_t)-1)

/** What one regressor of one part costs in the kernels of one class of one layer. */
typedef struct share {
    size_t      layer; /**< or NO_LAYER */
    part        part;
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

typedef struct explanation {
    prediction       step;
    part             part[4]; /**< whose times add up to the step */
    size_t           n_parts;
    explained_layer *layer; /**< in the order of execution */
    size_t           n_layers;
    share           *share; /**< their seconds add up to step.step */
    size_t           n_shares, room;
    bool             bounded; /**< it is known what bounds the shares */
    struct arena    *arena;   /**< owns all texts */
} explanation;

/** Predicts and takes apart. `out` is to be freed; LM_E_... as predict_step(). */
lm_status explain_step(const predictor *who, const step_setup *s, explanation **out, lm_error *err);
void      explanation_free(explanation *e);
/** Appends a share. LM_E_NOMEM. */
lm_status explanation_add(explanation *e, const share *s, lm_error *err);

typedef enum explain_key {
    EXPLAIN_LAYER,
    EXPLAIN_BLOCK,
    EXPLAIN_CLASS,
    EXPLAIN_TERM,
    N_EXPLAIN_KEYS
} explain_key;

/** "layer", "block", "class" or "term". */
const char *explain_key_name(explain_key k);
lm_status   explain_key_parse(const char *text, explain_key *out, lm_error *err);

/**
 * Block of a layer by its name, into `out`: up to the first number that is not the last word,
 * "layer1.0" of layer1.0.downsample.0; without one up to the last word, "features" of features.0; a
 * single word is a block of its own.
 */
void explain_block(const char *layer, char *out, size_t size);

/** Shares of one layer, block, class or regressor, added up. */
typedef struct explained {
    const char *name;          /**< owned by the explanation */
    const char *type;          /**< of a layer; else NULL */
    double      part[N_PARTS]; /**< seconds */
    double      seconds;       /**< their sum */
    double      bound[N_TERM_BOUNDS];
    ledger      ledger;
    size_t      shares;      /**< how many; 0: of the layers there are none */
    const char *unit;        /**< of a regressor; else NULL */
    double      count;       /**< of a regressor */
    double      coefficient; /**< of a regressor; NAN: of several */
} explained;

/** Rows by seconds, the longest first; malloc'ed. */
lm_status explain_by(explanation *e, explain_key key, explained **out, size_t *n, lm_error *err);

/** Adds row `b` to `a`: the rest, the total. */
void explained_add(explained *a, const explained *b);
/** What most of its seconds are bound by. */
term_bound explained_bound(const explained *x);

#endif
