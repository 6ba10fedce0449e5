/* Bytes of the fullest rank of a layout, by sums over its layers. */
#include <math.h>

#include "plan/layout_price.h"

/* Bytes of the input that a recomputed block keeps. */
static double input_of(const layout_parts *parts)
{
    return parts->input > 0 ? parts->input : parts->boundary;
}

static double kept_by(const layer_cost *c, layout_repeat again)
{
    return c->kept - (again == REPEAT_CORE ? c->freed : 0);
}

static double transient_of(const layout_parts *parts, layout_repeat again)
{
    return again == REPEAT_CORE && parts->regained > 0 ? parts->regained : parts->transient;
}

/* Bytes that a rank keeps for the backward pass. A recomputed block keeps its input; that of the
 * first block belongs to the layers in front of it. */
static double kept_of(const layout_pricing *p, const layout *l, int64_t rank)
{
    const layout_parts     *parts  = p->now.parts;
    const pipeline_question q      = layout_pipeline(l);
    const double            flight = (double)pipeline_in_flight(&q, rank);
    const double            blocks = (double)p->q->facts.blocks;
    const double            one = blocks > 0 ? parts->before[p->q->facts.blocks].kept / blocks : 0;
    const bool              first = rank == 0, last = rank + 1 == l->pp;
    const layout_repeat     again = layout_again(l);
    double                  chunk = kept_by(&p->now.rank[rank], again), bytes;

    chunk -= first * kept_by(&parts->first, again) + last * kept_by(&parts->last, again);
    chunk = again == REPEAT_ALL
                ? input_of(parts) * (p->now.blocks[rank] - (first ? 1 / (double)l->vp : 0))
                : chunk / (double)l->vp;
    bytes = flight * chunk + (again == REPEAT_ALL ? one : 0);
    if (first)
        bytes += parts->first.kept * fmin(flight, (double)l->accumulation);
    if (last) /* 1F1B begins the backward pass at once */
        bytes +=
            parts->last.kept * (q.rule == PIPELINE_GPIPE || q.rule == PIPELINE_ZB_H1 ? flight : 1);
    return bytes + (l->pp > 1 ? 2 * parts->boundary : 0) + transient_of(parts, again);
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

/* A rank's share of weights. Fewer ranks share those of experts. */
static double shared(const layer_cost *c, double ranks, double ep)
{
    return (c->weights - c->experts) / ranks + c->experts * ep / ranks;
}

static double block_weights(const layout_pricing *p)
{
    const double n = (double)p->q->facts.blocks;

    return n > 0 ? p->now.parts->before[p->q->facts.blocks].weights / n : 0;
}

/* Bytes of gathered weights: the running block and the next; layers outside of blocks stay
 * gathered. */
static double gathered(const layout_pricing *p, const layout *l, int64_t rank)
{
    const layout_parts *parts = p->now.parts;

    return 2 * block_weights(p) + (rank == 0 ? parts->first.weights : 0) +
           (rank + 1 == l->pp ? parts->last.weights : 0);
}

/* Bytes of a rank's gradients. From ZeRO's second stage on a gradient is whole only until its
 * block's backward pass ends; those of layers behind the blocks until the end of the pass. Where
 * wider sums are kept, only until its layer's pass ends, which is not counted. */
static double gradients_of(const layout_pricing *p, const layout *l, int64_t rank, double share)
{
    const double all = p->now.rank[rank].weights;

    if (l->zero < 2 && !l->fsdp)
        return p->q->summed * all;
    if (p->q->summed > p->q->gradients * p->q->held)
        return p->q->summed * share;
    return p->q->summed * fmin(all, share + block_weights(p) +
                                        (rank + 1 == l->pp ? p->now.parts->last.weights : 0));
}

/* The larger of two moments. At the end of the forward pass all 16-bit copies of weights exist; for
 * recomputed layers this is the last time. In the backward pass gradients exist beside the kept
 * tensors. With a single micro-batch, kept tensors are freed as gradients appear. */
static double bytes_of(const layout_pricing *p, const layout *l, int64_t rank)
{
    const layer_cost   *c     = &p->now.rank[rank];
    const layout_repeat again = layout_again(l);
    const bool          whole = l->zero < 3 && !l->fsdp;
    const double        ranks = (double)(l->fsdp ? l->fsdp : l->dp * l->cp), ep = (double)l->ep;
    const double        share = whole && !l->zero ? c->weights : shared(c, ranks, ep);
    const double        held =
        p->q->held * (whole ? c->weights : share + gathered(p, l, rank)) + p->q->states * share;
    const double gradients = gradients_of(p, l, rank, share), kept = p->kept[rank];
    const double sums     = whole && l->zero < 2 ? gradients : p->q->summed * share;
    const double backward = p->q->copies * (again == REPEAT_ALL ? block_weights(p) : c->weights) +
                            (l->accumulation == 1 ? fmax(gradients, kept) : gradients + kept);
    const double turn = p->q->copies * c->weights + kept - transient_of(p->now.parts, again) +
                        (l->accumulation > 1 || l->pp > 1 ? sums : 0);

    return held + fmax(backward, turn);
}

double layout_bytes(layout_pricing *p, const layout *l)
{
    double most = 0;

    fill_kept(p, l);
    for (int64_t r = 0; r < l->pp; r++)
        most = fmax(most, bytes_of(p, l, r));
    return most + p->q->overhead;
}
