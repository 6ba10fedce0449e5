/* Bytes of the fullest rank of a layout, by sums over its layers. */
#include <math.h>

#include "plan/layout_price.h"

/* What waits for the backward pass on a rank. A block that is recomputed keeps its inputs. */
static double kept_of(const layout_pricing *p, const layout *l, int64_t rank)
{
    const layout_parts     *parts  = p->now.parts;
    const pipeline_question q      = layout_pipeline(l);
    const double            flight = (double)pipeline_in_flight(&q, rank);
    const double            blocks = (double)p->q->facts.blocks;
    const double            one = blocks > 0 ? parts->before[p->q->facts.blocks].kept / blocks : 0;
    const bool              first = rank == 0, last = rank + 1 == l->pp, again = layout_again(l);
    double                  chunk = p->now.rank[rank].kept, bytes;

    chunk -= first * parts->first.kept + last * parts->last.kept;
    chunk = again ? parts->boundary * p->now.blocks[rank] : chunk / (double)l->vp;
    bytes = flight * chunk + (again ? one : 0);
    if (first)
        bytes += parts->first.kept * fmin(flight, (double)l->accumulation);
    if (last) /* 1F1B goes back at once */
        bytes +=
            parts->last.kept * (q.rule == PIPELINE_GPIPE || q.rule == PIPELINE_ZB_H1 ? flight : 1);
    return bytes + (l->pp > 1 ? 2 * parts->boundary : 0) + parts->transient;
}

static void fill_kept(layout_pricing *p, const layout *l)
{
    const layout_order *k = &p->kept_for, of = { l->schedule, layout_again(l), l->accumulation, 0 };

    if (p->is_kept && k->schedule == of.schedule && k->again == of.again &&
        k->accumulation == of.accumulation)
        return;
    for (int64_t r = 0; r < l->pp; r++)
        p->kept[r] = kept_of(p, l, r);
    p->kept_for = of;
    p->is_kept  = true;
}

/* A rank's share of bytes that ranks share; fewer share those of experts. */
static double shared(const layer_cost *c, double ranks, double ep)
{
    return (c->weights - c->experts) / ranks + c->experts * ep / ranks;
}

/* Weights that are gathered: the block that runs, and the next; what lies in no block stays. */
static double gathered(const layout_pricing *p, const layout *l, int64_t rank)
{
    const layout_parts *parts  = p->now.parts;
    const double        blocks = (double)p->q->facts.blocks;

    return (blocks > 0 ? 2 * parts->before[p->q->facts.blocks].weights / blocks : 0) +
           (rank == 0 ? parts->first.weights : 0) + (rank + 1 == l->pp ? parts->last.weights : 0);
}

/* Gradients are there beside all that is kept, but for those of the only micro-batch of a step: it lets
 * go of what is kept as they come. */
static double bytes_of(const layout_pricing *p, const layout *l, int64_t rank)
{
    const layer_cost *c     = &p->now.rank[rank];
    const bool        whole = l->zero < 3 && !l->fsdp; /* weights are */
    const double      ranks = (double)(l->fsdp ? l->fsdp : l->dp * l->cp), ep = (double)l->ep;
    const double      share     = whole && !l->zero ? c->weights : shared(c, ranks, ep);
    const double      held      = whole ? c->weights : share + gathered(p, l, rank);
    const double      gradients = p->q->gradients * (whole && l->zero < 2 ? c->weights : share);

    return held + p->q->states * share +
           (l->accumulation == 1 ? fmax(gradients, p->kept[rank]) : gradients + p->kept[rank]);
}

double layout_bytes(layout_pricing *p, const layout *l)
{
    double most = 0;

    fill_kept(p, l);
    for (int64_t r = 0; r < l->pp; r++)
        most = fmax(most, bytes_of(p, l, r));
    return most + p->q->overhead;
}
