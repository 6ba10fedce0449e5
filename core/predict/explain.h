/** Parts of a predicted step: seconds by layer, block, class of kernels or regressor. */
#ifndef PREDICT_EXPLAIN_H
#define PREDICT_EXPLAIN_H

#include "models/explanation.h"

/** Predicts a step and splits it into parts. The caller frees `out`. Errors as predict_step(). */
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
 * Writes the block of a layer to `out`. The block's name ends with the first number that is not the
 * last word: "layer1.0" for layer1.0.downsample.0. Without such a number it ends before the last
 * word: "features" for features.0. A single word is its own block.
 */
void explain_block(const char *layer, char *out, size_t size);

/** Sum over the parts of one layer, block, class or regressor. */
typedef struct explained {
    const char *name;          /**< owned by the explanation */
    const char *type;          /**< type of a layer; else NULL */
    double      part[N_TIMES]; /**< seconds */
    double      seconds;       /**< sum of `part` */
    double      bound[N_TERM_BOUNDS];
    ledger      ledger;
    size_t      shares;      /**< number of parts in the sum; 0: the model does not know layers */
    const char *unit;        /**< unit of a regressor; else NULL */
    double      count;       /**< count of a regressor */
    double      coefficient; /**< coefficient of a regressor; NAN: several values */
} explained;

/** Sums by `key`, the longest first; malloc'ed. */
lm_status explain_by(explanation *e, explain_key key, explained **out, size_t *n, lm_error *err);

/** Adds row `b` to `a`, for the rows "rest" and "total". */
void explained_add(explained *a, const explained *b);
/** The bound with the most seconds; "waiting" if none has any. */
const char *explained_bound(const explained *x);

#endif
