/** Measures one point: warm-up, enough repetitions, statistics, the rule over ranks. */
#ifndef CALIBRATE_HARNESS_H
#define CALIBRATE_HARNESS_H

#include "measure/backend.h"
#include "sweep/sweep.h"

/** The open backends; collective may be NULL. */
typedef struct bench {
    backend                *compute, *collective;
    const registry         *reg;
    const sweep            *plan;
    struct trust           *trust;   /**< judges what was measured (trust.h) */
    const struct agreement *ranks;   /**< comparison of ranks; NULL: unknown */
    const struct verdicts *verified; /**< kernels beside a CPU's (verdicts.h); NULL: not compared */
    struct power_meter    *power;    /**< meter of this rank's device (power_meter.h); NULL: none */
} bench;

/** Times of one phase over the repetitions, in seconds. */
typedef struct phase_times {
    bool    measured;
    int64_t repeats;
    double  median, min, p95, cpu; /**< cpu: median, NAN if unknown */
} phase_times;

typedef struct point_result {
    phase_times phase[N_PHASES];
    /** "ok", or "skipped-memory", "skipped-unsupported": nothing was measured */
    const char *status;
    char        why[200]; /**< reason for a status other than ok */
    char algorithm[64];   /**< implementation of a kernel, or choice of a collective; else empty */
    uint32_t flags;       /**< flags.h; flags that the caller has set stay */
    double   stretch;     /**< wall time over the time with a core (conditions.h); NAN: unknown */
    double   clock_mhz;   /**< NAN: unknown */
    double   power_w;     /**< mean over the repetitions and the ranks; NAN: unknown */
    double   spent;       /**< seconds of all timed repetitions */
    int64_t  repeats;
    bool     again; /**< set by the caller: it was measured before */
} point_result;

/**
 * Measures a point on `group`; each rank of the group calls this.
 *
 * A repetition starts on all ranks together (barrier). It runs forward and backward; then, together
 * again, the all-reduce; then the update. With buckets it runs the whole step at once (step.h). A
 * time is the largest over the ranks, with the CPU time of that rank. All-reduces in buckets count
 * from the moment when the last rank has finished its backward pass.
 *
 * The time of a step is the time until the slowest rank has finished: the largest sum of forward
 * and backward over the ranks, plus the largest all-reduce and update; with buckets the largest sum
 * of all phases. It is at most the sum of its phases' times, because these may belong to different
 * ranks.
 *
 * Repetitions end after min_repeats, as soon as the standard error of the median of the sum (1.2533
 * * 1.4826 * MAD / sqrt(n)) is below the share `precision` of it; or at max_repeats or max_seconds.
 * They continue without timing until power has been measured for plan->power_seconds.
 *
 * Waits for a core, clocks and times of the ranks are recorded and judged by b->trust. A point
 * without a time has no flags.
 *
 * @return an error only if the whole run must end
 */
lm_status harness_measure(const bench *b, const world *group, const sweep_point *point,
                          point_result *out, lm_error *err);

/**
 * A rank whose repetition failed reports it at once and does not return: other ranks may wait for it
 * in an all-reduce between GPUs, and cannot be reached otherwise. Failures with other collectives are
 * exchanged at the next meeting of the ranks.
 */
void harness_lost(const bench *b, const world *group, lm_status status, const lm_error *err);

#endif
