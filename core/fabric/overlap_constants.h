/** Constants of overlap: what the backward pass and all-reduces cost each other. */
#ifndef FABRIC_OVERLAP_CONSTANTS_H
#define FABRIC_OVERLAP_CONSTANTS_H

#include <stddef.h>

/** Fitted to steps in buckets (recurrence.h). 0: unknown, and assumed to be nothing. */
typedef struct overlap_constants {
    double
        slowdown; /**< s that the backward pass grows for each s it runs while messages are in flight */
    double stretch; /**< s that a message grows for each s it takes during the pass */
    double
        surcharge;  /**< s that a message beside a pass takes more for each that it takes by itself
                       where nothing else is done: libraries have other algorithms for it */
    double cold;    /**< of a message's bytes that caches would hold (fabric_model.cache), the share
                       that a pass has driven out of them */
    double latency; /**< s that the last message of a step in buckets ends later: whoever computes
                       has to notice it, and of ranks that share a core have to be given it */
    double lag;  /**< s of that latency at most for each s of the pass, where ranks share cores: who
                    has waited longer is given the core first, until it has had its time slice. 0:
                    passes of any length have all of it */
    double copy; /**< s per byte, into buckets */
    double straggler; /**< sigma of a rank's time among the others', per second of it */
    size_t rows;    /**< steps in buckets that the first seven are fitted to; 0: none of them is */
    size_t spreads; /**< steps whose spread sigma is from; 0: it is not known */
} overlap_constants;

#endif
