/** Times of a group of ranks combined into those of the slowest rank. */
#ifndef CALIBRATE_SLOWEST_H
#define CALIBRATE_SLOWEST_H

#include "measure/backend.h"
#include "ranks/world.h"

/**
 * CPU times of the ranks with the longest wall time, phase by phase (the largest if several; NAN:
 * unknown). The largest CPU time of all ranks may belong to another rank: then a wall time with
 * waits would look like one without. Called by each rank of `group`.
 *
 * @param own     this rank's wall times, then its CPU times
 * @param longest largest wall times over the ranks
 */
void slowest_cpu(const world *group, const double own[2 * N_PHASES], const double longest[N_PHASES],
                 double out[N_PHASES]);

#endif
