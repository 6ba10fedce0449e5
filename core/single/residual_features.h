/** Features of residuals: of a layer or launch, its run and its price. */
#ifndef SINGLE_RESIDUAL_FEATURES_H
#define SINGLE_RESIDUAL_FEATURES_H

#include "counts/kernel_class.h"
#include "learn/residual_space.h"
#include "single/model.h"

/** A priced row with its layer or launch. */
typedef struct priced_row {
    const layer_shape  *shape;
    const layer_run    *run;
    const rows         *rows;
    size_t              at;
    const columns      *columns;
    double              seconds;
    const layer_device *device; /**< NULL, or without figures: unknown */
} priced_row;

/** Rows of one machine to learn from. */
typedef struct residual_source {
    layer_rows         *r;
    const bool         *in;     /**< rows to use; NULL: all */
    const layer_device *device; /**< NULL: unknown */
} residual_source;

/**
 * Makes the features for rows of a class, without ranges: fixed ones, optimizers or tags, columns
 * and alternatives; for several machines the figures that all devices have. LM_E_ARG: too many.
 */
lm_status residual_features_new(size_t class, const residual_source *from, size_t n,
                                residual_space *out, lm_error *err);

/** The features that all rows of a class have, in order; the values are unused. */
void residual_features_fixed(size_t class, feature_list *out);

/**
 * The word of a row: optimizer of an update, tag of a launch. NULL: none. `prefix`, if not NULL,
 * receives its kind.
 */
const char *residual_word(const priced_row *row, const char **prefix);

/**
 * Writes the features of a row to x (s->n). The space must know its columns
 * (residual_space_columns()). LM_E_NOTFOUND for a figure that the device lacks, LM_E_NOMEM.
 */
lm_status residual_features(const residual_space *s, const priced_row *row, double *x,
                            lm_error *err);

#endif
