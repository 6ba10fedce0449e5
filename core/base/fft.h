/** Fast Fourier transform of lengths that are powers of two. */
#ifndef BASE_FFT_H
#define BASE_FFT_H

#include <stddef.h>

/**
 * Transforms n complex numbers in place; real and imaginary parts are separate arrays (Cooley &
 * Tukey 1965, radix 2): X_k = sum_j x_j exp(-2 pi i j k / n). The same call with re and im
 * exchanged is the inverse, times n.
 *
 * @param n a power of two
 */
void fft(double *re, double *im, size_t n);

#endif
