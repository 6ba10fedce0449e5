/** A common start for ranks before they are timed. Ranks leave a barrier as far apart as messages
 * take: by up to log2(ranks) latencies. A small all-reduce takes no longer, and the first rank to
 * leave would count the difference. So clocks are compared once, and each repetition begins at an
 * agreed time. */
#ifndef CALIBRATE_START_MPI_H
#define CALIBRATE_START_MPI_H

#include <stdint.h>

#include "ranks/world.h"

typedef struct start_line {
    int64_t ahead; /**< ns: rank 0's clock less this rank's */
    int64_t slack; /**< ns: from the agreement to the start */
} start_line;

/**
 * Compares clocks by the fastest of some exchanges with rank 0 (Cristian 1989: at most half of its
 * round trip off), unless a rank has failed. Every rank; valid for a point, before clocks drift.
 *
 * @param mine this rank's status, with its text in err
 * @return the worst status; a rank without an error gets a text for it
 */
lm_status start_line_agree(const world *group, lm_status mine, start_line *out, lm_error *err);
/** Returns at the same time on all ranks. Every rank, directly after a barrier. */
void start_line_wait(const world *group, const start_line *line);

#endif
