/**
 * The watchdog of a run. If a rank dies, stops or hangs, the run ends with one line that names the
 * rank, its host and its activity. If a signal ends the run, a line explains how to continue. A
 * separate thread in each rank does this; it is awake for a moment per second. Ranks communicate
 * over TCP, because MPI does not report such failures, and a rank that waits in MPI receives
 * nothing else. A process has one watchdog, because signals belong to the process.
 */
#ifndef CALIBRATE_WATCHDOG_H
#define CALIBRATE_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>

#include "ranks/world.h"

/** Longest time of an exchange of so many bytes: no network of today is slower than 1 MB/s, and no link
 * between GPUs slower than 100 MB/s. */
static inline double watchdog_exchange_seconds(double bytes, bool between_gpus)
{
    return 2 * bytes / (between_gpus ? 1e8 : 1e6);
}

/** The current measurement: its text for messages, and the patience. */
typedef struct watchdog_point {
    size_t      number, total;    /**< "point 17 of 120" */
    bool        verifies;         /**< a kind of kernel beside a CPU's, before all points */
    double      exchange_seconds; /**< upper limit for an all-reduce on the slowest network */
    const char *text;             /**< copied */
} watchdog_point;

/**
 * Starts the watchdog; called by each rank. Ranks without a connection are not watched; rank 0
 * reports this. LM_E_IO if a thread cannot be started.
 *
 * @param say  prints one line for the user; called in the watchdog's thread
 */
lm_status watchdog_start(const world *everyone, void (*say)(const char *text), lm_error *err);
/** Name of the observation file, for the line, and points in it; each rank, only rank 0's number counts. */
void watchdog_file(const char *file, size_t held);
/**
 * Called by each rank before MPI_Finalize: ranks without further work wait here, still watched, for
 * the others.
 */
void watchdog_stop(void);

/**
 * This rank cannot continue, and the others may wait for it in an all-reduce where MPI cannot reach
 * them. The watchdog reports the reason and ends all ranks. Returns if there is no other rank, or
 * no watchdog.
 */
void watchdog_fail(const char *why);

/** Called by each rank, whether it takes part in the point or not. */
void watchdog_begin(const watchdog_point *point);
/**
 * The point is finished and in the file, which has `held` points now; the same value on each rank.
 */
void watchdog_end(size_t held);

#endif
