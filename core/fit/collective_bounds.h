/** Intervals of collectives, from cross-validation over numbers of nodes. */
#ifndef FIT_COLLECTIVE_BOUNDS_H
#define FIT_COLLECTIVE_BOUNDS_H

#include "fabric/collective.h"

/**
 * Sets the bounds of each fabric of a model that was fitted to these rows. Each number of nodes
 * (within a node: of devices) is left out in turn. With fewer than INTERVAL_GROUPS numbers, each
 * size is left out in turn. With too few sizes, too, there are no bounds. LM_E_NOMEM
 */
lm_status collective_bounds(const collective_time *row, size_t n, collective_model *m,
                            lm_error *err);

#endif
