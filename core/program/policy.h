/** The policy of gradient synchronisation: when gradients travel, and in which groups. */
#ifndef PROGRAM_POLICY_H
#define PROGRAM_POLICY_H

#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

typedef enum sync_rule {
    SYNC_ONCE,   /**< one message after the backward pass: nothing is hidden */
    SYNC_TENSOR, /**< one message a gradient, as soon as it is ready */
    SYNC_DDP,   /**< PyTorch DistributedDataParallel: buckets, in order (Li et al. 2020, VLDB 13) */
    SYNC_FUSION /**< Horovod: gradients ready at a cycle go together (Sergeev & Del Balso 2018)
                 */
} sync_rule;

#define SYNC_DDP_FIRST_BYTES ((uint64_t)1 << 20)   /**< torch: kDefaultFirstBucketBytes */
#define SYNC_DDP_BYTES       ((uint64_t)25 << 20)  /**< torch: kDefaultBucketBytesCap */
#define SYNC_FUSION_BYTES    ((uint64_t)128 << 20) /**< HOROVOD_FUSION_THRESHOLD */
#define SYNC_FUSION_CYCLE    1e-3                  /**< s; HOROVOD_CYCLE_TIME */

typedef struct sync_policy {
    sync_rule rule;
    uint64_t  first_bytes;   /**< SYNC_DDP: limit of the first bucket */
    uint64_t  limit_bytes;   /**< SYNC_DDP, SYNC_FUSION: of a bucket */
    double    cycle_seconds; /**< SYNC_FUSION: a gradient waits for the next cycle */
    lm_dtype  dtype;         /**< that gradients travel in; 0: the weights' own */
    int64_t   accumulation;  /**< micro-steps of a step; gradients travel in the last one; 0: 1 */
} sync_policy;

/**
 * Reads "once", "tensor", "ddp", "ddp:10MiB", "horovod", "horovod:64MB" or "horovod:64MB:5ms";
 * dtype and accumulation stay as they are in `out`. LM_E_SYNTAX, LM_E_ARG.
 */
lm_status sync_policy_parse(const char *text, sync_policy *out, lm_error *err);

/** Prints the policy as such a word, with all limits. */
#define SYNC_POLICY_TEXT 64
const char *sync_policy_print(const sync_policy *p, char buffer[SYNC_POLICY_TEXT]);

#endif
