/** Least squares over points: coefficients, and their errors on networks left out. */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "fit/calibration.h"
#include "fit/points.h"

/** Rows of one form, factored network by network, so that any can be left out. */
typedef struct form_data {
    size_t      form;
    size_t      n_rows;
    size_t     *point;   /**< of each row, ascending by group */
    double     *seconds; /**< measured, of each row */
    lsq_block **block;   /**< by group; NULL: no rows in it */
    size_t      n_groups;
} form_data;

lm_status form_data_new(const points *p, size_t form, form_data *out, lm_error *err);
void      form_data_free(form_data *d);

/** Fits to all groups but `without` (NAMES_NONE: to all). LM_E_ARG for too few rows. */
lm_status form_data_fit(const form_data *d, size_t without, lsq_solution *out, lm_error *err);

/** Seconds by a solution at a point. */
double form_seconds(size_t form, const lsq_solution *s, const workload *load);

/**
 * Predicted seconds of every row of `d` by fits that did not see its network; NAN where the rest is
 * too little. Bare collectives belong to no network: they stay in every fit and are not predicted.
 * `predicted` holds n_rows.
 */
lm_status form_data_held_out(const form_data *d, const points *p, double *predicted, lm_error *err);

/**
 * Fits every form that has enough rows (others stay absent) and judges it on networks left out.
 *
 * @return LM_E_ARG if not a single form could be fitted, or if the networks are of several element
 *         types or settings (variants.h); the text says what is missing
 */
lm_status fit_all(const observations *obs, const points *p, calibration **out, lm_error *err);

#endif
