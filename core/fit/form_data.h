/** Rows of one formula, prepared for fits to all folds but one. */
#ifndef FIT_FORM_DATA_H
#define FIT_FORM_DATA_H

#include "fit/forms.h"
#include "fit/split.h"
#include "observe/points.h"
#include "shrink/shrink.h"
#include "solve/lsq.h"

/** Rows are factored fold by fold, so that leaving one fold out is cheap. */
typedef struct form_data {
    size_t form;
    /** features that are selected and known in all rows; other coefficients are 0 */
    bool          known[FORM_MAX_FEATURES];
    const points *points;
    const split  *by;
    size_t        n_rows;
    size_t       *point;   /**< point of each row, by fold, then rows without a fold */
    double       *seconds; /**< measured seconds of each row */
    /** first row of each fold, then of the rows without a fold, then n_rows */
    size_t     *first;
    lsq_block **block;   /**< per fold, then for the rows without a fold; NULL: no rows */
    bool        counted; /**< some networks have only counts: their terms depend on the fit */
    shrink_rows terms;   /**< the other rows, for a form in terms */
} form_data;

/** Coefficients and further results of a fit. */
typedef struct form_solution {
    lsq_solution linear;
    shrink_fit   terms; /**< replaces `linear` for a form in terms; NAN: terms without rows */
    count_knots  knots;
} form_solution;

/** Do the points' selected features include this one? */
bool form_takes(const points *p, feature f);
/** Is a feature of this form selected, if it has features to select? */
bool form_left(const points *p, const form *f);

/** `by` must split these points; both must outlive `out`. */
lm_status form_data_new(const points *p, size_t form, const split *by, form_data *out,
                        lm_error *err);
void      form_data_free(form_data *d);

/** Fits to all folds but `without` (SPLIT_ALWAYS: to all). LM_E_ARG for too few rows. */
lm_status form_data_fit(const form_data *d, size_t without, form_solution *out, lm_error *err);

/**
 * The number of coefficients that all rows of a form in terms can separate, with the knots of the
 * fit to them.
 */
lm_status form_data_rank(const form_data *d, const count_knots *knots, size_t *out, lm_error *err);

/** Seconds of a workload by a solution. */
double form_seconds(size_t form, const form_solution *s, const workload *load);

/**
 * Predicted seconds of each row of `d`, by fits that did not see its fold. NAN if too few rows
 * remain, and for rows without a fold, which are in each fit. Without folds (SPLIT_NONE): by the
 * fit to all rows. `predicted` has n_rows entries.
 */
lm_status form_data_predict(const form_data *d, const points *p, double *predicted, lm_error *err);

#endif
