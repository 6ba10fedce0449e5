/** --correct: a fit, corrected by runs. */
#ifndef CLI_FIT_RUNS_H
#define CLI_FIT_RUNS_H

#include "fit/calibration.h"
#include "observe/workloads.h"
#include "transfer/runs.h"

/** What came of it, for words. Zero-initialise. */
typedef struct fit_runs {
    const char    *path; /**< NULL: nothing was asked for */
    run_rows       rows;
    run_correction correction;
} fit_runs;

/** Corrects by the runs of a file of observations, where that helps, and notes it in the
 * provenance. Errors begin with the path. */
lm_status fit_runs_correct(const char *path, workloads *loads, calibration *cal, fit_runs *out,
                           lm_error *err);

/** How many runs were used, the errors before and after, the factors; and what was not used. */
void fit_runs_print(const fit_runs *f);
void fit_runs_free(fit_runs *f);

#endif
