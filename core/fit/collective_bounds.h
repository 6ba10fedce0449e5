/** Intervals of collectives, from node counts that were left out. */
#ifndef FIT_COLLECTIVE_BOUNDS_H
#define FIT_COLLECTIVE_BOUNDS_H

#include "fabric/collective.h"

/**
 * Sets the bounds of every fabric of a model that was fitted to these rows: each node count (within
 * a node: device count) is left out in turn, or each size, where there are fewer than
 * INTERVAL_GROUPS of them. Fewer sizes, too: no bounds. LM_E_NOMEM
 */
lm_status collective_bounds(const collective_time *row, size_t n, collective_model *m,
                            lm_error *err);

#endif
