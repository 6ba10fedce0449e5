/**
 * Trust in the times of a run. Disturbed points get flags and are measured again. One point is
 * repeated to detect changes of the machine. Ranks are compared.
 */
#ifndef CALIBRATE_TRUST_H
#define CALIBRATE_TRUST_H

#include <stdio.h>

#include "measure/conditions.h"
#include "observe/flags.h"
#include "observe/repeats.h"
#include "ranks/world.h"
#include "sweep/sweep.h"

/** A point is contended above this median of wall time / (wall time minus the wait for a core). */
#define TRUST_CONTENDED 1.1
/**
 * Without a throttle counter a point is throttled if its clock is below this share of the run's
 * best. A counter is better: wide instructions and many busy cores lower the clock permanently.
 */
#define TRUST_CLOCK 0.9
/**
 * Least compute seconds of a point for its clock to count: the clock of an idle machine rises
 * slowly.
 */
#define TRUST_CLOCK_SECONDS 0.5
/** A rank that takes longer than this factor times the median rank is slow. */
#define TRUST_SLOW_RANK 1.1
#define TRUST_NONE      ((size_t)-1)

typedef struct point_result point_result;
typedef struct trust        trust;

/** NULL: out of memory. */
trust *trust_new(const trust_limits *limits, size_t n_points);
void   trust_free(trust *t);

/* ---- every rank ------------------------------------------------------------------------------ */

/**
 * Flags and clock of a point, from the findings of each rank of `group`: the largest stretch, the
 * lowest clock, any throttling. Sets r->flags, r->stretch and r->clock_mhz. Compares the ranks.
 */
void trust_judge(trust *t, const world *group, const condition_report *mine, point_result *r);

/* ---- rank 0, which chooses ------------------------------------------------------------------- */

/** Notes a point in the file of an earlier run. `tries`: measurements, all with flags; is_anchor:
 * it was the anchor. */
void trust_recall(trust *t, size_t point, int64_t tries, bool is_anchor);

/** Notes a measured point; also a repetition by trust_anchor_due() or trust_retry(). */
void trust_note(trust *t, size_t point, const sweep_point *p, const point_result *r);

/**
 * The anchor, if it is due; else TRUST_NONE. The first call chooses it: an undisturbed compute
 * point of half to twice anchor_seconds per repetition; after a hundred times that without such a
 * point, the nearest. Its first measurement counts as the first of its times.
 *
 * @param closing the run ends: the anchor is due unless it was just measured or would take too
 *                large a share
 */
size_t trust_anchor_due(const trust *t, bool closing);

/** A flagged point to measure again after all others: the most disturbed one that has tries left
 * and fits into the share and into `seconds_left`. TRUST_NONE: none. */
size_t trust_retry(const trust *t, double seconds_left);

/* ---- results --------------------------------------------------------------------------- */

/** A rank that was slow over the run. */
typedef struct slow_rank {
    int    rank;
    double ratio; /**< its time / the median rank's, median over the points */
    char   host[WORLD_HOST];
} slow_rank;

typedef struct trust_summary {
    repeats    found;
    size_t     n_points;           /**< judged points, each once */
    size_t     n_flagged;          /**< points with a flag in their first try */
    size_t     n_retries;          /**< repeated measurements of these */
    size_t     n_left;             /**< points with flags in all tries */
    bool       contention_unknown; /**< the system does not report waits for a core */
    double     clock_best_mhz;     /**< NAN: unknown */
    slow_rank *slow;               /**< by rank */
    size_t     n_slow;
} trust_summary;

/** Called by every rank of `everyone`. Complete on rank 0. The caller fills in `found`. */
lm_status trust_summarise(const trust *t, const world *everyone, trust_summary *out, lm_error *err);
void      trust_summary_free(trust_summary *s);

/** Prints the summary, one finding per line; `only_wrong`: only problems. */
void trust_print(const trust_summary *s, bool only_wrong, FILE *out);

#endif
