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
#include "verify/verdicts.h"

/** A run and all it holds. */
typedef struct campaign {
    world        *everyone;
    registry     *reg;
    workloads    *loads;
    sweep        *plan;
    bool         *member; /**< per rank: takes part in the current point */
    bench         b;
    output        file;
    trust        *trust;
    verdicts      verified;              /**< after campaign_verify() */
    trust_summary seen;                  /**< after campaign_conclude(), on rank 0 */
    size_t        at;                    /**< number of the next point of the plan, from 1 */
    size_t        n_measured, n_skipped; /**< in this run; skipped: points without a time */
    chooser      *pick;                  /**< rank 0; NULL elsewhere */
    double        budget; /**< seconds for the whole run; 0: each point, in the file's order */
    int64_t       began;  /**< CLOCK_MONOTONIC at the start of the budget */
    /** simulated seconds so far, which count for the budget instead */
    double virtual_seconds;
    double doubtful_seconds; /**< time of points that will be measured again */
    /** rank 0: time of points; the part in repetitions */
    double point_seconds, timed_seconds;
    size_t next; /**< next point, without a budget */
    /** reason for missing power; "": power is measured, or could not be */
    char no_power[300];
} campaign;

/**
 * Reads the sweep. Called by each rank. Call campaign_close() in either case.
 *
 * @param everyone NULL: the sweep is only read, for any number of ranks
 * @param plugin, n_plugins layer types before all others
 */
lm_status campaign_open(campaign *c, world *everyone, const char *sweep_path,
                        const char *const *plugin, size_t n_plugins, lm_error *err);
void      campaign_close(campaign *c);

/**
 * Opens the backends, which need a device. Call it before measuring, but not for listing points.
 * Called by each rank.
 */
lm_status campaign_connect(campaign *c, lm_error *err);

/** Compares each kind of kernel with a CPU's, if the sweep wants it. Called by each rank, before output_open(). */
lm_status campaign_verify(campaign *c, lm_error *err);

/** Largest number of points with a budget: no machine has needed more. */
#define CAMPAIGN_MOST 500

/** Makes rank 0's `pick`. Call it before output_open(), because a wanted network may not exist. */
lm_status campaign_aim(campaign *c, const chooser_aim *aim, lm_error *err);
/** Excludes points that are in the file already. Rank 0, after output_open(). */
lm_status campaign_recall(campaign *c, lm_error *err);

/**
 * Measures each point of the sweep that the file lacks, in the sweep's order. With a budget it
 * measures the points that `pick` chooses, until the budget is spent. The anchor is repeated in
 * between, to detect changes of the machine. Called by each rank.
 */
lm_status campaign_measure(campaign *c, const progress *shown, lm_error *err);

/** Are the ranks and their times simulated? */
bool campaign_virtual(const campaign *c);
/** Seconds that this run took; simulated seconds if ranks are simulated. */
double campaign_seconds(const campaign *c);
/**
 * Measures disturbed points again, within the limits of retries, their share and the budget. Then
 * it reviews the file as a whole. Called by each rank.
 */
lm_status campaign_conclude(campaign *c, const progress *shown, lm_error *err);

/** Is this rank 0, which writes files and messages? */
bool campaign_root(const campaign *c);

#endif
