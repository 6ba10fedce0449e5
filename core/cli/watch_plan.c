/* A run beside its plan: followed, compared, printed. */
#include "cli/cmd_watch.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "report/json.h"
#include "trace/chosen.h"
#include "watch/run.h"

/* ---- rows and words ---- */

static const char *scale_name(watch_scale s)
{
    return s == WATCH_STEPS ? "step" : "epoch";
}

static const planned_time *planned(const watch_plan *p, watch_scale s)
{
    return s == WATCH_STEPS ? &p->step : &p->epoch;
}

/* "26.2 s (23.5 to 29.9)" */
static const char *print_time(const planned_time *t, char out[80])
{
    const int n = snprintf(out, 80, "%.4g s", t->expected);

    if (!isnan(t->low) && !isnan(t->high))
        snprintf(out + n, 80 - (size_t)n, " (%.4g to %.4g)", t->low, t->high);
    return out;
}

/* On stderr, before the first row: what fails before says only that. */
static void print_plan(const watch_plan *p)
{
    char a[80], b[80];

    fprintf(stderr,
            "layermeter: plan (%s): %s on %s, %lld x %lld devices, batch %lld: epoch %s, step %s\n",
            p->question, p->network, p->machine, (long long)p->nodes, (long long)p->devices,
            (long long)p->batch, print_time(&p->epoch, a), print_time(&p->step, b));
}

/* ---- rows ---- */

static void put(double value, const char *as)
{
    putchar(',');
    if (!isnan(value))
        printf(as, value);
}

static void print_csv(const watch_printer *w, const watched *e)
{
    const planned_time *t = planned(w->plan, e->scale);

    if (w->n == 1)
        puts("number,kind,of,start_s,length_s,planned_s,planned_low_s,planned_high_s,ratio,verdict,"
             "busy,clock_mhz,power_w,held_by_power,held_by_heat");
    printf("%zu,%s,%s,%.6f,%.6f", w->n, epoch_kind_names[e->epoch.kind],
           e->scale == WATCH_NEITHER ? "" : scale_name(e->scale), e->epoch.start, e->epoch.length);
    if (!e->judged) {
        puts(",,,,,,,,,,");
        return;
    }
    put(t->expected, "%.6g");
    put(t->low, "%.6g");
    put(t->high, "%.6g");
    put(e->verdict.ratio, "%.4f");
    printf(",%s", watch_verdict_word(&e->verdict));
    put(e->means.busy, "%.4f");
    put(e->means.clock_mhz, "%.0f");
    put(e->means.watts, "%.1f");
    put(e->means.held_power, "%.3f");
    put(e->means.held_heat, "%.3f");
    putchar('\n');
}

static void json_verdict(json *j, const watch_plan *p, watch_scale scale, const watch_verdict *v,
                         const watch_means *m, double usual_mhz)
{
    const planned_time *t = planned(p, scale);
    char                text[WATCH_VERDICT_TEXT];

    json_text(j, "of", scale_name(scale));
    json_real(j, "planned_s", t->expected);
    json_real(j, "planned_low_s", t->low);
    json_real(j, "planned_high_s", t->high);
    json_real(j, "ratio", v->ratio);
    json_text(j, "verdict", watch_verdict_word(v));
    json_text(j, "sentence", watch_verdict_print(v, m, usual_mhz, text));
    json_real(j, "busy", m->busy);
    json_real(j, "clock_mhz", m->clock_mhz);
    json_real(j, "power_w", m->watts);
    json_real(j, "held_by_power", m->held_power);
    json_real(j, "held_by_heat", m->held_heat);
}

static void print_json(const watch_printer *w, const watched *e)
{
    json j = { .out = stdout, .one_line = true };

    json_open(&j, NULL, '{');
    json_count(&j, "number", w->n);
    json_text(&j, "kind", epoch_kind_names[e->epoch.kind]);
    json_real(&j, "start_s", e->epoch.start);
    json_real(&j, "length_s", e->epoch.length);
    if (e->judged)
        json_verdict(&j, w->plan, e->scale, &e->verdict, &e->means, e->usual_mhz);
    json_close(&j, '}');
}

static void print_line(const watch_printer *w, const watched *e)
{
    char text[WATCH_VERDICT_TEXT] = "-";

    if (w->n == 1)
        puts("  no.  kind       start [s]  length [s]  beside the plan");
    if (e->judged)
        watch_verdict_print(&e->verdict, &e->means, e->usual_mhz, text);
    printf("%5zu  %-9s  %9.2f  %10.3f  %s\n", w->n,
           e->scale == WATCH_STEPS && e->judged ? "step" : epoch_kind_names[e->epoch.kind],
           e->epoch.start, e->epoch.length, text);
}

void watch_print_row(watch_printer *w, const watched *e)
{
    if (!w->n++)
        print_plan(w->plan);
    if (w->how == FORMAT_CSV)
        print_csv(w, e);
    else if (w->how == FORMAT_JSON)
        print_json(w, e);
    else
        print_line(w, e);
    fflush(stdout);
}

/* ---- all of them ---- */

void watch_print_summary(watch_printer *w, const watch_summary *s)
{
    FILE *out = w->how == FORMAT_TABLE ? stdout : stderr;
    char  text[WATCH_VERDICT_TEXT], time[80];

    if (w->how == FORMAT_JSON) {
        json j = { .out = stdout, .one_line = true };

        json_open(&j, NULL, '{');
        json_text(&j, "kind", "all");
        json_count(&j, "steady", s->n);
        json_real(&j, "length_s", s->mean);
        json_real(&j, "low_s", s->low);
        json_real(&j, "high_s", s->high);
        json_verdict(&j, w->plan, s->scale, &s->verdict, &s->means, s->usual_mhz);
        json_close(&j, '}');
        return;
    }
    fprintf(out, "%s: %.4g s", scale_name(s->scale), s->mean);
    if (!isnan(s->low))
        fprintf(out, " (90 %%: %.4g to %.4g)", s->low, s->high);
    fprintf(out, ", mean of %zu steady %s%s; planned: %s: %s%s\n", s->n, scale_name(s->scale),
            s->n == 1 ? "" : "s", print_time(planned(w->plan, s->scale), time),
            watch_verdict_print(&s->verdict, &s->means, s->usual_mhz, text),
            s->verdict.bounded ? "" : " (the plan has no interval: 10 % are taken)");
}

/* ---- the run ---- */

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

/* What is open while a run is watched. */
typedef struct watching {
    const watch_order *order;
    watch_plan         plan;
    watch_printer      printer;
    watch_run         *run;
    trace_clock        clock;     /* live */
    char               index[16]; /* live */
    bool               live, any, by_power, said_neither;
} watching;

static lm_status print_one(void *context, const watched *w, lm_error *err)
{
    watching *me = context;

    (void)err;
    if (w->scale != WATCH_NEITHER)
        watch_print_row(&me->printer, w);
    else if (me->live && !me->said_neither)
        fprintf(stderr, "layermeter: what repeats takes %.4g s, no epoch of the plan nor a step\n",
                w->epoch.length);
    me->said_neither |= w->scale == WATCH_NEITHER;
    return LM_OK;
}

static lm_status begin(watching *w, const watch_order *o, lm_error *err)
{
    lm_status status;

    memset(w, 0, sizeof *w);
    w->order = o;
    status   = watch_plan_load(o->plan, o->question, &w->plan, err);
    if (status)
        return status;
    w->printer = (watch_printer){ .plan = &w->plan, .how = o->how };
    return watch_run_new(&w->plan, print_one, w, &w->run, err);
}

static lm_status append(const watching *w, const watch_summary *s, lm_error *err)
{
    observation row;
    lm_status   status = watch_observation(&w->plan, s, &row, err);

    if (status == LM_E_UNSUPPORTED) {
        fprintf(stderr, "layermeter: %s\n", err->text);
        return LM_OK;
    }
    if (!status)
        status = observation_append(w->order->observations, &row, w->plan.machine, err);
    if (!status)
        fprintf(stderr,
                "layermeter: %s: a step of %.4g s, appended: 'layermeter fit OBSERVATIONS.csv "
                "--correct %s -o MACHINE.ini' learns from it\n",
                w->order->observations, row.seconds, w->order->observations);
    return status;
}

static lm_status end(watching *w, lm_error *err)
{
    watch_summary s;
    lm_status     status = watch_run_end(w->run, &s, err);

    if (status)
        return status;
    watch_print_summary(&w->printer, &s);
    return w->order->observations ? append(w, &s, err) : LM_OK;
}

/* ---- a trace ---- */

static lm_status take_sample(void *context, double time, const trace_sample *s, lm_error *err)
{
    const watching *w = context;

    return watch_run_add(w->run, time, s->value, s->beside, err);
}

static double interval_of(void *context)
{
    const watching *w = context;

    return watch_run_interval(w->run);
}

void watch_say(const char *text)
{
    fprintf(stderr, "layermeter: %s\n", text);
}

static lm_status follow(watching *w, const char *path, const trace_question *q, lm_error *err)
{
    trace_follower f = {
        .take = take_sample, .interval = interval_of, .say = watch_say, .context = w
    };
    trace_question own = *q;
    lm_status      status;

    own.beside = true;
    own.stop   = &stopped;
    if (!(status = trace_follower_open(&f, path, &own, err)))
        status = trace_follower_run(&f, err);
    if (!status && f.gpu && !f.any)
        status = lm_error_set(err, LM_E_NOTFOUND, "no GPU '%.40s'", f.gpu);
    if (!status)
        status = end(w, err);
    if (f.reader && status == LM_E_NOTFOUND && !strstr(err->text, f.reader->path))
        lm_error_prefix(err, "%s", f.reader->path);
    trace_follower_close(&f);
    return status;
}

lm_status watch_trace(const watch_order *o, const char *path, const trace_question *q,
                      lm_error *err)
{
    struct sigaction how = { .sa_handler = stop }, before_int, before_term;
    watching         w;
    lm_status        status = begin(&w, o, err);

    if (!status) {
        stopped = 0;
        sigemptyset(&how.sa_mask); /* without SA_RESTART: reading ends */
        sigaction(SIGINT, &how, &before_int);
        sigaction(SIGTERM, &how, &before_term);
        status = follow(&w, path, q, err);
        sigaction(SIGINT, &before_int, NULL);
        sigaction(SIGTERM, &before_term, NULL);
    }
    watch_run_free(w.run);
    return status;
}

/* ---- this machine ---- */

static lm_status take_look(void *context, const char *index, const device_sample *s, lm_error *err)
{
    watching   *w        = context;
    const float beside[] = {
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

/* Which of what is sampled a metric's name is. */
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

lm_status watch_live(const watch_order *o, const sampling *how, const trace_question *q,
                     lm_error *err)
{
    sampling  own = *how;
    watching  w;
    lm_status status = begin(&w, o, err);

    if (!status)
        status = choose_metric(q->metric, &w.by_power, err);
    w.live      = true;
    own.take    = take_look;
    own.context = &w;
    if (!status)
        status = sampling_run(&own, err);
    if (!status) {
        status = end(&w, err);
    } else if (w.any) { /* what was seen before the last device was lost */
        lm_error ignored;

        end(&w, &ignored);
    }
    watch_run_free(w.run);
    return status;
}
