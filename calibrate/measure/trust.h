/**
 * Trust in the numbers of a run: disturbed points are flagged and measured again, one point is
 * repeated to detect changes of the machine, ranks are compared.
 */
#ifndef CALIBRATE_TRUST_H
#define CALIBRATE_TRUST_H

#include <stdio.h>

#include "measure/conditions.h"
#include "observe/flags.h"
#include "observe/repeats.h"
#include "ranks/world.h"
#include "sweep/sweep.h"

/** A median of wall time / (wall time minus the wait for a core) above this means: contended. */
#define TRUST_CONTENDED 1.1
/**
 * A clock below this share of the best of the run means: throttled, if no counter reports
 * throttling. With a counter the clock says less: wide instructions and many busy cores lower it
 * permanently.
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

/** A point that the file of an earlier run holds: how often it was measured, flagged each time; is
 * it the anchor? */
void trust_recall(trust *t, size_t point, int64_t tries, bool is_anchor);

/** A measured point. `again`: not for the first time in this run, by trust_anchor_due() or
 * trust_retry(). */
void trust_note(trust *t, size_t point, const sweep_point *p, const point_result *r);

/**
 * The anchor, if it is time to repeat it; else TRUST_NONE. The first time it is chosen: an
 * undisturbed point that computes, half to twice anchor_seconds a repetition; if there is none
 * after a hundred times that, the nearest. Its first measurement is the first of its times.
 *
 * @param closing nothing follows, so that it is time unless it was just measured or would take too
 *                large a share
 */
size_t trust_anchor_due(const trust *t, bool closing);

/** A flagged point to measure again now, all others being done: the most disturbed that may still
 * be tried and fits into the share and into `seconds_left`. TRUST_NONE: none. */
size_t trust_retry(const trust *t, double seconds_left);

/* ---- what came out --------------------------------------------------------------------------- */

/** A rank that was slow over the run. */
typedef struct slow_rank {
    int    rank;
    double ratio; /**< its time over the median rank's: median over the points */
    char   host[WORLD_HOST];
} slow_rank;

typedef struct trust_summary {
    repeats    found;
    size_t     n_points;           /**< that were judged, each once */
    size_t     n_flagged;          /**< that were flagged in their first try */
    size_t     n_retries;          /**< measured again because of that */
    size_t     n_left;             /**< flagged in all their tries */
    bool       contention_unknown; /**< the system does not tell who waits for a core */
    double     clock_best_mhz;     /**< NAN: unknown */
    slow_rank *slow;               /**< by rank */
    size_t     n_slow;
} trust_summary;

/** Every rank of `everyone`. Complete on rank 0; `found` is the caller's to fill. */
lm_status trust_summarise(const trust *t, const world *everyone, trust_summary *out, lm_error *err);
void      trust_summary_free(trust_summary *s);

/** In words, a line each; `only_wrong`: nothing but what somebody must look at. */
void trust_print(const trust_summary *s, bool only_wrong, FILE *out);

#endif
