/** Parts of a predicted step: seconds by layer, block, class of kernels or regressor. */
#ifndef PREDICT_EXPLAIN_H
#define PREDICT_EXPLAIN_H

#include "models/explanation.h"

/** Predicts and takes apart. `out` is to be freed; LM_E_... as predict_step(). */
lm_status explain_step(const predictor *who, const step_setup *s, explanation **out, lm_error *err);
void      explanation_free(explanation *e);

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
    double      part[N_TIMES]; /**< seconds */
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
/** Bound of most of its seconds. */
term_bound explained_bound(const explained *x);

#endif
