/** Collectives among points, as their model (fabric/collective.h) sees them. */
#ifndef FIT_COLLECTIVES_H
#define FIT_COLLECTIVES_H

#include "fabric/collective.h"
#include "fit/split.h"
#include "observe/points.h"

/** Points whose ranks are not the same number on each host: no fabric can be told. */
size_t collectives_uneven(const points *p);

/** Fits all kinds. NULL if there is nothing to fit to. */
lm_status collectives_fit(const points *p, collective_model **out, lm_error *err);

/**
 * Seconds at every point that has PHASE_SYNC measured, by fits that did not see its fold; without
 * folds by the fit to all. Each algorithm is its own model's.
 *
 * @param b       a baseline's formula; N_SYNC_BASELINES: the model
 * @param seconds of each point; NAN: no all-reduce was measured, or what is left is too little
 */
lm_status collectives_left_out(const points *p, const split *by, sync_baseline b, double *seconds,
                               lm_error *err);

/** The same by a model made elsewhere, which answers for algorithms it does not know, and for
 * networks of which it was not measured. `link`: may stand in between nodes. */
void collectives_by_model(const points *p, const collective_model *m, const interconnect *link,
                          sync_baseline b, double *seconds);

#endif
