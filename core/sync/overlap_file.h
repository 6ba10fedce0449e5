/** What overlap costs beside all-reduces: constants, and section [overlap] of machine files. */
#ifndef SYNC_OVERLAP_FILE_H
#define SYNC_OVERLAP_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/ini.h"

/** As steps in buckets tell (recurrence.h). 0: not known, assumed. */
typedef struct overlap_constants {
    double slowdown; /**< s that the backward pass grows by for each s it does beside messages */
    double stretch;  /**< s that a message grows by for each s that it takes beside the pass */
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

/** Appends the section, if anything is known. */
void overlap_file_write(FILE *out, const overlap_constants *c);
bool overlap_file_owns(const ini_section *s);
/** Errors begin with file:line: LM_E_NOTFOUND for unknown or missing keys, LM_E_ARG for values
 * below 0. */
lm_status overlap_file_read(const ini_document *doc, const ini_section *s, overlap_constants *out,
                            lm_error *err);

#endif
