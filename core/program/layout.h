/**
 * Layouts: how the ranks of a training run share one network and its batch.
 *
 * A layout is a value. layout_set() and layout_parse() read it, layout_settle() checks it against a
 * network and a number of ranks and fills in what follows, layout_span() places its groups on nodes.
 */
#ifndef PROGRAM_LAYOUT_H
#define PROGRAM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "network/shard.h"
#include "program/pipeline.h"

/** Dimensions in which ranks share work. */
typedef enum layout_dim {
    LAYOUT_TP, /**< tensor: each rank has a part of a layer's weights */
    LAYOUT_CP, /**< context: each has a part of a sequence's tokens */
    LAYOUT_EP, /**< expert: each has some of the experts; ranks of dp and cp */
    LAYOUT_DP, /**< data: each has samples of its own */
    LAYOUT_PP, /**< pipeline: each has some of the layers */
    N_LAYOUT_DIMS
} layout_dim;

/** "tp", "cp", "ep", "dp", "pp". */
const char *layout_dim_name(layout_dim d);

#define LAYOUT_RANKS_MOST ((int64_t)1 << 24) /**< of all dimensions together */
#define LAYOUT_RECOMPUTE  96
#define LAYOUT_STAGES     160
#define LAYOUT_ALL        ((int64_t)-1) /**< of `fsdp`: all ranks of dp */

typedef struct layout {
    int64_t       dp;         /**< 0: what the others leave of the ranks */
    int64_t       tp, pp, cp; /**< ranks; 1: not shared so */
    int64_t       vp;         /**< chunks of layers of each stage */
    int64_t       ep;         /**< ranks that share the experts */
    bool          sp;      /**< ranks of tp share the tokens between the layers that they split */
    bool          ulysses; /**< ranks of cp share heads within attention; else a ring */
    int64_t       zero;    /**< 0 to 3: what ranks of dp keep a part of: states of the optimizer,
                            gradients too, weights too (Rajbhandari et al. 2020, "ZeRO") */
    int64_t       fsdp;    /**< ranks that share weights, gathered block by block; 0: not so */
    int64_t       micro_batch;  /**< samples of a rank's pass; 0: not told */
    int64_t       global_batch; /**< samples of a step on all ranks; 0: not told */
    int64_t       accumulation; /**< micro-batches of a step on one rank; 0: not told */
    pipeline_rule schedule;
    char          recompute[LAYOUT_RECOMPUTE]; /**< none, selective, full, or layers by name: a,b */
    char          stages[LAYOUT_STAGES];       /**< blocks of each stage, as stages.h takes them */
    layout_dim    order[N_LAYOUT_DIMS];        /**< of neighbouring ranks first */
} layout;

/** One rank by itself: every dimension 1, dp as many as there are. */
layout layout_plain(void);
/** Does it do anything but data parallelism with all-reduced gradients? */
bool layout_is_plain(const layout *l);
/** The part of a network that one rank has, but for stages. */
net_shard layout_shard(const layout *l);
/** Ranks of tp, cp and pp together: a replica of the network. */
int64_t layout_replica(const layout *l);

/**
 * Sets one property by its option's name: dp, tp, sp, pp, vp, cp, cp-kind, ep, zero, fsdp, micro-batch,
 * global-batch, accumulation, recompute, schedule, stages, placement.
 *
 * @param value as in the option; of sp "yes" or "no", of fsdp "all" or "" for all ranks of dp
 * @return LM_E_NOTFOUND for another name; LM_E_SYNTAX, LM_E_ARG for a wrong value
 */
lm_status layout_set(layout *l, const char *name, const char *value, lm_error *err);

/**
 * Reads words as `tp4 pp2 dp8 sp zero1`: dp tp pp vp cp ep zero fsdp mb (micro-batch) gb
 * (global batch) ga (accumulation) with a number, sp, ring, ulysses, fsdp, a schedule's name, recompute=LIST,
 * stages=LIST, tp-cp-ep-dp-pp. What it does not name stays as it is in *l.
 */
lm_status layout_parse(const char *text, layout *l, lm_error *err);

/** The same words, without what is as in layout_plain(). "tp1" where all is. */
#define LAYOUT_TEXT 448
const char *layout_print(const layout *l, char buffer[LAYOUT_TEXT]);

/** What a network must divide into. 0: it has none, or nobody knows. */
typedef struct layout_facts {
    int64_t heads;    /**< of attention: the greatest number that divides those of all layers */
    int64_t kv_heads; /**< the same of keys and values */
    int64_t blocks;   /**< layers that pipelines are cut between */
    int64_t experts;
    int64_t tokens; /**< of a sample */
} layout_facts;

/**
 * Checks a layout and fills in dp, fsdp, micro-batch, global batch and accumulation.
 *
 * @param facts NULL: of no network
 * @param world all ranks; 0: dp * tp * cp * pp of them
 * @return LM_E_ARG, with the two numbers that do not fit. Pure
 */
lm_status layout_settle(layout *l, const layout_facts *facts, int64_t world, lm_error *err);

/** The ranks of a group on their nodes. */
typedef struct rank_span {
    int64_t nodes, devices; /**< devices: of each node */
    int64_t beside; /**< groups alike of a node that use its network at the same time; 0 is 1 */
} rank_span;

/** The bit of a dimension in a set of them. */
#define LAYOUT_BIT(d) (1u << (d))

/** Ranks of this layout along one dimension: 1 at least. Those of ep are among dp and cp. */
int64_t layout_ranks(const layout *l, layout_dim d);

/**
 * The group of ranks that differ in these dimensions alone, on nodes of so many devices. LAYOUT_EP
 * stands by itself: its ranks are neighbours within cp and dp, whichever comes first.
 *
 * @param l settled
 * @return LM_E_ARG where groups lie on nodes in different ways, with the two numbers. Pure
 */
lm_status layout_span(const layout *l, unsigned dims, int64_t devices, rank_span *out,
                      lm_error *err);

/** Ranks that share the experts, and those that have the same ones, among dp and cp. As layout_span(). */
lm_status layout_expert_span(const layout *l, int64_t devices, rank_span *experts,
                             rank_span *replicas, lm_error *err);

/** The `ranks` nearest of a group along dp, or those that lie so many apart: shards and replicas of
 * FSDP. As layout_span(). */
lm_status layout_shard_span(const layout *l, int64_t devices, rank_span *shard, rank_span *replica,
                            lm_error *err);

/** The ranks that join in a message. */
typedef enum rank_group {
    GROUP_DATA,         /**< ranks that hold the same weights */
    GROUP_TENSOR,       /**< ranks that share layers */
    GROUP_SHARD,        /**< ranks that share weights, and gather them */
    GROUP_STAGES,       /**< neighbours in a pipeline: two ranks */
    GROUP_REPLICA,      /**< ranks with the same share of these */
    GROUP_CONTEXT,      /**< ranks that share the tokens of a sample */
    GROUP_EXPERTS,      /**< ranks that share the experts */
    GROUP_SAME_EXPERTS, /**< ranks of GROUP_DATA that have the same ones */
    GROUP_EXPERT_SHARD, /**< ranks of GROUP_SHARD that have the same ones */
    N_RANK_GROUPS
} rank_group;

/** All groups of a layout: LM_E_ARG, as layout_span(). */
lm_status layout_groups(const layout *l, int64_t devices, rank_span group[N_RANK_GROUPS],
                        lm_error *err);

#endif
