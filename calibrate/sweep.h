/** What to measure: a sweep file and the points it stands for. */
#ifndef CALIBRATE_SWEEP_H
#define CALIBRATE_SWEEP_H

#include "backend.h"
#include "fit/observation.h"
#include "fit/workloads.h"
#include "placement.h"

/** When a point has been measured often enough. */
typedef struct stopping {
    int64_t warmup; /**< untimed repetitions first */
    int64_t min_repeats, max_repeats;
    double  max_seconds; /**< of timed repetitions; min_repeats are made in any case */
    double  precision; /**< stop when the standard error of the median is below this share of it */
} stopping;

/** One thing to measure. */
typedef struct sweep_point {
    observation row;     /**< kind, name, input, batch, ranks, hosts, bytes, algorithm; no times */
    int64_t     devices; /**< ranks on each of row.hosts machines; 0: the job's first row.ranks */
    lm_kernel   kernel;  /**< kernels */
    net_metrics counts;  /**< networks */
    double      weight;  /**< seconds it may take: a guess, for the time left */
} sweep_point;

typedef struct sweep {
    const char  *path;
    const char  *compute, *collective; /**< backends by name; collective NULL: none */
    int64_t      threads;
    stopping     stop;
    sim_config   sim;
    sweep_point *point;
    size_t       n_points, n_filtered; /**< n_filtered: left out by max_flops or by too few ranks */
    struct arena *arena;               /**< owns the text */
} sweep;

/**
 * Reads a sweep file; configs/sweeps/README.md is its reference. Networks are counted, so that what
 * cannot be bound is an error here and not in the middle of a run.
 *
 * @param job where the ranks are: points that need others are left out; NULL: no limit (virtual
 * ranks)
 */
lm_status sweep_load(const char *path, const registry *reg, workloads *loads, const placement *job,
                     sweep **out, lm_error *err);
void      sweep_free(sweep *s);

#endif
