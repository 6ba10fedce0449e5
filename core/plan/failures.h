/** Failures of devices, checkpoints, and their cost for a run. */
#ifndef PLAN_FAILURES_H
#define PLAN_FAILURES_H

#include <stdint.h>

/** Devices fail independently of each other and of their age. */
typedef struct failure_model {
    double mtbf;       /**< s, mean time between failures of one device; 0: no failures */
    double checkpoint; /**< s, above 0: the run waits while a checkpoint is written */
    double restart;    /**< s, from a failure until the run continues from its last checkpoint */
} failure_model;

/** Effect of failures on a run. */
typedef struct failure_cost {
    double seconds;  /**< expected time of the whole run; infinite: it never ends */
    double every;    /**< s of work between two checkpoints */
    double failures; /**< expected number */
} failure_cost;

/**
 * Seconds of work between two checkpoints that give the shortest run.
 *
 * Daly (2006), "A higher order estimate of the optimum checkpoint interval for restart dumps",
 * Future Generation Computer Systems 22, equation 37; its first term is Young's (1974),
 * Communications of the ACM 17(9).
 *
 * @param mtbf s, of all devices together
 */
double failures_interval(double checkpoint, double mtbf);

/**
 * A run of `seconds` of work on this number of devices: Daly's equation 20. If devices do not fail,
 * it takes `seconds` and writes no checkpoint.
 */
failure_cost failures_of_run(const failure_model *f, int64_t devices, double seconds);

#endif
