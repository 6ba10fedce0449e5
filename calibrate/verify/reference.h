/**
 * What kernels compute, in double precision, by the plainest loops there are: to compare with.
 *
 * Beside each result, `size` is the sum of the absolute values of what was added up: rounding
 * errors are in proportion to it (Higham 2002, "Accuracy and Stability of Numerical
 * Algorithms", 3.1).
 */
#ifndef CALIBRATE_VERIFY_REFERENCE_H
#define CALIBRATE_VERIFY_REFERENCE_H

#include <stdbool.h>

#include <layermeter/kernel.h>

typedef struct reference {
    double *value, *size;
    size_t  n;
} reference;

reference reference_new(size_t n);
void      reference_free(reference *r);

/** n values in -1 .. 1, each from one of 2^10 steps; malloc'ed. */
double *reference_numbers(size_t n, unsigned seed);

/** Place of an element of N, C, depth, height, width. */
size_t reference_pixel(bool nhwc, const int64_t space[3], int64_t channels, int64_t n, int64_t c,
                       const int64_t at[3]);

/** The product k->pass names: of image and result, of which it writes what the pass says, and of
 * the filter (outputs, inputs of a group, window). `bias`: NULL, or one value an output. */
reference reference_conv(const lm_kernel *k, bool nhwc, const double *image, const double *filter,
                         const double *result, const double *bias);
/** Sum of a result's gradient over all but channels. */
reference reference_conv_bias(const lm_kernel *k, bool nhwc, const double *result);

/** Row-major; `turn_a`: (k,m) in memory; `turn_b`: (n,k). */
reference reference_gemm(const lm_kernel *k, bool turn_a, bool turn_b, const double *a,
                         const double *b, const double *bias);

reference reference_pool(const lm_kernel *k, bool nhwc, const double *x);
/** x: the forward input; used by maxima alone. */
reference reference_pool_back(const lm_kernel *k, bool nhwc, const double *x, const double *dy);

/** What norms add to variances. */
#define REFERENCE_EPSILON 1e-5

/** Where the i-th element of a row of a norm lies. */
size_t reference_of_row(const lm_kernel *k, bool nhwc, int64_t row, int64_t i);

/** Statistics of rows: mean (0 for RMS) and inverse deviation. */
typedef struct row_statistics {
    double mean, inverse;
} row_statistics;

/** Malloc'ed, one a row. */
row_statistics *reference_statistics(const lm_kernel *k, bool nhwc, const double *x);
/** scale, shift: a value a row (batch norm) or an element of a row. */
reference reference_norm(const lm_kernel *k, bool nhwc, const double *x, const double *scale,
                         const double *shift);
/** dx, dscale, dshift. */
void reference_norm_back(const lm_kernel *k, bool nhwc, const double *x, const double *dy,
                         const double *scale, reference *dx, reference *dscale, reference *dshift);

/** The function of map_function.h, of so many operands as the map has. */
reference reference_map(const lm_kernel *k, const double *const *operand);

reference reference_softmax(const lm_kernel *k, const double *x);
reference reference_softmax_back(const lm_kernel *k, const double *y, const double *dy);
reference reference_reduce(const lm_kernel *k, const double *x);

/** Without dropout. stats: NULL, or the logarithm of each query's sum. */
reference reference_attention(const lm_kernel *k, const double *q, const double *keys,
                              const double *values, double *stats);
/** d[0] queries, d[1] keys, d[2] values. */
void reference_attention_back(const lm_kernel *k, const double *q, const double *keys,
                              const double *values, const double *d_o, reference d[3]);

#endif
