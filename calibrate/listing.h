/** What a sweep would measure: --dry-run. */
#ifndef CALIBRATE_LISTING_H
#define CALIBRATE_LISTING_H

#include "sweep.h"

/** Prints the points to stdout. */
lm_status listing_print(const sweep *plan, lm_error *err);

#endif
