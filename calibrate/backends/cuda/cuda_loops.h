/** Our own kernels (loops.cu), compiled for one device. */
#ifndef CALIBRATE_BACKENDS_CUDA_LOOPS_H
#define CALIBRATE_BACKENDS_CUDA_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

#include "cuda_device.h"
#include "cuda_driver.h"
#include "loop_args.h"
#include "measure/plan.h"

typedef enum cuda_loop {
    LOOP_RELU,      /**< at[0] -> at[1] */
    LOOP_SWISH,     /**< at[0] -> at[1] */
    LOOP_GELU,      /**< at[0] -> at[1]; of the error function */
    LOOP_SUM,       /**< at[0], at[1] -> at[2] */
    LOOP_RELU_BACK, /**< gradient at[0], input at[1] -> at[2] */
    LOOP_SWISH_BACK,
    LOOP_GELU_BACK,
    LOOP_CAST_DOWN, /**< at[0], of f32 -> at[1] */
    LOOP_CAST_UP,   /**< at[0] -> at[1], of f32 */
    LOOP_CAST_E4M3, /**< rows at[0] -> at[1], of FP8, and with 2 `slices` at[2], transposed; scale
                       at[3], of f32; largest magnitude at[4]. Rows and width are multiples of 16 */
    LOOP_CAST_E5M2,
    LOOP_MANY,          /**< at[0 .. width-1] -> at[width]: their sum times `scale` */
    LOOP_SGD,           /**< weights at[0], gradients at[1], rate `scale` */
    LOOP_MOMENTUM,      /**< and at[2] */
    LOOP_ADAM,          /**< and at[2], at[3] */
    LOOP_ADAGRAD,       /**< and at[2] */
    LOOP_ADADELTA,      /**< and at[2], at[3] */
    LOOP_RMSPROP,       /**< and at[2] */
    LOOP_PASS_AFFINE,   /**< at[0] -> at[1]: `scale` times it, and `kept` */
    LOOP_PASS_ROOT,     /**< at[0] -> at[1] */
    LOOP_PASS_LINEAR,   /**< at[0] times `kept` and at[1] times `scale` -> at[2] */
    LOOP_PASS_TIMES,    /**< at[0] at[1] -> at[2] */
    LOOP_PASS_OVER,     /**< at[0] / at[1] -> at[2] */
    LOOP_PASS_PRODUCT,  /**< at[0] + `scale` at[1] at[2] -> at[3] */
    LOOP_PASS_QUOTIENT, /**< at[0] + `scale` at[1] / at[2] -> at[3] */
    LOOP_GATHER,  /**< table at[0], row numbers at[1] (int) -> at[2]: n rows, width elements each */
    LOOP_SCATTER, /**< rows at[0], row numbers at[1] -> at[2]: table, added */
    LOOP_SUM_ROWS, /**< sums: see cuda_sum */
    LOOP_SUM_COLUMNS,
    LOOP_SUM_SLICES,
    LOOP_ATTEND, /**< attention: see ops_attention_plain.c */
    LOOP_ATTEND_BACK,
    LOOP_POOL_ADAPTIVE,      /**< averages: see loops_pool.cu */
    LOOP_POOL_ADAPTIVE_BACK, /**< gradients of outputs at[0] -> of inputs at[1] */
    LOOP_DEPTHWISE,          /**< see loops_depthwise.cu: windows of any size, and of 1, 3, 5 */
    LOOP_DEPTHWISE_1,
    LOOP_DEPTHWISE_3,
    LOOP_DEPTHWISE_5,
    LOOP_DEPTHWISE_BACK, /**< gradients of the input; of each window: strides of any size, 1, 2 */
    LOOP_DEPTHWISE_BACK_ANY_1,
    LOOP_DEPTHWISE_BACK_ANY_2,
    LOOP_DEPTHWISE_BACK_1,
    LOOP_DEPTHWISE_BACK_1_1,
    LOOP_DEPTHWISE_BACK_1_2,
    LOOP_DEPTHWISE_BACK_3,
    LOOP_DEPTHWISE_BACK_3_1,
    LOOP_DEPTHWISE_BACK_3_2,
    LOOP_DEPTHWISE_BACK_5,
    LOOP_DEPTHWISE_BACK_5_1,
    LOOP_DEPTHWISE_BACK_5_2,
    LOOP_DEPTHWISE_WEIGHTS,
    LOOP_FILL_NORMAL, /**< at[0]: normal numbers of deviation `scale`, by `position` */
    LOOP_FILL_VALUE,  /**< at[0]: `scale` */
    N_LOOPS
} cuda_loop;

/** LM_E_UNSUPPORTED if NVRTC cannot compile for this device; the text has its first error. */
lm_status cuda_loops_open(const cuda_device *device, const cuda_driver *driver, cuda_loops **out,
                          lm_error *err);
/** NULL is fine. */
void cuda_loops_close(cuda_loops *loops);

/** Are there loops for the type? LM_F32, LM_F16, LM_BF16. */
bool cuda_loops_know(lm_dtype type);

/** Enqueues a loop to device->stream. Pointers are aligned to 16 bytes. */
lm_status cuda_loop_run(const cuda_device *device, cuda_loop loop, lm_dtype type,
                        const loop_args *args, lm_error *err);

/** The same for kernels whose threads share rows: `lanes` threads (a power of two) for each of
 * `rows`. */
lm_status cuda_loop_rows(const cuda_device *device, cuda_loop loop, lm_dtype type, unsigned lanes,
                         long long rows, const loop_args *args, lm_error *err);
/** The same in so many blocks of `rows` rows of `lanes` threads: LOOP_DEPTHWISE and its kin. */
lm_status cuda_loop_blocks(const cuda_device *device, cuda_loop loop, lm_dtype type,
                           long long blocks, unsigned lanes, unsigned rows, const loop_args *args,
                           lm_error *err);
/** LOOP_CAST_E4M3 and _E5M2: casts args->n rows of args->width. */
lm_status cuda_cast_f8(const cuda_device *device, cuda_loop loop, lm_dtype from,
                       const loop_args *args, lm_error *err);
/** Number of useful lanes: a power of two, at most `most`. */
unsigned cuda_loop_lanes(long long wanted, unsigned most);

/** Enqueues a pause. Work that the host enqueues meanwhile is ready at its end. */
lm_status cuda_delay(const cuda_device *device, long long nanoseconds, lm_error *err);

/**
 * Enqueues the fill of `bytes` at `at`.
 *
 * @param position  of `at` among all filled bytes: no two buffers get the same random numbers
 */
lm_status cuda_fill(const cuda_device *device, const fill *f, unsigned long long position, void *at,
                    size_t bytes, lm_error *err);

/* ---- sums of any element type (cuda_sums.c): cuDNN has no bf16, and refuses groups of one ---- */

/** A sum of head x kept x group x inner elements over the first and third axes. The gradient of a
 * bias of N,C,H,W: N, C, H*W, 1; of N,H,W,C: 1, 1, N*H*W, C. */
typedef struct cuda_sum {
    int64_t head, kept, group, inner;
} cuda_sum;

/** Bytes of scratch memory; 0: none. */
uint64_t cuda_sum_scratch(const cuda_device *device, lm_dtype type, const cuda_sum *s);

/** Enqueues a sum: one launch, or two for few results of many elements. Sums are in f32, in a fixed
 * order. `scratch` may be NULL if none is needed. */
lm_status cuda_sum_run(const cuda_device *device, lm_dtype type, const cuda_sum *s, void *from,
                       void *to, void *scratch, lm_error *err);

#endif
