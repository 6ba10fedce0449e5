/* Watches over a run. */
#define _GNU_SOURCE /* pipe2(), POLLRDHUP */
#include "ranks/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/clock.h"
#include "measure/run_queue.h"
#include "ranks/pulse.h"
#include "ranks/wire.h"

/*
 * A rank that was killed closes its connection: known at once. One that is stopped, or whose host
 * or network is gone, is silent. One that hangs still beats, but does not go on while the others
 * wait. Times add up beat by beat and no beat counts for more than LONGEST, so that a job that was
 * halted as a whole and goes on accuses nobody.
 */
#define BEAT      1.0  /* seconds between signs of life */
#define LONGEST   2.0  /* what one beat counts at most */
#define SILENCE   15.0 /* no sign of life for so long: stopped */
#define PATIENCE  20.0 /* no progress for so long, beside what it may take: hung */
#define FIRST     30.0 /* libraries are loaded during the first point */
#define GATHER    0.25 /* what happens at the same time is told together */
#define CONNECT   15.0
#define SUCCEED   3.0 /* seconds between the ranks that may speak where rank 0 cannot */
#define ABORTABLE 5   /* whole seconds that the end of an MPI job may take */

typedef struct peer {
    int    fd; /* -1: not connected */
    bool   dead;
    int    signal; /* it was ended by */
    double silent;
} peer;

/* How a rank gets on. */
typedef struct progress {
    int    activity;
    double quiet;   /* seconds without progress, of those in which it could have made any */
    double allowed; /* seconds that what it does may take */
} progress;

typedef struct watchdog {
    watchdog_config config;
    int             rank, size;
    char (*host)[WORLD_HOST];
    peer      *peer;     /* rank 0: of each rank; others: peer[0] alone */
    progress  *state;    /* rank 0: of each rank */
    int        order[2]; /* pipe: what the thread is to do */
    pthread_t  thread;
    clockid_t  cpu;      /* of the thread that measures */
    progress   own;      /* this rank's */
    uint64_t   count;    /* pulse_count when it was looked at last */
    double     cpu_time; /* the same of its CPU time, in seconds */
    run_queue *queue;    /* the same of its waits for a core; NULL: it went on, or nobody tells */
    bool       stopped;  /* the thread's own: told to end */

    watchdog_point seen;             /* the thread's own copy of what is measured */
    bool           measuring, first; /* the same */
    int64_t        woken; /* when this process went on that had been halted; 0: it never was */

    pthread_mutex_t lock; /* of what follows */
    watchdog_point  point;
    char            text[200];
    bool            in_point;
    size_t          held, n_points;
} watchdog;

static watchdog *the;

/* ---- the line -----------------------------------------------------------------------------------
 */

/* "WHAT while measuring 'POINT' (point 17 of 120); FILE holds 16 points, --resume goes on" */
static void tell(watchdog *d, const char *what)
{
    char   line[500];
    size_t n;

    pthread_mutex_lock(&d->lock);
    n = (size_t)snprintf(line, sizeof line, "%s", what);
    if (d->text[0])
        n += (size_t)snprintf(line + n, sizeof line - n, " %s measuring '%s' (point %zu of %zu)",
                              d->in_point ? "while" : "after", d->text, d->point.number,
                              d->point.total);
    if (d->config.file && d->held)
        snprintf(line + n, sizeof line - n, "; %.120s holds %zu point%s, --resume goes on",
                 d->config.file, d->held, d->held == 1 ? "" : "s");
    else if (d->config.file)
        snprintf(line + n, sizeof line - n, "; %.120s holds no points yet", d->config.file);
    pthread_mutex_unlock(&d->lock);
    d->config.say(line);
}

/* ---- the end ------------------------------------------------------------------------------------
 */

/* Ends as somebody who does not know this signal: whoever waits for the process sees why. */
static _Noreturn void end_by_signal(int number)
{
    sigset_t set;

    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number);
}

static void send_to_all(const watchdog *d, const wire_message *m)
{
    for (int r = 0; r < (d->rank ? 1 : d->size); r++)
        if (d->peer[r].fd >= 0)
            wire_send(d->peer[r].fd, m);
}

/* The main thread may never return from MPI. What MPI does when asked by another thread is its own
 * affair: the alarm ends what it does not. */
static _Noreturn void end_all(const watchdog *d)
{
    send_to_all(d, &(wire_message){ .kind = WIRE_END });
    signal(SIGALRM, SIG_DFL);
    alarm(ABORTABLE);
    world_abort(d->config.everyone, 1);
}

/* ---- orders: signals, and the end of the run
 * ----------------------------------------------------- */

enum { STOP = 0 }; /* other bytes are signals */

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

/* nohup ignores one: so be it, also when the watchdog has gone. */
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

/* What the thread was told; -1: nothing. */
static int read_order(const watchdog *d)
{
    unsigned char byte;

    return read(d->order[0], &byte, 1) == 1 ? byte : -1;
}

/* Sleeps until there is an order, a connection closes or the time is over. */
static void wait_for_news(const watchdog *d, struct pollfd *p, int64_t until)
{
    const int64_t left = until - clock_nanoseconds(CLOCK_MONOTONIC);
    nfds_t        n    = 0;

    p[n++] = (struct pollfd){ .fd = d->order[0], .events = POLLIN };
    for (int r = 0; r < (d->rank ? 1 : d->size); r++)
        if (d->peer[r].fd >= 0) /* beats wake nobody: they are read once a second */
            p[n++] = (struct pollfd){ .fd = d->peer[r].fd, .events = POLLRDHUP };
    poll(p, n, left > 0 ? (int)(left / 1000000) + 1 : 0);
}

/* ---- how this rank gets on
 * ----------------------------------------------------------------------- */

/* Of the last beat: the share in which this rank could go on. On a machine that is busy with
 * something else its threads wait for a core, which the system counts; where it does not, the CPU
 * time has to tell, of which a rank that sleeps in its kernel, or waits for a device, uses none at
 * all. */
static double had_a_core(const watchdog *d, double passed, double cpu)
{
    const double waited = run_queue_waited(d->queue);
    const double share  = (isnan(waited) ? cpu - d->cpu_time : passed - waited) / passed;

    if (isnan(waited))
        return share > 0.02 && share < 1 ? share : 1;
    return fmin(fmax(share, 0), 1);
}

/* One beat. */
static void look_at_self(watchdog *d, double passed)
{
    const int      activity = atomic_load_explicit(&pulse_now, memory_order_acquire);
    const uint32_t allowed  = atomic_load_explicit(&pulse_allowed_ms, memory_order_acquire);
    const uint64_t count    = atomic_load_explicit(&pulse_count, memory_order_relaxed);
    const double   cpu      = 1e-9 * (double)clock_nanoseconds(d->cpu);
    const bool     still    = count == d->count;

    d->own.activity = activity;
    d->own.allowed  = 1e-3 * allowed;
    d->own.quiet    = still ? d->own.quiet + fmin(passed, LONGEST) * had_a_core(d, passed, cpu) : 0;
    d->count        = count;
    d->cpu_time     = cpu;
    run_queue_close(d->queue);
    d->queue = still ? run_queue_open(NULL) : NULL;
}

/* ---- rank 0 -------------------------------------------------------------------------------------
 */

/* Everything a rank has said. */
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
            d->state[r] = (progress){ m.activity, m.quiet, 1e-3 * m.allowed_ms };
            p->silent   = 0;
        } else if (m.kind == WIRE_BYE) {
            p->signal = m.signal;
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
    return d->peer[r].fd >= 0 && d->peer[r].silent > SILENCE;
}

/* How long a rank need not go on. */
static double patience(const watchdog *d, int r)
{
    return PATIENCE + d->state[r].allowed + (d->first ? FIRST : 0);
}

static bool is_stuck(const watchdog *d, int r)
{
    return d->state[r].activity == PULSE_WORK && d->state[r].quiet > patience(d, r);
}

/* Of the first rank that is. */
static double stuck_for(const watchdog *d)
{
    int r = 0;

    while (r + 1 < d->size && !is_stuck(d, r))
        r++;
    return patience(d, r);
}

/* Nobody works, and nobody goes on: an all-reduce hangs, or MPI itself. */
static bool all_wait(const watchdog *d)
{
    for (int r = 0; r < d->size; r++)
        if (d->state[r].activity == PULSE_WORK || d->state[r].activity == PULSE_FREE ||
            d->state[r].quiet <= patience(d, r) + d->seen.exchange_seconds)
            return false;
    return true;
}

/* Says which ranks are so; those of the first one's host, since the others went the same way. */
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
    tell(d, text);
    return true;
}

/* Ends all if a rank hangs or is gone. */
static void judge(watchdog *d)
{
    char silent[60], stuck[60];

    snprintf(silent, sizeof silent, "gave no sign of life for %.0f s", SILENCE);
    snprintf(stuck, sizeof stuck, "made no progress for %.0f s", stuck_for(d));
    if (report(d, is_dead, "died") || report(d, is_ended, "was ended by a signal") ||
        report(d, is_silent, silent) || (d->measuring && report(d, is_stuck, stuck)))
        end_all(d);
    if (d->measuring && all_wait(d)) {
        tell(d, "no rank came out of an all-reduce");
        end_all(d);
    }
}

/* Was this process halted until just now? Then the others have spoken, and what happens is their
 * doing. */
static bool given_up(const watchdog *d)
{
    return d->woken && clock_seconds_since(CLOCK_MONOTONIC, d->woken) < SILENCE;
}

/* What happens within a moment belongs together: launchers end the other ranks when one dies, and
 * all of them when they are told to. */
static void judge_together(watchdog *d, struct pollfd *p, int number)
{
    const int64_t until = clock_nanoseconds(CLOCK_MONOTONIC) + (int64_t)(1e9 * GATHER);

    while (clock_nanoseconds(CLOCK_MONOTONIC) < until) {
        const int order = (wait_for_news(d, p, until), read_order(d));

        if (order == STOP)
            d->stopped = true;
        number = order > STOP ? order : number;
        hear_all(d);
    }
    if ((given_up(d) && lost_somebody(d)) || report(d, is_dead, "died"))
        end_all(d);
    if (number) {
        if (!given_up(d))
            tell(d, "interrupted");
        send_to_all(d, &(wire_message){ .kind = WIRE_END, .signal = number });
        end_by_signal(number);
    }
    judge(d);
}

/* One beat, for rank 0: how it gets on itself, how long the others were silent, what is due. */
static void pass_time(watchdog *d, double passed)
{
    look_at_self(d, passed);
    d->state[0] = d->own;
    for (int r = 1; r < d->size; r++)
        d->peer[r].silent += passed < LONGEST ? passed : LONGEST;
    pthread_mutex_lock(&d->lock);
    d->seen      = d->point;
    d->measuring = d->in_point;
    d->first     = d->n_points == 0;
    pthread_mutex_unlock(&d->lock);
}

static void lead(watchdog *d, struct pollfd *p)
{
    int64_t last = clock_nanoseconds(CLOCK_MONOTONIC);

    while (!d->stopped) {
        const int    order  = (wait_for_news(d, p, last + (int64_t)(1e9 * BEAT)), read_order(d));
        const double passed = clock_seconds_since(CLOCK_MONOTONIC, last);

        if (order == STOP)
            return;
        if (passed > SILENCE / 2)
            d->woken = clock_nanoseconds(CLOCK_MONOTONIC);
        hear_all(d);
        if (order > STOP || lost_somebody(d)) {
            judge_together(d, p, order > STOP ? order : 0);
        } else if (passed >= BEAT) {
            last = clock_nanoseconds(CLOCK_MONOTONIC);
            pass_time(d, passed);
            send_to_all(d, &(wire_message){ .kind = WIRE_BEAT });
            judge(d);
        }
    }
}

/* ---- the others ---------------------------------------------------------------------------------
 */

/* Rank 0 cannot speak. The lowest rank does; the next ones in case it went with rank 0. */
static _Noreturn void succeed(watchdog *d, const char *what)
{
    const double          wait = SUCCEED * (d->rank < 4 ? d->rank - 1 : 3);
    const struct timespec nap  = { (time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait)) };
    char                  text[200];

    nanosleep(&nap, NULL);
    snprintf(text, sizeof text, "rank 0 on %s %s", d->host[0], what);
    tell(d, text);
    signal(SIGALRM, SIG_DFL);
    alarm(ABORTABLE);
    world_abort(d->config.everyone, 1);
}

/* Everything rank 0 has said. */
static void obey(watchdog *d)
{
    peer        *p = &d->peer[0];
    wire_message m;
    int          got;

    while (p->fd >= 0 && (got = wire_receive(p->fd, &m)) != 0) {
        if (got < 0)
            succeed(d, "died");
        if (m.kind == WIRE_END && m.signal)
            end_by_signal(m.signal);
        if (m.kind == WIRE_END)
            _exit(1);
        p->silent = 0;
    }
}

/* Rank 0 says when to end, and the line; in time that launchers give, or this rank goes alone. */
static _Noreturn void leave(watchdog *d, struct pollfd *p, int number)
{
    const int64_t until = clock_nanoseconds(CLOCK_MONOTONIC) + (int64_t)5e9;

    send_to_all(d, &(wire_message){ .kind = WIRE_BYE, .signal = number });
    while (d->peer[0].fd >= 0 && clock_nanoseconds(CLOCK_MONOTONIC) < until) {
        wait_for_news(d, p, until);
        obey(d);
    }
    end_by_signal(number);
}

static void follow(watchdog *d, struct pollfd *p)
{
    int64_t last = clock_nanoseconds(CLOCK_MONOTONIC);
    char    silent[60];

    snprintf(silent, sizeof silent, "gave no sign of life for %.0f s", SILENCE);
    for (;;) {
        const int    order  = (wait_for_news(d, p, last + (int64_t)(1e9 * BEAT)), read_order(d));
        const double passed = clock_seconds_since(CLOCK_MONOTONIC, last);

        if (order == STOP)
            return;
        if (order > STOP)
            leave(d, p, order);
        obey(d);
        if (passed < BEAT)
            continue;
        last = clock_nanoseconds(CLOCK_MONOTONIC);
        look_at_self(d, passed);
        send_to_all(d, &(wire_message){ .kind       = WIRE_BEAT,
                                        .activity   = d->own.activity,
                                        .allowed_ms = (uint32_t)(1e3 * d->own.allowed),
                                        .quiet      = d->own.quiet });
        d->peer[0].silent += passed < LONGEST ? passed : LONGEST;
        if (d->peer[0].fd >= 0 && d->peer[0].silent > SILENCE)
            succeed(d, silent);
    }
}

/* ---- start, stop --------------------------------------------------------------------------------
 */

static void *watch(void *context)
{
    watchdog      *d = context;
    struct pollfd *p = calloc((size_t)d->size + 1, sizeof *p);

    if (p && d->rank)
        follow(d, p);
    else if (p)
        lead(d, p);
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
    free(d->host);
    free(d->peer);
    free(d->state);
    free(d);
}

static watchdog *watchdog_new(const watchdog_config *config)
{
    const size_t size = (size_t)world_size(config->everyone);
    watchdog    *d    = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->config   = *config;
    d->held     = config->held;
    d->rank     = world_rank(config->everyone);
    d->size     = world_size(config->everyone);
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
    const world *everyone = d->config.everyone;
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

/* Rank 0: who is not watched. */
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
    d->config.say(text);
}

static void end_thread(watchdog *d)
{
    const unsigned char byte = STOP;

    if (write(d->order[1], &byte, 1) == 1)
        pthread_join(d->thread, NULL);
}

lm_status watchdog_start(const watchdog_config *config, lm_error *err)
{
    watchdog *d      = watchdog_new(config);
    double    failed = !d;
    bool      mine;

    world_max(config->everyone, &failed, 1);
    if (failed > 0) {
        watchdog_free(d);
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    }
    world_broadcast(config->everyone, &d->held, sizeof d->held);
    world_hosts_of(config->everyone, d->host);
    if (d->size > 1)
        connect_all(d);
    if (d->rank == 0)
        tell_unconnected(d);
    failed = pthread_getcpuclockid(pthread_self(), &d->cpu) ||
             pthread_create(&d->thread, NULL, watch, d);
    mine = failed <= 0;
    world_max(config->everyone, &failed, 1); /* none goes on alone */
    if (failed > 0) {
        if (mine)
            end_thread(d);
        world_wait(config->everyone); /* nobody looks at a connection that closes now */
        watchdog_free(d);
        return lm_error_set(err, LM_E_IO, "no thread can be started");
    }
    the = d;
    catch_signals(true);
    return LM_OK;
}

void watchdog_stop(void)
{
    if (!the)
        return;
    /* a rank whose thread has ended gives no sign of life: all end theirs together */
    world_wait(the->config.everyone);
    catch_signals(false);
    end_thread(the);
    world_wait(the->config.everyone); /* nobody looks at a connection that closes now */
    watchdog_free(the);
    the = NULL;
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
    d->n_points++;
    pthread_mutex_unlock(&d->lock);
}
