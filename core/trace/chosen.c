/* The choice of a trace's GPU. */
#include "trace/chosen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const trace_gpu_series *trace_choose_gpu(const trace *t)
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

/* ---- one that is followed -------------------------------------------------------------------- */

/* A GPU has vanished after this many missing samples. */
#define VANISHED 100.0

static void say_oddities(trace_follower *f, const trace_sample *s)
{
    const char *path = f->reader->path;
    char        text[400];

    if (f->clock.n_jumps && !f->said_jump) {
        snprintf(text, sizeof text,
                 "%.200s:%llu: the clock jumps back by %.4g s: taken as the next sample", path,
                 (unsigned long long)f->clock.jump_line, f->clock.jump);
        f->said_jump = true;
        f->say(text);
    }
    if (s->gpu == f->chosen)
        return;
    if (!f->gpu && !f->said_gpus) {
        snprintf(text, sizeof text, "%.200s: GPU %.100s of several: another with --gpu", path,
                 f->reader->gpu[f->chosen]);
        f->said_gpus = true;
        f->say(text);
    }
    if (f->any && !f->said_vanished && s->time > f->last + VANISHED * f->interval(f->context)) {
        snprintf(text, sizeof text, "%.200s:%llu: GPU %.100s vanishes, others go on", path,
                 (unsigned long long)s->line, f->reader->gpu[f->chosen]);
        f->said_vanished = true;
        f->say(text);
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
        say_oddities(f, s);
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
