/**
 * One kernel beside plain loops on the CPU.
 *
 * A backend runs a trial's kernel once (backend_type.try_kernel). It asks for the contents of each
 * buffer with verify_give(), the source before the others, and shows each buffer afterwards with
 * verify_take(). Buffers that are neither given nor compared (scratch memory) may be passed as
 * well.
 *
 * A result agrees within a rounding of its own and 64 roundings of f32 of what was added up: sums
 * are kept in f32, and n additions err by at most n roundings of the sum of the absolute values
 * (Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1), in practice by the root of
 * n; the rest is for transformed convolutions. With tf32, factors have 10 bits behind the point,
 * which adds 2^-9; products in FP8 keep sums of 14 bits, which adds 2^-12. Fused attention rounds
 * its probabilities to the type, twice on the way back: 4 and 8 roundings. A function of elements
 * may err by 8 roundings of the type.
 */
#ifndef CALIBRATE_VERIFY_H
#define CALIBRATE_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/kernel.h>

#include "measure/backend.h"

/** Names of buffers, the same in all backends. */
typedef enum verify_tensor {
    VERIFY_NONE,
    VERIFY_SRC,   /**< input of the forward kernel; first factor; weights of an update */
    VERIFY_OTHER, /**< filter; second factor; keys, then values, each from a multiple of 256 bytes */
    VERIFY_BIAS,
    VERIFY_DST, /**< output of the forward kernel; result of a product in any pass */
    VERIFY_DIFF_DST,
    VERIFY_DIFF_SRC,   /**< of attention: queries, keys, values, as VERIFY_OTHER */
    VERIFY_DIFF_OTHER, /**< of a filter; gradient of an update */
    VERIFY_DIFF_BIAS,
    VERIFY_SCALE,
    VERIFY_SHIFT,
    VERIFY_DIFF_SCALE,
    VERIFY_DIFF_SHIFT,
    VERIFY_MEAN,     /**< of attention: logarithms of sums */
    VERIFY_INVERSE,  /**< inverse deviation */
    VERIFY_VARIANCE, /**< of known statistics */
    VERIFY_INDEX,
    VERIFY_OPERAND, /**< the first of ten: of a map; state of an update from the third on */
    N_VERIFY = VERIFY_OPERAND + 10
} verify_tensor;

typedef enum verify_verdict {
    VERIFY_AGREES,
    VERIFY_DIFFERS,
    VERIFY_UNKNOWN /**< was not compared: the backend has no such small kernel, or no result */
} verify_verdict;

typedef struct verify_trial {
    lm_kernel  kernel;
    kernel_use use;
    settings   how;
    double    *value[N_VERIFY]; /**< given so far, as the type holds them; malloc'ed */
    size_t     compared;        /**< results */
    bool       odd;             /**< a buffer has another size than its tensor */
    /** of the element with the largest difference over what is allowed */
    double difference, allowed, ratio;
} verify_trial;

/** @param k  a kernel of at most some thousand elements. Free with verify_free(). */
verify_trial verify_new(const lm_kernel *k, kernel_use use, const settings *how);
void         verify_free(verify_trial *t);

/** Writes the contents of a buffer of `n` elements to `out`; false: the kernel does not read it. */
bool verify_give(verify_trial *t, verify_tensor tensor, lm_dtype type, size_t n, void *out);
/** Compares a buffer after the run, if it is a result. */
void verify_take(verify_trial *t, verify_tensor tensor, lm_dtype type, size_t n, const void *from);

verify_verdict verify_judge(const verify_trial *t);

/** Relative error that is allowed in sums of products, of the sum of absolute values. */
double verify_sum_error(const settings *how, lm_op op, lm_dtype type);

#endif
