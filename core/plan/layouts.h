/**
 * The search for layouts: how so many ranks share a network and a global batch, fastest first.
 *
 * Layouts that divide what there is are enumerated; what does not fit the memory of the fullest rank is
 * left out before it is priced. Layers are priced once for each part of them (tp, sp, cp, ep) and
 * micro-batch, and messages once for each kind, size and group: a layout is sums of these, and a
 * pipeline (program/pipeline.h). What ranks compute bounds a step from below. Layouts are priced in the
 * order of this bound, up to the one that none behind it can beat.
 *
 * More ranks of cp come after fewer. They are left out where a part that took its share of the seconds
 * of the last one would not be among the best: of fewer tokens a kernel does no more in a second.
 *
 * The sums rank layouts; what is told of the best is predicted (layout_predict.h).
 */
#ifndef PLAN_LAYOUTS_H
#define PLAN_LAYOUTS_H

#include "fabric/kind.h"
#include "program/layout.h"
#include "program/pipeline.h"

/** Layers on a rank that has them, in one micro-batch. */
typedef struct layer_cost {
    double forward, input, weight; /**< s; the last two are the backward pass */
    double waited[2]; /**< s of messages that the forward, the backward pass waits for */
    double weights;   /**< bytes */
    double experts;   /**< of these, of experts that not all ranks have */
    double kept;      /**< bytes that wait for the backward pass */
} layer_cost;

/** A network as one rank has it, but for stages, at a micro-batch. */
typedef struct layout_parts {
    const layer_cost *before;    /**< sums of the blocks before block i: [0, blocks] */
    const double     *flops;     /**< of each block, as stages_balance() takes them */
    layer_cost        first;     /**< in front of the blocks: on the first stage */
    layer_cost        last;      /**< behind them: on the last one */
    double            boundary;  /**< bytes of what a block hands to the next */
    double            input;     /**< bytes of it that a block which runs again keeps */
    double            tied;      /**< bytes of weights of `last` that are those of `first`, too */
    double            transient; /**< bytes that a pass holds beside what is kept */
    double            update;    /**< s of the update of all its weights */
    double            low, high; /**< bounds of its passes, of what is predicted; NAN: unknown */
} layout_parts;

/** Whom the search asks. */
typedef struct layout_prices {
    void *by;
    /** Asked once for each. *out lives as long as the search. LM_E_UNSUPPORTED: it does not divide
     * among ranks of cp or ep. */
    lm_status (*parts)(void *by, const net_shard *shard, int64_t micro_batch,
                       const layout_parts **out, lm_error *err);
    /** Seconds of a message of a group; NAN: unknown. */
    double (*message)(void *by, collective_kind kind, double bytes, const rank_span *group);
    /** Bytes of the fullest rank, without the overhead, of a layout that is among the best by the sums:
     * asked once for each. Where it does not fit, the search goes on without it. NULL: the sums tell. */
    lm_status (*bytes)(void *by, const layout *l, double *out, lm_error *err);
} layout_prices;

/** What is searched. */
typedef struct layout_question {
    int64_t      ranks, devices; /**< all, and those of each node */
    int64_t      global_batch;   /**< samples of a step */
    layout_facts facts;
    int64_t      most_micro_batch;
    bool         splits;   /**< layers divide among ranks of tp */
    double       room;     /**< bytes of a rank's memory; INFINITY: any */
    double       overhead; /**< part of it that is not the step's */
    /** Bytes for each byte of weights: gradients; what ZeRO's first stage divides (masters and states
     * of the optimizer); copies in 16 bit, which nothing divides. */
    double gradients, states, copies;
    double low, high; /**< bounds of messages, of what is predicted; NAN: unknown */
    size_t best;      /**< so many are wanted */
} layout_question;

/** What a step's seconds are, on the rank that ends last. They add up to it. */
typedef enum layout_share {
    SHARE_COMPUTE,  /**< passes */
    SHARE_TENSOR,   /**< messages that they wait for */
    SHARE_PIPELINE, /**< waiting for other stages */
    SHARE_DATA,     /**< gradients and weights, exposed */
    SHARE_UPDATE,
    N_LAYOUT_SHARES
} layout_share;

/** "compute", "tensor messages", "pipeline bubble", "data messages", "update". */
const char *layout_share_name(layout_share s);

typedef struct layout_found {
    layout layout;                 /**< settled */
    double step, low, high;        /**< s; bounds NAN: unknown */
    double share[N_LAYOUT_SHARES]; /**< s */
    double bytes;                  /**< of the fullest rank, with the overhead */
    double pass[2], message[2];    /**< least and largest factor on what ranks do, and send */
} layout_found;

typedef struct layout_search {
    layout_found *found; /**< the fastest first; of each tp and pp the fastest alone */
    size_t        n;
    size_t looked_at, too_large, no_time; /**< layouts in all; that do not fit; without a price */
    size_t bounded;     /**< parts with more ranks of cp that could not be among the best */
    size_t priced;      /**< layouts whose seconds were asked for */
    size_t run;         /**< pipelines that were run */
    char   why[200];    /**< why the network does not divide among ranks of cp or ep; "": it does */
    double least_bytes; /**< of those that do not fit, the smallest */
} layout_search;

/**
 * Searches. *out is to be freed by layouts_free(); it is empty where nothing fits.
 *
 * @return LM_E_ARG for counts below 1 and a global batch that no layout divides; what the prices return
 */
lm_status layouts_find(const layout_question *q, const layout_prices *prices, layout_search *out,
                       lm_error *err);
void      layouts_free(layout_search *s);

/** Seconds and bytes of one settled layout, as the search prices it. LM_E_UNSUPPORTED for stages and
 * layers that run again by lists. */
lm_status layouts_price(const layout_question *q, const layout_prices *prices, const layout *l,
                        layout_found *out, lm_error *err);

/** Its pipeline, task by task. As pipeline_run(). */
lm_status layouts_tasks(const layout_question *q, const layout_prices *prices, const layout *l,
                        pipeline_take take, void *by, lm_error *err);

/** Seconds of its step where what ranks do takes so many times as long, and what they send. */
double layouts_at(const layout_found *f, double pass, double message);
/** May b be as fast as a? What makes a rank slower does so in both: it is with some pair of a's bounds,
 * one of what ranks do and one of what they send. Without bounds it is not. */
bool layouts_tie(const layout_found *a, const layout_found *b);

/** "compute takes 71 %, tensor messages 20 %": what takes most of it. */
#define LAYOUT_SENTENCE 192
const char *layouts_limit(const layout_found *f, char buffer[LAYOUT_SENTENCE]);
/** "4.1 % slower: pipeline bubble +3.0 %, tensor messages +1.1 %": why `b` is worse than `a`. */
const char *layouts_worse(const layout_found *a, const layout_found *b,
                          char buffer[LAYOUT_SENTENCE]);

#endif
