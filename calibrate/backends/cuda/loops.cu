/* Kernels that no library has, for one device, compiled when the program starts. Compiled for the
 * host, too, with one thread, to be tested (tests/ports/fake_loops.c defines what is defined here).
 */
#include "loop_args.h"

#ifdef __CUDACC__

#define KERNEL_OF(n)   extern "C" __global__ void __launch_bounds__(n)
#define KERNEL         KERNEL_OF(256)
#define INLINE         static __device__ __forceinline__
#define UNROLL         _Pragma("unroll")
#define UNROLL_SOME    _Pragma("unroll 4")
#define ALIGNED(bytes) __align__(bytes)
#define FIRST          ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP           ((long long)gridDim.x * blockDim.x)
#define FIRST_ROW      ((long long)blockIdx.x * blockDim.y + threadIdx.y)
#define ROW_STEP       ((long long)gridDim.x * blockDim.y)
#define LANE           threadIdx.x
#define LANES          blockDim.x
#define BLOCK_ROW      ((long long)blockIdx.x * blockDim.y)
#define ROW_OF_BLOCK   threadIdx.y
#define ROWS_OF_BLOCK  blockDim.y
#define BLOCK          ((long long)blockIdx.x)
#define BLOCKS         ((long long)gridDim.x)
#define BLOCK_SUM      sum_of_block
#define LANES_SUM      sum_of_lanes
#define LANES_MAX      largest_of_lanes
#define SPEND          spend
#define KEEP_LARGEST   keep_largest

typedef unsigned short half_bits;

INLINE float half_to_float(half_bits x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
}

INLINE half_bits float_to_half(float f)
{
    half_bits x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(f));
    return x;
}

INLINE float bfloat_to_float(half_bits x)
{
    return __uint_as_float((unsigned)x << 16);
}

INLINE half_bits float_to_bfloat(float f)
{
#if __CUDA_ARCH__ >= 800
    half_bits x;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(f));
    return x;
#else
    const unsigned bits = __float_as_uint(f);
    return (half_bits)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}

/* The timer of the whole device: it goes on by a microsecond at most. */
INLINE unsigned long long nanoseconds(void)
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

INLINE void spend(long long n)
{
    const unsigned long long begin = nanoseconds();

    while (nanoseconds() - begin < (unsigned long long)n)
        ;
}

/* Over the threads of a row: a power of two, 32 at most; all threads of a warp are here. */
INLINE float sum_of_lanes(float x)
{
    for (unsigned away = blockDim.x / 2; away; away /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, away);
    return x;
}

INLINE float largest_of_lanes(float x)
{
    for (unsigned away = blockDim.x / 2; away; away /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, away));
    return x;
}

/* Over a block of up to 32 rows of a warp each, all of whose threads are here: right in the first. */
INLINE float sum_of_block(float x)
{
    __shared__ float of_row[32];

    x = sum_of_lanes(x);
    __syncthreads();
    if (threadIdx.x == 0)
        of_row[threadIdx.y] = x;
    __syncthreads();
    if (threadIdx.y == 0)
        x = sum_of_lanes(threadIdx.x < blockDim.y ? of_row[threadIdx.x] : 0.0f);
    return x;
}

/* Over a warp, all of whose threads are here; magnitudes are ordered as their bits are. */
INLINE void keep_largest(float *at, float x)
{
    for (unsigned away = 16; away; away /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, away));
    if (threadIdx.x % 32 == 0)
        atomicMax((int *)at, __float_as_int(x));
}

#if __CUDA_ARCH__ >= 890
#define HAVE_F8 1

INLINE unsigned word_e4m3(const float *x)
{
    half_bits low, high;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
    return (unsigned)high << 16 | low;
}

INLINE unsigned word_e5m2(const float *x)
{
    half_bits low, high;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x[3]), "f"(x[2]));
    return (unsigned)high << 16 | low;
}
#endif

INLINE void atomic_add_float(float *at, float x)
{
    atomicAdd(at, x);
}

/* The word around the element is exchanged, until nobody came between. */
INLINE void atomic_add_bits(half_bits *at, float x, float (*widen)(half_bits),
                            half_bits (*narrow)(float))
{
    unsigned *const word  = (unsigned *)((size_t)at & ~(size_t)2);
    const unsigned  shift = ((size_t)at & 2) * 8;
    unsigned        old   = *word, seen;

    do {
        const unsigned sum = narrow(widen((half_bits)(old >> shift)) + x);
        seen               = old;
        old                = atomicCAS(word, seen, (seen & ~(0xffffu << shift)) | sum << shift);
    } while (old != seen);
}

INLINE void atomic_add_half(half_bits *at, float x)
{
#if __CUDA_ARCH__ >= 700
    asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(at), "h"(float_to_half(x)) : "memory");
#else
    atomic_add_bits(at, x, half_to_float, float_to_half);
#endif
}

INLINE void atomic_add_bfloat(half_bits *at, float x)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.bf16 [%0], %1;" ::"l"(at), "h"(float_to_bfloat(x))
                 : "memory");
#else
    atomic_add_bits(at, x, bfloat_to_float, float_to_bfloat);
#endif
}

#endif

/* ---- arithmetic, in single precision -----------------------------------------------------------
 */

INLINE float relu(float x)
{
    return x > 0.0f ? x : 0.0f;
}

INLINE float relu_back(float dy, float x)
{
    return x > 0.0f ? dy : 0.0f;
}

INLINE float swish(float x)
{
    return x / (1.0f + expf(-x));
}

INLINE float swish_back(float dy, float x)
{
    const float s = 1.0f / (1.0f + expf(-x));

    return dy * s * (1.0f + x * (1.0f - s));
}

INLINE float gelu(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

INLINE float gelu_back(float dy, float x)
{
    return dy * (0.5f * (1.0f + erff(x * 0.70710678f)) + x * 0.39894228f * expf(-0.5f * x * x));
}

INLINE float sum_of_two(float a, float b)
{
    return a + b;
}

INLINE float momentum(float m, float gradient)
{
    return 0.9f * m + gradient;
}

/* Kingma & Ba 2015, algorithm 1, with their defaults; the corrections of the bias are in the rate. */
INLINE float adam_first(float m, float gradient)
{
    return 0.9f * m + 0.1f * gradient;
}

INLINE float adam_second(float v, float gradient)
{
    return 0.999f * v + 0.001f * gradient * gradient;
}

INLINE float adam_step(float m, float v)
{
    return m / (sqrtf(v) + 1e-8f);
}

INLINE float adagrad_sum(float s, float gradient)
{
    return s + gradient * gradient;
}

INLINE float adagrad_step(float s, float gradient)
{
    return gradient / (sqrtf(s) + 1e-10f);
}

INLINE float rmsprop_square(float s, float gradient)
{
    return 0.99f * s + 0.01f * gradient * gradient;
}

INLINE float rmsprop_step(float s, float gradient)
{
    return gradient / (sqrtf(s) + 1e-8f);
}

/* Zeiler 2012, with PyTorch's defaults: means of squares of gradients and of steps. */
INLINE float adadelta_mean(float s, float x)
{
    return 0.9f * s + 0.1f * x * x;
}

INLINE float adadelta_step(float square, float steps, float gradient)
{
    return sqrtf(steps + 1e-6f) / sqrtf(square + 1e-6f) * gradient;
}

/* A pure function of the position (Steele, Lea, Flood 2014), as on the CPU. */
INLINE unsigned long long mix(unsigned long long x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Sum of four uniform numbers, near enough to normal; never so small that a product is denormal. */
INLINE float normal(unsigned long long position)
{
    const unsigned long long bits = mix(position);
    int                      sum  = -4 * 65536;
    float                    x;

    for (int i = 0; i < 64; i += 16)
        sum += 2 * (int)(bits >> i & 0xffff);
    x = (float)sum * (1.7320508f / 131072.0f);
    return fabsf(x) < 1e-3f ? 1e-3f : x;
}

/* `n` nanoseconds pass. */
KERNEL delay(const loop_args a)
{
    SPEND(a.n);
}

INLINE float larger(float a, float b)
{
    return a > b ? a : b;
}

/* What dropout makes of a probability: 0, or more of it. The same at the same place. */
INLINE float dropped(long long place, float kept)
{
    if (kept >= 1.0f)
        return 1.0f;
    return (float)(mix((unsigned long long)place) >> 40) < kept * 16777216.0f ? 1.0f / kept : 0.0f;
}

/* Of `from` pixels in `to` adaptive windows, the first that window i holds, and the one behind its last.
 * With both sizes exchanged: the windows that hold pixel i. */
INLINE unsigned window_begin(unsigned i, unsigned from, unsigned to)
{
    return i * from / to;
}

INLINE unsigned window_end(unsigned i, unsigned from, unsigned to)
{
    return ((i + 1) * from + to - 1) / to;
}

INLINE unsigned window_length(unsigned i, unsigned from, unsigned to)
{
    return window_end(i, from, to) - window_begin(i, from, to);
}

/* Of a window's elements along one axis, `apart` from each other, of which the first lies at `begin`:
 * the first inside an image of `in`, and the one behind the last inside. */
INLINE int first_tap(int begin, int apart)
{
    return begin < 0 ? (apart - 1 - begin) / apart : 0;
}

INLINE int end_of_taps(int begin, int n, int apart, int in)
{
    const int beyond = begin + (n - 1) * apart - (in - 1);

    return beyond > 0 ? n - (beyond + apart - 1) / apart : n;
}

#ifndef HAVE_F8
/* To the nearest number of `mantissa` bits behind the point, ties to even; what is beyond the largest
 * becomes it. In units of the last place a number is what its bits are, less one exponent. */
INLINE unsigned bits_of_f8(float f, int mantissa, int bias, float most)
{
    const unsigned sign     = f < 0.0f ? 0x80u : 0u;
    float          x        = fabsf(f);
    int            exponent = 0;

    if (f != f)
        return 0x7fu;
    x = x < most ? x : most;
    (void)frexpf(x, &exponent);
    exponent = x > 0.0f && exponent - 1 > 1 - bias ? exponent - 1 : 1 - bias; /* of 0 it says 0 */
    return sign | (((unsigned)(exponent + bias - 1) << mantissa) +
                   (unsigned)rintf(ldexpf(x, mantissa - exponent)));
}

INLINE unsigned word_of_f8(const float *x, int mantissa, int bias, float most)
{
    unsigned word = 0;

    for (int i = 0; i < 4; i++)
        word |= bits_of_f8(x[i], mantissa, bias, most) << 8 * i;
    return word;
}

INLINE unsigned word_e4m3(const float *x)
{
    return word_of_f8(x, 3, 7, 448.0f);
}

INLINE unsigned word_e5m2(const float *x)
{
    return word_of_f8(x, 2, 15, 57344.0f);
}
#endif

typedef struct ALIGNED(8) two_words {
    unsigned at[2];
} two_words;

/* at[0]: normal numbers of deviation `scale`, by `position`, in words of four e4m3 */
KERNEL fill_normal_f8(const loop_args a)
{
    for (long long i = FIRST; i < a.n; i += STEP) {
        float x[4];

        UNROLL for (int j = 0; j < 4; j++)
            x[j] = a.scale * normal(a.position + (unsigned long long)(4 * i + j));
        ((unsigned *)a.at[0])[i] = word_e4m3(x);
    }
}

/* `width` different numbers from `head` on. */
KERNEL fill_index(const loop_args a)
{
    for (long long i = FIRST; i < a.n; i += STEP)
        ((int *)a.at[0])[i] =
            (int)(a.head + (long long)(mix(a.position + (unsigned long long)i) %
                                       (unsigned long long)a.width));
}

/* ---- by element type ---------------------------------------------------------------------------
 */

#define NAME(kernel) kernel##_f32
#define ELEMENT      float
#define WIDEN(x)     (x)
#define NARROW(x)    (x)
#define ATOMIC_ADD   atomic_add_float
#include "loops_body.cu"

#define NAME(kernel) kernel##_f16
#define ELEMENT      half_bits
#define WIDEN        half_to_float
#define NARROW       float_to_half
#define ATOMIC_ADD   atomic_add_half
#include "loops_body.cu"

#define NAME(kernel) kernel##_bf16
#define ELEMENT      half_bits
#define WIDEN        bfloat_to_float
#define NARROW       float_to_bfloat
#define ATOMIC_ADD   atomic_add_bfloat
#include "loops_body.cu"
