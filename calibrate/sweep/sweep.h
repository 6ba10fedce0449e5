/** What to measure: a sweep file and the points it stands for. */
#ifndef CALIBRATE_SWEEP_H
#define CALIBRATE_SWEEP_H

#include "measure/backend.h"
#include "observe/observation.h"
#include "observe/workloads.h"
#include "ranks/placement.h"
#include "suggest/stopping.h"

/** What is spent on knowing whether the numbers can be trusted (trust.h), as shares of the time
 * that points take. */
typedef struct trust_limits {
    int64_t retries;        /**< how often a point that was disturbed is measured again */
    double  retry_share;    /**< for that, all together */
    double  anchor_share;   /**< for repeating one point; 0: not at all; below 0: not given */
    double  anchor_seconds; /**< that a repetition of this point should take */
} trust_limits;

/** One thing to measure. */
typedef struct sweep_point {
    observation row;     /**< all that says what it is; no times */
    int64_t     devices; /**< ranks on each of row.hosts machines; 0: the job's first row.ranks */
    lm_kernel   kernel;  /**< kernels */
    settings    how;     /**< as row.settings says */
    net_metrics counts;  /**< networks, layers */
} sweep_point;

typedef struct sweep {
    const char *path;
    const char *compute, *collective; /**< backends by name; collective NULL: none */
    int64_t     threads;
    stopping    stop;
    int64_t     clock_mhz; /**< at which the device is held, as the sweep says; 0: it does not */
    double      power_seconds; /**< repetitions go on so long for power to settle; 0: they do not */
    trust_limits  trust;
    double        flops_per_second, bytes_per_second; /**< what to expect of a rank */
    sim_config    sim;
    sweep_point  *point;
    size_t        n_points, n_filtered; /**< n_filtered: left out by filters or by too few ranks */
    struct arena *arena;                /**< owns the text */
} sweep;

/** What the backends that a sweep names can do. Zeroed: any number of ranks, no settings. */
typedef struct sweep_limits {
    const placement *job; /**< where the ranks are: points that need others are left out; NULL: any
                             ranks (virtual ones) */
    uint32_t settings;    /**< bit 1 << setting for each that the compute backend obeys */
} sweep_limits;

/** Says what a compute backend can do; an error for one that this build lacks. */
typedef lm_status (*sweep_asker)(void *context, const char *compute, sweep_limits *out,
                                 lm_error *err);

/**
 * Reads a sweep file; configs/sweeps/README.md is its reference. Networks are counted, so that what
 * cannot be bound is an error here and not in the middle of a run.
 */
lm_status sweep_load(const char *path, const registry *reg, workloads *loads, sweep_asker ask,
                     void *context, sweep **out, lm_error *err);
void      sweep_free(sweep *s);

#endif
