/**
 * Correction of a fit by runs: whole steps of networks, of which formulas of a step's parts take
 * none. What bounds a step is told apart as the fit prices it, and one factor for each resource
 * (correct.h) brings the sums to what was run.
 *
 * A correction has to show that it helps: each network is left out of it in turn, or each
 * configuration where there is but one network. The error of what was left out must fall.
 */
#ifndef TRANSFER_RUNS_H
#define TRANSFER_RUNS_H

#include "transfer/correct.h"

/** Runs of which all-reduces are a larger part than this say little of their device. */
#define RUNS_EXPOSED_MOST 0.2

/** Configurations that were run, as rows of a correction: repeated runs are one row, of their mean.
 */
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
 * Points with a whole step and no part of it. All-reduces that a step waits for stay as predicted.
 *
 * @return LM_E_ARG where there is none, where none can be used, and for a fit without formulas of a
 *         step's parts, which takes runs itself; LM_E_NOMEM. *out is to be freed.
 */
lm_status run_rows_from(const calibration *cal, const points *p, run_rows *out, lm_error *err);
void      run_rows_free(run_rows *r);

typedef struct run_correction {
    correct_factors factors;
    correct_errors  errors; /**< of configurations; mape with each group left out, NAN of one */
    bool            by_network, kept;
} run_correction;

/**
 * Corrects the default model where that helps; else, and by a single configuration, of which
 * nothing can be left out, leaves it as it is.
 *
 * Intervals hold what they held of the times before and after: they are divided by what the factors
 * may have changed. That of a step of which three networks or more were run stays what it was,
 * wider where these, left out, say so; of fewer it holds all of these.
 */
lm_status correct_by_runs(calibration *cal, const run_rows *r, run_correction *out, lm_error *err);

#endif
