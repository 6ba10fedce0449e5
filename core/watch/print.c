/* Output of layermeter watch on a run and its plan. */
#include "watch/print.h"

#include <math.h>
#include <stdio.h>

#include "report/json.h"
#include "report/notes.h"
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

/* On stderr, before the first row. An earlier failure prints only its message. */
static void print_plan(const watch_plan *p)
{
    char a[80], b[80];

    note("plan (%s): %s on %s, %lld x %lld devices, batch %lld: epoch %s, step %s", p->question,
         p->network, p->machine, (long long)p->nodes, (long long)p->devices, (long long)p->batch,
         print_time(&p->epoch, a), print_time(&p->step, b));
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
