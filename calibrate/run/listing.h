/** --dry-run: the points of a sweep and their expected times. */
#ifndef CALIBRATE_LISTING_H
#define CALIBRATE_LISTING_H

#include "report/table.h"
#include "run/chooser.h"

/**
 * Prints the points to stdout; what they sum up to follows a table on stdout, CSV and JSON on
 * stderr.
 *
 * @param budget seconds; the points that would be taken within them, in turn. 0: all, in the file's
 * order
 */
lm_status listing_print(const sweep *plan, const chooser *pick, double budget, format f,
                        lm_error *err);

#endif
