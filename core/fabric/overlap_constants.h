/** Constants of overlap: how backward pass and all-reduces slow each other down. */
#ifndef FABRIC_OVERLAP_CONSTANTS_H
#define FABRIC_OVERLAP_CONSTANTS_H

#include <stddef.h>

/** Fitted to steps in buckets (recurrence.h). 0: unknown, and assumed to be 0. */
typedef struct overlap_constants {
    double slowdown; /**< extra s of the backward pass, per s that it runs during messages */
    double stretch;  /**< extra s of a message, per s that it runs during the pass */
    /**
     * extra s of a message during a pass, per s that it takes when nothing else runs: libraries use
     * other algorithms then
     */
    double surcharge;
    /**
     * share of a message's cacheable bytes (fabric_model.cache) that a pass has pushed out of the
     * caches
     */
    double cold;
    /**
     * s by which the last message of a step in buckets ends later: the computing thread must notice
     * the end, and a rank that shares a core must get the core
     */
    double latency;
    /**
     * upper limit of that latency, in s per s of the pass, if ranks share cores: the scheduler
     * first runs the rank that has waited longer, for its time slice. 0: no limit
     */
    double lag;
    double copy;      /**< s per byte, for copies into buckets */
    double straggler; /**< standard deviation of a rank's time among ranks, per second of it */
    /** number of steps in buckets behind the first seven constants; 0: none was fitted */
    size_t rows;
    size_t spreads; /**< number of steps behind `straggler`; 0: unknown */
} overlap_constants;

#endif
