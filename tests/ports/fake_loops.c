/* Our own kernels on the host: loops.cu itself, with one thread. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fake.h"

#define KERNEL static void
#define KERNEL_OF(n) static void
#define INLINE static inline
#define UNROLL
#define UNROLL_SOME
#define ALIGNED(bytes)      __attribute__((aligned(bytes)))
#define FIRST               0
#define STEP                1
#define FIRST_ROW           0
#define ROW_STEP            1
#define LANE                0
#define LANES               1
#define BLOCK_ROW           0
#define ROW_OF_BLOCK        0
#define ROWS_OF_BLOCK       1
#define BLOCK               0
#define BLOCKS              1
#define BLOCK_SUM(x)        (x)
#define LANES_SUM(x)        (x)
#define LANES_MAX(x)        (x)
#define SPEND(ns)           (fake_sweeps(0), fake_spend(ns))
#define KEEP_LARGEST(at, x) (*(at) = fmaxf(*(at), x))

typedef unsigned short half_bits;

static inline float float_of(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float bfloat_to_float(half_bits x)
{
    return float_of((uint32_t)x << 16);
}

static inline half_bits float_to_bfloat(float f)
{
    const uint32_t bits = bits_of(f);

    return isnan(f) ? 0x7fff : (half_bits)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float half_to_float(half_bits x)
{
    const int   exponent = x >> 10 & 0x1f, fraction = x & 0x3ff;
    const float sign = x & 0x8000 ? -1.0f : 1.0f;

    if (exponent == 0x1f)
        return fraction ? NAN : sign * INFINITY;
    return exponent ? sign * ldexpf((float)(fraction | 0x400), exponent - 25)
                    : sign * ldexpf((float)fraction, -24);
}

/* To the nearest, ties to even, as nearbyintf() does by default. */
static inline half_bits float_to_half(float f)
{
    const half_bits sign = (half_bits)(signbit(f) ? 0x8000 : 0);
    const float     x    = fabsf(f);
    int             exponent;

    if (isnan(f))
        return 0x7fff;
    if (x >= 65520.0f)
        return (half_bits)(sign | 0x7c00);
    if (x < 6.103515625e-05f)
        return (half_bits)(sign | (half_bits)nearbyintf(ldexpf(x, 24)));
    frexpf(x, &exponent);
    /* a fraction rounded up to 2048 carries into the exponent */
    return (half_bits)(sign |
                       (((exponent + 13) << 10) + (int)nearbyintf(ldexpf(x, 11 - exponent))));
}

static inline void atomic_add_float(float *at, float x)
{
    *at += x;
}

static inline void atomic_add_half(half_bits *at, float x)
{
    *at = float_to_half(half_to_float(*at) + half_to_float(float_to_half(x)));
}

static inline void atomic_add_bfloat(half_bits *at, float x)
{
    *at = float_to_bfloat(bfloat_to_float(*at) + bfloat_to_float(float_to_bfloat(x)));
}

#include "loops.cu"

/* ---- by name -----------------------------------------------------------------------------------
 */

#define ONE(kernel)                            \
    static void run_##kernel(void **arguments) \
    {                                          \
        loop_args a;                           \
                                               \
        memcpy(&a, arguments[0], sizeof a);    \
        kernel(a);                             \
    }
#define EACH(kernel) ONE(kernel##_f32) ONE(kernel##_f16) ONE(kernel##_bf16)

ONE(fill_index)
ONE(delay)
ONE(fill_normal_f8)
EACH(map_relu)
EACH(map_swish)
EACH(map_gelu)
EACH(map_sum)
EACH(map_relu_back)
EACH(map_swish_back)
EACH(map_gelu_back)
EACH(cast_down)
EACH(cast_up)
EACH(cast_e4m3)
EACH(cast_e5m2)
EACH(map_many)
EACH(update_sgd)
EACH(update_momentum)
EACH(update_adam)
EACH(update_adagrad)
EACH(update_adadelta)
EACH(update_rmsprop)
EACH(pass_affine)
EACH(pass_root)
EACH(pass_linear)
EACH(pass_times)
EACH(pass_over)
EACH(pass_product)
EACH(pass_quotient)
EACH(gather)
EACH(scatter)
EACH(sum_rows)
EACH(sum_columns)
EACH(sum_slices)
EACH(attend)
EACH(attend_back)
EACH(pool_adaptive)
EACH(pool_adaptive_back)
EACH(depthwise_any)
EACH(depthwise_1)
EACH(depthwise_3)
EACH(depthwise_5)
EACH(depthwise_back_any)
EACH(depthwise_back_any_1)
EACH(depthwise_back_any_2)
EACH(depthwise_back_1)
EACH(depthwise_back_1_1)
EACH(depthwise_back_1_2)
EACH(depthwise_back_3)
EACH(depthwise_back_3_1)
EACH(depthwise_back_3_2)
EACH(depthwise_back_5)
EACH(depthwise_back_5_1)
EACH(depthwise_back_5_2)
EACH(depthwise_weights)
EACH(fill_normal)
EACH(fill_value)

#define NAMED(kernel)      { #kernel, run_##kernel },
#define NAMED_EACH(kernel) NAMED(kernel##_f32) NAMED(kernel##_f16) NAMED(kernel##_bf16)

static const struct {
    const char  *name;
    fake_kernel *run;
} kernels[] = {
    NAMED(fill_index) NAMED(delay) NAMED(fill_normal_f8) NAMED_EACH(cast_e4m3) NAMED_EACH(cast_e5m2)
        NAMED_EACH(map_relu) NAMED_EACH(map_swish) NAMED_EACH(map_gelu) NAMED_EACH(map_sum)
            NAMED_EACH(map_relu_back) NAMED_EACH(map_swish_back) NAMED_EACH(map_gelu_back)
                NAMED_EACH(cast_down) NAMED_EACH(cast_up) NAMED_EACH(map_many)
                    NAMED_EACH(update_sgd) NAMED_EACH(update_momentum) NAMED_EACH(update_adam)
                        NAMED_EACH(update_adagrad) NAMED_EACH(update_adadelta)
                            NAMED_EACH(update_rmsprop) NAMED_EACH(pass_affine) NAMED_EACH(pass_root)
                                NAMED_EACH(pass_linear) NAMED_EACH(pass_times) NAMED_EACH(pass_over)
                                NAMED_EACH(pass_product) NAMED_EACH(pass_quotient) NAMED_EACH(gather) NAMED_EACH(scatter)
                                NAMED_EACH(sum_rows) NAMED_EACH(sum_columns) NAMED_EACH(sum_slices)
                                    NAMED_EACH(attend) NAMED_EACH(attend_back)
                                    NAMED_EACH(pool_adaptive) NAMED_EACH(pool_adaptive_back)
    NAMED_EACH(depthwise_any)
    NAMED_EACH(depthwise_1)
    NAMED_EACH(depthwise_3)
    NAMED_EACH(depthwise_5)
    NAMED_EACH(depthwise_back_any)
    NAMED_EACH(depthwise_back_any_1)
    NAMED_EACH(depthwise_back_any_2)
    NAMED_EACH(depthwise_back_1)
    NAMED_EACH(depthwise_back_1_1)
    NAMED_EACH(depthwise_back_1_2)
    NAMED_EACH(depthwise_back_3)
    NAMED_EACH(depthwise_back_3_1)
    NAMED_EACH(depthwise_back_3_2)
    NAMED_EACH(depthwise_back_5)
    NAMED_EACH(depthwise_back_5_1)
    NAMED_EACH(depthwise_back_5_2)
    NAMED_EACH(depthwise_weights)
                                        NAMED_EACH(fill_normal) NAMED_EACH(fill_value)
};

fake_kernel *fake_find_kernel(const char *name, size_t *argument_bytes)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (!strcmp(kernels[i].name, name)) {
            *argument_bytes = sizeof(loop_args);
            return kernels[i].run;
        }
    return NULL;
}
