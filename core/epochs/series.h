/** A metric at equal steps, and at half, a quarter ... of the resolution; for core/epochs. */
#ifndef EPOCHS_SERIES_H
#define EPOCHS_SERIES_H

#include "trace/trace.h"

#define SERIES_LEVELS_MAX 32

typedef struct series_level {
    const float *x;
    size_t       n;
    double       step; /**< s */
} series_level;

/** A pyramid. Level 0 is the grid, its missing bins interpolated. Each next level is half as long,
 * behind the binomial filter (1 3 3 1) / 8: changes faster than the bins vanish instead of
 * beating with them (Burt & Adelson 1983). The last level has 8 bins or more. */
typedef struct series {
    double       start; /**< s, of the first bin */
    size_t       n_levels;
    series_level level[SERIES_LEVELS_MAX];
    float       *memory;
    float        lowest, highest;        /**< quantiles 0.1 % and 99.9 %; values are cut there */
    double       active_from, active_to; /**< s: bounds without idle time at both ends */
} series;

/** LM_E_NOTFOUND for constants, and for traces with more than half missing. */
lm_status series_of(const trace_grid *g, series *out, lm_error *err);
void      series_free(series *s);

/** Events of a level, far from its usual value: x less the median, drawn to 0 by 2.5 robust
 * standard deviations (1.4826 median absolute deviations; soft thresholding, Donoho 1995).
 * Pauses too short to matter for a correlation stand out in it. malloc'ed, n values; NULL when
 * memory runs out. */
float *series_events(const series_level *l);

/** Bin of a time, cut to the level. */
size_t series_bin(const series *s, size_t level, double time);

#endif
