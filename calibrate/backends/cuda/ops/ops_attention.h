/** Common parts of the two forms of attention. */
#ifndef CALIBRATE_BACKENDS_CUDA_OPS_ATTENTION_H
#define CALIBRATE_BACKENDS_CUDA_OPS_ATTENTION_H

#include "cuda_kernels.h"

#define ATTENTION_DROPOUT 0.1 /**< probability of dropout, usual for transformers */

/** Places of tensors: slots, and offsets in bytes within a slot of several tensors. */
typedef struct attention_places {
    size_t v_offset, dk_offset, dv_offset;
    size_t q, kv, o, stats, d_o, dqkv, seed; /**< d_o, dqkv: backward only; seed: with dropout */
    size_t queries, keys;                    /**< lengths, for a padding mask */
} attention_places;

/** Adds the slots of k->base.kernel. */
attention_places ops_attention_slots(cuda_kernel *k);

/** Attention in f32, for which cuDNN has no fused kernel: products by cuBLASLt, our own kernels
 * between them. */
lm_status ops_attention_plain(const cuda_device *device, const settings *how, cuda_kernel *k,
                              lm_error *err);

#endif
