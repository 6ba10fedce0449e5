/** What 'layermeter fit' says of a fit. */
#ifndef CLI_FIT_PRINT_H
#define CLI_FIT_PRINT_H

#include "cli/learned_models.h"
#include "fit/calibration.h"
#include "observe/points.h"
#include "report/table.h"

/** A row for each formula, class of kernels, of layers and of all-reduces, residual and learned
 * model of a machine file, and for its power. */
void fit_table(table *t, const calibration *cal, const learned_models *learned);

/**
 * What was not used, and what the data cannot say: on stderr.
 *
 * @param corrected whole steps were used to correct by
 */
void fit_print_warnings(const observations *obs, const points *p, const calibration *cal,
                        bool corrected);

#endif
