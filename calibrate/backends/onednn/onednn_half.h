/** Rows of bf16 for loops that sum in single precision. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_HALF_H
#define CALIBRATE_BACKENDS_ONEDNN_HALF_H

#include <stdint.h>

/** sum[i] += a[i]. */
void half_accumulate(float *sum, const uint16_t *a, int64_t n);
/** Sum of all. */
float half_sum(const uint16_t *a, int64_t n);
/** out[i] = scale * a[i], to the nearest, ties to even. */
void half_store(uint16_t *out, const float *a, float scale, int64_t n);

#endif
