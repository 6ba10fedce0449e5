/* Reals as decimal text: what printf() writes, in a tenth of its time where 128 bits hold it all.
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

#define DIGITS 17

/* Powers of ten that fit 64 bits. */
static const uint64_t power[DIGITS + 1] = {
    1ull,
    10ull,
    100ull,
    1000ull,
    10000ull,
    100000ull,
    1000000ull,
    10000000ull,
    100000000ull,
    1000000000ull,
    10000000000ull,
    100000000000ull,
    1000000000000ull,
    10000000000000ull,
    100000000000000ull,
    1000000000000000ull,
    10000000000000000ull,
    100000000000000000ull,
};

/* Longest text here: 17 digits behind "0.000". */
#define ROOM 26

/* value 2^-shift as a multiple of `of`; halves go to the even one, as everywhere else. */
static uint64_t rounded(wide value, unsigned shift, uint64_t of)
{
    const uint64_t whole = (uint64_t)(value >> shift), many = whole / of;
    const wide     below = value & (((wide)1 << shift) - 1);
    const wide     twice = 2 * (((wide)(whole % of) << shift) + below), step = (wide)of << shift;

    return many + (twice > step || (twice == step && many & 1));
}

/* The digits of a whole number, ending before `end`; returns the first. */
static char *digits_before(char *end, uint64_t n)
{
    do
        *--end = (char)('0' + n % 10);
    while (n /= 10);
    return end;
}

/* Reals from 10^-4 to below 10^15, whose %g has no exponent: mantissa below 2^53, shift 3 to 66. */
static bool take_apart(double value, uint64_t *mantissa, unsigned *shift)
{
    int          exponent;
    const double part = frexp(value, &exponent);

    if (!(value >= 1e-4 && value < 1e15))
        return false;
    *mantissa = (uint64_t)ldexp(part, 53);
    *shift    = (unsigned)(53 - exponent);
    return true;
}

/*
 * The shortest of 15, 16 and 17 digits that reads back as the same: x = mantissa 10^k 2^-shift has
 * 17 digits before the point, k from 2 to 20, and 128 bits hold it. What reads back lies less than
 * half a unit of the mantissa away, 10^k 2^-shift / 2.
 */
static bool shortest(double value, char *buffer, size_t size)
{
    char     text[ROOM], *first, *last;
    uint64_t mantissa, digits = 0;
    unsigned shift;
    int      k    = 2;
    wide     unit = 100, x;

    /* below a power of two reals lie closer: left to others */
    if (!take_apart(value, &mantissa, &shift) || mantissa == (uint64_t)1 << 52 || size < ROOM)
        return false;
    while (x = mantissa * unit, (uint64_t)(x >> shift) < power[DIGITS - 1]) {
        unit *= 10;
        k++;
    }
    for (uint64_t of = 100; of; of /= 10) {
        wide back;

        digits = rounded(x, shift, of) * of;
        back   = (wide)digits << shift;
        if (2 * (back > x ? back - x : x - back) < unit)
            break;
    }
    last  = text + sizeof text - 1;
    *last = '\0';
    first = digits_before(last, digits);
    while (k > 0 && last[-1] == '0') {
        *--last = '\0';
        k--;
    }
    if (k <= 0) {
        memmove(buffer, first, (size_t)(last - first) + 1);
        return true;
    }
    while (last - first <= k)
        *--first = '0';
    memcpy(buffer, first, (size_t)(last - first - k));
    buffer += last - first - k;
    *buffer = '.';
    memcpy(buffer + 1, last - k, (size_t)k + 1);
    return true;
}

/* So many decimals, at most 9. */
static bool fixed(double value, int decimals, char *buffer, size_t size)
{
    char     text[ROOM], *end = text + sizeof text - 1, *first;
    uint64_t mantissa, n;
    unsigned shift;

    if (value == 0 && !signbit(value)) {
        mantissa = 0;
        shift    = 1;
    } else if (!take_apart(value, &mantissa, &shift)) {
        return false;
    }
    if (value >= 1e9 || size < ROOM || decimals > 9)
        return false;
    n    = rounded((wide)mantissa * power[decimals], shift, 1);
    *end = '\0';
    if (decimals) {
        char *point = end - decimals - 1;

        digits_before(end, n % power[decimals] + power[decimals]); /* with zeros in front */
        *point = '.';
        end    = point;
    }
    first = digits_before(end, n / power[decimals]);
    memcpy(buffer, first, (size_t)(text + sizeof text - first));
    return true;
}

#else

static bool shortest(double value, char *buffer, size_t size)
{
    (void)value, (void)buffer, (void)size;
    return false;
}

static bool fixed(double value, int decimals, char *buffer, size_t size)
{
    (void)value, (void)decimals, (void)buffer, (void)size;
    return false;
}

#endif

const char *text_exact(double value, char *buffer, size_t size)
{
    if (value == 0 && !signbit(value) && size > 1)
        return strcpy(buffer, "0");
    if (shortest(value, buffer, size))
        return buffer;
    snprintf(buffer, size, "%.15g", value); /* 15 digits always survive, 17 always suffice */
    if (strtod(buffer, NULL) != value)
        snprintf(buffer, size, "%.16g", value);
    if (strtod(buffer, NULL) != value)
        snprintf(buffer, size, "%.17g", value);
    return buffer;
}

const char *text_fixed(double value, int decimals, char *buffer, size_t size)
{
    if (!fixed(value, decimals, buffer, size))
        snprintf(buffer, size, "%.*f", decimals, value);
    return buffer;
}
