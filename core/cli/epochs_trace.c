/* A trace for `layermeter epochs`, and what is odd about it. */
#include "cli/epochs_trace.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Samples a GPU may end before the others. */
#define VANISHED 20.0
/* Sampling that changes by more is told. */
#define MIXED 2.0

static void say(const char *path, const char *fmt, ...) LM_PRINTF(2, 3);

static void say(const char *path, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "layermeter: %s: ", path);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    putc('\n', stderr);
}

static bool is_constant(const trace_gpu_series *g)
{
    float first = NAN;

    for (size_t i = 0; i < g->n; i++) {
        if (isnan(g->value[i]))
            continue;
        if (isnan(first))
            first = g->value[i];
        else if (g->value[i] != first)
            return false;
    }
    return true;
}

/* By number where names are numbers, else by name. */
static bool comes_before(const char *a, const char *b)
{
    char      *end_a, *end_b;
    const long x = strtol(a, &end_a, 10), y = strtol(b, &end_b, 10);

    return !*end_a && !*end_b ? x < y : strcmp(a, b) < 0;
}

static const trace_gpu_series *choose(const trace *t)
{
    const trace_gpu_series *best = NULL;

    for (int may_be_constant = 0; !best && may_be_constant < 2; may_be_constant++)
        for (size_t i = 0; i < t->n_gpus; i++) {
            const trace_gpu_series *g = &t->gpu[i];

            if (g->n && (!best || comes_before(g->name, best->name)) &&
                (may_be_constant || !is_constant(g)))
                best = g;
        }
    return best;
}

static void say_gpus(const trace *t, const trace_gpu_series *chosen, bool asked)
{
    char   names[160] = "";
    size_t used = 0, n = 0;

    for (size_t i = 0; i < t->n_gpus; i++) {
        if (used + TRACE_NAME_MAX + 4 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     t->gpu[i].name);
        n++;
    }
    if (n > 1 && !asked)
        say(t->path, "GPU %s of %zu (%s): another with --gpu", chosen->name, n, names);
}

static void say_vanished(const trace *t, double interval)
{
    double end = 0;

    for (size_t i = 0; i < t->n_gpus; i++)
        if (t->gpu[i].n)
            end = fmax(end, t->gpu[i].time[t->gpu[i].n - 1]);
    for (size_t i = 0; i < t->n_gpus; i++) {
        const trace_gpu_series *g = &t->gpu[i];

        if (g->n && g->time[g->n - 1] < end - VANISHED * interval)
            fprintf(stderr,
                    "layermeter: %s:%llu: GPU %s vanishes after %.4g s, others go on to %.4g s\n",
                    t->path, (unsigned long long)g->last_line, g->name, g->time[g->n - 1], end);
    }
}

static void say_oddities(const trace *t, const trace_gpu_series *g, const trace_grid *grid)
{
    if (t->cut_short)
        say(t->path, "the last row is cut short: dropped");
    if (g->clock.n_jumps)
        fprintf(stderr,
                "layermeter: %s:%llu: the clock jumps back by %.4g s%s: taken as the next sample\n",
                t->path, (unsigned long long)g->clock.jump_line, g->clock.jump,
                g->clock.n_jumps > 1 ? ", and again elsewhere" : "");
    if (grid->n_left_out)
        say(t->path,
            "no samples for %.4g s from %.4g s on: the longer part counts, %zu samples do not",
            grid->gap, grid->gap_at, grid->n_left_out);
    if (grid->longest > MIXED * grid->shortest)
        say(t->path,
            "samples are %.4g s apart in one part and %.4g s in another: all taken at %.4g s",
            grid->shortest, grid->longest, grid->step);
    say_vanished(t, grid->interval);
}

lm_status epochs_trace_load(const char *path, const trace_question *q, epochs_trace *out,
                            lm_error *err)
{
    trace                  *t = NULL;
    const trace_gpu_series *g;
    lm_status               status = trace_load(path, q, &t, err);

    *out = (epochs_trace){ .grid = { .x = NULL } };
    if (status)
        return status;
    g      = choose(t);
    status = trace_grid_of(g, &out->grid, err);
    if (status) {
        lm_error_prefix(err, "%s", t->path);
    } else {
        snprintf(out->path, sizeof out->path, "%s", t->path);
        snprintf(out->metric, sizeof out->metric, "%s", t->metric);
        snprintf(out->unit, sizeof out->unit, "%s", t->unit);
        snprintf(out->gpu, sizeof out->gpu, "%s", g->name);
        out->n_samples = g->n;
        if (t->timed && !isnan(q->interval))
            say(t->path, "it has times of its own: --interval does not count");
        say_gpus(t, g, q->gpu != NULL);
        say_oddities(t, g, &out->grid);
    }
    trace_free(t);
    return status;
}
