/**
 * Layouts: how the ranks of a training run share one network and its batch.
 *
 * A layout is a plain value. layout_set() and layout_parse() read it. layout_settle() checks it
 * against a network and a number of ranks, and fills in the sizes that follow. layout_span() places
 * its groups on nodes.
 */
#ifndef PROGRAM_LAYOUT_H
#define PROGRAM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "base/text.h"
#include "network/shard.h"
#include "program/pipeline.h"

/** Dimensions along which ranks share work. */
typedef enum layout_dim {
    LAYOUT_TP, /**< tensor parallelism: each rank has a part of each layer's weights */
    LAYOUT_CP, /**< context parallelism: each rank has some tokens of each sequence */
    /** expert parallelism: each rank has some experts; its ranks are ranks of dp and cp */
    LAYOUT_EP,
    LAYOUT_DP, /**< data parallelism: each rank has samples of its own */
    LAYOUT_PP, /**< pipeline parallelism: each rank has some layers */
    N_LAYOUT_DIMS
} layout_dim;

/** "tp", "cp", "ep", "dp", "pp". */
const char *layout_dim_name(layout_dim d);

#define LAYOUT_RANKS_MOST ((int64_t)1 << 24) /**< limit for the product of all dimensions */
#define LAYOUT_RECOMPUTE  96
#define LAYOUT_STAGES     160
#define LAYOUT_ALL        ((int64_t)-1) /**< value of `fsdp`: all ranks of dp */

/** Properties that can be told: bits LAYOUT_BIT(TOLD_TP) of layout.told. */
typedef enum layout_told {
    TOLD_TP,
    TOLD_CP,
    TOLD_EP,
    TOLD_DP,
    TOLD_PP,
    TOLD_VP,
    TOLD_ZERO,
    TOLD_FSDP,
    TOLD_MICRO_BATCH,
    TOLD_GLOBAL_BATCH,
    TOLD_ACCUMULATION,
    TOLD_SP,
    TOLD_CP_KIND,
    TOLD_SCHEDULE,
    TOLD_RECOMPUTE,
    TOLD_STAGES,
    TOLD_PLACEMENT
} layout_told;

typedef struct layout {
    int64_t dp;         /**< 0: the number of ranks divided by the other dimensions */
    int64_t tp, pp, cp; /**< ranks; 1: not used */
    int64_t vp;         /**< chunks of layers per pipeline rank */
    int64_t ep;         /**< ranks that share the experts */
    bool    sp;         /**< ranks of tp also share the tokens between split layers */
    /** ranks of cp share heads within attention; else keys and values travel in a ring */
    bool ulysses;
    /**
     * 0 to 3: ranks of dp keep only a share of 1: optimizer states, 2: gradients, too, 3: weights,
     * too (Rajbhandari et al. 2020, "ZeRO")
     */
    int64_t zero;
    /** ranks that share weights and gather them block by block; 0: not used */
    int64_t fsdp;
    int64_t micro_batch;  /**< samples in one pass of a rank; 0: not given */
    int64_t global_batch; /**< samples of a step on all ranks; 0: not given */
    /** tokens of a step on all ranks, in place of `global_batch`; 0: not given, or counted */
    int64_t       batch_tokens;
    int64_t       accumulation; /**< micro-batches per step and rank; 0: not given */
    pipeline_rule schedule;
    /** none, selective, full, or names of layers: a,b */
    char       recompute[LAYOUT_RECOMPUTE];
    char       stages[LAYOUT_STAGES]; /**< blocks of each stage, as in stages.h */
    layout_dim order[N_LAYOUT_DIMS];  /**< dimensions from the nearest ranks to the farthest */
    /** bits of layout_told: what layout_set() and layout_parse() set; read by layout_agrees() */
    unsigned told;
} layout;

/** The bit of a dimension, or of a property, in a set. */
#define LAYOUT_BIT(d) (1u << (d))

/** No sharing: each dimension is 1; dp takes all ranks. */
layout layout_plain(void);
/** Is it only data parallelism with all-reduced gradients? */
bool layout_is_plain(const layout *l);
/** Are tp, pp and dp all told? */
bool layout_is_whole(const layout *l);
/** The part of a network that one rank has, without regard to stages. */
net_shard layout_shard(const layout *l);
/**
 * Inference: batches that a replica works at, at the same time: one in each stage of a pipeline. Fewer
 * leave stages idle; more wait.
 */
int64_t layout_batches(const layout *l);
/** Ranks of one replica of the network: tp * cp * pp. */
int64_t layout_replica(const layout *l);
/** Are tp * cp * pp * dp at most LAYOUT_RANKS_MOST? */
bool layout_ranks_fit(const layout *l);

/**
 * Sets one property by the name of its option: dp, tp, sp, pp, vp, cp, cp-kind, ep, zero, fsdp,
 * micro-batch, global-batch, accumulation, recompute, schedule, stages, placement.
 *
 * @param value as in the option; sp takes "yes" or "no", fsdp "all" or "" for all ranks of dp
 * @return LM_E_NOTFOUND for another name; LM_E_SYNTAX, LM_E_ARG for a wrong value
 */
lm_status layout_set(layout *l, const char *name, const char *value, lm_error *err);

/**
 * Reads words such as `tp4 pp2 dp8 sp zero1`. Words with a number: dp tp pp vp cp ep zero fsdp mb
 * (micro-batch) gb (global batch) ga (accumulation). Other words: sp, ring, ulysses, fsdp, the name
 * of a schedule, recompute=LIST, stages=LIST, tp-cp-ep-dp-pp. Properties without a word keep their
 * value in *l.
 */
lm_status layout_parse(const char *text, layout *l, lm_error *err);

/** The global batch of a text, which replaces the layout's. */
void layout_set_batch(layout *l, const batch_told *b);

/**
 * Converts tokens of a step to samples.
 *
 * @param each tokens of a sample; 0: samples are not tokens
 * @return LM_E_ARG, with the two numbers, if the tokens are no whole samples
 */
lm_status batch_samples(batch_told *b, int64_t each, lm_error *err);

/** Does `l` agree with `as` in those of these properties (bits) that `as` was told? */
bool layout_agrees(const layout *l, const layout *as, unsigned properties);

/** Prints the same words, without values as in layout_plain(). "tp1" if all values are. */
#define LAYOUT_TEXT 448
const char *layout_print(const layout *l, char buffer[LAYOUT_TEXT]);

/** Numbers that a layout must divide. 0: the network has none, or it is unknown. */
typedef struct layout_facts {
    int64_t heads;    /**< attention heads: greatest common divisor over all layers */
    int64_t kv_heads; /**< the same for keys and values */
    int64_t blocks;   /**< blocks of layers between which a pipeline may be cut */
    int64_t experts;
    int64_t tokens; /**< tokens per sample */
    /** ranks may hold copies of heads of keys and values: inference, without gradients of them */
    bool copies;
} layout_facts;

/**
 * Checks a layout and fills in dp, fsdp, micro-batch, global batch and accumulation.
 * Tokens of a global batch become samples; without `facts` they are kept.
 *
 * @param facts NULL: no network
 * @param world number of all ranks; 0: dp * tp * cp * pp
 * @return LM_E_ARG, with the two numbers that do not fit. Pure
 */
lm_status layout_settle(layout *l, const layout_facts *facts, int64_t world, lm_error *err);

/**
 * Refuses what only training has: shares of states and gradients (zero, fsdp), chunks and orders of
 * pipelines, global batches of several micro-batches.
 *
 * @return LM_E_ARG, with the property. Pure
 */
lm_status layout_check_inference(const layout *l, lm_error *err);

/** The placement of a group of ranks on nodes. */
typedef struct rank_span {
    int64_t nodes, devices; /**< devices: ranks of the group on each node */
    /** equal groups on a node that use its network at the same time; 0 counts as 1 */
    int64_t beside;
} rank_span;

/**
 * Ranks of this layout along one dimension, at least 1. Ranks of ep are among those of dp and cp.
 */
int64_t layout_ranks(const layout *l, layout_dim d);

/**
 * The group of ranks that differ only in the dimensions `dims`, on nodes of `devices` devices.
 * LAYOUT_EP must be alone: its ranks are neighbours within cp and dp, whichever comes first.
 *
 * @param l settled
 * @return LM_E_ARG if such groups lie on nodes in different ways, with the two numbers. Pure
 */
lm_status layout_span(const layout *l, unsigned dims, int64_t devices, rank_span *out,
                      lm_error *err);

/**
 * Two groups among dp and cp: ranks that share the experts, and ranks with the same experts. Errors
 * as layout_span().
 */
lm_status layout_expert_span(const layout *l, int64_t devices, rank_span *experts,
                             rank_span *replicas, lm_error *err);

/**
 * Two groups along dp, for FSDP. Shard: the `fsdp` nearest ranks. Replica: the ranks that far
 * apart. Errors as layout_span().
 */
lm_status layout_shard_span(const layout *l, int64_t devices, rank_span *shard, rank_span *replica,
                            lm_error *err);

/**
 * Bytes of the weights that a rank updates. ZeRO and FSDP share the update of `bytes` on this rank among
 * the ranks of data; `experts`, a part of them, are on fewer ranks, by ep.
 */
double layout_updated(const layout *l, double bytes, double experts);

/** The ranks that take part in a message. */
typedef enum rank_group {
    GROUP_DATA,         /**< ranks that hold the same weights */
    GROUP_TENSOR,       /**< ranks that share layers */
    GROUP_SHARD,        /**< ranks that share weights and gather them */
    GROUP_STAGES,       /**< neighbours in a pipeline: two ranks */
    GROUP_REPLICA,      /**< ranks with the same share of the weights of GROUP_SHARD */
    GROUP_CONTEXT,      /**< ranks that share the tokens of a sample */
    GROUP_EXPERTS,      /**< ranks that share the experts */
    GROUP_SAME_EXPERTS, /**< ranks of GROUP_DATA with the same experts */
    GROUP_EXPERT_SHARD, /**< ranks of GROUP_SHARD with the same experts */
    N_RANK_GROUPS
} rank_group;

/** The group of ranks that share layers in one way: tensor, context, experts. */
rank_group layout_group_of(shard_group g);

/** All groups of a layout. LM_E_ARG as in layout_span(). */
lm_status layout_groups(const layout *l, int64_t devices, rank_span group[N_RANK_GROUPS],
                        lm_error *err);

#endif
