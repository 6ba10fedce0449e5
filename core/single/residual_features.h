/** Features of residuals: of a layer or launch, a run and its price. */
#ifndef SINGLE_RESIDUAL_FEATURES_H
#define SINGLE_RESIDUAL_FEATURES_H

#include "counts/kernel_class.h"
#include "learn/residual_space.h"
#include "single/model.h"

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

/** Rows of one machine to learn from. */
typedef struct residual_source {
    layer_rows         *r;
    const bool         *in;     /**< rows that may be seen; NULL: all */
    const layer_device *device; /**< NULL: not known */
} residual_source;

/** Features of rows of a class, without ranges: with their optimizers or tags, columns and
 * alternatives; of several machines with those figures of their devices that all have. LM_E_ARG:
 * too many. */
lm_status residual_features_new(size_t class, const residual_source *from, size_t n,
                                residual_space *out, lm_error *err);

/** Those that all of a class have, in their order; values are of no row. */
void residual_features_fixed(size_t class, feature_list *out);

/** What a row is said by beside its features: the optimizer of an update, the tag of a launch.
 * NULL: nothing. `prefix`, if not NULL, says which. */
const char *residual_word(const priced_row *row, const char **prefix);

/** The features of a row, into x (s->n), of a space that has its columns (residual_space_columns()).
 * LM_E_NOTFOUND for a figure that its device lacks, LM_E_NOMEM.
 */
lm_status residual_features(const residual_space *s, const priced_row *row, double *x,
                            lm_error *err);

#endif
