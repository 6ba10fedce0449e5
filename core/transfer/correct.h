/**
 * Correction of a model by a few measurements of a device: not coefficient by coefficient, which a
 * few cannot tell apart, but one factor for all that one resource bounds (single/columns.h).
 *
 *   seconds = sum over resources of factor_r x seconds_r
 *
 * with seconds_r what the model says is spent on resource r. Relative, robust (Huber 0.3, five
 * rounds of reweighting), factors not negative and held near 1 by a ridge 0.1 (factor - 1)^2 beside
 * the sum of squared relative residuals: a resource that the measurements do not show keeps 1.
 */
#ifndef TRANSFER_CORRECT_H
#define TRANSFER_CORRECT_H

#include "fit/calibration.h"
#include "observe/points.h"
#include "single/columns.h"

/** One measurement, and what the model says of it. */
typedef struct correct_row {
    double   part[N_RESOURCES]; /**< seconds by resource */
    double   seconds;           /**< measured, > 0 */
    size_t   group;             /**< of its network: left out together */
    quantity of;
    int64_t  batch;
} correct_row;

typedef struct correct_factors {
    double of[N_RESOURCES];
    size_t rows;
} correct_factors;

/** Leaves out rows of group `without` (NAMES_NONE: none). LM_E_ARG if none are left. */
lm_status correct_fit(const correct_row *row, size_t n, size_t without, correct_factors *out,
                      lm_error *err);

double correct_seconds(const correct_row *row, const correct_factors *f);

/** Every time at the points that the default model of `cal` can tell in terms. LM_E_ARG if it can
 * tell none of them. *out is to be freed. */
lm_status correct_rows(const calibration *cal, const points *p, correct_row **out, size_t *n,
                       lm_error *err);

/** What leaving each group out in turn shows; NAN and 0 for fewer than two groups. */
typedef struct correct_errors {
    double mape, mape_before; /**< of left out rows; before any correction */
    size_t groups;
} correct_errors;

/**
 * Corrects the default model. Where measurements of a quantity are of INTERVAL_GROUPS groups, its
 * interval becomes that of their ratios with each group left out of the correction, or `own` where
 * that is wider; others stay.
 *
 * @param own intervals of the machines that were measured
 */
lm_status correct_calibration(calibration *cal, correct_row *row, size_t n, const intervals *own,
                              correct_factors *f, correct_errors *errors, lm_error *err);

#endif
