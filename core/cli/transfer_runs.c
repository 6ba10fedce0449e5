/* Times of runs on other GPUs, by what was learned from runs on several. */
#include "cli/transfer_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "crossgpu/crossgpu.h"
#include "plan/prices.h"
#include "report/table.h"

/* A metric this far outside of what was learned, in widths of that, is told. */
#define OUTSIDE   0.1
#define TOLD_MOST 3

/* One GPU that a run could move to. */
typedef struct target {
    gpu                 to;
    crossgpu_prediction said;
    bool                here; /* it is where the run was */
    money               hour; /* amount NAN: no price */
    double              cost; /* of the run's seconds; NAN */
} target;

typedef struct work {
    const transfer_command *a;
    bool                    by_cost;
    device_list            *devices;
    price_list             *prices;
    crossgpu               *c;
    runs                   *r;
    target                  target[GPUS_MAX];
    size_t                  n, n_sources;
    size_t                 *place;
    double                 *x;
    char                    currency[CURRENCY_TEXT];
    table                  *t;
} work;

static void work_free(work *w)
{
    table_free(w->t);
    free(w->place);
    free(w->x);
    runs_free(w->r);
    crossgpu_free(w->c);
    prices_free(w->prices);
    devices_free(w->devices);
}

/* ---- prices -------------------------------------------------------------------------------------
 */

/* In the currency of the first; amount NAN where there is none, or several. */
static void find_price(work *w, target *t)
{
    const price_tier tier = w->a->runs.spot ? PRICE_SPOT : PRICE_LIST;
    const price     *p;
    money            hour;

    t->hour.amount = NAN;
    if (prices_of_device(w->prices, w->devices, t->to.name, &p, NULL) ||
        price_of_node(p, tier, 1, &hour, NULL))
        return;
    if (!*w->currency)
        strcpy(w->currency, hour.currency);
    if (exchange_to(&w->prices->rates, &hour, w->currency, &t->hour, NULL))
        t->hour.amount = NAN;
}

/* Where prices were asked for, those that are missing are told. */
static lm_status find_prices(work *w, lm_error *err)
{
    const bool wanted    = w->by_cost || w->a->runs.prices || w->a->runs.spot;
    char       text[300] = "";
    size_t     used = 0, n = 0;
    lm_status  status = prices_open(w->a->runs.prices, &w->prices, err);

    for (size_t i = 0; i < w->n && !status; i++) {
        find_price(w, &w->target[i]);
        if (!isnan(w->target[i].hour.amount))
            n++;
        else if (used + 80 < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s'%s'", used ? ", " : "",
                                     w->target[i].to.name);
    }
    if (!status && w->by_cost && !n)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "--sort cost: no single price of any of %s: write some into a file of "
                            "your own, --prices FILE",
                            text);
    if (!status && wanted && used)
        fprintf(stderr,
                "layermeter: no single price of %s: write it into a file of your own, --prices "
                "FILE\n",
                text);
    return status;
}

/* ---- targets ------------------------------------------------------------------------------------
 */

/* A GPU as it was learned from, or by its datasheet. */
static lm_status find_gpu(const work *w, const char *name, gpu *out, lm_error *err)
{
    const size_t i = crossgpu_gpu(w->c, name);

    if (i == w->c->n_gpus)
        return gpu_find(w->devices, name, out, err);
    *out = w->c->gpu[i];
    return LM_OK;
}

static lm_status find_targets(work *w, lm_error *err)
{
    const option_texts *to     = &w->a->to;
    lm_status           status = LM_OK;

    if (!to->n)
        for (; w->n < w->c->n_gpus; w->n++)
            w->target[w->n].to = w->c->gpu[w->n];
    for (; w->n < to->n && !status; w->n++)
        if ((status = find_gpu(w, to->at[w->n], &w->target[w->n].to, err)))
            lm_error_prefix(err, "--to");
    return status;
}

/* ---- predictions --------------------------------------------------------------------------------
 */

/* Metrics that leave what was learned from, in one line. */
static void tell_outside(const work *w, const gpu_run *of, const gpu *from)
{
    char   text[300] = "";
    size_t used = 0, n = 0;

    for (size_t i = 0; i < w->c->s.n_metrics; i++) {
        const space_metric *m    = &w->c->s.metric[i];
        const double        room = OUTSIDE * (m->high - m->low);

        if (w->x[i] >= m->low - room && w->x[i] <= m->high + room)
            continue;
        if (n++ < TOLD_MOST && used + 100 < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.80s %.4g",
                                     used ? ", " : "", m->name, of->value[w->place[i]]);
    }
    if (n)
        fprintf(stderr,
                "layermeter: %s:%d: outside of what was learned from, as '%s' goes: %s%s (%zu of "
                "%zu metrics)\n",
                w->r->path, of->line, from->name, text, n > TOLD_MOST ? ", ..." : "", n,
                w->c->s.n_metrics);
}

static int by_time(const void *a, const void *b)
{
    const target *x = a, *y = b;

    return (x->said.seconds > y->said.seconds) - (x->said.seconds < y->said.seconds);
}

/* What has no price comes last. */
static int by_cost(const void *a, const void *b)
{
    const target *x = a, *y = b;

    if (isnan(x->cost) || isnan(y->cost))
        return isnan(x->cost) - isnan(y->cost) +
               (isnan(x->cost) && isnan(y->cost) ? by_time(a, b) : 0);
    return (x->cost > y->cost) - (x->cost < y->cost);
}

static void add_columns(table *t, const char *currency)
{
    char title[40];

    snprintf(title, sizeof title, "cost [%s]", currency);
    table_column(t, "workload", "workload", 0);
    table_column(t, "from", "from", 0);
    table_column(t, "from_seconds", "from [s]", -1);
    table_column(t, "rank", "rank", 0);
    table_column(t, "to", "to", 0);
    table_column(t, "seconds", "seconds", -1);
    table_column(t, "low_seconds", "low", -1);
    table_column(t, "high_seconds", "high", -1);
    table_column(t, "speedup", "speed-up", 2);
    table_column(t, "basis", "basis", 0);
    table_column(t, "cost", *currency ? title : NULL, 5);
    table_column(t, "currency", NULL, 0);
    table_column(t, "price_per_hour", NULL, 0);
}

static void add_row(const work *w, const gpu_run *of, const gpu *from, size_t rank, const target *t)
{
    table_text(w->t, *of->workload ? of->workload : "-");
    table_text(w->t, from->name);
    table_real(w->t, of->seconds);
    table_count(w->t, rank);
    table_text(w->t, t->to.name);
    table_real(w->t, t->said.seconds);
    table_real(w->t, t->said.low);
    table_real(w->t, t->said.high);
    table_real(w->t, of->seconds / t->said.seconds);
    table_text(w->t, t->here                          ? "measured"
                     : t->said.basis == BASIS_LEARNED ? "learned"
                                                      : "datasheet");
    table_real(w->t, t->cost);
    table_text(w->t, isnan(t->hour.amount) ? "" : t->hour.currency);
    table_real(w->t, t->hour.amount);
}

/* What the run itself costs where it is. */
static void stay(const gpu_run *of, target *t)
{
    t->said = (crossgpu_prediction){ of->seconds, of->seconds, of->seconds, BASIS_LEARNED };
}

static lm_status predict_run(work *w, const gpu_run *of, lm_error *err)
{
    gpu       from;
    lm_status status = find_gpu(w, of->gpu, &from, err);

    if (!status)
        status = space_run(&w->c->s, w->r, of, w->place, &from, w->x, err);
    if (status) {
        lm_error_prefix(err, "%s:%d", w->r->path, of->line);
        return status;
    }
    tell_outside(w, of, &from);
    for (size_t i = 0; i < w->n && !status; i++) {
        target *t = &w->target[i];

        t->here = device_same_name(t->to.name, from.name);
        if (t->here)
            stay(of, t);
        else if ((status = crossgpu_predict(w->c, w->x, &from, &t->to, &t->said, err)))
            lm_error_prefix(err, "%s:%d", w->r->path, of->line);
        t->cost = t->hour.amount * t->said.seconds / 3600;
    }
    if (status)
        return status;
    qsort(w->target, w->n, sizeof *w->target, w->by_cost ? by_cost : by_time);
    for (size_t i = 0; i < w->n; i++)
        add_row(w, of, &from, i + 1, &w->target[i]);
    return LM_OK;
}

static void tell_unlearned(const work *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (crossgpu_gpu(w->c, w->target[i].to.name) == w->c->n_gpus)
            fprintf(stderr,
                    "layermeter: '%s' was not learned from: told by its datasheet, roughly\n",
                    w->target[i].to.name);
    for (size_t i = 0; i < w->r->n; i++)
        if (crossgpu_gpu(w->c, w->r->run[i].gpu) == w->c->n_gpus) {
            fprintf(stderr,
                    "layermeter: %s:%d: '%s' was not learned from: all is told by datasheets, "
                    "roughly\n",
                    w->r->path, w->r->run[i].line, w->r->run[i].gpu);
            return;
        }
}

static lm_status predict_runs(work *w, lm_error *err)
{
    const char *from   = w->a->from.n ? w->a->from.at[0] : NULL;
    lm_status   status = LM_OK;

    for (size_t i = 0; i < w->r->n && !status; i++) {
        if (from && !device_same_name(w->r->run[i].gpu, from))
            continue;
        status = predict_run(w, &w->r->run[i], err);
        w->n_sources++;
    }
    if (!status && !w->n_sources)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s: no run on '%s' (--from)", w->r->path, from);
    return status;
}

static lm_status open_all(work *w, const char *path, lm_error *err)
{
    lm_status status = devices_open(w->a->devices, &w->devices, err);

    if (status || (status = crossgpu_load(w->a->learned, &w->c, err)) ||
        (status = runs_load(path, &w->r, err)) || (status = find_targets(w, err)) ||
        (status = find_prices(w, err)))
        return status;
    w->place = malloc((w->c->s.n_metrics + 1) * sizeof *w->place);
    w->x     = malloc(space_n_run(&w->c->s) * sizeof *w->x);
    if (!w->place || !w->x)
        return no_memory(err);
    return space_place(&w->c->s, w->r, w->place, err);
}

lm_status transfer_runs(const char *path, const transfer_command *a, lm_error *err)
{
    work      w = { .a = a, .by_cost = a->runs.sort == RUNS_COST, .t = table_new() };
    lm_status status;

    if (!(status = open_all(&w, path, err))) {
        tell_unlearned(&w);
        add_columns(w.t, w.currency);
        if (!(status = predict_runs(&w, err)))
            status = table_print(w.t, a->format, stdout, err);
    }
    work_free(&w);
    return status;
}
