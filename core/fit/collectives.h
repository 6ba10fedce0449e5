/** Rows of collectives among points, for their model (fabric/collective.h). */
#ifndef FIT_COLLECTIVES_H
#define FIT_COLLECTIVES_H

#include "fabric/collective.h"
#include "fit/split.h"
#include "observe/points.h"

/** Number of points whose hosts have different numbers of ranks: their fabric is unknown. */
size_t collectives_uneven(const points *p);

/** Fits all kinds of collectives. NULL: there are no rows. */
lm_status collectives_fit(const points *p, collective_model **out, lm_error *err);

/**
 * Seconds at each point with a measured PHASE_SYNC, by fits that did not see its fold; without
 * folds by the fit to all points. Each algorithm has its own model.
 *
 * @param b       a published formula; N_SYNC_BASELINES: the model
 * @param seconds per point; NAN: no measured all-reduce, or too few other rows
 */
lm_status collectives_left_out(const points *p, const split *by, sync_baseline b, double *seconds,
                               lm_error *err);

/**
 * The same by a given model. It also answers for algorithms and networks that it does not know.
 */
void collectives_by_model(const points *p, const collective_model *m, sync_baseline b,
                          double *seconds);

#endif
