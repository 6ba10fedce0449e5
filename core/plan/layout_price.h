/** Bytes and seconds of one layout, and what was asked for others. */
#ifndef PLAN_LAYOUT_PRICE_H
#define PLAN_LAYOUT_PRICE_H

#include "plan/layouts.h"

#define LAYOUT_MESSAGES 1024 /* prices that are kept */
#define LAYOUT_PARTS    512

/* What was asked before. */
typedef struct layout_pricing {
    const layout_question *q;
    const layout_prices   *prices;
    struct known_parts {
        int64_t             tp, micro_batch;
        const layout_parts *parts; /* NULL: empty */
        bool                sp;
    } parts[LAYOUT_PARTS];
    struct known_message {
        double          bytes, seconds;
        rank_span       group;
        collective_kind kind;
        bool            used;
    } message[LAYOUT_MESSAGES];
    struct known_pipeline { /* the last one: layouts that differ in their shards share it */
        layout         layout;
        pipeline_rank *rank;
        double         step;
        bool           used;
    } last;
    pipeline_stage *stage;
    size_t          room, run;
} layout_pricing;

void layout_pricing_begin(layout_pricing *p, const layout_question *q, const layout_prices *prices);
void layout_pricing_end(layout_pricing *p);

/** Of the fullest rank, with the overhead. */
lm_status layout_bytes(layout_pricing *p, const layout *l, double *out, lm_error *err);

/** All but bytes; step INFINITY: not below `bound`, and not priced further. */
lm_status layout_seconds(layout_pricing *p, const layout *l, double bound, layout_found *out,
                         lm_error *err);

/** Its pipeline's tasks. */
lm_status layout_run(layout_pricing *p, const layout *l, pipeline_take take, void *by,
                     lm_error *err);

#endif
