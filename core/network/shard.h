/**
 * One rank's part of a network whose layers are shared by the ranks of a group. Tensor parallelism:
 * Shoeybi et al. 2019, arXiv:1909.08053. Sequence parallelism between the layers: Korthikanti et
 * al. 2022, arXiv:2205.05198.
 *
 * `split =` in a model file marks a layer: columns, rows, heads, vocabulary or tokens. The layer
 * type defines the effect (lm_layer_type.split). A layer without a mark accepts its input as it is:
 * some features, some tokens, or the whole. A whole input means that each rank computes the whole
 * layer.
 */
#ifndef NETWORK_SHARD_H
#define NETWORK_SHARD_H

#include <stdbool.h>

#include "layers/host.h"
#include "network/network.h"

struct bound_layer;
struct bound_network;

/** Numbers of ranks that share a network. Zeros: one rank has all of it. */
typedef struct net_shard {
    int64_t tp; /**< tensor parallelism: ranks that share layers; 0 counts as 1 */
    /** context parallelism: ranks that share the tokens of a sample; 0 counts as 1 */
    int64_t cp;
    int64_t ep; /**< expert parallelism: ranks that share the experts; 0 counts as 1 */
    bool    sp; /**< ranks of tp also share the tokens between those layers */
    /** ranks of cp share heads within attention; else keys and values are sent in a ring */
    bool ulysses;
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

/** Writes all fields; equal shards give equal texts. */
#define SHARD_TEXT 80
const char *shard_print(const net_shard *s, char text[SHARD_TEXT]);

/** "columns", "rows", "heads", "vocabulary", "tokens"; LM_WHOLE: "whole". */
const char *shard_way_name(lm_way way);
/** Words that `split =` accepts. */
#define SHARD_WAYS "columns, rows, heads, vocabulary, tokens or whole"
/** False: an unknown word. */
bool shard_way_parse(const char *text, lm_way *out);

/** The part of a layer's outputs that a rank has. */
typedef enum net_part { PART_WHOLE, PART_FEATURES, PART_TOKENS } net_part;

typedef enum shard_kind {
    SHARD_ALLREDUCE,
    SHARD_ALLGATHER,     /**< gathers each rank's tokens on all ranks */
    SHARD_REDUCESCATTER, /**< sums; each rank keeps its tokens */
    SHARD_SENDRECV,      /**< keys and values, to the next rank of cp */
    SHARD_ALLTOALL       /**< cp: exchanges tokens for heads; ep: sends tokens to experts */
} shard_kind;

typedef enum shard_group { SHARD_TP, SHARD_CP, SHARD_EP, N_SHARD_GROUPS } shard_group;

/** Communication at a layer, in each micro-batch. */
typedef struct shard_message {
    shard_kind kind;
    size_t     layer;
    bool       backward; /**< true: in the backward pass; false: in the forward pass */
    /**
     * gathers an input again that the forward pass gathered; overlaps the layer's input gradient
     */
    bool        again;
    uint64_t    bytes; /**< bytes of the whole tensor */
    uint32_t    count; /**< number of such messages */
    shard_group group;
    bool        hidden; /**< overlaps the kernels of its layer, except those of the last chunk */
    bool        waits;  /**< no kernel overlaps it */
} shard_message;

/** Sharing of a bound part among ranks. */
typedef struct net_sharing {
    shard_message *message; /**< in the order of the layers */
    size_t         n;
    /** gradients that ranks add up once per step: of weights that see only some of the tokens */
    uint64_t step_bytes;
    uint64_t expert_bytes; /**< weights with a gradient that other ranks of ep do not have */
    uint64_t flops;        /**< of all passes of this part */
    /** of all passes of the layers that each rank of tp computes in full */
    uint64_t flops_whole;
} net_sharing;

/** State while a network is bound and its layers are divided. */
typedef struct sharding {
    struct bound_network *out;
    uint8_t              *part; /* net_part, by layer */
    lm_error             *err;
    size_t                room;
    bool                  any, context, experts; /* a layer was divided among tp, cp, ep */
    int64_t               tokens; /* tokens of a sample before it is shared; 0: unknown */
    lm_split              split;  /* split of the current layer */
    /* splits of the current layer among cp, ep, and tp by LM_ROUTED; parts 0: none */
    lm_split         other[3];
    const lm_tensor *before; /* the layer's inputs before the split */
} sharding;

lm_status sharding_begin(sharding *s, struct bound_network *out, lm_error *err);
/**
 * Sets inputs and parameters of the rank's part of a layer. `view` has the inputs before the split.
 */
lm_status sharding_enter(sharding *s, struct bound_layer *l, host_layer *view);
/** Sets the outputs that other layers see, and the communication. The layer is bound. */
lm_status sharding_leave(sharding *s, struct bound_layer *l, lm_tensor *output);
/** LM_E_UNSUPPORTED if no layer was divided. */
lm_status sharding_finish(sharding *s);
/**
 * Checks context parallelism: does each rank of cp compute its share of every layer from its own
 * tokens?
 *
 * @param part  the part of one rank of cp
 * @param whole the same part without cp
 * @return LM_E_UNSUPPORTED for a layer that computes something else, or reads other tokens
 */
lm_status sharding_check_context(const struct bound_network *part,
                                 const struct bound_network *whole, lm_error *err);

#endif
