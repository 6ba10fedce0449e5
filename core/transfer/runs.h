/**
 * Correction of a fit by runs: whole steps of networks, without times of the parts. The fit knows
 * the bounds of a step's time; one factor per resource (correct.h) brings the sums to the measured
 * steps.
 *
 * A correction must prove that it helps. Each network (with one network: each configuration) is
 * left out in turn. The error on the left-out runs must fall.
 */
#ifndef TRANSFER_RUNS_H
#define TRANSFER_RUNS_H

#include "transfer/correct.h"

/** Runs with a larger share of all-reduces are not used: they say little about their device. */
#define RUNS_EXPOSED_MOST 0.2

/** Configurations with runs, as rows of a correction. Repeated runs are one row, their mean. */
typedef struct run_rows {
    correct_row *row;
    size_t      *slot; /**< interval that each row belongs to, see interval_phase() */
    double      *nodes;
    size_t       n;
    size_t       runs, networks; /**< numbers of runs and networks in the rows */
    /* Unused runs: */
    size_t n_doubtful; /**< flagged */
    size_t n_other;    /**< of another element type, other settings or another optimizer */
    size_t n_exposed;  /**< larger share of all-reduces than RUNS_EXPOSED_MOST */
    size_t n_untold;   /**< no coefficients for the network, or its all-reduce */
} run_rows;

/**
 * Makes rows of points with a whole step and no part of it. Exposed all-reduces stay as predicted.
 *
 * @return LM_E_ARG if there are no such points, if none can be used, or if the fit has no formulas
 *         for a step's parts (it uses runs itself); LM_E_NOMEM. The caller frees *out
 */
lm_status run_rows_from(const calibration *cal, const points *p, run_rows *out, lm_error *err);
void      run_rows_free(run_rows *r);

typedef struct run_correction {
    correct_factors factors;
    /** errors over configurations; mape in cross-validation, NAN for one configuration */
    correct_errors errors;
    bool           by_network, kept;
} run_correction;

/**
 * Corrects the default model if that helps. The model stays unchanged if it does not help, and with
 * a single configuration, because nothing can be left out.
 *
 * Intervals must contain the same measurements before and after. Therefore they are divided by the
 * changes that the factors can cause. With three networks or more, the interval of a step stays, or
 * becomes wider if the left-out networks require it. With fewer networks it contains all of their
 * steps.
 */
lm_status correct_by_runs(calibration *cal, const run_rows *r, run_correction *out, lm_error *err);

#endif
