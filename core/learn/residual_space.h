/** Features of a residual: names, and ranges of the training data. */
#ifndef LEARN_RESIDUAL_SPACE_H
#define LEARN_RESIDUAL_SPACE_H

#include <stdint.h>

#include "solve/columns.h"

#define RESIDUAL_FEATURES 256
#define RESIDUAL_NAME     48 /* with the terminating 0 */

/** How far outside the training range a feature may be. */
typedef enum feature_kind {
    FEATURE_COUNT, /**< the logarithm of a count: a small factor outside */
    FEATURE_FLAG,  /**< not at all */
    FEATURE_FREE   /**< any value: price, or idle share of tiles */
} feature_kind;

typedef struct named_feature {
    const char  *name;
    feature_kind kind;
} named_feature;

typedef struct residual_feature {
    char         name[RESIDUAL_NAME];
    feature_kind kind;
    double       low, high; /**< range of the training data */
} residual_feature;

/**
 * The features of one class, in order: features of the whole class; figures of devices
 * ("device.flops"), if there are several devices; words ("optimizer.adam": the update uses it;
 * "tag.gelu"); shares of the price ("share.forward.direct"); costs of alternatives
 * ("other.forward.plane": logarithm of the cost over that of the cheapest).
 */
typedef struct residual_space {
    residual_feature feature[RESIDUAL_FEATURES];
    size_t           n;
    size_t           figures, words, shares, others; /**< start of each kind */
    uint16_t        *share_of, *other_of;            /**< feature of each column; n: none */
    size_t           n_columns;                      /**< number of columns in these tables */
} residual_space;

#define RESIDUAL_OPTIMIZER "optimizer."
#define RESIDUAL_TAG       "tag."
#define RESIDUAL_DEVICE    "device."

/**
 * Appends a feature by its name in a file: the next fixed one, or a word, a share, an alternative.
 * False: this feature cannot follow.
 */
bool residual_space_append(residual_space *s, const named_feature *fixed, size_t n_fixed,
                           const char *name);

/** Starts with the fixed features, without ranges. */
void residual_space_begin(residual_space *s, const named_feature *fixed, size_t n_fixed);
/**
 * Appends a feature, unless it exists: a word ("optimizer.adam") or figure ("device.flops"); the
 * share of a column; the cost of its alternative. LM_E_ARG: too many features.
 */
lm_status residual_space_word(residual_space *s, const char *prefix, const char *word,
                              lm_error *err);
lm_status residual_space_share(residual_space *s, const char *of, lm_error *err);
lm_status residual_space_other(residual_space *s, const char *of, lm_error *err);
/** Frees the tables. */
void residual_space_free(residual_space *s);

/** Finds the columns of shares and alternatives; call it before these are filled in. LM_E_NOMEM. */
lm_status residual_space_columns(residual_space *s, const columns *c, lm_error *err);

/** Sets the flag of one word and clears those of the others. */
void residual_space_say(const residual_space *s, const char *prefix, const char *word, double *x);

/** narrow: removes all ranges; widen: extends them by one row. */
void residual_space_narrow(residual_space *s);
void residual_space_widen(residual_space *s, const double *x);

/**
 * Are all main features within the training range, or outside by a small factor (1.25) at most?
 *
 * @param word the row has a word, which must be a known one
 */
bool residual_space_holds(const residual_space *s, bool word, const double *x);

#endif
