/** Repetitions of a period in a stretch of a level, by dynamic programming; for core/epochs. */
#ifndef EPOCHS_SEQUENCE_H
#define EPOCHS_SEQUENCE_H

#include <stdint.h>

#include "epochs/series.h"

/** Bins of a level, or of its events, and one period in them. */
typedef struct stretch {
    const float *x;
    size_t       n;
    size_t       width;   /**< bins of a template of one period, even */
    double       period;  /**< bins */
    double       scatter; /**< usual root of the sum of squares within a window of that width */
} stretch;

/** The finest level at which a period has at most so many bins and the work stays bounded. */
size_t stretch_level(const series *s, double seconds, double bins);

/** Opens bins [from, to) of a level, or of its events. *own then holds the events, to be freed.
 * LM_E_NOMEM */
lm_status stretch_open(const series *s, size_t level, bool events, size_t from, size_t to,
                       double seconds, float **own, stretch *out, lm_error *err);

/** Similarity, 0 to 1, of each of n intervals to the mean of the others. Intervals are pairs of
 * places, in bins; they are resampled to the width of the template. `mean` takes that of all
 * intervals; may be NULL. LM_E_NOMEM */
lm_status stretch_alike(const stretch *s, const double *place, size_t n, double *alike,
                        double *mean, lm_error *err);

/** Places of repetitions, and the memory to find them. */
typedef struct sequence {
    float   *match, *score; /**< of each bin: similarity to the template, -1 to 1; score of the best
                                 ... */
    int32_t *back;          /**< ... sequence that ends there, and the place before it; -1 */
    size_t  *found, n;      /**< bins of the places */
} sequence;

/** Memory for sequences over n bins with a period of so many; false when memory runs out. */
bool sequence_open(sequence *r, size_t n, double period);
void sequence_free(sequence *r);

/** The best sequence over a whole stretch: template (`t`: width values) and sequence are improved
 * in turns, first around the middle. False: fewer than two places. */
bool sequence_find_all(const stretch *all, sequence *r, float *t);

#endif
