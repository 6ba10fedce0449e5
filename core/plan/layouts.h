/**
 * The search for layouts: how ranks share a network and a global batch, the fastest first.
 *
 * The search enumerates the layouts that divide the network and the ranks. A layout that does not
 * fit the memory of any rank is dropped before it is priced. Layers are priced once for each part
 * (tp, sp, cp, ep) and micro-batch, messages once for each kind, size and group. A layout is a sum
 * of these, plus a pipeline (program/pipeline.h). The compute of the ranks is a lower bound of the
 * step. Layouts are priced in the order of this bound, until no later layout can be faster than the
 * best ones.
 *
 * More ranks of cp come after fewer. They are skipped if even a proportional share of the last
 * part's seconds would not be among the best: with fewer tokens a kernel does not get more
 * efficient.
 *
 * The sums rank layouts; the best ones are then predicted (layout_predict.h).
 */
#ifndef PLAN_LAYOUTS_H
#define PLAN_LAYOUTS_H

#include "fabric/kind.h"
#include "program/layout.h"
#include "program/pipeline.h"

/** Cost of layers on a rank that has them, in one micro-batch. */
typedef struct layer_cost {
    double forward, input, weight; /**< s; input and weight together are the backward pass */
    double waited[2]; /**< s that the forward and the backward pass wait for messages */
    double weights;   /**< bytes */
    double experts;   /**< the part of `weights` in experts that not all ranks have */
    double kept;      /**< bytes that wait for the backward pass */
    /** selective recomputation: s of the forward pass and of its waits that run again */
    double again[2];
    double freed; /**< bytes of `kept` that it does not keep; 0: none */
} layer_cost;

/** A network as one rank has it, without stages, at a micro-batch. */
typedef struct layout_parts {
    const layer_cost *before;    /**< sums over the blocks before block i: [0, blocks] */
    const double     *flops;     /**< per block, for stages_balance() */
    layer_cost        first;     /**< layers before the blocks: on the first stage */
    layer_cost        last;      /**< layers after the blocks: on the last stage */
    double            boundary;  /**< bytes that a block sends to the next */
    double            input;     /**< bytes of it that a recomputed block keeps */
    double            tied;      /**< bytes of weights that `last` shares with `first` */
    double            transient; /**< bytes that a pass holds in addition to the kept ones */
    double            regained;  /**< the same with selective recomputation */
    double            update;    /**< s of the update of all its weights */
    /** bounds of its passes, relative to the prediction; NAN: unknown */
    double low, high;
} layout_parts;

/** Source of prices for the search. */
typedef struct layout_prices {
    void *by;
    /**
     * Called once per part. *out lives as long as the search. LM_E_UNSUPPORTED: the network cannot
     * be divided among ranks of cp or ep.
     */
    lm_status (*parts)(void *by, const net_shard *shard, int64_t micro_batch,
                       const layout_parts **out, lm_error *err);
    /** Seconds of a message of a group; NAN: unknown. */
    double (*message)(void *by, collective_kind kind, double bytes, const rank_span *group);
    /**
     * Bytes on the rank that needs most, without the overhead, for a layout among the best: called
     * once per layout. A layout that does not fit is dropped. NULL: the sums decide.
     */
    lm_status (*bytes)(void *by, const layout *l, double *out, lm_error *err);
} layout_prices;

/** Space of the search. */
typedef struct layout_question {
    int64_t      ranks, devices; /**< all ranks; devices per node */
    int64_t      global_batch;   /**< samples of a step */
    layout_facts facts;
    int64_t      most_micro_batch;
    bool         splits; /**< layers can be divided among ranks of tp */
    /** an update needs whole matrices: no tp, ep, ZeRO, FSDP */
    bool   whole_updates;
    double room;     /**< bytes that a rank may allocate, room_allowed(); INFINITY: no limit */
    double memory;   /**< bytes of its device, for messages */
    double overhead; /**< part of the memory that the step cannot use */
    /**
     * Bytes per byte of weights: of gradients in messages; in memory of weights, of gradients, of
     * what ZeRO's first stage divides (masters and optimizer states), and of 16-bit copies, which
     * are never divided.
     */
    double        gradients, held, summed, states, copies;
    double        low, high; /**< bounds of messages, relative to the prediction; NAN: unknown */
    size_t        best;      /**< number of layouts wanted */
    const layout *told;      /**< properties that all layouts have (layout.told); NULL: none */
} layout_question;

/** Parts of a step's seconds on the rank that ends last. They add up to the step. */
typedef enum layout_share {
    SHARE_COMPUTE,  /**< forward and backward passes */
    SHARE_TENSOR,   /**< messages that the passes wait for */
    SHARE_PIPELINE, /**< waiting for other stages */
    SHARE_DATA,     /**< exposed messages with gradients and weights */
    SHARE_UPDATE,
    N_LAYOUT_SHARES
} layout_share;

/** "compute", "tensor messages", "pipeline bubble", "data messages", "update". */
const char *layout_share_name(layout_share s);

typedef struct layout_found {
    layout layout;                 /**< settled */
    double step, low, high;        /**< s; bounds NAN: unknown */
    double share[N_LAYOUT_SHARES]; /**< s */
    double bytes;                  /**< bytes on the rank that needs most, with the overhead */
    double pass[2], message[2];    /**< smallest and largest factor on compute, and on messages */
} layout_found;

typedef struct layout_search {
    layout_found *found; /**< the fastest first; for each pair of tp and pp only the fastest */
    size_t        n;
    /** numbers of layouts: all; too large for the memory; without a price */
    size_t looked_at, too_large, no_time;
    size_t bounded;  /**< parts with more ranks of cp that could not be among the best */
    size_t priced;   /**< layouts whose seconds were computed */
    size_t run;      /**< number of pipeline runs */
    char   why[200]; /**< why the network cannot be divided among ranks of cp or ep; "": it can */
    double least_bytes; /**< the smallest need among the layouts that do not fit */
} layout_search;

/**
 * Runs the search. The caller frees *out by layouts_free(); it is empty if nothing fits.
 *
 * @return LM_E_ARG for counts below 1 and a global batch that no layout divides; errors of the
 *         prices
 */
lm_status layouts_find(const layout_question *q, const layout_prices *prices, layout_search *out,
                       lm_error *err);
void      layouts_free(layout_search *s);

/**
 * Seconds and bytes of one settled layout, by the sums of the search. LM_E_UNSUPPORTED for lists of
 * stages, and for lists of recomputed layers.
 */
lm_status layouts_price(const layout_question *q, const layout_prices *prices, const layout *l,
                        layout_found *out, lm_error *err);

/** Seconds of its step with these factors on compute and on messages. */
double layouts_at(const layout_found *f, double pass, double message);
/**
 * Can b be as fast as a? A slower rank is slower in both layouts. So the answer is yes if one pair
 * of factors within a's bounds, one on compute and one on messages, makes b as fast. Without bounds
 * it is no.
 */
bool layouts_tie(const layout_found *a, const layout_found *b);

/** The part that takes most of the step: "compute takes 71 %, tensor messages 20 %". */
#define LAYOUT_SENTENCE 192
const char *layouts_limit(const layout_found *f, char buffer[LAYOUT_SENTENCE]);
/** Why `b` is slower than `a`: "4.1 % slower: pipeline bubble +3.0 %, tensor messages +1.1 %". */
const char *layouts_worse(const layout_found *a, const layout_found *b,
                          char buffer[LAYOUT_SENTENCE]);

#endif
