/** Steps under layouts as observations have them, ready to be predicted. */
#ifndef PREDICT_LAID_ROWS_H
#define PREDICT_LAID_ROWS_H

#include "predict/laid_out.h"

/** A step, ready to be predicted. */
typedef struct laid_row {
    const observation *of;
    predictor          who;
    step_setup         setup;
    size_t             group;
} laid_row;

/** Is the row a step under a layout? */
bool laid_row_is(const observation *r);

/** The element type of products in such rows; 0: no such row. */
lm_dtype laid_rows_dtype(const observations *obs);

/** Number of rows that are steps under a layout. */
size_t laid_rows_count(const observations *obs);

/**
 * Do the steps under layouts of a file correct a machine file? Otherwise each rank has a replica, and
 * they are rows of the curves of jobs (fabric/job_curve.h).
 *
 * @param from a machine file is named
 * @param on   the device is known: if all rows have layouts, they correct its shipped file
 */
bool laid_rows_correct(const observations *obs, bool from, bool on);

/** LM_E_ARG for a file with other rows beside them: the text has file and line. */
lm_status laid_rows_alone(const observations *obs, lm_error *err);

/**
 * Opens a step of a file; predictor_close() of `out->who` frees.
 *
 * @return LM_E_ARG for a layout that does not fit its row; errors of predictor_open() and
 *         recompute_share(); LM_E_ARG if row and machine file are of different autocast; the text
 *         has file and line
 */
lm_status laid_row_open(const observations *obs, const observation *r, calibration *cal,
                        workloads *loads, const interconnect *link, laid_row *out, lm_error *err);

#endif
