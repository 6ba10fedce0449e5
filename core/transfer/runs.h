/**
 * Correction of a fit by runs: whole steps of networks, without times of a step's parts. The fit
 * tells the bounds of a step's time apart, and one factor for each resource (correct.h) brings the
 * sums to the measured steps.
 *
 * A correction must show that it helps. Each network is left out of it in turn, or each
 * configuration if there is only one network. The error on the left-out runs must fall.
 */
#ifndef TRANSFER_RUNS_H
#define TRANSFER_RUNS_H

#include "transfer/correct.h"

/** Runs with a larger share of all-reduces say little of their device. */
#define RUNS_EXPOSED_MOST 0.2

/** Configurations that were run, as rows of a correction. Repeated runs are one row, their mean. */
typedef struct run_rows {
    correct_row *row;
    size_t      *slot; /**< interval that each is about, see interval_phase() */
    double      *nodes;
    size_t       n;
    size_t       runs, networks; /**< behind them */
    /* Runs that are not used. */
    size_t n_doubtful; /**< flagged */
    size_t n_other;    /**< of another element type, other settings or another optimizer */
    size_t n_exposed;  /**< above RUNS_EXPOSED_MOST */
    size_t n_untold;   /**< no coefficients for the network, or its all-reduce */
} run_rows;

/**
 * Takes points with a whole step and no part of it. All-reduces that a step waits for stay as
 * predicted.
 *
 * @return LM_E_ARG if there are no such points, if none can be used, and for a fit without formulas
 *         of a step's parts, which takes runs itself; LM_E_NOMEM. *out is to be freed.
 */
lm_status run_rows_from(const calibration *cal, const points *p, run_rows *out, lm_error *err);
void      run_rows_free(run_rows *r);

typedef struct run_correction {
    correct_factors factors;
    correct_errors  errors; /**< of configurations; mape with each group left out, NAN of one */
    bool            by_network, kept;
} run_correction;

/**
 * Corrects the default model if that helps. Otherwise the model stays, and also with a single
 * configuration, of which nothing can be left out.
 *
 * Intervals of times before and after hold the same measurements: they are divided by the changes
 * that the factors may have made. With three networks or more the interval of their step stays,
 * wider if the left-out networks say so. With fewer networks it holds all of their steps.
 */
lm_status correct_by_runs(calibration *cal, const run_rows *r, run_correction *out, lm_error *err);

#endif
