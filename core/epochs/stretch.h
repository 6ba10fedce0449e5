/** A stretch of a level of a series, and how alike parts of it are; for core/epochs. */
#ifndef EPOCHS_STRETCH_H
#define EPOCHS_STRETCH_H

#include "epochs/series.h"

/** Bins of a level, or of its events, and one period in them. */
typedef struct stretch {
    const float *x;
    size_t       n;
    size_t       width;   /**< bins of a template of one period, even */
    double       period;  /**< bins */
    double       scatter; /**< usual root of the sum of squares within a window of that width */
} stretch;

/** The value at bin i; beyond the ends those at the ends. */
static inline float stretch_at(const stretch *s, long i)
{
    return s->x[i < 0 ? 0 : (size_t)i >= s->n ? s->n - 1 : (size_t)i];
}

/** The finest level at which a period has at most so many bins, and the
 * work stays within bounds. */
size_t stretch_level(const series *s, double seconds, double bins);

/** Bins [from, to) of a level, or of its events, which *own then holds: to be freed. LM_E_NOMEM */
lm_status stretch_open(const series *s, size_t level, bool events, size_t from, size_t to,
                       double seconds, float **own, stretch *out, lm_error *err);

/** So many periods around the middle. */
stretch stretch_middle(const stretch *s, double periods);

/**
 * How alike each of n intervals (pairs of places, in bins) is to the mean of the others, 0 to 1,
 * resampled to the width of the template; that of all goes into `mean`, if it is not NULL.
 * LM_E_NOMEM
 */
lm_status stretch_alike(const stretch *s, const double *place, size_t n, double *alike,
                        double *mean, lm_error *err);

#endif
