/** A calibration run: what a sweep lists, measured point by point on all ranks. */
#ifndef CALIBRATE_CAMPAIGN_H
#define CALIBRATE_CAMPAIGN_H

#include "harness.h"
#include "output.h"
#include "progress.h"
#include "sweep.h"
#include "trust.h"
#include "world.h"

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

/**
 * Measures every point of the sweep that the file lacks, in the sweep's order; in between, one
 * again and again to see whether the machine changes. Every rank.
 */
lm_status campaign_measure(campaign *c, progress *shown, lm_error *err);

/**
 * Measures again what was disturbed, as far as retries, their share and `seconds_left` (HUGE_VAL:
 * no limit) go; then looks at the file as a whole. Every rank.
 */
lm_status campaign_conclude(campaign *c, double seconds_left, progress *shown, lm_error *err);

/** Is this rank 0, which writes and speaks? */
bool campaign_root(const campaign *c);

#endif
