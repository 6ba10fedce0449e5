/** Numbers of ranks and hosts in a section of a sweep. */
#ifndef CALIBRATE_SWEEP_SPREAD_H
#define CALIBRATE_SWEEP_SPREAD_H

#include "sweep/sweep_points.h"

/** Keys of a section with ranks; `least` is the smallest count allowed. */
#define SWEEP_SPREAD_KEYS(least)                           \
    SWEEP_KEY("ranks", ranks, &type_counts, (least), 1e6), \
        SWEEP_KEY("nodes", nodes, &type_counts, 1, 1e6),   \
        SWEEP_KEY("devices", devices, &type_counts, 1, 1024)

/**
 * Number of these counts. `ranks` selects the first ranks of the job; `nodes` and `devices` select
 * machines and ranks on each. A section may have both. Without them there is one count, `usual`.
 */
size_t sweep_spreads(const sweep_values *v);

/** Sets the i-th count of a point: ranks, hosts, devices. False: the job lacks such ranks. */
bool sweep_spread(const sweep_loading *l, const sweep_values *v, size_t i, int64_t usual,
                  sweep_point *p);

#endif
