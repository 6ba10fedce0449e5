/* Rows of bf16 for loops that sum in single precision. */
#include "onednn_half.h"

#include <string.h>

static float widen(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float          f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounds a number to bf16; the data has no NaN. */
static uint16_t narrow(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void half_accumulate(float *restrict sum, const uint16_t *restrict a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += widen(a[i]);
}

float half_sum(const uint16_t *a, int64_t n)
{
    float   lane[64] = { 0 }, all = 0;
    int64_t i = 0;

    for (; i + 64 <= n; i += 64)
        for (int j = 0; j < 64; j++)
            lane[j] += widen(a[i + j]);
    for (; i < n; i++)
        all += widen(a[i]);
    for (int j = 0; j < 64; j++)
        all += lane[j];
    return all;
}

void half_store(uint16_t *restrict out, const float *restrict a, float scale, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = narrow(scale * a[i]);
}
