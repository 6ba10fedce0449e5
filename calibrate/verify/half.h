/** 16-bit floats as bits, for compilers without a type of their own. */
#ifndef CALIBRATE_VERIFY_HALF_H
#define CALIBRATE_VERIFY_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/** Nearest, ties to even; overflow is infinity, NaN stays one. (IEEE 754 binary16) */
static inline uint16_t half_bits(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double   size = fabs(value);
    int            exponent;

    if (isnan(value))
        return 0x7e00;
    if (size >= 65520) /* half way to the next power of two beyond the largest */
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x1p-14) /* subnormal: multiples of 2^-24 */
        return (uint16_t)(sign | (uint16_t)rint(size * 0x1p24));
    (void)frexp(size, &exponent); /* size = [1/2, 1) 2^exponent; rint() may carry over: intended */
    return (uint16_t)(sign | (uint16_t)((exponent + 14) * 1024 +
                                        (int)(rint(ldexp(size, 11 - exponent)) - 1024)));
}

static inline double half_value(uint16_t bits)
{
    const int    exponent = bits >> 10 & 31;
    const int    fraction = bits & 1023;
    const double size     = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                            : exponent     ? (double)((1024 + (int64_t)fraction) << exponent) * 0x1p-25
                                           : fraction * 0x1p-24;

    return bits & 0x8000 ? -size : size;
}

/** bfloat16: the upper half of a float, rounded likewise. */
static inline uint16_t bf16_bits(double value)
{
    const float f = (float)value;
    uint32_t    bits;

    memcpy(&bits, &f, sizeof bits);
    if (isnan(value))
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline double bf16_value(uint16_t bits)
{
    const uint32_t whole = (uint32_t)bits << 16;
    float          f;

    memcpy(&f, &whole, sizeof f);
    return (double)f;
}

/** FP8 by its bits of the fraction: 3 is e4m3, without infinities; 2 is e5m2, which is half a half. */
static inline double f8_value(uint8_t bits, int mantissa)
{
    const int    size     = bits & 0x7f;
    const int    exponent = size >> mantissa;
    const double fraction = size & ((1 << mantissa) - 1);
    const double value    = exponent ? ldexp((1 << mantissa) + fraction, exponent - 1) : fraction;

    if (mantissa == 2)
        return half_value((uint16_t)(bits << 8));
    if (size == 0x7f)
        return (double)NAN;
    return ldexp(bits & 0x80 ? -value : value, 1 - 7 - mantissa);
}

/** The nearest of FP8, ties to the even one; the largest where none is as large. */
static inline uint8_t f8_bits(double value, int mantissa)
{
    const int last = mantissa == 3 ? 0x7e : 0x7b;
    int       best = 0;

    for (int code = 1; code <= last; code++) {
        const double here  = fabs(f8_value((uint8_t)code, mantissa) - fabs(value));
        const double least = fabs(f8_value((uint8_t)best, mantissa) - fabs(value));

        if (here < least || (here <= least && code % 2 == 0))
            best = code;
    }
    return (uint8_t)(best | (value < 0 ? 0x80 : 0));
}

#endif
