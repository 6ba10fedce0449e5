/** Fast Fourier transform of lengths that are powers of two. */
#ifndef BASE_FFT_H
#define BASE_FFT_H

#include <stddef.h>

/**
 * Transforms n complex numbers in place, real and imaginary parts apart (Cooley & Tukey 1965, radix
 * 2): X_k = sum_i x_i exp(-2 pi i k / n). Back again with re and im exchanged, times n.
 *
 * @param n a power of two
 */
void fft(double *re, double *im, size_t n);

#endif
