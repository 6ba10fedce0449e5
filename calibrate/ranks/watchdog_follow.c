/* The watchdog of the other ranks: reports progress to rank 0 and follows its orders; it speaks if
 * rank 0 cannot. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "measure/clock.h"
#include "ranks/watchdog_thread.h"

#define SUCCEED 3.0 /* seconds between ranks that speak if rank 0 cannot */

/* Rank 0 cannot speak. The lowest rank speaks; the next ones wait in case it died with rank 0. */
static _Noreturn void succeed(watchdog *d, const char *what)
{
    const double          wait = SUCCEED * (d->rank < 4 ? d->rank - 1 : 3);
    const struct timespec nap  = { (time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait)) };
    char                  text[200];

    nanosleep(&nap, NULL);
    snprintf(text, sizeof text, "rank 0 on %s %s", d->host[0], what);
    watch_tell(d, text);
    watch_abort(d);
}

/* Reads all messages of rank 0. */
static void obey(watchdog *d)
{
    peer        *p = &d->peer[0];
    wire_message m;
    int          got;

    while (p->fd >= 0 && (got = wire_receive(p->fd, &m)) != 0) {
        if (got < 0)
            succeed(d, "died");
        if (m.kind == WIRE_END && m.signal)
            watch_end_by_signal(m.signal);
        if (m.kind == WIRE_END)
            _exit(1);
        p->silent = 0;
    }
}

/* Waits for rank 0 to end the run with its line, within the time that launchers give; then ends
 * alone. */
static _Noreturn void leave(watchdog *d, struct pollfd *p, int number)
{
    const int64_t until = clock_nanoseconds(CLOCK_MONOTONIC) + (int64_t)5e9;

    watch_send(d, &(wire_message){ .kind = WIRE_BYE, .signal = number });
    while (d->peer[0].fd >= 0 && clock_nanoseconds(CLOCK_MONOTONIC) < until) {
        watch_wait(d, p, until);
        obey(d);
    }
    watch_end_by_signal(number);
}

/* Rank 0 reports the failure and ends all ranks; this rank does so if rank 0 cannot. */
static _Noreturn void fail(watchdog *d, struct pollfd *p)
{
    const int64_t until = clock_nanoseconds(CLOCK_MONOTONIC) + (int64_t)5e9;
    wire_message  m     = { .kind = WIRE_FAILED };

    pthread_mutex_lock(&d->lock);
    snprintf(m.text, sizeof m.text, "%s", d->failure);
    pthread_mutex_unlock(&d->lock);
    watch_send(d, &m);
    while (d->peer[0].fd >= 0 && clock_nanoseconds(CLOCK_MONOTONIC) < until) {
        watch_wait(d, p, until);
        obey(d);
    }
    watch_fail(d);
}

void watch_follow(watchdog *d, struct pollfd *p)
{
    int64_t last = clock_nanoseconds(CLOCK_MONOTONIC);
    char    silent[60];

    snprintf(silent, sizeof silent, "gave no sign of life for %.0f s", WATCH_SILENCE);
    for (;;) {
        const int    order = (watch_wait(d, p, last + (int64_t)(1e9 * WATCH_BEAT)), watch_order(d));
        const double passed = clock_seconds_since(CLOCK_MONOTONIC, last);

        if (order == WATCH_STOP)
            return;
        if (order == WATCH_FAILED)
            fail(d, p);
        if (order > WATCH_STOP)
            leave(d, p, order);
        obey(d);
        if (passed < WATCH_BEAT)
            continue;
        last = clock_nanoseconds(CLOCK_MONOTONIC);
        watch_self(d, passed);
        watch_send(d, &(wire_message){ .kind       = WIRE_BEAT,
                                       .activity   = d->own.activity,
                                       .allowed_ms = (uint32_t)(1e3 * d->own.allowed),
                                       .quiet      = d->own.quiet });
        d->peer[0].silent += passed < WATCH_LONGEST ? passed : WATCH_LONGEST;
        if (d->peer[0].fd >= 0 && d->peer[0].silent > WATCH_SILENCE)
            succeed(d, silent);
    }
}
