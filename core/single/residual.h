/** What prices of single layers and launches leave over, learned: lesson.h of these. */
#ifndef SINGLE_RESIDUAL_H
#define SINGLE_RESIDUAL_H

#include "single/lesson.h"
#include "single/model.h"
#include "single/residual_features.h"
#include "single/residual_memo.h"

/** Of each class; NULL: none. */
typedef struct residual_set {
    residual_trees *of[N_LAYER_CLASSES];
    residual_memo  *memo; /**< NULL: nothing has been asked. What trees say is not to change then */
} residual_set;

/** Rows of one machine to learn from. */
typedef struct residual_source {
    layer_rows         *r;
    const layer_time   *time;   /**< of the rows, in their order */
    const bool         *in;     /**< rows that may be seen; NULL: all */
    const layer_device *device; /**< NULL: not known */
} residual_source;

/**
 * Learns as lesson_learn() does, from rows of one class on one machine or several, each of which
 * has prices of its own; of several the residual knows their devices' figures, and is one for all.
 * Shapes are the same whatever the batch and the device. The prices are left in `r`, as
 * layer_rows_fit() does.
 *
 * @param out    NULL: nothing was gained, or there are too few rows
 * @param judged as lesson_learn() has it; may be NULL
 */
lm_status residual_learn(size_t class, const residual_source *from, size_t n, residual_trees **out,
                         residual_trees *judged, lm_error *err);

/** r of a row that was priced; 0 outside of what it was learned from. As
 * residual_features(). */
lm_status residual_of(residual_trees *r, const priced_row *row, double *out, lm_error *err);

void residual_set_free(residual_set *s);

#endif
