/**
 * The lists that a new kind of kernel extends: kernels with their descriptors, counts for networks
 * (slots), for single layers (kinds of work) and for single launches (classes). A new kind is one
 * descriptor in a file in this folder (kernel_class.h), and its lines here.
 */
#ifndef COUNTS_TABLE_H
#define COUNTS_TABLE_H

/**
 * X(operation, descriptor): by number, without gaps. All other operations use the first descriptor.
 */
#define KERNEL_TABLE(X)              \
    X(LM_OP_OPAQUE, kernel_opaque)   \
    X(LM_OP_GEMM, kernel_gemm)       \
    X(LM_OP_CONV, kernel_conv)       \
    X(LM_OP_POOL, kernel_pool)       \
    X(LM_OP_MAP, kernel_map)         \
    X(LM_OP_NORM, kernel_norm)       \
    X(LM_OP_SOFTMAX, kernel_softmax) \
    X(LM_OP_GATHER, kernel_gather)   \
    X(LM_OP_COPY, kernel_copy)       \
    X(LM_OP_REDUCE, kernel_reduce)   \
    X(LM_OP_ATTENTION, kernel_attention)

/**
 * X(slot, name, unit, family): a count of a class of kernels in a network. Several kinds share a
 * slot for launches and traffic.
 */
#define SLOT_TABLE(X)                                                         \
    X(SLOT_CONV1_FLOPS, "conv1x1.flops", "FLOP", FAMILY_DENSE)                \
    X(SLOT_CONV3_FLOPS, "conv3x3.flops", "FLOP", FAMILY_DENSE)                \
    X(SLOT_CONVL_FLOPS, "conv_large.flops", "FLOP", FAMILY_DENSE)             \
    X(SLOT_STEM_FLOPS, "conv_stem.flops", "FLOP", FAMILY_DENSE)               \
    X(SLOT_GEMM_FLOPS, "gemm.flops", "FLOP", FAMILY_DENSE)                    \
    X(SLOT_ATTENTION_FLOPS, "attention.flops", "FLOP", FAMILY_DENSE)          \
    X(SLOT_GROUPED_FLOPS, "conv_grouped.flops", "FLOP", FAMILY_GROUPED)       \
    X(SLOT_DEPTHWISE_FLOPS, "conv_depthwise.flops", "FLOP", FAMILY_DEPTHWISE) \
    X(SLOT_CONV_WEIGHTS, "conv.weights", "byte", FAMILY_REORDERED)            \
    X(SLOT_GEMM_WEIGHTS, "gemm.weights", "byte", FAMILY_WEIGHTS)              \
    X(SLOT_GEMV_WEIGHTS, "gemv.weights", "byte", FAMILY_WEIGHTS)              \
    X(SLOT_CONV_BYTES, "conv.bytes", "byte", FAMILY_TRAFFIC)                  \
    X(SLOT_GROUPED_BYTES, "conv_grouped.bytes", "byte", FAMILY_TRAFFIC)       \
    X(SLOT_DEPTHWISE_BYTES, "conv_depthwise.bytes", "byte", FAMILY_TRAFFIC)   \
    X(SLOT_GEMM_BYTES, "gemm.bytes", "byte", FAMILY_TRAFFIC)                  \
    X(SLOT_ATTENTION_BYTES, "attention.bytes", "byte", FAMILY_TRAFFIC)        \
    X(SLOT_MAX_POOL_BYTES, "max_pool.bytes", "byte", FAMILY_TRAFFIC)          \
    X(SLOT_AVG_POOL_BYTES, "avg_pool.bytes", "byte", FAMILY_TRAFFIC)          \
    X(SLOT_NORM_BYTES, "norm.bytes", "byte", FAMILY_TRAFFIC)                  \
    X(SLOT_NORM_AFTER_BYTES, "norm_after.bytes", "byte", FAMILY_TRAFFIC)      \
    X(SLOT_MAP_BYTES, "map.bytes", "byte", FAMILY_TRAFFIC)                    \
    X(SLOT_MAP_AFTER_BYTES, "map_after.bytes", "byte", FAMILY_TRAFFIC)        \
    X(SLOT_UPDATE_BYTES, "update.bytes", "byte", FAMILY_TRAFFIC)              \
    X(SLOT_UPDATE_HELD_BYTES, "update_held.bytes", "byte", FAMILY_TRAFFIC)    \
    X(SLOT_UPDATE_LARGE_BYTES, "update_large.bytes", "byte", FAMILY_TRAFFIC)  \
    X(SLOT_GROUPED_PLANES, "conv_grouped.planes", "plane", FAMILY_PLANES)     \
    X(SLOT_DEPTHWISE_PLANES, "conv_depthwise.planes", "plane", FAMILY_PLANES) \
    X(SLOT_CONV_COLUMNS, "conv.columns", "element", FAMILY_COLUMNS)           \
    X(SLOT_NORM_PLANES, "norm.planes", "plane", FAMILY_PLANES)                \
    X(SLOT_POOL_PLANES, "pool.planes", "plane", FAMILY_PLANES)                \
    X(SLOT_MAX_POOL_FLOPS, "max_pool.flops", "FLOP", FAMILY_POOL)             \
    X(SLOT_AVG_POOL_FLOPS, "avg_pool.flops", "FLOP", FAMILY_POOL)             \
    X(SLOT_MAP_ELEMENTS, "map.elements", "element", FAMILY_ELEMENTS)          \
    X(SLOT_CONV_LAUNCHES, "conv.launches", "launch", FAMILY_LAUNCHES)         \
    X(SLOT_GEMM_LAUNCHES, "gemm.launches", "launch", FAMILY_LAUNCHES)         \
    X(SLOT_NORM_LAUNCHES, "norm.launches", "launch", FAMILY_LAUNCHES)         \
    X(SLOT_AFTER_LAUNCHES, "after.launches", "launch", FAMILY_LAUNCHES)       \
    X(SLOT_OTHER_LAUNCHES, "other.launches", "launch", FAMILY_LAUNCHES)       \
    X(SLOT_UPDATE_LAUNCHES, "update.launches", "launch", FAMILY_LAUNCHES)

/** X(kind, name): for layers that are priced by their kernels only (other_layers.c). */
#define WORK_TABLE(X)                                                                           \
    X(WORK_PRODUCT, "product") /* of matrices: recurrent layers, attention */                   \
    X(WORK_CONV, "conv")       /* within other layers */                                        \
    X(WORK_POOL, "pool")                                                                        \
    X(WORK_MAP, "map")               /* elementwise, copies */                                  \
    X(WORK_NORM, "norm")             /* by statistics of rows that lie together: layer norm */  \
    X(WORK_BATCH_NORM, "batch_norm") /* of channels over the batch: few long rows, far apart */ \
    X(WORK_SCALE, "scale")           /* by known statistics: batch norm in evaluation mode */   \
    X(WORK_SOFTMAX, "softmax")                                                                  \
    X(WORK_GATHER, "gather")                                                                    \
    X(WORK_REDUCE, "reduce")                                                                    \
    X(WORK_ATTENTION, "attention") /* fused */

/**
 * X(class, name, tilings, power): single launches with separate prices.
 *
 * Floor and work join with this power. The host's work and the kernel's work overlap, so the larger
 * one counts (a high power); partly filled blocks lower the power. For products, powers of 2.5 to 6
 * differ by 0.1 points at most on twelve GPUs.
 */
#define LAUNCH_TABLE(X)                                                                    \
    X(LAUNCH_GEMM, "gemm", TILINGS_GEMM, 4)       /* a weight and activations */           \
    X(LAUNCH_BATCHED, "batched", TILINGS_SETS, 4) /* batches of products of activations */ \
    X(LAUNCH_MAP, "map", TILINGS_MIXED, 6)        /* whatever only moves data */           \
    X(LAUNCH_NORM, "norm", TILINGS_MIXED, 3)                                               \
    X(LAUNCH_SOFTMAX, "softmax", TILINGS_MIXED, 3)                                         \
    X(LAUNCH_CONV_FORWARD, "conv.forward", TILINGS_MIXED, 4)                               \
    X(LAUNCH_CONV_GRAD_INPUT, "conv.grad_input", TILINGS_MIXED, 4)                         \
    X(LAUNCH_CONV_GRAD_WEIGHT, "conv.grad_weight", TILINGS_SPLIT, 4)                       \
    X(LAUNCH_POOL, "pool", TILINGS_MIXED, 6)                                               \
    X(LAUNCH_ATTENTION, "attention", TILINGS_MIXED, 4) /* fused */

#endif
