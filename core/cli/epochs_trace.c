/* What `layermeter epochs` reads: a whole trace, or one that is followed. */
#include "cli/epochs_trace.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epochs/follow.h"
#include "report/json.h"
#include "trace/chosen.h"

/* ---- a whole trace ---- */

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
    g      = trace_choose_gpu(t);
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

/* ---- each epoch when it has ended ---- */

typedef struct follower {
    format           how;
    epochs_follower *epochs;
    size_t           n_printed;
} follower;

static void print_head(const follower *f)
{
    if (f->how == FORMAT_CSV)
        puts("number,kind,start_s,length_s,confidence,epoch_s");
    else if (f->how == FORMAT_TABLE)
        puts("  no.  kind       start [s]  length [s]  confidence  epoch [s]");
}

static void print_row(follower *f, const epoch *e, double steady)
{
    char confidence[32] = "";

    if (!f->n_printed)
        print_head(f);
    f->n_printed++;
    if (!isnan(e->confidence))
        snprintf(confidence, sizeof confidence, f->how == FORMAT_TABLE ? "%.2f" : "%.6g",
                 e->confidence);
    if (f->how == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        json_count(&j, "number", f->n_printed);
        json_text(&j, "kind", epoch_kind_names[e->kind]);
        json_real(&j, "start_s", e->start);
        json_real(&j, "length_s", e->length);
        json_real(&j, "confidence", e->confidence);
        json_real(&j, "epoch_s", steady);
        json_close(&j, '}');
    } else if (f->how == FORMAT_CSV) {
        printf("%zu,%s,%.6f,%.6f,%s,%.6f\n", f->n_printed, epoch_kind_names[e->kind], e->start,
               e->length, confidence, steady);
    } else {
        printf("%5zu  %-9s  %9.2f  %10.3f  %10s  %9.4g\n", f->n_printed, epoch_kind_names[e->kind],
               e->start, e->length, *confidence ? confidence : "-", steady);
    }
    fflush(stdout);
}

static lm_status print_epoch(void *context, const epoch *e, const epochs *all, lm_error *err)
{
    (void)err;
    print_row(context, e, all->steady);
    return LM_OK;
}

static lm_status take(void *context, double time, const trace_sample *s, lm_error *err)
{
    const follower *f = context;

    return epochs_follower_add(f->epochs, time, s->value, err);
}

static double interval_of(void *context)
{
    const follower *f = context;

    return epochs_follower_interval(f->epochs);
}

static void say_line(const char *text)
{
    fprintf(stderr, "layermeter: %s\n", text);
}

lm_status epochs_follow(const char *path, const trace_question *q, epochs_method m, format how,
                        lm_error *err)
{
    follower       f = { .how = how };
    trace_follower t = { .take = take, .interval = interval_of, .say = say_line, .context = &f };
    lm_status      status = epochs_follower_new(m, print_epoch, &f, &f.epochs, err);

    if (!status && !(status = trace_follower_open(&t, path, q, err)))
        status = trace_follower_run(&t, err);
    if (!status && (status = epochs_follower_end(f.epochs, err)) == LM_E_NOTFOUND)
        lm_error_prefix(err, "%s", t.reader->path);
    trace_follower_close(&t);
    epochs_follower_free(f.epochs);
    return status;
}
