/* Runs on other GPUs. */
#include "crossgpu/elsewhere.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "base/text.h"

/* A metric is outside of the learned range beyond this share of the range. */
#define OUTSIDE 0.1

/* ---- prices ---------------------------------------------------------------------------------- */

/* In the currency of the first price; without a price the amount is NAN. */
static void find_price(elsewhere *w, gpu_target *t, price_tier tier)
{
    const price *p;
    size_t       among;
    money        hour;

    t->hour.amount = NAN;
    if (prices_of_device(w->prices, w->devices, &(price_asked){ t->to.name, tier, 1 }, &p, &among,
                         NULL) ||
        price_of_node(p, tier, 1, &hour, NULL))
        return;
    if (!*w->currency)
        strcpy(w->currency, hour.currency);
    if (exchange_to(&w->prices->rates, &hour, w->currency, &t->hour, NULL))
        t->hour.amount = NAN;
}

static lm_status find_prices(elsewhere *w, const elsewhere_question *q, lm_error *err)
{
    const lm_status status = prices_open(q->prices, &w->prices, err);

    for (size_t i = 0; i < w->n && !status; i++) {
        find_price(w, &w->target[i], q->tier);
        if (!isnan(w->target[i].hour.amount))
            w->n_priced++;
        else if (strlen(w->unpriced) + 80 < sizeof w->unpriced)
            text_add(w->unpriced, sizeof w->unpriced, "%s'%s'", *w->unpriced ? ", " : "",
                     w->target[i].to.name);
    }
    return status;
}

/* ---- targets --------------------------------------------------------------------------------- */

/* A GPU of the training runs, or another one by its datasheet. */
static lm_status find_gpu(const elsewhere *w, const char *name, gpu *out, lm_error *err)
{
    const size_t i = crossgpu_gpu(w->c, name);

    if (i == w->c->n_gpus)
        return gpu_find(w->devices, name, out, err);
    *out = w->c->gpu[i];
    return LM_OK;
}

static lm_status find_targets(elsewhere *w, const word_list *to, lm_error *err)
{
    lm_status status = LM_OK;

    if (!to->n)
        for (; w->n < w->c->n_gpus; w->n++)
            w->target[w->n].to = w->c->gpu[w->n];
    for (; w->n < to->n && !status; w->n++)
        if ((status = find_gpu(w, to->at[w->n], &w->target[w->n].to, err)))
            lm_error_prefix(err, "--to");
    for (size_t i = 0; i < w->n; i++)
        w->target[i].base_told =
            w->c->method == CROSSGPU_LAYERMETER || !w->c->s.uses[FIGURE_BASE_CLOCK] ||
            figure_known(FIGURE_BASE_CLOCK, w->target[i].to.figure[FIGURE_BASE_CLOCK]);
    return status;
}

/* ---- predictions ----------------------------------------------------------------------------- */

ORDER_BY(by_time, gpu_target, said.seconds)

/* Targets without a price come last. */
static int by_cost(const void *a, const void *b)
{
    const gpu_target *x = a, *y = b;

    if (isnan(x->cost) || isnan(y->cost))
        return isnan(x->cost) - isnan(y->cost) +
               (isnan(x->cost) && isnan(y->cost) ? by_time(a, b) : 0);
    return (x->cost > y->cost) - (x->cost < y->cost);
}

/* Cost of the run on its own GPU. */
static void stay(const gpu_run *of, gpu_target *t)
{
    t->said = (crossgpu_prediction){ of->seconds, of->seconds, of->seconds, BASIS_LEARNED, 0 };
}

lm_status elsewhere_predict(elsewhere *w, const gpu_run *of, bool cost, gpu *from, lm_error *err)
{
    lm_status status = find_gpu(w, of->gpu, from, err);

    if (!status)
        status = space_run(&w->c->s, w->r, of, w->place, from, w->x, err);
    for (size_t i = 0; i < w->n && !status; i++) {
        gpu_target *t = &w->target[i];

        t->here = device_same_name(t->to.name, from->name);
        if (!t->base_told)
            t->to.figure[FIGURE_BASE_CLOCK] = t->to.figure[FIGURE_CLOCK] *
                                              from->figure[FIGURE_BASE_CLOCK] /
                                              from->figure[FIGURE_CLOCK];
        if (t->here)
            stay(of, t);
        else
            status = crossgpu_predict(w->c, w->x, from, &t->to, &t->said, err);
        t->cost = t->hour.amount * t->said.seconds / 3600;
    }
    if (status) {
        lm_error_prefix(err, "%s:%d", w->r->path, of->line);
        return status;
    }
    qsort(w->target, w->n, sizeof *w->target, cost ? by_cost : by_time);
    return LM_OK;
}

bool elsewhere_outside(const elsewhere *w, size_t metric)
{
    const space_metric *m    = &w->c->s.metric[metric];
    const double        room = OUTSIDE * (m->high - m->low);

    return !(w->x[metric] >= m->low - room && w->x[metric] <= m->high + room);
}

lm_status elsewhere_open(const elsewhere_question *q, elsewhere *w, lm_error *err)
{
    lm_status status = devices_open(q->devices, &w->devices, err);

    if (status || (status = crossgpu_load(q->learned, &w->c, err)) ||
        (status = runs_load(q->runs, &w->r, err)) || (status = find_targets(w, &q->to, err)) ||
        (status = find_prices(w, q, err)))
        return status;
    w->place = malloc((w->c->s.n_metrics + 1) * sizeof *w->place);
    w->x     = malloc(space_n_run(&w->c->s) * sizeof *w->x);
    if (!w->place || !w->x)
        return no_memory(err);
    return space_place(&w->c->s, w->r, w->place, err);
}

void elsewhere_free(elsewhere *w)
{
    free(w->place);
    free(w->x);
    runs_free(w->r);
    crossgpu_free(w->c);
    prices_free(w->prices);
    devices_free(w->devices);
}
