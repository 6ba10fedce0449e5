/** What to measure: a sweep file and its points. */
#ifndef CALIBRATE_SWEEP_H
#define CALIBRATE_SWEEP_H

#include "measure/backend.h"
#include "observe/observation.h"
#include "observe/workloads.h"
#include "ranks/placement.h"
#include "suggest/stopping.h"

/** Effort spent on checking the numbers (trust.h), as shares of the time that points take. */
typedef struct trust_limits {
    int64_t retries;        /**< tries for a disturbed point beyond the first */
    double  retry_share;    /**< for all these tries */
    double  anchor_share;   /**< for repeating one point, the anchor; 0: never; below 0: not
                                 given */
    double  anchor_seconds; /**< wanted time of a repetition of the anchor */
} trust_limits;

/** One thing to measure. */
typedef struct sweep_point {
    observation row;     /**< describes the point; no times */
    int64_t     devices; /**< ranks on each of row.hosts machines; 0: the first row.ranks of the
                              job */
    lm_kernel   kernel;  /**< kernels */
    settings    how;     /**< by row.settings */
    net_metrics counts;  /**< networks, layers */
} sweep_point;

typedef struct sweep {
    const char   *path;
    const char   *compute, *collective; /**< backends by name; collective NULL: none */
    int64_t       threads;
    stopping      stop;
    int64_t       clock_mhz;     /**< clock that the device is held at; 0: it is not held */
    double        power_seconds; /**< least time of repetitions, for power to settle; 0: no limit */
    trust_limits  trust;
    double        flops_per_second, bytes_per_second; /**< expected speed of a rank */
    sim_config    sim;
    sweep_point  *point;
    size_t        n_points, n_filtered; /**< n_filtered: left out by filters or for lack of ranks */
    struct arena *arena;                /**< owns the text */
} sweep;

/** Abilities of the backends that a sweep names. Zeroed: any number of ranks, no settings. */
typedef struct sweep_limits {
    const placement *job; /**< places of the ranks; points that need other places are left out.
                               NULL: any ranks (virtual ones) */
    uint32_t settings;    /**< bit 1 << setting for each setting that the compute backend follows */
    autocast_kind on;     /**< kind of its device */
} sweep_limits;

/** Abilities of a compute backend; an error for one that this build lacks. */
typedef lm_status (*sweep_asker)(void *context, const char *compute, sweep_limits *out,
                                 lm_error *err);

/** Reads a sweep file; its reference is configs/sweeps/README.md. Networks are counted, so that a
 * network that cannot be bound is an error here, not in the middle of a run. */
lm_status sweep_load(const char *path, const registry *reg, workloads *loads, sweep_asker ask,
                     void *context, sweep **out, lm_error *err);
void      sweep_free(sweep *s);

#endif
