/* Elements of messages in device memory. */
#include "nccl_values.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_comm.h"

#include "base/no_memory.h"

#define PIECE (1 << 20) /* number of elements copied through host memory at once */

bool nccl_type(lm_dtype dtype, ncclDataType_t *out)
{
    *out = dtype == LM_F16    ? ncclFloat16
           : dtype == LM_BF16 ? ncclBfloat16
           : dtype == LM_F64  ? ncclFloat64
                              : ncclFloat32;
    return dtype == LM_F16 || dtype == LM_BF16 || dtype == LM_F64 || dtype == LM_F32;
}

/* For small whole numbers: no subnormal results, no significant rounding. */
static uint16_t to_half(double value)
{
    int       exponent;
    const int bits = (int)lround(ldexp(frexp(value, &exponent), 11));

    return (uint16_t)(value == 0 ? 0 : (exponent + 14) << 10 | (bits & 0x3ff));
}

static double from_half(uint16_t h)
{
    const int    exponent = h >> 10 & 31;
    const double value =
        exponent ? ldexp(1024 + (h & 0x3ff), exponent - 25) : ldexp(h & 0x3ff, -24);

    if (exponent == 31)
        return (double)NAN;
    return h >> 15 ? -value : value;
}

static void put(void *at, int64_t i, lm_dtype dtype, double value)
{
    const float single = (float)value;
    uint32_t    bits;

    if (dtype == LM_F64) {
        ((double *)at)[i] = value;
    } else if (dtype == LM_F16) {
        ((uint16_t *)at)[i] = to_half(value);
    } else if (dtype == LM_BF16) {
        memcpy(&bits, &single, sizeof bits);
        ((uint16_t *)at)[i] = (uint16_t)(bits >> 16);
    } else {
        ((float *)at)[i] = single;
    }
}

static double get(const void *at, int64_t i, lm_dtype dtype)
{
    uint32_t bits;
    float    single;

    if (dtype == LM_F64)
        return ((const double *)at)[i];
    if (dtype == LM_F16)
        return from_half(((const uint16_t *)at)[i]);
    if (dtype != LM_BF16)
        return (double)((const float *)at)[i];
    bits = (uint32_t)((const uint16_t *)at)[i] << 16;
    memcpy(&single, &bits, sizeof single);
    return (double)single;
}

lm_status nccl_fill(void *memory, const trial *t, lm_dtype dtype, int scale, lm_error *err)
{
    const size_t width  = lm_dtype_bytes(dtype);
    void        *host   = malloc(PIECE * width);
    cudaError_t  status = cudaSuccess;
    trial_at     i      = trial_seek(t, 0);

    if (!host)
        return no_memory(err);
    for (int64_t at = 0; at < t->n && status == cudaSuccess; at += PIECE) {
        const int64_t part = t->n - at < PIECE ? t->n - at : PIECE;

        for (int64_t k = 0; k < part; k++, trial_next(t, &i))
            put(host, k, dtype, scale * trial_gives(t, &i));
        status = cudaMemcpy((char *)memory + (size_t)at * width, host, (size_t)part * width,
                            cudaMemcpyHostToDevice);
    }
    /* cudaMemcpy() may return before the copy is complete, and the all-reduce's stream does not
     * wait for it */
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(NULL);
    free(host);
    return status == cudaSuccess ? LM_OK : nccl_cuda_failed(err, "message", status);
}

lm_status nccl_check(const void *memory, const trial *t, lm_dtype dtype, double tolerance,
                     lm_error *err)
{
    const size_t  width = lm_dtype_bytes(dtype);
    const int64_t n     = trial_n_got(t);
    void         *host  = malloc(PIECE * width);
    trial_at      i     = trial_seek_got(t, 0);
    lm_status     found = LM_OK;

    if (!host)
        return no_memory(err);
    for (int64_t at = 0; at < n && !found; at += PIECE) {
        const int64_t     part   = n - at < PIECE ? n - at : PIECE;
        const cudaError_t status = cudaMemcpy(host, (const char *)memory + (size_t)at * width,
                                              (size_t)part * width, cudaMemcpyDeviceToHost);

        if (status != cudaSuccess)
            found = nccl_cuda_failed(err, "message", status);
        for (int64_t k = 0; k < part && !found; k++, trial_next(t, &i)) {
            const double right = trial_gets(t, &i), value = get(host, k, dtype);

            if (!(fabs(value - right) <= tolerance * right))
                found = lm_error_set(err, LM_E_IO,
                                     "the %s gave %g instead of %g at element %lld of %lld",
                                     collective_types[t->kind].title, value, right,
                                     (long long)(at + k), (long long)n);
        }
    }
    free(host);
    return found;
}
