/** Times of a group of ranks as those of one rank: the slowest. */
#ifndef CALIBRATE_SLOWEST_H
#define CALIBRATE_SLOWEST_H

#include "measure/backend.h"
#include "ranks/world.h"

/**
 * CPU times of the ranks that took longest, phase by phase (of several the largest; NAN: it is not
 * known). The largest CPU time may be another rank's: beside it a wall time with waits in it would
 * look like one without. Every rank of `group`.
 *
 * @param own     this rank's wall times, then its CPU times
 * @param longest wall times, the largest over the ranks
 */
void slowest_cpu(const world *group, const double own[2 * N_PHASES], const double longest[N_PHASES],
                 double out[N_PHASES]);

#endif
