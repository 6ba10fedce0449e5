/* Logs of power: the mean of a run. */
#include "trace/power_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "trace/trace.h"

/* Names of a power; means over some time come before momentary values. */
static const char *const names_of_power[] = {
    "power.draw", "power.draw.average", "power.draw.instant", "POWER", "pwr", "power", "power_w",
    "watts"
};

/* No device draws so much: a wafer-scale processor draws 23 kW. */
#define MOST_WATTS 3e4

#define COLUMNS_TRIED 16

/* Reads a log without heading by its only column of numbers; NULL: it has a heading or several
 * columns. */
static lm_status load_unnamed(const char *path, trace_question q, trace **out, lm_error *err)
{
    size_t numbers = 0;

    *out = NULL;
    for (int k = 1; k <= COLUMNS_TRIED; k++) {
        trace    *t = NULL;
        char      name[8];
        lm_status status;

        snprintf(name, sizeof name, "%d", k);
        q.metric = name;
        status   = trace_load(path, &q, &t, err);
        if (!status) {
            trace_free(*out);
            *out = numbers++ ? NULL : t;
            if (!*out)
                trace_free(t);
        } else if (status != LM_E_NOTFOUND && status != LM_E_SYNTAX) {
            trace_free(*out);
            return status; /* no times, and no interval was told */
        }
    }
    return LM_OK;
}

/* The log, by the wanted metric, else by its first known name. */
static lm_status load(const char *path, const trace_question *asked, trace **out, lm_error *err)
{
    const size_t   n = sizeof names_of_power / sizeof names_of_power[0];
    trace_question q = *asked;
    lm_status      status;

    q.gpu = NULL; /* so that LM_E_NOTFOUND means an absent metric */

    if (q.metric || !strcmp(path, "-")) {
        q.metric = q.metric ? q.metric : names_of_power[0];
        return trace_load(path, &q, out, err);
    }
    for (size_t i = 0; i < n; i++) {
        q.metric = names_of_power[i];
        status   = trace_load(path, &q, out, err);
        if (status != LM_E_NOTFOUND)
            return status;
    }
    q.metric = NULL;
    if ((status = load_unnamed(path, q, out, err)) || *out)
        return status;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s: no column of power: nvidia-smi --query-gpu=timestamp,index,power.draw "
        "--format=csv writes one; another name, or without a heading the number of the "
        "column, with --metric",
        path);
}

static lm_status scale_of(const trace *t, double *out, lm_error *err)
{
    static const struct {
        const char *unit;
        double      watts;
    } units[] = { { "", 1 }, { "W", 1 }, { "mW", 1e-3 }, { "kW", 1e3 } };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (!strcmp(t->unit, units[i].unit)) {
            *out = units[i].watts;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG,
                        "%s: '%.40s' is in %.20s, not in watts: the column of the power with "
                        "--metric, such as power.draw",
                        t->path, t->metric, t->unit);
}

/* The usual time between rows; 0 of a single row. `room` holds its samples. */
static double usual_step(const trace_gpu_series *g, double *room)
{
    size_t n = 0;

    for (size_t i = 1; i < g->n; i++)
        room[n++] = g->time[i] - g->time[i - 1];
    return n ? stats_quantile(room, n, 0.5) : 0;
}

static lm_status gpu_of(const trace_gpu_series *g, double scale, power_log_gpu *out, lm_error *err)
{
    power_piece *piece = malloc((g->n + 1) * sizeof *piece);
    double      *room  = malloc((g->n + 1) * sizeof *room);
    size_t       n     = 0;
    double       longest;

    if (!piece || !room) {
        free(piece);
        free(room);
        return no_memory(err);
    }
    *out = (power_log_gpu){ .samples = g->n, .missing = g->n_missing, .jumps = g->clock.n_jumps };
    snprintf(out->name, sizeof out->name, "%s", g->name);
    longest = POWER_LOG_GAP * usual_step(g, room);
    for (size_t i = 1; i < g->n; i++) {
        const double seconds = g->time[i] - g->time[i - 1];

        if (seconds > longest) {
            out->gaps++;
            out->gap_seconds += seconds;
        } else if (seconds > 0 && isfinite(g->value[i])) {
            piece[n++] = (power_piece){ seconds, scale * (double)g->value[i] };
        }
    }
    out->mean = power_settle_run(piece, n);
    free(room);
    free(piece);
    return LM_OK;
}

static lm_status check_gpu(const trace *t, const power_log_gpu *g, lm_error *err)
{
    if (isnan(g->mean.watts))
        return lm_error_set(
            err, LM_E_ARG, "%s: GPU %s: no power in %zu rows: a log takes two or more with a value",
            t->path, g->name, g->samples);
    if (!(g->mean.watts > 0))
        return lm_error_set(err, LM_E_ARG, "%s: GPU %s: %.3g W, too little for a GPU that is on",
                            t->path, g->name, g->mean.watts);
    if (g->mean.watts > MOST_WATTS)
        return lm_error_set(err, LM_E_ARG,
                            "%s: GPU %s: %.3g W, too much for a GPU: in milliwatts? say so in the "
                            "heading, '%.40s [mW]'",
                            t->path, g->name, g->mean.watts, t->metric);
    return LM_OK;
}

lm_status power_log_read(const char *path, const trace_question *q, power_log *out, lm_error *err)
{
    trace    *t      = NULL;
    power_log l      = { .n = 0 };
    double    scale  = 1;
    lm_status status = load(path, q, &t, err);

    if (status)
        return status;
    status = scale_of(t, &scale, err);
    l.gpu  = calloc(t->n_gpus + 1, sizeof *l.gpu);
    if (!status && !l.gpu)
        status = no_memory(err);
    for (size_t i = 0; i < t->n_gpus && !status; i++) {
        if (!t->gpu[i].n || (q->gpu && !trace_gpu_is(t->gpu[i].name, q->gpu)))
            continue;
        status = gpu_of(&t->gpu[i], scale, &l.gpu[l.n], err);
        if (!status)
            status = check_gpu(t, &l.gpu[l.n++], err);
    }
    if (!status && !l.n)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s: no GPU '%.40s'", path, q->gpu ? q->gpu : "");
    snprintf(l.metric, sizeof l.metric, "%s", t->metric);
    snprintf(l.unit, sizeof l.unit, "%s", t->unit);
    trace_free(t);
    if (status)
        power_log_free(&l);
    else
        *out = l;
    return status;
}

void power_log_free(power_log *l)
{
    free(l->gpu);
    *l = (power_log){ .n = 0 };
}
