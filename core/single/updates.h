/** Where updates of single layers leave the caches of a device. */
#ifndef SINGLE_UPDATES_H
#define SINGLE_UPDATES_H

#include "single/model.h"

/**
 * Makes a column "update.OPTIMIZER.fromN" where updates of N and more elements cost more for each
 * element than smaller ones: what an update touches is then read from memory, not from caches. N is a
 * measured size. Of all sizes it is the one that leaves the smallest mean |log(time / (elements x
 * median))| on both sides; it counts if that is at most UPDATES_GAIN times the same without N.
 *
 * @param in    updates to look at; NULL: all
 * @param least fewest updates on each side
 */
#define UPDATES_GAIN 0.8
lm_status updates_find_border(const layer_time *time, const bool *in, size_t n, size_t least,
                              columns *c, lm_error *err);

/** Classes that measured no such updates get the column and the price of one that did: an update passes
 * over all weights alike. */
lm_status updates_share(layer_model *m, lm_error *err);

#endif
