/** What residuals of single layers are learned from: features of a shape, a run and its price. */
#ifndef SINGLE_RESIDUAL_FEATURES_H
#define SINGLE_RESIDUAL_FEATURES_H

#include "counts/layer_class.h"
#include "single/layer_device.h"
#include "single/residual_space.h"

/** One row as it was priced, and what it is of. */
typedef struct priced_row {
    const layer_shape  *shape;
    const layer_run    *run;
    const rows         *rows;
    size_t              at;
    const columns      *columns;
    double              seconds;
    const layer_device *device; /**< NULL, or nothing in it: not known */
} priced_row;

/** Rows of one machine. */
typedef struct feature_source {
    const rows         *rows;
    const columns      *columns;
    const layer_device *device; /**< NULL: not known */
} feature_source;

/** Features of all optimizers, columns and alternatives of rows, without ranges; of several
 * machines with those figures of their devices that all have. LM_E_ARG: too many. */
lm_status residual_features_new(const feature_source *from, size_t n, residual_space *out,
                                lm_error *err);

/** Those that every class of layers has, in their order. */
const named_feature *residual_features_fixed(size_t *n);

/** The features of a row, into x (s->n). LM_E_NOTFOUND for a figure that its device lacks,
 * LM_E_NOMEM.
 */
lm_status residual_features(residual_space *s, const priced_row *row, double *x, lm_error *err);

#endif
