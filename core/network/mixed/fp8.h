/**
 * Products in FP8, as NVIDIA's Transformer Engine runs them under autocast to bf16.
 *
 * Its recipe is DelayedScaling with Format.HYBRID, which it takes by itself on Ada and Hopper
 * (transformer_engine/common/recipe, pytorch/quantization.py):
 *  - e4m3 for weights and activations, e5m2 for gradients of outputs; results are bf16
 *  - a cast is one kernel. It scales by the largest magnitudes of steps before, records this one's,
 *    and writes what the product reads; training takes a transposed copy beside it, as products
 *    read both factors along the summed axis (cuBLASLt: "TN")
 *  - weights are cast from f32, once in a forward pass
 *  - after each of the two passes one kernel goes over all records (1024 steps each) and sets the
 *    scales: three tensors a product forward, two backward
 *
 * A layer takes part whose products with weights all have sizes that are multiples of 16 in all
 * three passes. Attention, convolutions, recurrent steps and experts stay in bf16.
 */
#ifndef NETWORK_MIXED_FP8_H
#define NETWORK_MIXED_FP8_H

#include "network/bind.h"

/** Tensors with a record of their own, of a product: input, weight and output; gradients of the
 * output and of the input. */
enum { FP8_FORWARD_TENSORS = 3, FP8_BACKWARD_TENSORS = 2 };

/** Bytes of the records and scales of one product, which are there all the time. */
uint64_t fp8_record_bytes(void);

/** Is it a product with a weight? */
bool fp8_is_weighed(const lm_kernel *k);
/** How many products of this layer, bound in bf16, run in FP8; 0: it takes no part. */
size_t fp8_products(const bound_layer *half);

/** A product of bf16, as it is in FP8: its result is bf16. */
lm_kernel fp8_product(const lm_kernel *half);

/**
 * A cast of rows x width elements. `from`: LM_F32 or LM_BF16. `pass`: LM_GRAD_INPUT, to e5m2, of a
 * gradient; LM_GRAD_WEIGHT of weights; else of an activation.
 *
 * @param copies 2: a transposed one as well
 */
lm_kernel fp8_cast(lm_dtype from, uint64_t rows, uint64_t width, int copies, lm_pass pass);
/** Is it such a kernel? From which type, and with a transposed copy? */
bool fp8_is_cast(const lm_kernel *k, lm_dtype *from, bool *transposed);

/** Scales anew, of so many tensors. */
lm_kernel fp8_scales(uint64_t tensors);

#endif
