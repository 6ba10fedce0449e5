/** --dry-run: the points of a sweep and their expected times. */
#ifndef CALIBRATE_LISTING_H
#define CALIBRATE_LISTING_H

#include "report/table.h"
#include "run/chooser.h"

/**
 * Prints the points to stdout. The totals follow on stdout for a table, on stderr for CSV and JSON.
 *
 * @param budget seconds: only the points that would be chosen within it, in turn; 0: all points, in
 *               the file's order
 */
lm_status listing_print(const sweep *plan, const chooser *pick, double budget, format f,
                        lm_error *err);

#endif
