/** What residuals of single layers are learned from: features of a shape, a run and its price. */
#ifndef SINGLE_RESIDUAL_FEATURES_H
#define SINGLE_RESIDUAL_FEATURES_H

#include "single/classes.h"

#define RESIDUAL_FEATURES 256
#define RESIDUAL_NAME     48 /* with its end */

/** Whether a residual may be trusted at a value that was not among those it was learned from. */
typedef enum feature_kind {
    FEATURE_COUNT, /**< the logarithm of a count: a small factor beyond */
    FEATURE_FLAG,  /**< not at all beyond */
    FEATURE_FREE   /**< of the price, or what is left of tiles: it is not looked at */
} feature_kind;

typedef struct residual_feature {
    char         name[RESIDUAL_NAME];
    feature_kind kind;
    double       low, high; /**< of the rows it was learned from */
} residual_feature;

/**
 * The features of one class, in their order: counts, flags, optimizers ("optimizer.adam": the
 * update is by it), shares of the price ("share.forward.direct") and what ways of doing a part
 * would cost ("other.forward.plane": the logarithm of that over the cheapest). The first two are
 * the same of every class; the rest is of what occurs.
 */
typedef struct residual_space {
    residual_feature feature[RESIDUAL_FEATURES];
    size_t           n;
    size_t           shares, others;      /**< where these begin */
    uint16_t        *share_of, *other_of; /**< feature of each column; n: none */
    size_t           n_columns;           /**< that the two know */
} residual_space;

/** One row as it was priced, and what it is of. */
typedef struct priced_row {
    const layer_shape *shape;
    const layer_run   *run;
    const rows        *rows;
    size_t             at;
    const columns     *columns;
    const double      *price;
    double             seconds;
} priced_row;

/** Features of all optimizers, columns and alternatives of rows, without ranges. LM_E_ARG: too
 * many. */
lm_status residual_space_new(const rows *r, const columns *c, residual_space *out, lm_error *err);
void      residual_space_free(residual_space *s);

/** Appends a feature by its name, as a file has it: the next of the fixed ones, or one of those by
 * prefix. False: no such feature comes next. */
bool residual_space_append(residual_space *s, const char *name);
/** Are all features there that every class has? */
bool residual_space_whole(const residual_space *s);

/** The features of a row, into x (s->n). LM_E_NOMEM. */
lm_status residual_features(residual_space *s, const priced_row *row, double *x, lm_error *err);

/** Takes one row into the ranges. */
void residual_space_widen(residual_space *s, const double *x);

/** Do all main features lie within what was learned from, or a small factor (1.25) beyond? */
bool residual_space_holds(const residual_space *s, const layer_run *run, const double *x);

#endif
