/**
 * Kernels on a GPU, of a library or our own, with their buffers.
 *
 * ops_*.c make them, one file for each family (ops.h). Rules:
 *  - slot[i] belongs to at[i]. Buffers are aligned to 256 bytes and lie in one block. slot[i].fill
 *    gives the initial contents, plan.h the place of each role.
 *  - Scratch memory ("workspace") is a slot of role ROLE_SCRATCH, which all kernels of a case
 *    share: at most device->workspace_limit bytes, aligned to 256.
 *  - ROLE_WEIGHT and ROLE_STATE of a backward kernel are those of its forward kernel if `argument`
 *    and sizes are equal.
 *  - run() only enqueues to device->stream: no allocation, no waiting, no other stream, because a
 *    graph may capture it. A launch has the same `at` in each repetition; another launch of an
 *    equal kernel has others.
 *  - Autotuning takes place during preparation, on memory from cuda_borrow(), with
 *    cuda_kernel_time().
 */
#ifndef CALIBRATE_BACKENDS_CUDA_KERNELS_H
#define CALIBRATE_BACKENDS_CUDA_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "cuda_device.h"
#include "measure/plan.h"
#include "measure/settings.h"

/** Names for slot.argument. */
typedef enum cuda_argument {
    CUDA_SRC, /**< input of the forward kernel, or the gradient of that */
    CUDA_SRC_OTHER,
    CUDA_WEIGHTS,
    CUDA_BIAS,
    CUDA_DST,
    CUDA_DIFF_DST,
    CUDA_DIFF_SRC,
    CUDA_DIFF_SRC_OTHER,
    CUDA_DIFF_SRC_THIRD,
    CUDA_DIFF_WEIGHTS,
    CUDA_DIFF_BIAS,
    CUDA_SCALE,
    CUDA_SHIFT,
    CUDA_DIFF_SCALE,
    CUDA_DIFF_SHIFT,
    CUDA_MEAN,     /**< or attention's logarithms of sums */
    CUDA_VARIANCE, /**< or the inverse of its root */
    CUDA_INDEX,    /**< int32_t */
    CUDA_MASK,
    CUDA_QUERIES, /**< int32_t: lengths of sequences */
    CUDA_KEYS,
    CUDA_FACTOR, /**< FP8: scale of a tensor, f32; of the second factor */
    CUDA_FACTOR_OTHER,
    CUDA_LARGEST, /**< FP8: the largest magnitude of a tensor, f32 */
    CUDA_SCRATCH,
    CUDA_BIAS_SCRATCH,
    CUDA_OPERAND /**< the first of several */
} cuda_argument;

typedef struct cuda_kernel cuda_kernel;
struct cuda_kernel {
    plan_kernel base; /**< first */
    void       *made; /**< data of the family for run() */
    lm_status (*run)(const cuda_kernel *k, const cuda_device *device, void *const *at,
                     lm_error *err);
    void (*release)(cuda_kernel *k); /**< NULL: nothing to do */
    void (*forget)(cuda_kernel *k);  /**< drops kept addresses of earlier runs; or NULL */
    bool tensor_cores;               /**< a product on tensor cores */
    char implementation[64];         /**< "cudnn engine 38 (heuristic)": for the record */
};

/**
 * @param out     release with cuda_kernel_release(); untouched on failure
 * @return LM_E_UNSUPPORTED, LM_E_NOMEM, or LM_E_IO; the text names the kernel
 */
lm_status cuda_kernel_prepare(const cuda_device *device, const settings *how, const lm_kernel *k,
                              kernel_use use, cuda_kernel *out, lm_error *err);
void      cuda_kernel_release(cuda_kernel *k);

/** Enqueues one launch. An error's text names the kernel. */
lm_status cuda_kernel_run(const cuda_kernel *k, const cuda_device *device, void *const *at,
                          lm_error *err);

/** Seconds of one launch: the least of several, after a first one without timing. Waits. */
lm_status cuda_kernel_time(const cuda_kernel *k, const cuda_device *device, void *const *at,
                           double *seconds, lm_error *err);

/* ---- for makers of kernels -------------------------------------------------------------- */

/** Adds a slot; 0 bytes: none. */
void cuda_add_slot(cuda_kernel *k, cuda_argument argument, slot_role role, uint64_t bytes, fill f);

/** LM_E_UNSUPPORTED: "cuDNN has no bf16 conv grad_weight: CAUSE: GEOMETRY". */
lm_status cuda_unsupported(const cuda_kernel *k, const char *library, const char *cause,
                           lm_error *err);

/** LM_E_UNSUPPORTED on a device without products in FP8. Compute capability 8.9 and later have them
 * (Ada, Hopper, Blackwell). */
lm_status cuda_need_f8(const cuda_device *device, lm_error *err);

/** Normal numbers of standard deviation `scale`. */
static inline fill cuda_normal(lm_dtype type, double scale)
{
    return (fill){ .kind = FILL_NORMAL, .type = type, .scale = scale };
}

#endif
