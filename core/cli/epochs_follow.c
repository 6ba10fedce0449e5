/* layermeter epochs --follow: each epoch when it has ended. */
#include "cli/epochs_follow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "epochs/follow.h"
#include "report/json.h"
#include "trace/trace.h"

/* A sampled GPU that misses so many samples has vanished. */
#define VANISHED 100.0

typedef struct follower {
    trace_reader    *reader;
    const char      *gpu; /* asked for; NULL: the first */
    format           how;
    epochs_follower *epochs;
    trace_clock      clock;
    size_t           chosen, n_printed;
    bool             any, said_jump, said_vanished, said_gpus;
    double           last_raw;
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

static lm_status print_epoch(void *context, const epoch *e, const epochs *all, lm_error *err)
{
    (void)err;
    print_row(context, e, all->steady);
    return LM_OK;
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
    if (s->gpu != f->chosen && f->any && !f->said_vanished &&
        s->time > f->last_raw + VANISHED * epochs_follower_interval(f->epochs)) {
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
        status      = epochs_follower_add(f->epochs, time, s->value, err);
        if (status)
            return status;
    }
    say_oddities(f, s);
    return LM_OK;
}

lm_status epochs_follow(const char *path, const trace_question *q, epochs_method m, format how,
                        lm_error *err)
{
    follower     f = { .gpu = q->gpu, .how = how };
    trace_sample s;
    bool         more   = true;
    lm_status    status = epochs_follower_new(m, print_epoch, &f, &f.epochs, err);

    if (!status)
        status = trace_reader_open(path, q, &f.reader, err);
    while (!status && !(status = trace_reader_next(f.reader, &s, &more, err)) && more)
        status = take(&f, &s, err);
    if (!status && (status = epochs_follower_end(f.epochs, err)) == LM_E_NOTFOUND)
        lm_error_prefix(err, "%s", trace_reader_path(f.reader));
    trace_reader_close(f.reader);
    epochs_follower_free(f.epochs);
    return status;
}
