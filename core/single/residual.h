/** Residuals of single layers and launches. */
#ifndef SINGLE_RESIDUAL_H
#define SINGLE_RESIDUAL_H

#include "learn/lesson.h"
#include "single/residual_features.h"

/** Residual of each class; NULL: none. */
typedef struct residual_set {
    residual_trees *of[N_LAYER_CLASSES];
} residual_set;

/**
 * Learns from rows of one class on one machine or several, as lesson_learn() does. Each machine has
 * its own prices, which stay in `r`. All share one residual, with the devices' figures as features.
 * Rows that differ only in batch or device have one shape.
 *
 * @param out    NULL: no gain, or too few rows
 * @param judged as for lesson_learn(); may be NULL
 */
lm_status residual_learn(size_t class, const residual_source *from, size_t n, residual_trees **out,
                         residual_trees *judged, lm_error *err);

/** r of a priced row; 0 outside the training range. Errors as residual_features(). */
lm_status residual_of(const residual_trees *r, const priced_row *row, double *out, lm_error *err);

void residual_set_free(residual_set *s);

#endif
