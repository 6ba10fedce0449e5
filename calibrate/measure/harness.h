/** Measures one point: warm-up, repetitions until they suffice, statistics, the rule over ranks. */
#ifndef CALIBRATE_HARNESS_H
#define CALIBRATE_HARNESS_H

#include "measure/backend.h"
#include "sweep/sweep.h"

/** The open backends; collective may be NULL. */
typedef struct bench {
    backend                *compute, *collective;
    const registry         *reg;
    const sweep            *plan;
    struct trust           *trust; /**< judges what was measured (trust.h) */
    const struct agreement *ranks; /**< how they compare; NULL: not known */
    struct power_meter     *power; /**< of this rank's device (power_meter.h); NULL: none */
} bench;

/** Times of one phase over the repetitions, in seconds. */
typedef struct phase_times {
    bool    measured;
    int64_t repeats;
    double  median, min, p95, cpu; /**< cpu: median, NAN if unknown */
} phase_times;

typedef struct point_result {
    phase_times phase[N_PHASES];
    const char
            *status; /**< "ok", or "skipped-memory", "skipped-unsupported": nothing was measured */
    char     why[200];      /**< behind a status that is not ok */
    char     algorithm[64]; /**< of a kernel: its implementation; else empty */
    uint32_t flags;         /**< flags.h; those that the caller has set stay */
    double   stretch;       /**< wall time over the time with a core (conditions.h); NAN: unknown */
    double   clock_mhz;     /**< NAN: unknown */
    double   power_w;       /**< mean over the repetitions and the ranks; NAN: unknown */
    double   spent;         /**< seconds of all timed repetitions */
    int64_t  repeats;
    bool     again; /**< the caller's: it was measured before */
} point_result;

/**
 * Measures a point on `group`; every rank of it calls this.
 *
 * Each repetition starts together (barrier) and runs forward, backward, then, together again, the
 * all-reduce, then the update. With buckets it runs the whole step at once (step.h). Of each time
 * the largest over the ranks counts, with the CPU time of that rank; of all-reduces in buckets what
 * passes from when the last rank has done its backward pass. That of a step is what passes
 * until the slowest rank has done it: the largest sum of forward and backward over the ranks and
 * the largest of all-reduce and update; with buckets the largest sum of all. It is no more than the
 * sum of its phases' times, each of which may be another rank's.
 *
 * It stops after
 * min_repeats, once the standard error of the median of the sum (1.2533 * 1.4826 * MAD / sqrt(n))
 * is below `precision` of it, or at max_repeats or max_seconds.
 *
 * Repetitions go on, untimed, until power has been looked at for plan->power_seconds.
 *
 * Waits for a core, clocks and the times of the ranks are noted beside it and judged by b->trust;
 * a point without a time has no flags.
 *
 * @return an error only for what must end the whole run
 */
lm_status harness_measure(const bench *b, const world *group, const sweep_point *point,
                          point_result *out, lm_error *err);

/** A rank whose device or network is lost tells so at once and does not return: the others may be
 * in an all-reduce between GPUs with it, where nothing else reaches them. Of other failures, and of
 * other collectives, all ranks hear where they meet. */
void harness_lost(const bench *b, const world *group, lm_status status, const lm_error *err);

#endif
