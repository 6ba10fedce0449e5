/**
 * Watches over a run: a rank that dies, stops or hangs ends it, with one line that says which,
 * where and at what; a signal ends it with a line that says how to go on. A thread of its own in
 * every rank does this, asleep but for a moment each second; ranks hear of each other over TCP,
 * since MPI does not tell, and one that waits in MPI hears nothing else. There is one watchdog to a
 * process, as signals are the process's.
 */
#ifndef CALIBRATE_WATCHDOG_H
#define CALIBRATE_WATCHDOG_H

#include <stddef.h>

#include "ranks/world.h"

/** The current measurement: its line for messages, and its patience. */
typedef struct watchdog_point {
    size_t      number, total;    /**< "point 17 of 120" */
    double      exchange_seconds; /**< what an all-reduce may take the slowest network */
    const char *text;             /**< is copied */
} watchdog_point;

typedef struct watchdog_config {
    const world *everyone;
    const char  *file; /**< the observations: their name, for the line; NULL: none */
    size_t       held; /**< points that it holds by now; rank 0's counts */
    /** Tells the user, in one line. From the watchdog's thread. */
    void (*say)(const char *text);
} watchdog_config;

/**
 * Starts; every rank. Ranks that cannot be connected are not watched, which rank 0 says. LM_E_IO
 * if there can be no thread.
 */
lm_status watchdog_start(const watchdog_config *config, lm_error *err);
/** Every rank, before it goes to MPI_Finalize: ranks that have nothing more to do wait here,
 * watched, for those that have. */
void watchdog_stop(void);

/**
 * This rank cannot go on, and the others may wait for it in an all-reduce where nothing reaches
 * them: the watchdog says why, and ends all. Where there is nobody to tell, it returns: alone, or
 * without a watchdog.
 */
void watchdog_fail(const char *why);

/** Every rank, whether it takes part or sleeps. */
void watchdog_begin(const watchdog_point *point);
/** The point is over, and in the file, which holds so many by now; the same on every rank. */
void watchdog_end(size_t held);

#endif
