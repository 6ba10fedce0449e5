/** Bytes and seconds of one layout, and what was asked for others. */
#ifndef PLAN_LAYOUT_PRICE_H
#define PLAN_LAYOUT_PRICE_H

#include "plan/layouts.h"
#include "program/gather.h"

#define LAYOUT_MESSAGES 4096 /* prices that are kept */
#define LAYOUT_SPREADS  1021 /* balanced stages that are kept */

/* Parts that were asked for. */
typedef struct known_parts {
    net_shard           shard;
    int64_t             micro_batch;
    const layout_parts *parts; /* NULL: the network does not divide so */
} known_parts;

/* The stages of the layout that is in work. */
typedef struct layout_stages {
    const layout_parts *parts;
    int64_t             pp, vp;
    bool                balanced;
    layer_cost         *stage;  /* pp * vp */
    layer_cost         *rank;   /* pp: sums of these */
    double             *blocks; /* pp: of a chunk of the rank, in the mean */
    int64_t            *begin;  /* pp * vp + 1: first block of each stage */
} layout_stages;

/* What a pipeline's seconds depend on beside its stages. */
typedef struct layout_order {
    pipeline_rule schedule;
    bool          again;
    int64_t       accumulation;
    int64_t       each; /* what travels in each micro-batch: 0 nothing, 2 of ZeRO's second stage,
                             else ranks that share the weights */
} layout_order;

typedef struct layout_pricing {
    const layout_question *q;
    const layout_prices   *prices;
    known_parts           *parts;
    size_t                 n_parts, parts_room;
    layout_parts           supposed;
    layer_cost            *before; /* of `supposed` */
    struct known_message {
        double          bytes, seconds;
        rank_span       group;
        collective_kind kind;
        bool            used;
    } message[LAYOUT_MESSAGES];
    struct known_spread {
        const double *flops; /* of the part's blocks; NULL: empty */
        int64_t       stages, *begin;
    } spread[LAYOUT_SPREADS];
    layout    groups_of; /* layout of the groups; tp 0: none */
    rank_span group[N_RANK_GROUPS];
    bool      uneven; /* they do not spread evenly over nodes */

    layout_stages   now;
    pipeline_stage *stage; /* pp * vp, with what travels in each micro-batch */
    double         *wait;  /* pp: s of this, of a rank in a micro-batch */
    double         *kept;  /* pp: bytes of what waits for the backward pass */
    pipeline_rank  *rank;  /* pp: of the last pipeline that was run */
    gather_block   *block; /* blocks + 1 */
    size_t          room;
    layout_order    filled, kept_for, ran; /* what these are of */
    bool            is_filled, is_kept, has_run;
    double          least; /* s of passes, of `filled` */
    size_t          run;
} layout_pricing;

void layout_pricing_begin(layout_pricing *p, const layout_question *q, const layout_prices *prices);
void layout_pricing_end(layout_pricing *p);

/** Takes a layout in work: parts, groups, stages. Before all that follows. LM_E_ARG where groups do not
 * spread evenly over nodes; LM_E_UNSUPPORTED where the network does not divide so. */
lm_status layout_take(layout_pricing *p, const layout *l, lm_error *err);
/** Parts that were asked for; NULL: they were not. */
const known_parts *layout_known(const layout_pricing *p, const net_shard *shard,
                                int64_t micro_batch);
/** Until layout_pricing_forget(), a layout's part is a share of what a part with fewer ranks of cp has: of
 * its seconds, of what it keeps, not of its weights. LM_E_NOMEM */
lm_status layout_pricing_suppose(layout_pricing *p, const layout *l, const known_parts *larger,
                                 lm_error *err);
void      layout_pricing_forget(layout_pricing *p);
/** Seconds of a message of a group, asked for once. */
double layout_message(layout_pricing *p, collective_kind kind, double bytes, rank_group group);
/** Do its passes run again? */
bool layout_again(const layout *l);
/** What a pipeline is asked with, but its stages. */
pipeline_question layout_pipeline(const layout *l);

/** Of the fullest rank, with the overhead. */
double layout_bytes(layout_pricing *p, const layout *l);

/** No step of these passes is shorter, however weights are shared; NAN: no price is known. */
lm_status layout_least(layout_pricing *p, const layout *l, double *out, lm_error *err);
/** All but bytes; step INFINITY: above `bound`, and not priced further; NAN: not known. */
lm_status layout_seconds(layout_pricing *p, const layout *l, double bound, layout_found *out,
                         lm_error *err);

/** Its pipeline's tasks. */
lm_status layout_run(layout_pricing *p, const layout *l, pipeline_take take, void *by,
                     lm_error *err);

#endif
