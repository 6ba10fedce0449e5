/* Numbers to text, and likeness of texts. */
#define __STDC_WANT_IEC_60559_BFP_EXT__ /* strfromd(), of C23 */
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __GLIBC__ /* other C libraries have only printf() */
#define strfromd snprintf
#endif

void text_add(char *text, size_t size, const char *fmt, ...)
{
    const size_t n = strlen(text);
    va_list      args;

    va_start(args, fmt);
    vsnprintf(text + n, size - n, fmt, args);
    va_end(args);
}

const char *text_si(double value, char *buffer, size_t size)
{
    static const char *const prefix[] = { "", "k", "M", "G", "T", "P", "E" };
    size_t                   i        = 0;

    while (fabs(value) >= 999.5 && i + 1 < sizeof prefix / sizeof prefix[0]) {
        value /= 1000;
        i++;
    }
    snprintf(buffer, size, i || value != floor(value) ? "%.3g%s%s" : "%.4g%s%s", value,
             i ? " " : "", prefix[i]);
    return buffer;
}

const char *text_grouped(uint64_t value, char *buffer, size_t size)
{
    char   digits[24];
    int    n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    size_t o = 0;

    for (int i = 0; i < n && o + 2 < size; i++) {
        if (i && (n - i) % 3 == 0)
            buffer[o++] = ',';
        buffer[o++] = digits[i];
    }
    buffer[o] = '\0';
    return buffer;
}

const char *text_duration(double seconds, char *buffer, size_t size)
{
    char whole[32];

    if (!(seconds >= 0) || isinf(seconds))
        snprintf(buffer, size, "%g s", seconds);
    else if (seconds < 120)
        snprintf(buffer, size, "%.3g s", seconds);
    else if (seconds < 7200)
        snprintf(buffer, size, "%.1f min", seconds / 60);
    else if (seconds < 3.6e6)
        snprintf(buffer, size, "%.1f h", seconds / 3600);
    else if (seconds < 1e18)
        snprintf(buffer, size, "%s h",
                 text_grouped((uint64_t)llround(seconds / 3600), whole, sizeof whole));
    else
        snprintf(buffer, size, "%.3g h", seconds / 3600);
    return buffer;
}

const char *text_exact(double value, char *buffer, size_t size)
{
    /* Texts of 15 digits survive a conversion to double and back; 17 digits identify any double.
     * strfromd() takes half the time of printf() if a library (libquadmath) adds formats to
     * printf(). */
    static const char *const format[] = { "%.15g", "%.16g", "%.17g" };

    for (int i = 0; i < 3; i++) {
        strfromd(buffer, size, format[i], value);
        if (i < 2 && strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}

uint64_t text_hash(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

size_t text_distance(const char *a, const char *b, size_t limit)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t       row[64];

    if (n > 63 || m > 63 || (n > m ? n - m : m - n) > limit)
        return limit + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            const size_t gap    = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            diagonal = row[j];
            row[j]   = change < gap ? change : gap;
        }
    }
    return row[m] > limit ? limit + 1 : row[m];
}

static void lower(const char *text, char *out, size_t size)
{
    size_t i = 0;

    for (; text[i] && i + 1 < size; i++)
        out[i] = (char)tolower((unsigned char)text[i]);
    out[i] = '\0';
}

bool text_nearer(const char *word, const char *known, size_t *distance)
{
    char   a[65], b[65]; /* longer words are never near */
    size_t d;

    lower(word, a, sizeof a);
    lower(known, b, sizeof b);
    d = text_distance(a, b, TEXT_NEAR - 1);
    if (d > 1 && strlen(a) > 2 && !strncmp(a, b, strlen(a)))
        d = 1;
    if (d >= *distance || 2 * d > strlen(a)) /* too many for a typing error */
        return false;
    *distance = d;
    return true;
}
