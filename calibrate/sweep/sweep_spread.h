/** How many ranks a sweep's section asks for, and on how many hosts. */
#ifndef CALIBRATE_SWEEP_SPREAD_H
#define CALIBRATE_SWEEP_SPREAD_H

#include "sweep/sweep_points.h"

/** The keys of a section that names ranks; `least` is the smallest count of them. */
#define SWEEP_SPREAD_KEYS(least)                          \
    { "ranks", KEY_LIST, SWEEP_AT(ranks), (least), 1e6 }, \
        { "nodes", KEY_LIST, SWEEP_AT(nodes), 1, 1e6 },   \
    {                                                     \
        "devices", KEY_LIST, SWEEP_AT(devices), 1, 1024   \
    }

/**
 * `ranks` are the job's first ones, `nodes` and `devices` so many on each machine. A section may
 * ask for both; one that asks for neither gets one count, the `usual`.
 */
size_t sweep_spreads(const sweep_values *v);

/** Gives a point the i-th of them: ranks, hosts, devices. False: the job lacks such ranks. */
bool sweep_spread(const sweep_loading *l, const sweep_values *v, size_t i, int64_t usual,
                  sweep_point *p);

#endif
