/** Rows of one formula, ready to be fitted to all folds of a split but one. */
#ifndef FIT_FORM_DATA_H
#define FIT_FORM_DATA_H

#include "fit/forms.h"
#include "fit/split.h"
#include "observe/points.h"
#include "shrink/shrink.h"
#include "solve/lsq.h"

/** Rows are factored fold by fold, so that leaving one out costs next to nothing. */
typedef struct form_data {
    size_t form;
    bool   known[FORM_MAX_FEATURES]; /**< features that are chosen and known of all rows: others are
                                        left out, their coefficients 0 */
    const points *points;
    const split  *by;
    size_t        n_rows;
    size_t       *point;   /**< of each row: by fold, then those of no fold */
    double       *seconds; /**< measured, of each row */
    size_t       *first;   /**< row of each fold, then of those of no fold, then n_rows */
    lsq_block   **block;   /**< of each fold, then of those of no fold; NULL: no rows in it */
    bool          counted; /**< only counts are known of some: their terms are those of each fit */
    shrink_rows   terms;   /**< the others, of a form in terms */
} form_data;

/** Coefficients, and what else a fit finds out. */
typedef struct form_solution {
    lsq_solution linear;
    shrink_fit   terms; /**< of a form in terms, instead; NAN: of rows that were not there */
    count_knots  knots;
} form_solution;

/** Is a feature of a form among those that the points' choice leaves? */
bool form_takes(const points *p, feature f);
/** Does that choice leave any of a form that has features to choose from? */
bool form_left(const points *p, const form *f);

/** `by` is of the same points; both must outlive it. */
lm_status form_data_new(const points *p, size_t form, const split *by, form_data *out,
                        lm_error *err);
void      form_data_free(form_data *d);

/** Fits to all folds but `without` (SPLIT_ALWAYS: to all). LM_E_ARG for too few rows. */
lm_status form_data_fit(const form_data *d, size_t without, form_solution *out, lm_error *err);

/** How many coefficients all rows of a form in terms tell apart; with the knots of the fit to them.
 */
lm_status form_data_rank(const form_data *d, const count_knots *knots, size_t *out, lm_error *err);

/** Seconds by a solution. */
double form_seconds(size_t form, const form_solution *s, const workload *load);

/**
 * Predicted seconds of every row of `d` by fits that did not see its fold; NAN where the rest is
 * too little, and for rows of no fold, which stay in every fit. Without folds (SPLIT_NONE) those of
 * the fit to all rows. `predicted` holds n_rows.
 */
lm_status form_data_predict(const form_data *d, const points *p, double *predicted, lm_error *err);

#endif
