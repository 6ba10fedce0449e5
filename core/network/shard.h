/**
 * One rank's part of a network whose layers are shared by the ranks of a group (tensor parallelism,
 * Shoeybi et al. 2019, arXiv:1909.08053; with shared tokens between, Korthikanti et al. 2022,
 * arXiv:2205.05198).
 *
 * `split =` marks a layer in a model's file: columns, rows, heads, vocabulary or tokens. What it does
 * to a layer is the type's knowledge (lm_layer_type.split). A layer without a mark takes what comes:
 * some features, some tokens, or all of it, which each rank then computes for itself.
 */
#ifndef NETWORK_SHARD_H
#define NETWORK_SHARD_H

#include <stdbool.h>

#include "layers/host.h"
#include "network/network.h"

struct bound_layer;
struct bound_network;

/** Ranks that share a network. Zeros: one has it all. */
typedef struct net_shard {
    int64_t tp;      /**< ranks that share layers; 0 is 1 */
    int64_t cp;      /**< ranks that share the tokens of a sample; 0 is 1 */
    int64_t ep;      /**< ranks that share the experts; 0 is 1 */
    bool    sp;      /**< ranks of tp share the tokens between those layers, too */
    bool    ulysses; /**< ranks of cp share heads within attention, else keys and values pass by */
} net_shard;

static inline bool shard_is_whole(const net_shard *s)
{
    return s->tp <= 1 && s->cp <= 1 && s->ep <= 1;
}

static inline bool shard_equals(const net_shard *a, const net_shard *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->ep == b->ep && a->sp == b->sp &&
           a->ulysses == b->ulysses;
}

/** All of it: of equal shards equal texts. */
#define SHARD_TEXT 80
const char *shard_print(const net_shard *s, char text[SHARD_TEXT]);

/** "columns", "rows", "heads", "vocabulary", "tokens"; LM_WHOLE: "whole". */
const char *shard_way_name(lm_way way);
/** What `split =` may say. */
#define SHARD_WAYS "columns, rows, heads, vocabulary, tokens or whole"
/** False: another word. */
bool shard_way_parse(const char *text, lm_way *out);

/** What a rank has of a layer's outputs. */
typedef enum net_part { PART_WHOLE, PART_FEATURES, PART_TOKENS } net_part;

typedef enum shard_kind {
    SHARD_ALLREDUCE,
    SHARD_ALLGATHER,     /**< of a rank's tokens to all */
    SHARD_REDUCESCATTER, /**< sums, of which each keeps its tokens */
    SHARD_SENDRECV,      /**< keys and values, to the next rank of cp */
    SHARD_ALLTOALL       /**< tokens for heads, of cp; tokens to experts, of ep */
} shard_kind;

typedef enum shard_group { SHARD_TP, SHARD_CP, SHARD_EP } shard_group;

/** What the ranks exchange at a layer, in each micro-batch. */
typedef struct shard_message {
    shard_kind kind;
    size_t     layer;
    bool       backward; /**< in the backward pass, else in the forward pass */
    bool     again; /**< of an input that was gathered before: beside the layer's input gradient */
    uint64_t bytes; /**< of the whole tensor */
    uint32_t count; /**< so many of them */
    shard_group group;
    bool        hidden; /**< behind the kernels of its layer, but for the last chunk's */
} shard_message;

/** What a binding knows of its part. */
typedef struct net_sharing {
    shard_message *message; /**< in the order of the layers */
    size_t         n;
    uint64_t step_bytes;   /**< of gradients that ranks add up once a step: of weights that see some
                                  of the tokens */
    uint64_t expert_bytes; /**< of weights with a gradient that other ranks of ep have not */
    uint64_t flops;        /**< of all passes of this part */
    uint64_t flops_whole;  /**< of these in layers that every rank of tp computes alike */
} net_sharing;

/** Divides layers while a network is bound. */
typedef struct sharding {
    struct bound_network *out;
    uint8_t              *part; /* net_part, by layer */
    lm_error             *err;
    size_t                room;
    bool                  any, context, experts; /* some layer was divided among tp, cp, ep */
    int64_t               tokens;   /* of a sample, before it is shared; 0: not known */
    lm_split              split;    /* of the layer in work */
    lm_split              other[2]; /* the same among cp and ep; parts 0: it is not */
    const lm_tensor      *before;   /* its inputs as they come */
} sharding;

lm_status sharding_begin(sharding *s, struct bound_network *out, lm_error *err);
/** Inputs and parameters of the rank's part of a layer; `view` is of its inputs as they come. */
lm_status sharding_enter(sharding *s, struct bound_layer *l, host_layer *view);
/** Outputs as other layers see them, and what is exchanged; the layer is bound. */
lm_status sharding_leave(sharding *s, struct bound_layer *l, lm_tensor *output);
/** LM_E_UNSUPPORTED where nothing was divided. */
lm_status sharding_finish(sharding *s);
/**
 * Does each of cp's ranks compute its share of every layer of `whole`, the same part but for cp, from its
 * own tokens? LM_E_UNSUPPORTED for a layer that makes anything else, or reads other tokens.
 */
lm_status sharding_check_context(const struct bound_network *part,
                                 const struct bound_network *whole, lm_error *err);

#endif
