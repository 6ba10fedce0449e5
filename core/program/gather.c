/* A step on two streams: computation, and gathering of weights block by block. */
#include "program/gather.h"

#include <math.h>
#include <stdbool.h>

/* The two streams, in seconds from the start of the pass. */
typedef struct streams {
    double compute, message; /* end of the last work on each stream */
    double messages;
} streams;

static double send(streams *s, double from, double seconds)
{
    s->message = fmax(s->message, from) + seconds;
    s->messages += seconds;
    return s->message;
}

/* Messages of one kind of weights: a block's, or its experts'. Both have shards on the same number of
 * replicas. */
static gather_price price_part(const rank_span *group, rank_group shard, double bytes,
                               double trained, gather_message *seconds, void *context)
{
    const double ranks = (double)group[shard].nodes * (double)group[shard].devices;
    gather_price p     = { 0, 0 };

    if (bytes > 0)
        p.gather = seconds(context, COLLECTIVE_ALLGATHER, bytes, shard);
    if (trained > 0)
        p.scatter = seconds(context, COLLECTIVE_REDUCESCATTER, trained, shard) +
                    seconds(context, COLLECTIVE_ALLREDUCE, trained / ranks, GROUP_REPLICA);
    return p;
}

gather_price gather_price_of(const gather_block *b, const rank_span *group, gather_message *seconds,
                             void *context)
{
    gather_price       p = price_part(group, GROUP_SHARD, b->bytes - b->experts[0],
                                      b->trained - b->experts[1], seconds, context);
    const gather_price own =
        price_part(group, GROUP_EXPERT_SHARD, b->experts[0], b->experts[1], seconds, context);

    p.gather += own.gather;
    p.scatter += own.scatter;
    return p;
}

/* Blocks are often equal: the last price holds for the next one. */
typedef struct priced_gather {
    gather_prices      *price;
    void               *context;
    const gather_block *of; /* NULL: none so far */
    gather_price        last;
} priced_gather;

static bool same_bytes(const gather_block *a, const gather_block *b)
{
    return a->bytes == b->bytes && a->trained == b->trained && a->experts[0] == b->experts[0] &&
           a->experts[1] == b->experts[1];
}

static const gather_price *price_of(priced_gather *p, const gather_block *b)
{
    static const gather_price nothing = { 0, 0 }; /* of an empty root */

    if (!(b->bytes > 0))
        return &nothing;
    if (!p->of || !same_bytes(p->of, b))
        p->last = p->price(p->context, b);
    p->of = b;
    return &p->last;
}

/* Gathering of a block may begin when the block before it begins to compute. */
static void run_forward(const gather_block *block, size_t n, double forward, priced_gather *p,
                        streams *s)
{
    double begun = 0;

    send(s, 0, price_of(p, &block[0])->gather);
    s->compute = s->message; /* the root's weights come first */
    for (size_t k = 1; k < n; k++) {
        const double there = send(s, begun, price_of(p, &block[k])->gather);

        begun      = fmax(s->compute, there);
        s->compute = begun + block[k].forward * forward;
    }
    s->compute += block[0].forward * forward;
}

static void run_backward(const gather_block *block, size_t n, double backward, priced_gather *p,
                         streams *s)
{
    double there = 0;

    if (n > 1)
        there = send(s, 0, price_of(p, &block[n - 1])->gather);
    s->compute = block[0].backward * backward;
    for (size_t k = n; k-- > 1;) {
        const double begun = fmax(s->compute, there);

        if (k > 1)
            there = send(s, begun, price_of(p, &block[k - 1])->gather);
        s->compute = begun + block[k].backward * backward;
        send(s, s->compute, price_of(p, &block[k])->scatter);
    }
    send(s, s->compute, price_of(p, &block[0])->scatter);
}

gather_times gather_run(const gather_block *block, size_t n, double forward, double backward,
                        gather_prices *price, void *context)
{
    priced_gather p    = { price, context, NULL, { NAN, NAN } };
    streams       fore = { 0 }, back = { 0 };

    run_forward(block, n, forward, &p, &fore);
    run_backward(block, n, backward, &p, &back);
    return (gather_times){ .forward  = fore.compute,
                           .backward = fmax(back.compute, back.message),
                           .messages = fore.messages + back.messages };
}
