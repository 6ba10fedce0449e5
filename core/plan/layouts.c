/* Layouts that divide network and devices, and the best of them. */
#include "plan/layouts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "plan/layout_price.h"

#define SHAPES_MAX 1024 /* pairs of tp and pp */

/* A layout whose bytes were asked for. */
typedef struct weighed {
    layout layout;
    double bytes;
} weighed;

typedef struct hunt {
    const layout_question *q;
    layout_pricing         pricing;
    layout_found          *shape; /* the best of each tp and pp, the fastest first */
    weighed               *known;
    size_t                 n_known, room;
    layout_search         *out;
    lm_error              *err;
} hunt;

/* ---- the best of each shape ---- */

/* Seconds that a layout must beat: the best of its shape, and the last wanted one. */
static double bound_of(const hunt *h, const layout *l)
{
    double bound = h->out->n >= h->q->best ? h->shape[h->q->best - 1].step : INFINITY;

    for (size_t i = 0; i < h->out->n; i++)
        if (h->shape[i].layout.tp == l->tp && h->shape[i].layout.pp == l->pp)
            return fmin(bound, h->shape[i].step);
    return bound;
}

/* Inserts the layout in order; an older one of its shape is removed. */
static void keep(hunt *h, const layout_found *f)
{
    size_t n = 0, at;

    for (size_t i = 0; i < h->out->n; i++)
        if (h->shape[i].layout.tp != f->layout.tp || h->shape[i].layout.pp != f->layout.pp)
            h->shape[n++] = h->shape[i];
    if (n == SHAPES_MAX)
        n--;
    for (at = n; at > 0 && h->shape[at - 1].step > f->step; at--)
        h->shape[at] = h->shape[at - 1];
    h->shape[at] = *f;
    h->out->n    = n + 1;
}

/* Counts a layout that exceeds the memory. */
static bool too_large(hunt *h, double bytes)
{
    if (!(bytes > h->q->room))
        return false;
    h->out->too_large++;
    h->out->least_bytes = fmin(h->out->least_bytes, bytes);
    return true;
}

/* Of one search: they have the same ranks and global batch. */
static bool same_layout(const layout *a, const layout *b)
{
    return a->tp == b->tp && a->pp == b->pp && a->vp == b->vp && a->sp == b->sp &&
           a->zero == b->zero && a->micro_batch == b->micro_batch && a->schedule == b->schedule &&
           !strcmp(a->recompute, b->recompute);
}

/* What was asked for; NULL: it was not. */
static const weighed *find_known(const hunt *h, const layout *l)
{
    for (size_t i = 0; i < h->n_known; i++)
        if (same_layout(&h->known[i].layout, l))
            return &h->known[i];
    return NULL;
}

static lm_status look_at(hunt *h, const layout *l)
{
    const weighed *known;
    layout_found   f;
    double         bytes;
    lm_status      status;

    h->out->looked_at++;
    if ((status = layout_bytes(&h->pricing, l, &bytes, h->err)))
        return status;
    if (too_large(h, bytes))
        return LM_OK;
    if ((status = layout_seconds(&h->pricing, l, bound_of(h, l), &f, h->err)))
        return status;
    if (isnan(f.step)) {
        h->out->no_time++;
        return LM_OK;
    }
    if (!(f.step < bound_of(h, l)))
        return LM_OK;
    known   = find_known(h, l);
    f.bytes = known ? known->bytes : bytes;
    if (!too_large(h, f.bytes))
        keep(h, &f);
    return LM_OK;
}

/* Asks for the bytes of the best. *again: some do not fit, so that others are among them. */
static lm_status weigh_best(hunt *h, bool *again)
{
    const layout_prices *p      = h->pricing.prices;
    lm_status            status = LM_OK;

    *again = false;
    for (size_t i = 0; i < h->out->n && i < h->q->best && !status; i++) {
        const layout *l = &h->shape[i].layout;
        double        bytes;

        if (!p->bytes || isinf(h->q->room) || find_known(h, l))
            continue;
        if (!array_grow(&h->known, h->n_known, &h->room, sizeof *h->known))
            return no_memory(h->err);
        if (!(status = p->bytes(p->by, l, &bytes, h->err))) {
            bytes += h->q->overhead;
            h->known[h->n_known++] = (weighed){ *l, bytes };
            h->shape[i].bytes      = bytes;
            *again |= bytes > h->q->room;
        }
    }
    return status;
}

/* ---- enumeration ---- */

/* ZeRO's third stage gathers weights in each micro-batch: with stages that is no layout in use. */
static lm_status with_shards(hunt *h, layout l)
{
    static const char *const recompute[] = { "none", "full" };
    lm_status                status      = LM_OK;

    for (int again = 0; again < 2; again++) {
        strcpy(l.recompute, recompute[again]);
        for (int64_t zero = 0; zero <= 3 && !status; zero++) {
            if (zero == 2 || (zero && l.dp == 1) || (zero == 3 && l.pp > 1))
                continue;
            l.zero = zero;
            status = look_at(h, &l);
        }
    }
    return status;
}

static lm_status with_schedules(hunt *h, layout l)
{
    lm_status status;

    l.vp       = 1;
    l.schedule = LAYOUT_1F1B;
    if ((status = with_shards(h, l)) || l.pp == 1)
        return status;
    l.schedule = LAYOUT_ZERO_BUBBLE;
    status     = with_shards(h, l);
    l.schedule = LAYOUT_INTERLEAVED;
    for (l.vp = 2; l.vp * l.pp <= h->q->facts.blocks && !status; l.vp++)
        if (h->q->facts.blocks % (l.vp * l.pp) == 0 && l.accumulation % l.pp == 0)
            status = with_shards(h, l);
    return status;
}

static lm_status with_batches(hunt *h, layout l)
{
    const int64_t own    = h->q->global_batch / l.dp;
    lm_status     status = LM_OK;

    for (int64_t m = 1; m <= own && m <= h->q->most_micro_batch && !status; m++) {
        if (own % m)
            continue;
        l.micro_batch  = m;
        l.accumulation = own / m;
        for (int sp = 0; sp <= (l.tp > 1) && !status; sp++) {
            l.sp = sp;
            if (!sp || !h->q->facts.tokens || h->q->facts.tokens % l.tp == 0)
                status = with_schedules(h, l);
        }
    }
    return status;
}

static bool divides_heads(const layout_facts *f, int64_t tp)
{
    return f->heads % tp == 0 && f->kv_heads % tp == 0;
}

static lm_status with_stages(hunt *h, layout l)
{
    const int64_t left   = h->q->ranks / l.tp;
    lm_status     status = LM_OK;

    for (l.pp = 1; l.pp <= left && !status; l.pp++) {
        if (left % l.pp || (l.pp > 1 && l.pp > h->q->facts.blocks))
            continue;
        l.dp           = left / l.pp;
        l.global_batch = h->q->global_batch;
        if (h->q->global_batch % l.dp == 0)
            status = with_batches(h, l);
    }
    return status;
}

static lm_status check(const layout_question *q, lm_error *err)
{
    if (q->ranks < 1 || q->devices < 1 || q->global_batch < 1 || q->most_micro_batch < 1 ||
        !q->best)
        return lm_error_set(
            err, LM_E_ARG,
            "%lld ranks on nodes of %lld, a global batch of %lld, micro-batches up to "
            "%lld, the best %zu: all must be 1 or more",
            (long long)q->ranks, (long long)q->devices, (long long)q->global_batch,
            (long long)q->most_micro_batch, q->best);
    return LM_OK;
}

static lm_status look_at_all(hunt *h)
{
    const layout_question *q      = h->q;
    lm_status              status = LM_OK;

    *h->out = (layout_search){ .found = h->shape, .least_bytes = INFINITY };
    for (int64_t tp = 1; tp <= q->devices && tp <= q->ranks && !status; tp++) {
        layout l = layout_plain();

        if (q->ranks % tp || (tp > 1 && (!q->splits || !divides_heads(&q->facts, tp))))
            continue;
        l.tp   = tp;
        status = with_stages(h, l);
    }
    return status;
}

lm_status layouts_find(const layout_question *q, const layout_prices *prices, layout_search *out,
                       lm_error *err)
{
    hunt      h      = { .q = q, .out = out, .err = err };
    bool      again  = true;
    lm_status status = check(q, err);

    *out = (layout_search){ .least_bytes = INFINITY };
    if (status)
        return status;
    h.shape = calloc(SHAPES_MAX + 1, sizeof *h.shape);
    if (!h.shape)
        return no_memory(err);
    layout_pricing_begin(&h.pricing, q, prices);
    while (again && !(status = look_at_all(&h)))
        if ((status = weigh_best(&h, &again)))
            break;
    out->run = h.pricing.run;
    layout_pricing_end(&h.pricing);
    free(h.known);
    if (!status && !out->looked_at)
        status = lm_error_set(
            err, LM_E_ARG, "a global batch of %lld does not divide among %lld ranks in any layout",
            (long long)q->global_batch, (long long)q->ranks);
    if (status)
        layouts_free(out);
    else if (out->n > q->best)
        out->n = q->best;
    return status;
}

void layouts_free(layout_search *s)
{
    free(s->found);
    *s = (layout_search){ .found = NULL };
}

/* ---- words ---- */

const char *layout_share_name(layout_share s)
{
    static const char *const names[N_LAYOUT_SHARES] = {
        [SHARE_COMPUTE]  = "compute",
        [SHARE_TENSOR]   = "tensor messages",
        [SHARE_PIPELINE] = "pipeline bubble",
        [SHARE_DATA]     = "data messages",
        [SHARE_UPDATE]   = "update",
    };

    return names[s];
}

double layouts_at(const layout_found *f, double pass, double message)
{
    const double messages = f->share[SHARE_TENSOR] + f->share[SHARE_DATA];

    return pass * (f->step - messages) + (messages > 0 ? message * messages : 0);
}

bool layouts_tie(const layout_found *a, const layout_found *b)
{
    for (int i = 0; i < 4; i++)
        if (layouts_at(b, a->pass[i / 2], a->message[i % 2]) <=
            layouts_at(a, a->pass[i / 2], a->message[i % 2]))
            return true;
    return false;
}

/* The share with the largest value but for one. */
static layout_share largest(const double *share, int but)
{
    int at = but == 0;

    for (int s = 0; s < N_LAYOUT_SHARES; s++)
        if (s != but && share[s] > share[at])
            at = s;
    return (layout_share)at;
}

const char *layouts_limit(const layout_found *f, char buffer[LAYOUT_SENTENCE])
{
    const layout_share a = largest(f->share, -1), b = largest(f->share, (int)a);

    snprintf(buffer, LAYOUT_SENTENCE, "of its time %s %.0f %%, %s %.0f %%", layout_share_name(a),
             100 * f->share[a] / f->step, layout_share_name(b), 100 * f->share[b] / f->step);
    return buffer;
}

const char *layouts_worse(const layout_found *a, const layout_found *b,
                          char buffer[LAYOUT_SENTENCE])
{
    double       more[N_LAYOUT_SHARES];
    layout_share first, second;
    size_t       n;

    for (int s = 0; s < N_LAYOUT_SHARES; s++)
        more[s] = b->share[s] - a->share[s];
    first  = largest(more, -1);
    second = largest(more, (int)first);
    n      = (size_t)snprintf(buffer, LAYOUT_SENTENCE, "%.1f %% slower: %s +%.1f %%",
                              100 * (b->step / a->step - 1), layout_share_name(first),
                              100 * more[first] / a->step);
    if (more[second] > 0.001 * a->step && n < LAYOUT_SENTENCE)
        snprintf(buffer + n, LAYOUT_SENTENCE - n, ", %s +%.1f %%", layout_share_name(second),
                 100 * more[second] / a->step);
    return buffer;
}
