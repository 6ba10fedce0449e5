/* Radix-2 transform: short lengths, the same digits on every machine. */
#include "base/fft.h"

#include <math.h>

static void swap(double *a, double *b)
{
    const double t = *a;

    *a = *b;
    *b = t;
}

static void reverse_bits(double *re, double *im, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;

        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            swap(&re[i], &re[j]);
            swap(&im[i], &im[j]);
        }
    }
}

void fft(double *re, double *im, size_t n)
{
    const double pi = 3.14159265358979323846;

    reverse_bits(re, im, n);
    for (size_t half = 1; half < n; half *= 2)
        for (size_t k = 0; k < half; k++) {
            const double angle = -pi * (double)k / (double)half;
            const double c = cos(angle), s = sin(angle);

            for (size_t i = k; i < n; i += 2 * half) {
                const double re_odd = re[i + half] * c - im[i + half] * s;
                const double im_odd = re[i + half] * s + im[i + half] * c;

                re[i + half] = re[i] - re_odd;
                im[i + half] = im[i] - im_odd;
                re[i] += re_odd;
                im[i] += im_odd;
            }
        }
}
