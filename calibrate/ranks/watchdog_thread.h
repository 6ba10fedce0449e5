/**
 * The watchdog's thread, for its files alone.
 *
 * A rank that was killed closes its connection: known at once. One that is stopped, or whose host
 * or network is gone, is silent. One that hangs still beats, but does not go on while the others
 * wait. Times add up beat by beat and no beat counts for more than WATCH_LONGEST, so that a job
 * that was halted as a whole and goes on accuses nobody.
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
#define WATCH_LONGEST 2.0  /**< what one beat counts at most */
#define WATCH_SILENCE 15.0 /**< no sign of life for so long: stopped */

typedef struct peer {
    int    fd; /**< -1: not connected */
    bool   dead;
    int    signal; /**< it was ended by */
    double silent;
} peer;

/** How a rank gets on. */
typedef struct rank_state {
    int    activity;
    double quiet;   /**< seconds without progress, of those in which it could have made any */
    double allowed; /**< seconds that what it does may take */
} rank_state;

typedef struct watchdog {
    watchdog_config config;
    int             rank, size;
    char (*host)[WORLD_HOST];
    peer       *peer;     /**< rank 0: of each rank; others: peer[0] alone */
    rank_state *state;    /**< rank 0: of each rank */
    int         order[2]; /**< pipe: what the thread is to do */
    pthread_t   thread;
    clockid_t   cpu;      /**< of the thread that measures */
    rank_state  own;      /**< this rank's */
    uint64_t    count;    /**< pulse_count when it was looked at last */
    double      cpu_time; /**< the same of its CPU time, in seconds */
    run_queue  *queue;   /**< the same of its waits for a core; NULL: it went on, or nobody tells */
    bool        stopped; /**< the thread's own: told to end */

    watchdog_point seen;             /**< the thread's own copy of what is measured */
    bool           measuring, first; /**< the same */
    int64_t        woken; /**< when this process went on that had been halted; 0: it never was */

    pthread_mutex_t lock; /**< of what follows */
    watchdog_point  point;
    char            text[200];
    char            failure[WIRE_TEXT]; /* of this rank */
    bool            in_point;
    size_t          held, n_points;
} watchdog;

/** Until it is told to stop; `p`: room for the pipe and each peer. */
void watch_lead(watchdog *d, struct pollfd *p);
/** The same of the ranks but 0. */
void watch_follow(watchdog *d, struct pollfd *p);

enum { WATCH_STOP = 0, WATCH_FAILED = 255 }; /**< orders; other bytes are signals */
/** Message to the thread; -1: none. */
int watch_order(const watchdog *d);
/** Sleeps until there is an order, a connection closes or the time is over. */
void watch_wait(const watchdog *d, struct pollfd *p, int64_t until);
/** One beat, `passed` seconds after the last: how this rank gets on, in d->own. */
void watch_self(watchdog *d, double passed);

/** To all that this rank is connected to. */
void watch_send(const watchdog *d, const wire_message *m);
/** "WHAT while measuring 'POINT' (point 17 of 120); FILE holds 16 points, --resume goes on" */
void watch_tell(watchdog *d, const char *what);
/** This rank's failure, told; all of the job end. */
_Noreturn void watch_fail(watchdog *d);
/** Ends as somebody who does not know this signal: whoever waits for the process sees why. */
_Noreturn void watch_end_by_signal(int number);
/** Ends all ranks of the job. */
_Noreturn void watch_abort(const watchdog *d);

#endif
