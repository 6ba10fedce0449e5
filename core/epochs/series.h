/** A metric at equal steps, and the same at half of the resolution, a
 * quarter, ...; for core/epochs. */
#ifndef EPOCHS_SERIES_H
#define EPOCHS_SERIES_H

#include "trace/trace.h"

#define SERIES_LEVELS_MAX 32

typedef struct series_level {
    const float *x;
    size_t       n;
    double       step; /**< s */
} series_level;

/**
 * A pyramid: level 0 is the grid with its missing bins interpolated, each next one half as long,
 * behind the binomial filter (1 3 3 1) / 8, so that what is faster than the bins vanishes instead
 * of beating with them (Burt & Adelson 1983). The last has 8 bins or more.
 */
typedef struct series {
    double       start; /**< s, of the first bin */
    size_t       n_levels;
    series_level level[SERIES_LEVELS_MAX];
    float       *memory;
    float        lowest, highest;        /**< quantiles 0.1 % and 99.9 %, at which values are cut */
    double       active_from, active_to; /**< s: without the idle at both ends, if there is any */
} series;

/** LM_E_NOTFOUND for constants, and for traces of which more than half is missing. */
lm_status series_of(const trace_grid *g, series *out, lm_error *err);
void      series_free(series *s);

/**
 * Of a level, what is far from its usual value: x less the median, drawn to 0 by 2.5 robust
 * standard deviations (1.4826 median absolute deviations; soft thresholding, Donoho 1995). Pauses
 * too short to matter for a correlation stand out in it. malloc'ed, n values; NULL when memory runs
 * out.
 */
float *series_events(const series_level *l);

/** Bin of a time, cut to the level. */
size_t series_bin(const series *s, size_t level, double time);

#endif
