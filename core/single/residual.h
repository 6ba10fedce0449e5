/** Residuals of single layers and launches. */
#ifndef SINGLE_RESIDUAL_H
#define SINGLE_RESIDUAL_H

#include "learn/lesson.h"
#include "single/residual_features.h"

/** Of each class; NULL: none. */
typedef struct residual_set {
    residual_trees *of[N_LAYER_CLASSES];
} residual_set;

/**
 * Learns from rows of one class on one machine or several, as lesson_learn() does. Each machine has
 * its own prices, which stay in `r`. The residual is one for all, with the devices' figures as
 * features. Rows that differ in batch or device alone have one shape.
 *
 * @param out    NULL: nothing was gained, or there are too few rows
 * @param judged as lesson_learn() has it; may be NULL
 */
lm_status residual_learn(size_t class, const residual_source *from, size_t n, residual_trees **out,
                         residual_trees *judged, lm_error *err);

/** r of a priced row; 0 outside of what was learned. Fails as residual_features() does. */
lm_status residual_of(const residual_trees *r, const priced_row *row, double *out, lm_error *err);

void residual_set_free(residual_set *s);

#endif
