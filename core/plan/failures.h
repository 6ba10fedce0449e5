/** Failures of devices, checkpoints against them, and what both cost a run. */
#ifndef PLAN_FAILURES_H
#define PLAN_FAILURES_H

#include <stdint.h>

/** Devices fail independently of each other and of their age. */
typedef struct failure_model {
    double mtbf;       /**< s, mean time between failures of one device; 0: none fails */
    double checkpoint; /**< s, above 0, that the run waits for one to be written */
    double restart;    /**< s, from a failure until the run goes on at its last checkpoint */
} failure_model;

/** What failures make of a run. */
typedef struct failure_cost {
    double seconds;  /**< expected, of the whole run; infinite: it never ends */
    double every;    /**< s of work between two checkpoints */
    double failures; /**< expected number */
} failure_cost;

/**
 * Seconds of work between two checkpoints by which a run is shortest.
 *
 * Daly (2006), "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
 * Generation Computer Systems 22, equation 37; its first term is Young's (1974), Communications of the
 * ACM 17(9).
 *
 * @param mtbf s, of all devices together
 */
double failures_interval(double checkpoint, double mtbf);

/** A run of `seconds` without failures on so many devices: Daly's equation 20. Without failures it
 * takes as long, and writes no checkpoint. */
failure_cost failures_of_run(const failure_model *f, int64_t devices, double seconds);

#endif
