/** Bytes and seconds of one layout, with a cache for further layouts. */
#ifndef PLAN_LAYOUT_PRICE_H
#define PLAN_LAYOUT_PRICE_H

#include "plan/layouts.h"
#include "program/gather.h"

#define LAYOUT_MESSAGES 4096 /* number of cached prices */
#define LAYOUT_SPREADS  1021 /* number of cached balanced stages */

/* Cached parts. */
typedef struct known_parts {
    net_shard           shard;
    int64_t             micro_batch;
    const layout_parts *parts; /* NULL: the network cannot be divided this way */
} known_parts;

/* Stages of the current layout. */
typedef struct layout_stages {
    const layout_parts *parts;
    int64_t             pp, vp;
    bool                balanced;
    layer_cost         *stage;  /* pp * vp */
    layer_cost         *rank;   /* pp: sums over the stages of a rank */
    double             *blocks; /* pp: blocks per chunk of the rank, on average */
    int64_t            *begin;  /* pp * vp + 1: first block of each stage */
} layout_stages;

/* Forward passes that run again in the backward pass: none, of attention's core, of all blocks. */
typedef enum layout_repeat { REPEAT_NONE, REPEAT_CORE, REPEAT_ALL, N_LAYOUT_REPEATS } layout_repeat;

/* Inputs of a pipeline's seconds, beside its stages. */
typedef struct layout_order {
    pipeline_rule schedule;
    layout_repeat again;
    int64_t       accumulation;
    /*
     * messages of each micro-batch: 0: none; 2: of ZeRO's second stage; else the number of ranks
     * that share the weights
     */
    int64_t each;
} layout_order;

typedef struct layout_pricing {
    const layout_question *q;
    const layout_prices   *prices;
    known_parts           *parts;
    size_t                 n_parts, parts_room;
    layout_parts           supposed;
    layer_cost            *before; /* storage for `supposed` */
    struct known_message {
        double          bytes, seconds;
        rank_span       group;
        collective_kind kind;
        bool            used;
    } message[LAYOUT_MESSAGES];
    struct known_spread {
        const double *flops; /* per block of the part; NULL: empty */
        int64_t       stages, *begin;
    } spread[LAYOUT_SPREADS];
    layout    groups_of; /* layout of `group`; tp 0: none */
    rank_span group[N_RANK_GROUPS];
    bool      uneven; /* the groups do not spread evenly over nodes */

    layout_stages   now;
    pipeline_stage *stage; /* pp * vp, with the messages of each micro-batch */
    double         *wait;  /* pp: s per rank and micro-batch, of these messages */
    double         *kept;  /* pp: bytes that wait for the backward pass */
    pipeline_rank  *rank;  /* pp: results of the last pipeline run */
    gather_block   *block; /* blocks + 1 */
    size_t          room;
    layout_order    filled, kept_for, ran; /* layouts of these results */
    bool            is_filled, is_kept, has_run;
    double          least; /* s of passes, for `filled` */
    size_t          run;
} layout_pricing;

void layout_pricing_begin(layout_pricing *p, const layout_question *q, const layout_prices *prices);
void layout_pricing_end(layout_pricing *p);

/**
 * Selects the current layout: parts, groups, stages. Call it before the functions below. LM_E_ARG
 * if groups do not spread evenly over nodes; LM_E_UNSUPPORTED if the network cannot be divided this
 * way.
 */
lm_status layout_take(layout_pricing *p, const layout *l, lm_error *err);
/** Cached parts; NULL: not cached. */
const known_parts *layout_known(const layout_pricing *p, const net_shard *shard,
                                int64_t micro_batch);
/**
 * Until layout_pricing_forget(), the part of a layout is estimated as a share of a part with fewer
 * ranks of cp: a share of its seconds and of its kept bytes, but not of its weights. LM_E_NOMEM
 */
lm_status layout_pricing_suppose(layout_pricing *p, const layout *l, const known_parts *larger,
                                 lm_error *err);
void      layout_pricing_forget(layout_pricing *p);
/** Seconds of a message of a group, cached. */
double layout_message(layout_pricing *p, collective_kind kind, double bytes, rank_group group);
/** "none", "selective", "full": words of layout.recompute. */
extern const char *const layout_repeat_names[N_LAYOUT_REPEATS];
/** What the layout recomputes; N_LAYOUT_REPEATS: a list of layers. */
layout_repeat layout_again(const layout *l);
/** The question for a pipeline, without its stages. */
pipeline_question layout_pipeline(const layout *l);

/** Bytes on the rank that needs most, with the overhead. */
double layout_bytes(layout_pricing *p, const layout *l);

/** Lower bound of the step with these passes, for any sharing of weights; NAN: no price. */
lm_status layout_least(layout_pricing *p, const layout *l, double *out, lm_error *err);
/** Everything but bytes. step INFINITY: above `bound`, not priced further; NAN: unknown. */
lm_status layout_seconds(layout_pricing *p, const layout *l, double bound, layout_found *out,
                         lm_error *err);

#endif
