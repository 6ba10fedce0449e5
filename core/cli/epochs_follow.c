/* layermeter epochs --follow: each epoch when it has ended. */
#include "cli/epochs_follow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "epochs/window.h"
#include "report/json.h"
#include "trace/trace.h"

/* Bins between two looks at what came, at least; and this part of what is there. */
#define LEAST_NEW 128
#define PART_NEW  16
/* A sampled GPU that misses so many samples has vanished. */
#define VANISHED 100.0

typedef struct follower {
    trace_reader *reader;
    const char   *gpu; /* asked for; NULL: the first */
    epochs_method method;
    format        how;
    epochs_window window;
    trace_clock   clock;
    size_t        chosen, n_printed, seen, last_look;
    bool          any, said_jump, said_vanished, said_gpus;
    double        period, printed_until, last_raw;
    lm_error      why; /* of the last look that found nothing */
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
        json_text(&j, "kind", epoch_kind_name(e->kind));
        json_real(&j, "start_s", e->start);
        json_real(&j, "length_s", e->length);
        json_real(&j, "confidence", e->confidence);
        json_real(&j, "epoch_s", steady);
        json_close(&j, '}');
    } else if (f->how == FORMAT_CSV) {
        printf("%zu,%s,%.6f,%.6f,%s,%.6f\n", f->n_printed, epoch_kind_name(e->kind), e->start,
               e->length, confidence, steady);
    } else {
        printf("%5zu  %-9s  %9.2f  %10.3f  %10s  %9.4g\n", f->n_printed, epoch_kind_name(e->kind),
               e->start, e->length, *confidence ? confidence : "-", steady);
    }
    fflush(stdout);
}

/* Is it over for good? What came last may still move. */
static bool is_over(const follower *f, const epoch *e, const epochs *all, bool ended)
{
    const double now = f->window.grid.start + f->window.grid.step * (double)f->window.grid.n;

    if (e->start + 0.5 * e->length < f->printed_until)
        return false;
    if (e->kind == EPOCH_PARTIAL || e->kind == EPOCH_IDLE)
        return e == &all->epoch[0] && f->n_printed == 0;
    return ended || e->start + e->length < now - 0.5 * all->steady;
}

static lm_status look(follower *f, bool ended, lm_error *err)
{
    epochs   *e      = NULL;
    lm_status status = epochs_find(f->method, &f->window.grid, &e, &f->why);

    f->last_look = f->seen;
    if (status == LM_E_NOTFOUND)
        return LM_OK;
    if (status) {
        *err = f->why;
        return status;
    }
    f->period = e->steady;
    for (size_t i = 0; i < e->n; i++)
        if (is_over(f, &e->epoch[i], e, ended)) {
            print_row(f, &e->epoch[i], e->steady);
            f->printed_until = e->epoch[i].start + e->epoch[i].length;
        }
    epochs_free(e);
    return LM_OK;
}

/* A new look is worth it after an epoch, or after a part of what is there. */
static bool is_due(const follower *f)
{
    const double fresh = (double)(f->seen - f->last_look);
    const double wait  = isnan(f->period)
                             ? (double)f->window.grid.n / PART_NEW
                             : fmin(f->period / f->window.grid.interval, 0.5 * WINDOW_BINS);

    return f->window.grid.x && fresh >= fmax(LEAST_NEW, wait);
}

static void say_oddities(follower *f, const trace_sample *s)
{
    const char *path = trace_reader_path(f->reader);

    if (f->clock.n_jumps && !f->said_jump) {
        fprintf(stderr,
                "layermeter: %s:%llu: the clock jumps back by %.4g s: taken as the next sample\n",
                path, (unsigned long long)f->clock.jump_line, f->clock.jump);
        f->said_jump = true;
    }
    if (s->gpu != f->chosen && !f->gpu && !f->said_gpus) {
        fprintf(stderr, "layermeter: %s: GPU %s of several: another with --gpu\n", path,
                trace_reader_gpu(f->reader, f->chosen));
        f->said_gpus = true;
    }
    if (s->gpu != f->chosen && f->any && f->window.grid.x && !f->said_vanished &&
        s->time > f->last_raw + VANISHED * f->window.grid.interval) {
        fprintf(stderr, "layermeter: %s:%llu: GPU %s vanishes, others go on\n", path,
                (unsigned long long)s->line, trace_reader_gpu(f->reader, f->chosen));
        f->said_vanished = true;
    }
}

static lm_status take(follower *f, const trace_sample *s, lm_error *err)
{
    lm_status status;

    if (!f->any) {
        if (f->gpu && !trace_gpu_is(trace_reader_gpu(f->reader, s->gpu), f->gpu))
            return LM_OK;
        f->any    = true;
        f->chosen = s->gpu;
    }
    if (s->gpu == f->chosen) {
        const double time = trace_clock_add(&f->clock, s->time, s->line);

        f->last_raw = s->time;
        f->seen++;
        status = epochs_window_add(&f->window, time, s->value, f->period, err);
        if (!status && is_due(f))
            status = look(f, false, err);
        if (status)
            return status;
    }
    say_oddities(f, s);
    return LM_OK;
}

lm_status epochs_follow(const char *path, const trace_question *q, epochs_method m, format how,
                        lm_error *err)
{
    follower f = {
        .gpu = q->gpu, .method = m, .how = how, .period = NAN, .printed_until = -INFINITY
    };
    trace_sample s;
    bool         more   = true;
    lm_status    status = trace_reader_open(path, q, &f.reader, err);

    lm_error_set(&f.why, LM_E_NOTFOUND, "fewer than %d samples", WINDOW_FIRST);
    while (!status && !(status = trace_reader_next(f.reader, &s, &more, err)) && more)
        status = take(&f, &s, err);
    if (!status && f.window.grid.x)
        status = look(&f, true, err);
    if (!status && !f.n_printed) {
        status = f.why.code;
        *err   = f.why;
        lm_error_prefix(err, "%s", trace_reader_path(f.reader));
    }
    trace_reader_close(f.reader);
    epochs_window_free(&f.window);
    return status;
}
