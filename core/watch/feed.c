/* Feeds a watched run. */
#include "watch/feed.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "trace/chosen.h"

/* ---- a trace ---- */

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static lm_status take_sample(void *context, double time, const trace_sample *s, lm_error *err)
{
    return watch_run_add(context, time, s->value, s->beside, err);
}

static double interval_of(void *context)
{
    return watch_run_interval(context);
}

static lm_status follow(watch_run *r, const char *path, const trace_question *q, trace_say say,
                        watch_summary *out, lm_error *err)
{
    trace_follower f   = { .take = take_sample, .interval = interval_of, .say = say, .context = r };
    trace_question own = *q;
    lm_status      status;

    own.beside = true;
    own.stop   = &stopped;
    if (!(status = trace_follower_open(&f, path, &own, err)))
        status = trace_follower_run(&f, err);
    if (!status && f.gpu && !f.any)
        status = lm_error_set(err, LM_E_NOTFOUND, "no GPU '%.40s'", f.gpu);
    if (!status)
        status = watch_run_end(r, out, err);
    if (f.reader && status == LM_E_NOTFOUND && !strstr(err->text, f.reader->path))
        lm_error_prefix(err, "%s", f.reader->path);
    trace_follower_close(&f);
    return status;
}

lm_status watch_trace(watch_run *r, const char *path, const trace_question *q, trace_say say,
                      watch_summary *out, lm_error *err)
{
    struct sigaction how = { .sa_handler = stop }, before_int, before_term;
    lm_status        status;

    stopped = 0;
    sigemptyset(&how.sa_mask); /* without SA_RESTART: reading ends */
    sigaction(SIGINT, &how, &before_int);
    sigaction(SIGTERM, &how, &before_term);
    status = follow(r, path, q, say, out, err);
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    return status;
}

/* ---- this machine ---- */

/* The first device that is sampled. */
typedef struct watched_device {
    watch_run  *run;
    trace_clock clock;
    char        index[16];
    bool        any, by_power;
} watched_device;

static lm_status take_look(void *context, const char *index, const device_sample *s, lm_error *err)
{
    watched_device *w        = context;
    const float     beside[] = {
            [BESIDE_BUSY]        = (float)s->busy,
            [BESIDE_CLOCK]       = (float)s->clock_mhz,
            [BESIDE_HELD]        = s->held_known ? (float)s->held : (float)NAN,
            [BESIDE_POWER]       = (float)s->watts,
            [BESIDE_POWER_LIMIT] = (float)s->limit_watts,
    };

    if (!w->any) {
        w->any = true;
        snprintf(w->index, sizeof w->index, "%s", index);
    }
    if (strcmp(index, w->index) != 0)
        return LM_OK;
    return watch_run_add(w->run, trace_clock_add(&w->clock, s->time, 0),
                         w->by_power ? beside[BESIDE_POWER] : beside[BESIDE_BUSY], beside, err);
}

/* The sampled value of a metric's name. */
static lm_status choose_metric(const char *name, bool *by_power, lm_error *err)
{
    const size_t        found = name ? metric_beside_find(name) : METRIC_UNKNOWN;
    const metric_beside which = found == METRIC_UNKNOWN ? N_BESIDE : metric_beside_of(found);

    *by_power = which == BESIDE_POWER;
    if (!name || which == BESIDE_POWER || which == BESIDE_BUSY)
        return LM_OK;
    return lm_error_set(err, LM_E_NOTFOUND,
                        "no metric '%.40s': live there are utilization.gpu and power.draw", name);
}

lm_status watch_live(watch_run *r, const sampling *how, const char *metric, watch_summary *out,
                     lm_error *err)
{
    sampling       own    = *how;
    watched_device w      = { .run = r };
    lm_status      status = choose_metric(metric, &w.by_power, err);

    own.take    = take_look;
    own.context = &w;
    if (!status && !(status = sampling_run(&own, err)))
        return watch_run_end(r, out, err);
    if (w.any) { /* samples before the last device was lost */
        lm_error ignored;

        watch_run_end(r, out, &ignored);
    }
    return status;
}
