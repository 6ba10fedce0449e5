/**
 * Correction of a model by a few measurements of a device. A few measurements cannot tell single
 * coefficients apart, so there is one factor for each resource (solve/columns.h). Single layers
 * have one for forward passes and one for the rest of training, whose kernels are others.
 *
 *   seconds = fixed + sum over factors of factor_r x seconds_r
 *
 * seconds_r is the model's time that is bound by r. The fit is relative and robust (Huber 0.3, five
 * rounds of reweighting). Factors are not negative. A ridge 0.1 (factor - 1)^2 beside the sum of
 * squared relative residuals holds them near 1: a resource that the measurements do not show keeps
 * 1.
 */
#ifndef TRANSFER_CORRECT_H
#define TRANSFER_CORRECT_H

#include "fit/calibration.h"
#include "observe/points.h"
#include "solve/columns.h"
#include "solve/folds.h"

/** Factors: by resource, then of what single layers do behind their forward pass. */
enum { CORRECT_BACKWARD = N_RESOURCES, N_CORRECT = 2 * N_RESOURCES };

/** One measurement, and what the model says of it. */
typedef struct correct_row {
    double  part[N_CORRECT]; /**< seconds by factor */
    double  seconds;         /**< measured, > 0 */
    size_t  group;           /**< of its network, or of the layer by itself: left out together */
    phase   of;
    int64_t batch;
    double  fixed; /**< s that no factor is of: beside those by factor */
} correct_row;

typedef struct correct_factors {
    double of[N_CORRECT];
    size_t rows;
} correct_factors;

/** By the rows that `t` fits to; NULL: by all. LM_E_ARG if there are none. */
lm_status correct_fit(const correct_row *row, size_t n, const fold_turn *t, correct_factors *out,
                      lm_error *err);

double correct_seconds(const correct_row *row, const correct_factors *f);

/** Adds up, by factor, what the model says of a network by a form in terms; false where it says
 * nothing. */
bool correct_split(const calibration *cal, size_t form_at, const point *pt,
                   double by_factor[N_CORRECT]);

/** Takes every time at the points that the default model of `cal` can predict in terms, or by
 * prices of single layers. LM_E_ARG if there is none. *out is to be freed. */
lm_status correct_rows(const calibration *cal, const points *p, correct_row **out, size_t *n,
                       lm_error *err);

/** Seconds of each row by a correction that did not see its group; of two groups or more. */
lm_status correct_left_out(const correct_row *row, size_t n, double *seconds, lm_error *err);

/** Multiplies coefficients of the default model, their standard errors and prices of layers. */
void correct_apply(calibration *cal, const correct_factors *f);

/** Errors with each group left out in turn; NAN and 0 for fewer than two groups. */
typedef struct correct_errors {
    double mape, mape_before; /**< of left out rows; before any correction */
    size_t groups;
} correct_errors;

/** Number of groups among the rows. */
size_t correct_groups(const correct_row *row, size_t n);

/** Mean errors of these predictions, and of predictions without factors. */
void correct_judge(const correct_row *row, size_t n, const double *seconds, correct_errors *e);

/**
 * Corrects the default model. If a quantity was measured in INTERVAL_GROUPS groups or more, its
 * interval becomes that of their ratios with each group left out of the correction, or `own` if
 * that is wider. Other intervals stay.
 *
 * @param own intervals of the machines that were measured
 */
lm_status correct_calibration(calibration *cal, correct_row *row, size_t n, const intervals *own,
                              correct_factors *f, correct_errors *errors, lm_error *err);

#endif
