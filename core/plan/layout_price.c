/* Seconds of the step of one layout, by sums over its layers. */
#include "plan/layout_price.h"

#include <math.h>
#include <string.h>

/* ---- messages ---- */

/* Seconds of a message of gradients or weights. Gradients of experts go to fewer ranks. */
static double shared_message(layout_pricing *p, collective_kind kind, double bytes, double experts)
{
    return layout_message(p, kind, bytes - experts, GROUP_DATA) +
           (experts > 0 ? layout_message(p, kind, experts, GROUP_SAME_EXPERTS) : 0);
}

/* Exposed seconds of equal buckets, one for each block, each sent when it is ready. A closed form
 * of overlap_sums() for n buckets of C / n seconds, ready at b / n, 2 b / n, ... */
static double behind(double pass, double seconds, double buckets)
{
    const double n = fmax(1, buckets);

    return fmax(pass / n + seconds - pass, seconds / n);
}

/* Exposed seconds of the gradients of weights `c` behind a pass. */
static double exposed(layout_pricing *p, const layout *l, const layer_cost *c, double blocks,
                      double pass)
{
    const double all = p->q->gradients;

    return behind(pass,
                  shared_message(p, l->zero ? COLLECTIVE_REDUCESCATTER : COLLECTIVE_ALLREDUCE,
                                 all * c->weights, all * c->experts),
                  blocks);
}

static double gather_seconds(void *context, collective_kind kind, double bytes, rank_group group)
{
    return layout_message(context, kind, bytes, group);
}

static gather_price price_gather(void *context, const gather_block *b)
{
    const layout_pricing *p = context;

    return gather_price_of(b, p->group, gather_seconds, context);
}

/* ---- passes of a stage ---- */

static double forward_of(const layer_cost *c)
{
    return c->forward + c->waited[0];
}

/* The part of the forward pass that runs again: of computing (waits false), or of waiting. */
static double repeated(const layer_cost *c, layout_repeat again, bool waits)
{
    if (again == REPEAT_ALL)
        return waits ? c->waited[0] : c->forward;
    return again == REPEAT_CORE ? c->again[waits] : 0;
}

static double repeat_of(const layer_cost *c, layout_repeat again)
{
    return repeated(c, again, false) + repeated(c, again, true);
}

static double backward_of(const layer_cost *c, layout_repeat again)
{
    return c->input + c->weight + c->waited[1] + repeat_of(c, again);
}

/* A block to gather. The same share of each layer is trained. */
static gather_block block_of(const layout_question *q, const layer_cost *c, layout_repeat again)
{
    return (gather_block){ .bytes    = c->weights,
                           .trained  = q->gradients * c->weights,
                           .experts  = { c->experts, q->gradients * c->experts },
                           .forward  = forward_of(c),
                           .backward = backward_of(c, again) };
}

/* Difference of sums. */
static layer_cost between(const layer_cost *from, const layer_cost *to)
{
    return (
        layer_cost){ .forward = to->forward - from->forward,
                     .input   = to->input - from->input,
                     .weight  = to->weight - from->weight,
                     .waited = { to->waited[0] - from->waited[0], to->waited[1] - from->waited[1] },
                     .weights = to->weights - from->weights,
                     .experts = to->experts - from->experts };
}

/* Extra seconds of a micro-batch's passes in a stage whose weights are gathered block by block. */
static double gathered(layout_pricing *p, const layout *l, int64_t v, double *forward)
{
    const layout_stages *s     = &p->now;
    const layout_repeat  again = layout_again(l);
    const layer_cost    *all   = &s->stage[v];
    const int64_t        n     = s->begin[v + 1] - s->begin[v];
    gather_block        *root  = &p->block[0];
    gather_times         t;

    *root = block_of(p->q, all, again);
    for (int64_t i = 0; i < n; i++) {
        const layer_cost *at   = &s->parts->before[s->begin[v] + i];
        const layer_cost  c    = between(at, at + 1);
        gather_block     *b    = &p->block[i + 1];
        const double      same = i ? b[-1].bytes : NAN;

        *b = block_of(p->q, &c, again);
        root->forward -= b->forward;
        root->backward -= b->backward;
        root->bytes -= b->bytes;
        root->experts[0] -= b->experts[0];
        if (fabs(b->bytes - same) <= 1e-9 * same) { /* differences of sums differ in last bits */
            b->bytes      = b[-1].bytes;
            b->trained    = b[-1].trained;
            b->experts[0] = b[-1].experts[0];
            b->experts[1] = b[-1].experts[1];
        }
    }
    root->bytes      = fmax(0, root->bytes);
    root->experts[0] = root->bytes > 0 ? fmax(0, root->experts[0]) : 0;
    root->trained    = p->q->gradients * root->bytes;
    root->experts[1] = p->q->gradients * root->experts[0];
    t                = gather_run(p->block, (size_t)n + 1, 1, 1, price_gather, p);
    *forward         = t.forward - forward_of(all);
    return t.backward - backward_of(all, again);
}

static layout_order order_of(const layout *l)
{
    return (layout_order){ .schedule     = l->schedule,
                           .again        = layout_again(l),
                           .accumulation = l->accumulation,
                           .each         = l->fsdp        ? l->fsdp
                                           : l->zero == 3 ? l->dp * l->cp
                                           : l->zero == 2 ? -2
                                                          : 0 };
}

static bool same_order(const layout_order *a, const layout_order *b)
{
    return a->schedule == b->schedule && a->again == b->again &&
           a->accumulation == b->accumulation && a->each == b->each;
}

/* Lengthens a stage's passes by the messages of each micro-batch. */
static void add_each(layout_pricing *p, const layout *l, int64_t v)
{
    const layout_stages *s    = &p->now;
    const layer_cost    *c    = &s->stage[v];
    const double         back = c->input + c->weight + c->waited[1];
    double               more, forward = 0;

    if (l->zero == 2)
        more = exposed(p, l, c, (double)(s->begin[v + 1] - s->begin[v]), back);
    else
        more = gathered(p, l, v, &forward);
    p->stage[v].forward += forward;
    p->stage[v].input += more;
    p->wait[v % l->pp] += forward + more;
}

/* Seconds of all micro-batches in a rank's stages. */
static double work_of(const layout_pricing *p, const layout *l, int64_t rank)
{
    double work = 0;

    for (int64_t v = rank; v < l->pp * l->vp; v += l->pp)
        work += p->stage[v].forward + p->stage[v].input + p->stage[v].weight;
    return (double)l->accumulation * work;
}

/* Lower bound of a pipeline's seconds; NAN: unknown. A rank waits for the first micro-batch and
 * does its work; then the ranks before it still have the last micro-batch's backward pass. With
 * separate weight gradients (ZB-H1) that pass may end earlier. */
static double least_of(const layout_pricing *p, const layout *l)
{
    double before = 0, after = 0, most = 0;

    for (int64_t r = 0; r < l->pp; r++) {
        const double least = before + work_of(p, l, r) + after;

        if (isnan(least))
            return least;
        most = fmax(most, least);
        before += p->stage[r].forward;
        after += l->schedule == PIPELINE_ZB_H1 ? 0 : p->stage[r].input + p->stage[r].weight;
    }
    return most;
}

/* Fills in the passes of all virtual stages. */
static void fill_stages(layout_pricing *p, const layout *l)
{
    const layout_order of = order_of(l);
    const double       sent =
        layout_message(p, COLLECTIVE_SENDRECV, p->now.parts->boundary, GROUP_STAGES);

    if (p->is_filled && same_order(&p->filled, &of))
        return;
    for (int64_t r = 0; r < l->pp; r++)
        p->wait[r] = 0;
    for (int64_t v = 0; v < l->pp * l->vp; v++) {
        const layer_cost *c    = &p->now.stage[v];
        const double      pass = forward_of(c);

        p->stage[v] = (pipeline_stage){ .forward = pass,
                                        .input   = c->input + c->waited[1] + repeat_of(c, of.again),
                                        .weight  = c->weight,
                                        .send    = sent,
                                        .back    = sent };
        if (of.each)
            add_each(p, l, v);
    }
    p->least     = isnan(sent) ? NAN : least_of(p, l);
    p->filled    = of;
    p->is_filled = true;
}

/* ---- a step ---- */

/* Exposed seconds of a rank's gradients and weights behind its last backward pass of `pass`
 * seconds. */
static double data_seconds(layout_pricing *p, const layout *l, int64_t rank, double pass)
{
    const layer_cost *c   = &p->now.rank[rank];
    const double      all = p->q->gradients;
    double            sum = 0;

    if (l->dp * l->cp > 1 && !l->fsdp && l->zero < 3) {
        if (l->zero < 2)
            sum += exposed(p, l, c, p->now.blocks[rank], pass);
        if (l->zero)
            sum += shared_message(p, COLLECTIVE_ALLGATHER, all * c->weights, all * c->experts);
    }
    /* weights that the first and the last stage share */
    if (l->pp > 1 && p->now.parts->tied > 0 && (rank == 0 || rank + 1 == l->pp))
        sum += layout_message(p, COLLECTIVE_ALLREDUCE, p->now.parts->tied, GROUP_STAGES);
    return sum;
}

/* Seconds of a rank's part of the update. */
static double update_seconds(const layout_pricing *p, const layout *l, int64_t rank)
{
    const layout_parts *parts = p->now.parts;
    const layer_cost   *c     = &p->now.rank[rank];
    const double        whole =
        parts->before[p->q->facts.blocks].weights + parts->first.weights + parts->last.weights;

    return parts->update * layout_updated(l, c->weights, c->experts) / whole;
}

/* Seconds of a step on one rank. */
typedef struct rank_step {
    double seconds, share[N_LAYOUT_SHARES];
} rank_step;

/* `end`: end of the rank's last task. */
static rank_step step_on(layout_pricing *p, const layout *l, int64_t rank, double end)
{
    const layer_cost   *c     = &p->now.rank[rank];
    const layout_repeat again = layout_again(l);
    const double        micro = (double)l->accumulation;
    const double        wait  = micro * p->wait[rank];
    const double        data  = data_seconds(p, l, rank, backward_of(c, again) / (double)l->vp);
    rank_step           out   = { .share = {
                                      [SHARE_COMPUTE] = micro * (c->forward + repeated(c, again, false) +
                                                     c->input + c->weight),
                                      [SHARE_TENSOR] =
                                          micro * (c->waited[0] + repeated(c, again, true) + c->waited[1]),
                                      [SHARE_DATA]   = data + wait,
                                      [SHARE_UPDATE] = update_seconds(p, l, rank),
                      } };

    out.share[SHARE_PIPELINE] =
        fmax(0, end - wait - out.share[SHARE_COMPUTE] - out.share[SHARE_TENSOR]);
    out.seconds = end + data + out.share[SHARE_UPDATE];
    return out;
}

static void put_bounds(const layout_question *q, const layout_parts *parts, layout_found *out)
{
    out->pass[0]    = parts->low;
    out->pass[1]    = parts->high;
    out->message[0] = q->low;
    out->message[1] = q->high;
    out->low        = layouts_at(out, parts->low, q->low);
    out->high       = layouts_at(out, parts->high, q->high);
}

static bool unknown(const layout_parts *parts, const layout_question *q)
{
    const layer_cost *c = &parts->before[q->facts.blocks], *f = &parts->first, *l = &parts->last;

    return isnan(c->forward + c->input + c->weight + c->waited[0] + c->waited[1] + f->forward +
                 f->input + f->weight + l->forward + l->input + l->weight + parts->update);
}

lm_status layout_least(layout_pricing *p, const layout *l, double *out, lm_error *err)
{
    const lm_status status = layout_take(p, l, err);

    if (status)
        return status;
    *out = NAN;
    if (unknown(p->now.parts, p->q))
        return LM_OK;
    fill_stages(p, l);
    *out = p->least;
    return LM_OK;
}

/* Is a pipeline's step certainly longer than `bound`, even if each rank ends its tasks as early as
 * possible? */
static bool is_above(layout_pricing *p, const layout *l, double bound)
{
    double before = 0;

    if (p->least > bound)
        return true;
    for (int64_t r = 0; r < l->pp; r++) {
        if (step_on(p, l, r, before + work_of(p, l, r)).seconds > bound)
            return true;
        before += p->stage[r].forward;
    }
    return false;
}

/* Writes the end of each rank, in seconds, into p->rank. */
static lm_status run_pipeline(layout_pricing *p, const layout *l, lm_error *err)
{
    pipeline_question q = layout_pipeline(l);
    double            step;
    lm_status         status;

    if (p->has_run && same_order(&p->ran, &p->filled))
        return LM_OK;
    q.stage = p->stage;
    p->run++;
    p->has_run = false;
    if ((status = pipeline_run(&q, &step, p->rank, NULL, NULL, err)))
        return status;
    p->ran     = p->filled;
    p->has_run = true;
    return LM_OK;
}

lm_status layout_seconds(layout_pricing *p, const layout *l, double bound, layout_found *out,
                         lm_error *err)
{
    rank_step slowest = { .seconds = -1 };
    double    least   = NAN;
    lm_status status  = layout_least(p, l, &least, err);

    if (status)
        return status;
    *out = (layout_found){ .layout = *l, .step = NAN };
    if (isnan(least))
        return LM_OK;
    out->step = INFINITY;
    if (l->pp > 1 ? is_above(p, l, bound) : least > bound)
        return LM_OK;
    if (l->pp > 1 && (status = run_pipeline(p, l, err)))
        return status;
    for (int64_t r = 0; r < l->pp; r++) {
        const rank_step s = step_on(p, l, r, l->pp > 1 ? p->rank[r].end : least);

        if (!(s.seconds <= slowest.seconds)) /* NAN stays */
            slowest = s;
    }
    out->step = slowest.seconds;
    memcpy(out->share, slowest.share, sizeof out->share);
    put_bounds(p->q, p->now.parts, out);
    return LM_OK;
}

/* ---- one alone ---- */

static lm_status check(const layout *l, lm_error *err)
{
    if (*l->stages && strcmp(l->stages, "balanced") != 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "stages=%.60s are not searched", l->stages);
    if (layout_again(l) == N_LAYOUT_REPEATS)
        return lm_error_set(err, LM_E_UNSUPPORTED, "recompute=%.60s is not searched", l->recompute);
    return LM_OK;
}

lm_status layouts_price(const layout_question *q, const layout_prices *prices, const layout *l,
                        layout_found *out, lm_error *err)
{
    layout_pricing p;
    lm_status      status = check(l, err);

    if (status)
        return status;
    layout_pricing_begin(&p, q, prices);
    if (!(status = layout_seconds(&p, l, INFINITY, out, err)))
        out->bytes = layout_bytes(&p, l);
    layout_pricing_end(&p);
    return status;
}
