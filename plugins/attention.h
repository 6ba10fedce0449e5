/** Scaled dot-product attention, the basis of two layer types. */
#ifndef PLUGINS_ATTENTION_H
#define PLUGINS_ATTENTION_H

#include <stdbool.h>

#include "inputs.h"

extern const lm_layer_type attention_scaled_dot_product; /* attention_product.c */
extern const lm_layer_type attention_multi_head;         /* attention_heads.c */

/** softmax(Q K^T / sqrt(width)) V for each sample and head (Vaswani et al. 2017, eq. 1). */
typedef struct attention {
    lm_dtype dtype;
    int64_t  batch, heads, kv_heads, queries, keys, width, value_width;
    int64_t  past;   /**< keys in a cache, of tokens before the only query */
    int64_t  ring;   /**< number of ranks in a ring (0 is 1); `keys` are those of one. Fused only */
    bool     causal; /**< query i sees keys 0 .. i */
    bool     flash;  /**< fused; else the scores of all pairs are written to memory */
    bool     dropout; /**< of the probabilities */
    bool     latent;  /**< the values are the first elements of the keys */
} attention;

/** Gradients that are wanted. */
enum { ATTENTION_Q = 1, ATTENTION_K = 2, ATTENTION_V = 4, ATTENTION_ALL = 7 };

void attention_forward(const attention *a, lm_sink *sink);
/** Bytes of the keys and values of all tokens, with those of the query; 0 without a cache. */
uint64_t attention_cached_bytes(const attention *a);
/** Emits the gradients in `wanted`, launched in `pass`. */
void attention_backward(const attention *a, lm_pass pass, unsigned wanted, lm_sink *sink);
/** Bytes kept for backward beside queries, keys, values and output: with copies of keys and
 * values. */
uint64_t attention_saved_bytes(const attention *a);
/** Are keys and values copied for each query head that shares them, and the copies kept instead? */
bool attention_repeats(const attention *a);

#define ATTENTION_CAUSAL                                                                        \
    {                                                                                           \
        .name = "causal", .kind = LM_BOOL, .fallback = "no",                                    \
        .doc = "query i sees keys 0 to i: flash computes those pairs only, plain computes all " \
               "and masks the others"                                                           \
    }
#define ATTENTION_MEMORY                                                                           \
    {                                                                                              \
        .name = "memory", .kind = LM_ENUM, .choices = "flash|plain", .fallback = "flash",          \
        .doc = "flash: one fused kernel, which keeps a number a row; plain: products and softmax " \
               "apart, which write and keep the probabilities of all pairs"                        \
    }
#define ATTENTION_DROPOUT                                                        \
    {                                                                            \
        .name = "dropout", .kind = LM_REAL, .min = 0, .max = 1, .fallback = "0", \
        .doc = "probability with which a pair is left out while training"        \
    }
enum { ATTENTION_FLASH, ATTENTION_PLAIN };

#endif
