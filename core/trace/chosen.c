/* The choice of a trace's GPU. */
#include "trace/chosen.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- a whole trace --------------------------------------------------------------------------- */

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

/* By number if both names are numbers, else by name. */
static bool comes_before(const char *a, const char *b)
{
    char      *end_a, *end_b;
    const long x = strtol(a, &end_a, 10), y = strtol(b, &end_b, 10);

    return !*end_a && !*end_b ? x < y : strcmp(a, b) < 0;
}

static const trace_gpu_series *choose_gpu(const trace *t)
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

/* A GPU has vanished if it ends this many samples before the others. */
#define ENDS_BEFORE 20.0
/* A change of the sampling interval by this factor is reported. */
#define MIXED 2.0

static void tell(trace_say say, const char *fmt, ...) LM_PRINTF(2, 3);

static void tell(trace_say say, const char *fmt, ...)
{
    char    text[600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say(text);
}

static void tell_gpus(const trace *t, const trace_gpu_series *chosen, trace_say say)
{
    char all[160] = "";

    for (size_t i = 0; i < t->n_gpus; i++)
        if (strlen(all) + TRACE_NAME_MAX + 4 < sizeof all)
            text_add(all, sizeof all, "%s%s", *all ? ", " : "", t->gpu[i].name);
    if (t->n_gpus > 1)
        tell(say, "%s: GPU %s of %zu (%s): another with --gpu", t->path, chosen->name, t->n_gpus,
             all);
}

static void tell_vanished(const trace *t, double interval, trace_say say)
{
    double end = 0;

    for (size_t i = 0; i < t->n_gpus; i++)
        if (t->gpu[i].n)
            end = fmax(end, t->gpu[i].time[t->gpu[i].n - 1]);
    for (size_t i = 0; i < t->n_gpus; i++) {
        const trace_gpu_series *g = &t->gpu[i];

        if (g->n && g->time[g->n - 1] < end - ENDS_BEFORE * interval)
            tell(say, "%s:%llu: GPU %s vanishes after %.4g s, others go on to %.4g s", t->path,
                 (unsigned long long)g->last_line, g->name, g->time[g->n - 1], end);
    }
}

static void tell_oddities(const trace *t, const trace_gpu_series *g, const trace_grid *grid,
                          trace_say say)
{
    if (t->cut_short)
        tell(say, "%s: the last row is cut short: dropped", t->path);
    if (g->clock.n_jumps)
        tell(say, "%s:%llu: the clock jumps back by %.4g s%s: taken as the next sample", t->path,
             (unsigned long long)g->clock.jump_line, g->clock.jump,
             g->clock.n_jumps > 1 ? ", and again elsewhere" : "");
    if (grid->n_left_out)
        tell(say,
             "%s: no samples for %.4g s from %.4g s on: the longer part counts, %zu samples do not",
             t->path, grid->gap, grid->gap_at, grid->n_left_out);
    if (grid->longest > MIXED * grid->shortest)
        tell(say,
             "%s: samples are %.4g s apart in one part and %.4g s in another: all taken at %.4g s",
             t->path, grid->shortest, grid->longest, grid->step);
    tell_vanished(t, grid->interval, say);
}

lm_status trace_load_chosen(const char *path, const trace_question *q, trace_say say,
                            trace_chosen *out, lm_error *err)
{
    trace                  *t = NULL;
    const trace_gpu_series *g;
    lm_status               status = trace_load(path, q, &t, err);

    *out = (trace_chosen){ .grid = { .x = NULL } };
    if (status)
        return status;
    g      = choose_gpu(t);
    status = trace_grid_of(g, &out->grid, err);
    if (status) {
        lm_error_prefix(err, "%s", t->path);
    } else {
        snprintf(out->path, sizeof out->path, "%s", t->path);
        snprintf(out->metric, sizeof out->metric, "%s", t->metric);
        snprintf(out->unit, sizeof out->unit, "%s", t->unit);
        snprintf(out->gpu, sizeof out->gpu, "%s", g->name);
        out->n_samples = g->n;
        out->first     = g->time[0];
        if (t->timed && !isnan(q->interval))
            tell(say, "%s: it has times of its own: --interval does not count", t->path);
        if (!q->gpu)
            tell_gpus(t, g, say);
        tell_oddities(t, g, &out->grid, say);
    }
    trace_free(t);
    return status;
}

/* ---- one that is followed -------------------------------------------------------------------- */

/* A GPU has vanished after this many missing samples. */
#define VANISHED 100.0

static void follow_oddities(trace_follower *f, const trace_sample *s)
{
    const char *path = f->reader->path, *gpu = f->reader->gpu[f->chosen];

    if (f->clock.n_jumps && !f->said_jump) {
        f->said_jump = true;
        tell(f->say, "%.200s:%llu: the clock jumps back by %.4g s: taken as the next sample", path,
             (unsigned long long)f->clock.jump_line, f->clock.jump);
    }
    if (s->gpu == f->chosen)
        return;
    if (!f->gpu && !f->said_gpus) {
        f->said_gpus = true;
        tell(f->say, "%.200s: GPU %.100s of several: another with --gpu", path, gpu);
    }
    if (f->any && !f->said_vanished && s->time > f->last + VANISHED * f->interval(f->context)) {
        f->said_vanished = true;
        tell(f->say, "%.200s:%llu: GPU %.100s vanishes, others go on", path,
             (unsigned long long)s->line, gpu);
    }
}

static lm_status take_sample(trace_follower *f, const trace_sample *s, lm_error *err)
{
    lm_status status = LM_OK;

    if (!f->any) {
        if (f->gpu && !trace_gpu_is(f->reader->gpu[s->gpu], f->gpu))
            return LM_OK;
        f->any    = true;
        f->chosen = s->gpu;
    }
    if (s->gpu == f->chosen) {
        f->last = s->time;
        status  = f->take(f->context, trace_clock_add(&f->clock, s->time, s->line), s, err);
    }
    if (!status)
        follow_oddities(f, s);
    return status;
}

lm_status trace_follower_open(trace_follower *f, const char *path, const trace_question *q,
                              lm_error *err)
{
    f->gpu = q->gpu;
    return trace_reader_open(path, q, &f->reader, err);
}

lm_status trace_follower_run(trace_follower *f, lm_error *err)
{
    trace_sample s      = { 0 };
    bool         more   = true;
    lm_status    status = LM_OK;

    while (!status && !(status = trace_reader_next(f->reader, &s, &more, err)) && more)
        status = take_sample(f, &s, err);
    return status;
}

void trace_follower_close(trace_follower *f)
{
    trace_reader_close(f->reader);
}
