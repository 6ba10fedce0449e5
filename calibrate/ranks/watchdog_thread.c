/* Functions that the watchdogs of rank 0 and of other ranks share. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "ranks/watchdog_thread.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/clock.h"
#include "ranks/pulse.h"

#define ABORTABLE 5 /* whole seconds that the end of an MPI job may take */

void watch_tell(watchdog *d, const char *what)
{
    char line[700];

    pthread_mutex_lock(&d->lock);
    snprintf(line, sizeof line, "%s", what);
    if (d->text[0])
        text_add(line, sizeof line, " %s %s '%s' (%s %zu of %zu)", d->in_point ? "while" : "after",
                 d->point.verifies ? "verifying" : "measuring", d->text,
                 d->point.verifies ? "kind" : "point", d->point.number, d->point.total);
    if (d->file && d->held)
        text_add(line, sizeof line, "; %.120s holds %zu point%s, --resume goes on", d->file,
                 d->held, d->held == 1 ? "" : "s");
    else if (d->file)
        text_add(line, sizeof line, "; %.120s holds no points yet", d->file);
    pthread_mutex_unlock(&d->lock);
    d->say(line);
}

_Noreturn void watch_fail(watchdog *d)
{
    char text[WIRE_TEXT + WORLD_HOST + 40], why[WIRE_TEXT];

    pthread_mutex_lock(&d->lock);
    snprintf(why, sizeof why, "%s", d->failure);
    pthread_mutex_unlock(&d->lock);
    snprintf(text, sizeof text, "rank %d on %s: %s", d->rank, d->host[d->rank], why);
    watch_tell(d, text);
    watch_send(d, &(wire_message){ .kind = WIRE_END });
    watch_abort(d);
}

_Noreturn void watch_end_by_signal(int number)
{
    sigset_t set;

    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number);
}

/* The main thread may never return from MPI, and MPI may not end from another thread: then the
 * alarm ends the process. */
_Noreturn void watch_abort(const watchdog *d)
{
    signal(SIGALRM, SIG_DFL);
    alarm(ABORTABLE);
    world_abort(d->everyone, 1);
}

void watch_send(const watchdog *d, const wire_message *m)
{
    for (int r = 0; r < (d->rank ? 1 : d->size); r++)
        if (d->peer[r].fd >= 0)
            wire_send(d->peer[r].fd, m);
}

int watch_order(const watchdog *d)
{
    unsigned char byte;

    return read(d->order[0], &byte, 1) == 1 ? byte : -1;
}

void watch_wait(const watchdog *d, struct pollfd *p, int64_t until)
{
    const int64_t left = until - clock_nanoseconds(CLOCK_MONOTONIC);
    nfds_t        n    = 0;

    p[n++] = (struct pollfd){ .fd = d->order[0], .events = POLLIN };
    for (int r = 0; r < (d->rank ? 1 : d->size); r++)
        if (d->peer[r].fd >= 0) /* beats wake nobody: they are read once a second */
            p[n++] = (struct pollfd){ .fd = d->peer[r].fd, .events = POLLRDHUP };
    poll(p, n, left > 0 ? (int)(left / 1000000) + 1 : 0);
}

/* Share of the last beat in which this rank had a core. On a machine with other work its threads
 * wait for a core. The system counts this wait; otherwise the share is estimated from the CPU time.
 * A rank that sleeps in the kernel or waits for a device uses no CPU time; its share is 1. */
static double had_a_core(const watchdog *d, double passed, double cpu)
{
    const double waited = run_queue_waited(d->queue);
    const double share  = (isnan(waited) ? cpu - d->cpu_time : passed - waited) / passed;

    if (isnan(waited))
        return share > 0.02 && share < 1 ? share : 1;
    return fmin(fmax(share, 0), 1);
}

void watch_self(watchdog *d, double passed)
{
    const int      activity = atomic_load_explicit(&pulse_now, memory_order_acquire);
    const uint32_t allowed  = atomic_load_explicit(&pulse_allowed_ms, memory_order_acquire);
    const uint64_t count    = atomic_load_explicit(&pulse_count, memory_order_relaxed);
    const double   cpu      = 1e-9 * (double)clock_nanoseconds(d->cpu);
    const bool     still    = count == d->count;

    d->own.activity = activity;
    d->own.allowed  = 1e-3 * allowed;
    d->own.quiet =
        still ? d->own.quiet + fmin(passed, WATCH_LONGEST) * had_a_core(d, passed, cpu) : 0;
    d->count    = count;
    d->cpu_time = cpu;
    run_queue_close(d->queue);
    d->queue = still ? run_queue_open(NULL) : NULL;
}
