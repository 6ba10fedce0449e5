/**
 * The watchdog's thread. Private to its files.
 *
 * A killed rank closes its connection: this is noticed at once. A rank that was stopped, or whose
 * host or network is gone, is silent. A rank that hangs still sends beats, but makes no progress
 * while the others wait. Times are summed beat by beat, and a beat counts for at most
 * WATCH_LONGEST. So a job that was halted as a whole and continues accuses no rank.
 */
#ifndef CALIBRATE_WATCHDOG_THREAD_H
#define CALIBRATE_WATCHDOG_THREAD_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "measure/run_queue.h"
#include "ranks/watchdog.h"
#include "ranks/wire.h"

#define WATCH_BEAT    1.0  /**< seconds between signs of life */
#define WATCH_LONGEST 2.0  /**< upper limit for the time of one beat */
#define WATCH_SILENCE 15.0 /**< s without a sign of life that mean: stopped */

typedef struct peer {
    int    fd; /**< -1: not connected */
    bool   dead;
    int    signal; /**< signal that ended it */
    double silent;
} peer;

/** Progress of a rank. */
typedef struct rank_state {
    int    activity;
    double quiet;   /**< seconds without progress, while progress was possible */
    double allowed; /**< seconds that its present activity may take */
} rank_state;

typedef struct watchdog {
    const world *everyone;
    void (*say)(const char *text);
    int rank, size;
    char (*host)[WORLD_HOST];
    peer       *peer;     /**< rank 0: of each rank; others: peer[0] alone */
    rank_state *state;    /**< rank 0: of each rank */
    int         order[2]; /**< pipe with orders for the thread */
    pthread_t   thread;
    clockid_t   cpu;      /**< of the measuring thread */
    rank_state  own;      /**< this rank's */
    uint64_t    count;    /**< pulse_count at the last beat */
    double      cpu_time; /**< CPU time at the last beat, in seconds */
    /** waits for a core since the last beat; NULL: it made progress, or unknown */
    run_queue *queue;
    bool       stopped; /**< private to the thread: it must end */

    watchdog_point seen;             /**< private to the thread: copy of the current measurement */
    bool           measuring, first; /**< the same */
    /** time when this process continued after a halt; 0: it was never halted */
    int64_t woken;

    pthread_mutex_t lock; /**< protects the members below */
    watchdog_point  point;
    char            text[200];
    char            failure[WIRE_TEXT]; /* of this rank */
    bool            in_point;
    const char     *file; /* NULL: none yet */
    size_t          held, n_points;
} watchdog;

/** Runs on rank 0 until it is told to stop; `p`: room for the pipe and each peer. */
void watch_lead(watchdog *d, struct pollfd *p);
/** The same on the other ranks. */
void watch_follow(watchdog *d, struct pollfd *p);

enum { WATCH_STOP = 0, WATCH_FAILED = 255 }; /**< orders; other bytes are signals */
/** The next order for the thread; -1: none. */
int watch_order(const watchdog *d);
/** Sleeps until there is an order, a connection closes or the time is over. */
void watch_wait(const watchdog *d, struct pollfd *p, int64_t until);
/** One beat, `passed` seconds after the last: updates d->own. */
void watch_self(watchdog *d, double passed);

/** Sends to all connected ranks. */
void watch_send(const watchdog *d, const wire_message *m);
/**
 * Prints "WHAT while measuring 'POINT' (point 17 of 120); FILE holds 16 points, --resume goes on", or
 * "WHAT while verifying 'KERNEL' (kind 3 of 40)".
 */
void watch_tell(watchdog *d, const char *what);
/** Reports this rank's failure and ends the whole job. */
_Noreturn void watch_fail(watchdog *d);
/** Ends the process by this signal, so that its parent process sees the reason. */
_Noreturn void watch_end_by_signal(int number);
/** Ends all ranks of the job. */
_Noreturn void watch_abort(const watchdog *d);

#endif
