/* The watchdog of rank 0: hears all other ranks, and ends the run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure/clock.h"
#include "ranks/pulse.h"
#include "ranks/watchdog_thread.h"

#define PATIENCE 20.0 /* no progress for this long beyond its patience: hung */
#define FIRST    30.0 /* libraries are loaded during the first point, or kind of kernel */
#define GATHER   0.25 /* events within this time are reported together */

static _Noreturn void end_all(const watchdog *d)
{
    watch_send(d, &(wire_message){ .kind = WIRE_END });
    watch_abort(d);
}

static _Noreturn void other_failed(watchdog *d, int r, const char *why)
{
    char text[WIRE_TEXT + WORLD_HOST + 40];

    snprintf(text, sizeof text, "rank %d on %s: %.*s", r, d->host[r], WIRE_TEXT - 1, why);
    watch_tell(d, text);
    end_all(d);
}

/* Reads all messages of a rank. */
static void hear(watchdog *d, int r)
{
    peer        *p = &d->peer[r];
    wire_message m;
    int          got;

    while (p->fd >= 0 && (got = wire_receive(p->fd, &m)) != 0) {
        if (got < 0) {
            close(p->fd);
            p->fd   = -1;
            p->dead = true;
        } else if (m.kind == WIRE_BEAT) {
            d->state[r] = (rank_state){ m.activity, m.quiet, 1e-3 * m.allowed_ms };
            p->silent   = 0;
        } else if (m.kind == WIRE_BYE) {
            p->signal = m.signal;
        } else if (m.kind == WIRE_FAILED) {
            other_failed(d, r, m.text);
        }
    }
}

static void hear_all(watchdog *d)
{
    for (int r = 1; r < d->size; r++)
        hear(d, r);
}

static bool lost_somebody(const watchdog *d)
{
    for (int r = 1; r < d->size; r++)
        if (d->peer[r].dead || d->peer[r].signal)
            return true;
    return false;
}

static bool is_dead(const watchdog *d, int r)
{
    return d->peer[r].dead && !d->peer[r].signal;
}

static bool is_ended(const watchdog *d, int r)
{
    return d->peer[r].signal != 0;
}

static bool is_silent(const watchdog *d, int r)
{
    return d->peer[r].fd >= 0 && d->peer[r].silent > WATCH_SILENCE;
}

/* Patience with a rank. */
static double patience(const watchdog *d, int r)
{
    return PATIENCE + d->state[r].allowed + (d->first ? FIRST : 0);
}

static bool is_stuck(const watchdog *d, int r)
{
    return d->state[r].activity == PULSE_WORK && d->state[r].quiet > patience(d, r);
}

/* Patience with the first rank that is stuck. */
static double stuck_for(const watchdog *d)
{
    int r = 0;

    while (r + 1 < d->size && !is_stuck(d, r))
        r++;
    return patience(d, r);
}

/* No rank works, and none goes on: an all-reduce hangs, or MPI itself. */
static bool all_wait(const watchdog *d)
{
    for (int r = 0; r < d->size; r++)
        if (d->state[r].activity == PULSE_WORK || d->state[r].activity == PULSE_FREE ||
            d->state[r].quiet <= patience(d, r) + d->seen.exchange_seconds)
            return false;
    return true;
}

/* Reports the ranks in this state; only those on the first one's host, since the others failed the
 * same way. */
static bool report(watchdog *d, bool (*is)(const watchdog *d, int rank), const char *what)
{
    char who[120], text[240];
    int  n = 0, rank[2] = { 0, 0 };

    for (int r = 0; r < d->size; r++)
        if (is(d, r) && (!n || !strcmp(d->host[r], d->host[rank[0]])) && n++ < 2)
            rank[n - 1] = r;
    if (!n)
        return false;
    if (d->size == 1)
        snprintf(who, sizeof who, "the run");
    else if (n == 1)
        snprintf(who, sizeof who, "rank %d on %s", rank[0], d->host[rank[0]]);
    else if (n == 2)
        snprintf(who, sizeof who, "ranks %d and %d on %s", rank[0], rank[1], d->host[rank[0]]);
    else
        snprintf(who, sizeof who, "ranks %d, %d and %d more on %s", rank[0], rank[1], n - 2,
                 d->host[rank[0]]);
    snprintf(text, sizeof text, "%s %s", who, what);
    watch_tell(d, text);
    return true;
}

/* Ends all if a rank hangs or is gone. */
static void judge(watchdog *d)
{
    char silent[60], stuck[60];

    snprintf(silent, sizeof silent, "gave no sign of life for %.0f s", WATCH_SILENCE);
    snprintf(stuck, sizeof stuck, "made no progress for %.0f s", stuck_for(d));
    if (report(d, is_dead, "died") || report(d, is_ended, "was ended by a signal") ||
        report(d, is_silent, silent) || (d->measuring && report(d, is_stuck, stuck)))
        end_all(d);
    if (d->measuring && all_wait(d)) {
        watch_tell(d, "no rank came out of an all-reduce");
        end_all(d);
    }
}

/* Was this process halted until just now? Then the others have decided, and failures are their
 * doing. */
static bool given_up(const watchdog *d)
{
    return d->woken && clock_seconds_since(CLOCK_MONOTONIC, d->woken) < WATCH_SILENCE;
}

/* Events within a moment belong together: a launcher ends the other ranks when one dies, and all
 * ranks on request. */
static void judge_together(watchdog *d, struct pollfd *p, int number)
{
    const int64_t until = clock_nanoseconds(CLOCK_MONOTONIC) + (int64_t)(1e9 * GATHER);

    while (clock_nanoseconds(CLOCK_MONOTONIC) < until) {
        const int order = (watch_wait(d, p, until), watch_order(d));

        if (order == WATCH_STOP)
            d->stopped = true;
        if (order == WATCH_FAILED)
            watch_fail(d);
        number = order > WATCH_STOP ? order : number;
        hear_all(d);
    }
    if ((given_up(d) && lost_somebody(d)) || report(d, is_dead, "died"))
        end_all(d);
    if (number) {
        if (!given_up(d))
            watch_tell(d, "interrupted");
        watch_send(d, &(wire_message){ .kind = WIRE_END, .signal = number });
        watch_end_by_signal(number);
    }
    judge(d);
}

/* One beat of rank 0: its own progress, the silence of the others, actions that are due. */
static void pass_time(watchdog *d, double passed)
{
    watch_self(d, passed);
    d->state[0] = d->own;
    for (int r = 1; r < d->size; r++)
        d->peer[r].silent += passed < WATCH_LONGEST ? passed : WATCH_LONGEST;
    pthread_mutex_lock(&d->lock);
    d->seen      = d->point;
    d->measuring = d->in_point;
    d->first     = d->seen.verifies ? d->seen.number == 1 : d->n_points == 0;
    pthread_mutex_unlock(&d->lock);
}

void watch_lead(watchdog *d, struct pollfd *p)
{
    int64_t last = clock_nanoseconds(CLOCK_MONOTONIC);

    while (!d->stopped) {
        const int    order = (watch_wait(d, p, last + (int64_t)(1e9 * WATCH_BEAT)), watch_order(d));
        const double passed = clock_seconds_since(CLOCK_MONOTONIC, last);

        if (order == WATCH_STOP)
            return;
        if (order == WATCH_FAILED)
            watch_fail(d);
        if (passed > WATCH_SILENCE / 2)
            d->woken = clock_nanoseconds(CLOCK_MONOTONIC);
        hear_all(d);
        if (order > WATCH_STOP || lost_somebody(d)) {
            judge_together(d, p, order > WATCH_STOP ? order : 0);
        } else if (passed >= WATCH_BEAT) {
            last = clock_nanoseconds(CLOCK_MONOTONIC);
            pass_time(d, passed);
            watch_send(d, &(wire_message){ .kind = WIRE_BEAT });
            judge(d);
        }
    }
}
