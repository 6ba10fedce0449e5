/**
 * Correction of a model by a few measurements on a device. A few measurements cannot separate
 * single coefficients, so there is one factor per resource (solve/columns.h). Single layers have
 * one factor for forward passes and one for the rest of training, whose kernels differ.
 *
 *   seconds = fixed + sum over factors of factor_r x seconds_r
 *
 * seconds_r is the part of the model's time that r bounds. The fit is relative and robust (Huber
 * 0.3, five rounds of reweighting), with factors of 0 or more. A ridge 0.1 (factor - 1)^2 is added
 * to the sum of squared relative residuals. It holds factors near 1: a resource that the
 * measurements do not determine keeps 1.
 */
#ifndef TRANSFER_CORRECT_H
#define TRANSFER_CORRECT_H

#include "fit/calibration.h"
#include "observe/points.h"
#include "solve/columns.h"
#include "solve/folds.h"

/**
 * Factors by resource: first of networks and forward passes, then of the training passes of single
 * layers.
 */
enum { CORRECT_BACKWARD = N_RESOURCES, N_CORRECT = 2 * N_RESOURCES };

/** One measurement, and the model's prediction for it. */
typedef struct correct_row {
    double  part[N_CORRECT]; /**< s, by factor */
    double  seconds;         /**< measured, > 0 */
    size_t  group;           /**< its network, or its layer: left out together */
    phase   of;
    int64_t batch;
    double  fixed; /**< s without a factor */
    size_t  point; /**< that it is a time of */
} correct_row;

typedef struct correct_factors {
    double of[N_CORRECT];
    size_t rows;
} correct_factors;

/** Fits the factors to the rows in the turn's fit; `t` NULL: to all. LM_E_ARG without rows. */
lm_status correct_fit(const correct_row *row, size_t n, const fold_turn *t, correct_factors *out,
                      lm_error *err);

double correct_seconds(const correct_row *row, const correct_factors *f);

/**
 * Splits a network's prediction, by a form in terms, by factor; false if there is no prediction.
 */
bool correct_split(const calibration *cal, size_t form_at, const point *pt,
                   double by_factor[N_CORRECT]);

/**
 * Makes rows of all times at the points that the default model of `cal` can predict in terms, or
 * from prices of single layers. LM_E_ARG if there is none. The caller frees *out.
 */
lm_status correct_rows(const calibration *cal, const points *p, correct_row **out, size_t *n,
                       lm_error *err);

/** Seconds of each row by a correction that did not see its group. Needs two groups or more. */
lm_status correct_left_out(const correct_row *row, size_t n, double *seconds, lm_error *err);

/**
 * Multiplies the default model's coefficients, their standard errors and the prices of layers.
 *
 * @param apart only for networks that take no tokens: steps under layouts tell the prices of networks
 *              of tokens (calibration.by_steps), and the rows have none
 */
void correct_apply(calibration *cal, const correct_factors *f, bool apart);

/** Errors in cross-validation over groups; NAN and 0 for fewer than two groups. */
typedef struct correct_errors {
    double mape, mape_before; /**< of rows left out; without a correction */
    size_t groups;
} correct_errors;

/** Number of groups among the rows. */
size_t correct_groups(const correct_row *row, size_t n);

/** Mean errors of these predictions, and of predictions without factors. */
void correct_judge(const correct_row *row, size_t n, const double *seconds, correct_errors *e);

/**
 * Corrects the default model, or fits phases to the measurements alone where that is better
 * (refit.h). If a quantity was measured in INTERVAL_GROUPS groups or more, its
 * interval becomes that of their ratios with each group left out of the correction; of too few groups
 * (interval_enough()) `own` where that is wider. Other intervals stay.
 *
 * @param p   points that the rows are of; NULL: nothing is fitted to them
 * @param own intervals of the machines that were measured
 */
lm_status correct_calibration(calibration *cal, const points *p, correct_row *row, size_t n,
                              const intervals *own, correct_factors *f, correct_errors *errors,
                              lm_error *err);

#endif
