/** The policy of gradient synchronisation: when gradients are sent, and in which groups. */
#ifndef PROGRAM_POLICY_H
#define PROGRAM_POLICY_H

#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

typedef enum sync_rule {
    SYNC_ONCE,   /**< one message after the backward pass: no overlap */
    SYNC_TENSOR, /**< one message per gradient, as soon as it is ready */
    /** PyTorch DistributedDataParallel: buckets in a fixed order (Li et al. 2020, VLDB 13) */
    SYNC_DDP,
    /**
     * Horovod: gradients that are ready at the end of a cycle share a message (Sergeev & Del Balso
     * 2018)
     */
    SYNC_FUSION
} sync_rule;

#define SYNC_DDP_FIRST_BYTES ((uint64_t)1 << 20)   /**< torch: kDefaultFirstBucketBytes */
#define SYNC_DDP_BYTES       ((uint64_t)25 << 20)  /**< torch: kDefaultBucketBytesCap */
#define SYNC_FUSION_BYTES    ((uint64_t)128 << 20) /**< HOROVOD_FUSION_THRESHOLD */
#define SYNC_FUSION_CYCLE    1e-3                  /**< s; HOROVOD_CYCLE_TIME */

typedef struct sync_policy {
    sync_rule rule;
    uint64_t  first_bytes;   /**< SYNC_DDP: limit of the first bucket */
    uint64_t  limit_bytes;   /**< SYNC_DDP, SYNC_FUSION: limit of a bucket */
    double    cycle_seconds; /**< SYNC_FUSION: a gradient waits until the next cycle */
    lm_dtype  dtype;         /**< type of gradients in messages; 0: that of the weights */
    int64_t   accumulation;  /**< micro-steps per step; the last one sends the gradients; 0: 1 */
} sync_policy;

/**
 * Reads "once", "tensor", "ddp", "ddp:10MiB", "horovod", "horovod:64MB" or "horovod:64MB:5ms". Does
 * not change dtype and accumulation in `out`. LM_E_SYNTAX, LM_E_ARG.
 */
lm_status sync_policy_parse(const char *text, sync_policy *out, lm_error *err);

/** Prints the policy in this form, with all limits. */
#define SYNC_POLICY_TEXT 64
const char *sync_policy_print(const sync_policy *p, char buffer[SYNC_POLICY_TEXT]);

#endif
