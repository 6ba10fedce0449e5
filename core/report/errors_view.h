/** Errors of models, printed: by group, phase and model, or a row for each point. */
#ifndef REPORT_ERRORS_VIEW_H
#define REPORT_ERRORS_VIEW_H

#include "judge/clocks.h"
#include "judge/errors.h"
#include "judge/launches.h"
#include "report/table.h"

/** Selects the printed rows and their form. */
typedef struct errors_form {
    phase  q; /**< time of points and plots; N_TIMES: clocks */
    format f;
    bool   points; /**< a row for each point */
    bool   pooled; /**< only errors of all groups together */
    bool   folds;  /**< also print mean and standard deviation over folds */
    /** picture of predicted and measured times, a panel for each model; NULL: none */
    const char *plot;
} errors_form;

/* Print to stdout; the picture goes to a file. LM_E_NOMEM, errors of plot_scatter(). */

/** Prints the units that were left out, then errors or points. */
lm_status judging_print(const judging *all, const errors_form *as, lm_error *err);
/** Errors on single kernels and streams. */
lm_status launch_errors_print(const launch_errors *e, const errors_form *as, lm_error *err);
/** Power, energy and time at each clock: errors by group, or points. */
lm_status clock_answers_print(const points *p, const clock_answers *a, const errors_form *as,
                              lm_error *err);

#endif
