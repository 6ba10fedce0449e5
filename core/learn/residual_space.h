/** Features of a residual: their names and the ranges of what was learned from. */
#ifndef LEARN_RESIDUAL_SPACE_H
#define LEARN_RESIDUAL_SPACE_H

#include <stdint.h>

#include "solve/columns.h"

#define RESIDUAL_FEATURES 256
#define RESIDUAL_NAME     48 /* with its end */

/** How far a value that was not learned from may be trusted. */
typedef enum feature_kind {
    FEATURE_COUNT, /**< the logarithm of a count: a small factor beyond */
    FEATURE_FLAG,  /**< not at all beyond */
    FEATURE_FREE   /**< of the price, or what is left of tiles: not looked at */
} feature_kind;

typedef struct named_feature {
    const char  *name;
    feature_kind kind;
} named_feature;

typedef struct residual_feature {
    char         name[RESIDUAL_NAME];
    feature_kind kind;
    double       low, high; /**< of the rows it was learned from */
} residual_feature;

/**
 * The features of one class, in their order: those that all of the class have, figures of devices
 * ("device.flops") where it is of several, words ("optimizer.adam":
 * the update is by it; "tag.gelu"), shares of the price ("share.forward.direct") and what ways of
 * doing a part would cost ("other.forward.plane": the logarithm of that over the cheapest).
 */
typedef struct residual_space {
    residual_feature feature[RESIDUAL_FEATURES];
    size_t           n;
    size_t           figures, words, shares, others; /**< where these begin */
    uint16_t        *share_of, *other_of;            /**< feature of each column; n: none */
    size_t           n_columns;                      /**< that the two know */
} residual_space;

#define RESIDUAL_OPTIMIZER "optimizer."
#define RESIDUAL_TAG       "tag."
#define RESIDUAL_DEVICE    "device."

/**
 * Appends a feature by its name, as a file has it: the next of the fixed ones, or a word, a share,
 * an other. False: no such feature comes next.
 */
bool residual_space_append(residual_space *s, const named_feature *fixed, size_t n_fixed,
                           const char *name);

/** The fixed features alone, without ranges. */
void residual_space_begin(residual_space *s, const named_feature *fixed, size_t n_fixed);
/** Appends, unless it is there, a word ("optimizer.adam") or figure ("device.flops"), the share of
 * a column, its other. LM_E_ARG: too many features. */
lm_status residual_space_word(residual_space *s, const char *prefix, const char *word,
                              lm_error *err);
lm_status residual_space_share(residual_space *s, const char *of, lm_error *err);
lm_status residual_space_other(residual_space *s, const char *of, lm_error *err);
/** Of its tables. */
void residual_space_free(residual_space *s);

/** Learns which columns the shares and others are of: before they are filled in. LM_E_NOMEM. */
lm_status residual_space_columns(residual_space *s, const columns *c, lm_error *err);

/** Sets one word's flag and clears the others'. */
void residual_space_say(const residual_space *s, const char *prefix, const char *word, double *x);

/** Forgets all ranges; takes one row into them. */
void residual_space_narrow(residual_space *s);
void residual_space_widen(residual_space *s, const double *x);

/**
 * Do all main features lie within what was learned from, or a small factor (1.25) beyond?
 *
 * @param word the row is of a word, which must be one of those known
 */
bool residual_space_holds(const residual_space *s, bool word, const double *x);

#endif
