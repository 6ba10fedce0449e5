/* The watchdog of a run: start, stop, and messages from the rest of the program. */
#define _GNU_SOURCE /* pipe2() */
#include "ranks/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "ranks/pulse.h"
#include "ranks/watchdog_thread.h"

#define CONNECT 15.0

static watchdog *the;

/* ---- signals --------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    static volatile sig_atomic_t seen;
    const int                    before = errno;
    const unsigned char          byte   = (unsigned char)number;

    if (seen++ || write(the->order[1], &byte, 1) != 1) {
        signal(number, SIG_DFL); /* asked twice */
        raise(number);
    }
    errno = before;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* nohup ignores a signal; that stays so, also after the watchdog */
static void catch_signals(bool on)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    struct sigaction now;

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (sigaction(signals[i], NULL, &now) || now.sa_handler == SIG_IGN)
            continue;
        if (on)
            sigaction(signals[i], &action, NULL);
        else
            signal(signals[i], SIG_DFL);
    }
}

/* ---- start, stop ----------------------------------------------------------------------------- */

static void *watch(void *context)
{
    watchdog      *d = context;
    struct pollfd *p = calloc((size_t)d->size + 1, sizeof *p);

    if (p && d->rank)
        watch_follow(d, p);
    else if (p)
        watch_lead(d, p);
    free(p);
    return NULL;
}

static void watchdog_free(watchdog *d)
{
    if (!d)
        return;
    for (int r = 0; d->peer && r < d->size; r++)
        if (d->peer[r].fd >= 0)
            close(d->peer[r].fd);
    for (int i = 0; i < 2; i++)
        if (d->order[i] >= 0)
            close(d->order[i]);
    run_queue_close(d->queue);
    free_all(d->host, d->peer, d->state, d);
}

static watchdog *watchdog_new(const world *everyone, void (*say)(const char *text))
{
    const size_t size = (size_t)world_size(everyone);
    watchdog    *d    = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->everyone = everyone;
    d->say      = say;
    d->rank     = world_rank(everyone);
    d->size     = world_size(everyone);
    d->host     = calloc(size, sizeof *d->host);
    d->peer     = calloc(size, sizeof *d->peer);
    d->state    = calloc(size, sizeof *d->state);
    d->order[0] = d->order[1] = -1;
    pthread_mutex_init(&d->lock, NULL);
    for (size_t r = 0; d->peer && r < size; r++)
        d->peer[r].fd = -1;
    if (!d->host || !d->peer || !d->state || pipe2(d->order, O_CLOEXEC | O_NONBLOCK)) {
        watchdog_free(d);
        return NULL;
    }
    return d;
}

/* Rank 0 with each of the others. Every rank. */
static void connect_all(watchdog *d)
{
    const world *everyone = d->everyone;
    int         *fd       = calloc((size_t)d->size, sizeof *fd);
    int         *met      = calloc((size_t)d->size, sizeof *met);
    int          mine = fd && met, listener = -1;
    wire_place   place = { .n = 0 };

    if (d->rank == 0 && mine && wire_listen(&place, &listener, NULL))
        place.n = 0;
    world_broadcast(everyone, &place, sizeof place);
    if (d->rank == 0 && listener >= 0)
        wire_accept(listener, &place, d->size, CONNECT, fd);
    else if (d->rank > 0)
        mine = (d->peer[0].fd = wire_connect(&place, d->rank, CONNECT)) >= 0;
    if (listener >= 0)
        close(listener);
    /* both sides must know of it */
    world_gather(everyone, &mine, sizeof mine, met);
    for (int r = 1; r < d->size && d->rank == 0 && listener >= 0; r++) {
        if (fd[r] >= 0 && met[r])
            d->peer[r].fd = fd[r];
        else if (fd[r] >= 0)
            close(fd[r]);
    }
    free(fd);
    free(met);
}

/* Rank 0: reports ranks that are not watched. */
static void tell_unconnected(const watchdog *d)
{
    int  n = 0, first = 0;
    char text[300];

    for (int r = d->size - 1; r > 0; r--)
        if (d->peer[r].fd < 0) {
            first = r;
            n++;
        }
    if (!n)
        return;
    snprintf(text, sizeof text,
             "warning: rank %d on %s%s cannot reach rank 0 on %s over TCP: if it stops, nobody "
             "will notice",
             first, d->host[first], n > 1 ? " and others" : "", d->host[0]);
    d->say(text);
}

static void end_thread(watchdog *d)
{
    const unsigned char byte = WATCH_STOP;

    if (write(d->order[1], &byte, 1) == 1)
        pthread_join(d->thread, NULL);
}

lm_status watchdog_start(const world *everyone, void (*say)(const char *text), lm_error *err)
{
    watchdog *d      = watchdog_new(everyone, say);
    double    failed = !d;
    bool      mine;

    world_max(everyone, &failed, 1);
    if (failed > 0) {
        watchdog_free(d);
        return no_memory(err);
    }
    world_hosts_of(everyone, d->host);
    if (d->size > 1)
        connect_all(d);
    if (d->rank == 0)
        tell_unconnected(d);
    failed = pthread_getcpuclockid(pthread_self(), &d->cpu) ||
             pthread_create(&d->thread, NULL, watch, d);
    mine = failed <= 0;
    world_max(everyone, &failed, 1); /* no rank goes on alone */
    if (failed > 0) {
        if (mine)
            end_thread(d);
        world_wait(everyone); /* nobody looks at a connection that closes now */
        watchdog_free(d);
        return lm_error_set(err, LM_E_IO, "no thread can be started");
    }
    the = d;
    catch_signals(true);
    return LM_OK;
}

void watchdog_file(const char *file, size_t held)
{
    world_broadcast(the->everyone, &held, sizeof held);
    pthread_mutex_lock(&the->lock);
    the->file = file;
    the->held = held;
    pthread_mutex_unlock(&the->lock);
}

void watchdog_stop(void)
{
    if (!the)
        return;
    /* without its thread a rank gives no sign of life, so all threads end together */
    world_wait(the->everyone);
    catch_signals(false);
    end_thread(the);
    world_wait(the->everyone); /* nobody looks at a connection that closes now */
    watchdog_free(the);
    the = NULL;
}

void watchdog_fail(const char *why)
{
    const unsigned char byte = WATCH_FAILED;
    watchdog           *d    = the;

    if (!d || d->size == 1)
        return;
    pthread_mutex_lock(&d->lock);
    snprintf(d->failure, sizeof d->failure, "%s", why);
    pthread_mutex_unlock(&d->lock);
    pulse_enter(PULSE_FREE);
    if (write(d->order[1], &byte, 1) == 1)
        for (;;)
            pause(); /* the thread ends the process */
}

void watchdog_begin(const watchdog_point *point)
{
    watchdog *d = the;

    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->point = *point;
    snprintf(d->text, sizeof d->text, "%s", point->text);
    d->in_point = true;
    pthread_mutex_unlock(&d->lock);
    pulse_allow(0);
    pulse_enter(PULSE_WORK);
}

void watchdog_end(size_t held)
{
    watchdog *d = the;

    pulse_enter(PULSE_FREE);
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->in_point = false;
    d->held     = held;
    d->n_points += !d->point.verifies;
    pthread_mutex_unlock(&d->lock);
}
