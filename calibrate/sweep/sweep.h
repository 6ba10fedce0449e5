/** The points to measure: a sweep file and its points. */
#ifndef CALIBRATE_SWEEP_H
#define CALIBRATE_SWEEP_H

#include "measure/backend.h"
#include "observe/observation.h"
#include "observe/workloads.h"
#include "ranks/placement.h"
#include "suggest/stopping.h"

/** Effort for checking the numbers (trust.h), as shares of the time of points. */
typedef struct trust_limits {
    int64_t retries;     /**< tries for a disturbed point beyond the first */
    double  retry_share; /**< limit for the time of all these tries */
    /** for repetitions of one point, the anchor; 0: never; below 0: not given */
    double anchor_share;
    double anchor_seconds; /**< wanted time of one repetition of the anchor */
} trust_limits;

/** One thing to measure. */
typedef struct sweep_point {
    observation row; /**< describes the point; no times */
    /** ranks on each of row.hosts machines; 0: the first row.ranks of the job */
    int64_t     devices;
    lm_kernel   kernel; /**< kernels */
    settings    how;    /**< from row.settings */
    net_metrics counts; /**< networks, layers */
} sweep_point;

typedef struct sweep {
    const char  *path;
    const char  *compute, *collective; /**< backends by name; collective NULL: none */
    int64_t      threads;
    stopping     stop;
    int64_t      clock_mhz; /**< held clock of the device; 0: not held */
    bool         verify;    /**< each kind of kernel beside a CPU's, before anything is measured */
    double       power_seconds; /**< least time of repetitions, until power is steady; 0: none */
    trust_limits trust;
    double       flops_per_second, bytes_per_second; /**< expected speed of a rank */
    sim_config   sim;
    sweep_point *point;
    /** n_filtered: removed by filters, or because ranks are missing */
    size_t        n_points, n_filtered;
    struct arena *arena; /**< owns the text */
} sweep;

/** Abilities of the backends that a sweep names. Zeroed: any number of ranks, no settings. */
typedef struct sweep_limits {
    /** places of the ranks; points that need others are removed. NULL: any ranks (simulated) */
    const placement *job;
    uint32_t settings; /**< bit 1 << setting for each setting that the compute backend follows */
    autocast_kind on;  /**< kind of its device */
    bool          verifies; /**< runs kernels to be compared */
} sweep_limits;

/** Abilities of a compute backend; an error for one that this build lacks. */
typedef lm_status (*sweep_asker)(void *context, const char *compute, sweep_limits *out,
                                 lm_error *err);

/**
 * Reads a sweep file; configs/sweeps/README.md is its reference. Networks are counted here, so a
 * network that cannot be bound is an error before the run starts.
 */
lm_status sweep_load(const char *path, const registry *reg, workloads *loads, sweep_asker ask,
                     void *context, sweep **out, lm_error *err);
void      sweep_free(sweep *s);

#endif
