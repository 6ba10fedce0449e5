/**
 * A common start for ranks before a measurement. After a barrier, ranks differ by the time of
 * messages: up to log2(ranks) latencies. A small all-reduce takes no longer, so the first rank
 * would measure this difference. Therefore clocks are compared once, and each repetition starts at
 * an agreed time.
 */
#ifndef CALIBRATE_START_MPI_H
#define CALIBRATE_START_MPI_H

#include <stdint.h>

#include "ranks/world.h"

typedef struct start_line {
    int64_t ahead; /**< ns: rank 0's clock minus this rank's clock */
    int64_t slack; /**< ns: time between the agreement and the start */
} start_line;

/**
 * Compares clocks, by the fastest of several exchanges with rank 0 (Cristian 1989: the error is at
 * most half of its round trip), unless a rank has failed. Called by each rank; valid for a point,
 * before clocks drift.
 *
 * @param mine this rank's status, with its text in err
 * @return the worst status; a rank without an error gets a text for it
 */
lm_status start_line_agree(const world *group, lm_status mine, start_line *out, lm_error *err);
/** Returns at the same time on all ranks. Every rank, directly after a barrier. */
void start_line_wait(const world *group, const start_line *line);

#endif
