/** A calibration run: measures the points of a sweep on all ranks. */
#ifndef CALIBRATE_CAMPAIGN_H
#define CALIBRATE_CAMPAIGN_H

#include "measure/harness.h"
#include "measure/trust.h"
#include "ranks/world.h"
#include "run/chooser.h"
#include "run/output.h"
#include "run/progress.h"
#include "sweep/sweep.h"

/** A run and all it holds. */
typedef struct campaign {
    world        *everyone;
    registry     *reg;
    workloads    *loads;
    sweep        *plan;
    bool         *member; /**< of each rank: does it take part in the point at hand? */
    bench         b;
    output        file;
    trust        *trust;
    trust_summary seen;                  /**< after campaign_conclude(), on rank 0 */
    size_t        at;                    /**< which point of the plan is next, from 1 */
    size_t        n_measured, n_skipped; /**< in this run; skipped: points without a time */
    chooser      *pick;                  /**< rank 0; NULL elsewhere */
    double        budget; /**< seconds for the whole run; 0: every point, in the file's order */
    int64_t       began;  /**< CLOCK_MONOTONIC: what the budget counts from */
    double        virtual_seconds;  /**< simulated so far: what the budget counts instead */
    double        doubtful_seconds; /**< spent on points that are to be measured again */
    double        point_seconds, timed_seconds; /**< rank 0: that points took; repetitions of it */
    size_t        next;                         /**< point, without a budget */
    char          no_power[300]; /**< why none is measured; "": it is, or nothing could be */
} campaign;

/**
 * Reads the sweep and opens its backends. Every rank. Close in either case.
 *
 * @param everyone NULL: the sweep is only read, as if there were any number of ranks
 * @param plugin, n_plugins layer types before all others
 */
lm_status campaign_open(campaign *c, world *everyone, const char *sweep_path,
                        const char *const *plugin, size_t n_plugins, lm_error *err);
void      campaign_close(campaign *c);

/** Opens the backends, for which there must be a device: before anything is measured, and not to
 * list points. Every rank. */
lm_status campaign_connect(campaign *c, lm_error *err);

/** Points of a run under a budget: more have not been needed on any machine. */
#define CAMPAIGN_MOST 500

/** Makes rank 0's `pick`. Before output_open(): what is asked for may not be there. */
lm_status campaign_aim(campaign *c, const chooser_aim *aim, lm_error *err);
/** What the file holds already is not chosen again. Rank 0, after output_open(). */
lm_status campaign_recall(campaign *c, lm_error *err);

/**
 * Measures every point of the sweep that the file lacks, in the sweep's order; under a budget those
 * that `pick` chooses, until it is spent. In between, one again and again to see whether the
 * machine changes. Every rank.
 */
lm_status campaign_measure(campaign *c, const progress *shown, lm_error *err);

/** Are the ranks and their times numbers only? */
bool campaign_virtual(const campaign *c);
/** Seconds that this run took: simulated ones where ranks are virtual. */
double campaign_seconds(const campaign *c);
/**
 * Measures again what was disturbed, as far as retries, their share and the budget go; then looks
 * at the file as a whole. Every rank.
 */
lm_status campaign_conclude(campaign *c, const progress *shown, lm_error *err);

/** Is this rank 0, which writes and speaks? */
bool campaign_root(const campaign *c);

#endif
