/* Numbers and points in time as tools write them. */
#include "trace/when.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

double when_number(const char *text, const char **end)
{
    static const double power[]  = { 1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14 };
    const char         *p        = text;
    const bool          negative = *p == '-';
    uint64_t            n        = 0;
    int                 digits = 0, decimals = 0;

    if (negative || *p == '+')
        p++;
    for (; digit(*p); p++, digits++)
        n = n * 10 + (uint64_t)(*p - '0');
    if (*p == '.')
        for (p++; digit(*p); p++, digits++, decimals++)
            n = n * 10 + (uint64_t)(*p - '0');
    if (digits > 14 || (digits && (*p == 'e' || *p == 'E'))) {
        char        *stop;
        const double value = strtod(text, &stop);

        *end = stop;
        return value;
    }
    *end = digits ? p : text;
    if (!digits)
        return NAN;
    return (negative ? -1 : 1) * (double)n / power[decimals];
}

/* DCGM's blanks: 0x7ffffff0 (int32), 0x7ffffffffffffff0 (int64), 2^47
 * (double) and the few above each. */
static bool is_blank(double value)
{
    return (value >= 2147483632.0 && value <= 2147483647.0) ||
           (value >= 140737488355328.0 && value <= 140737488355343.0) ||
           value >= 9.2233720368547e18;
}

static bool is_nothing(const char *text)
{
    static const char *const nothing[] = {
        "N/A", "[N/A]",           "[Not Supported]", "-",    "nan", "null",
        "NA",  "[Unknown Error]", "[GPU is lost]",   "+inf", "inf", "none"
    };
    size_t n = strlen(text);

    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++)
        if (strlen(nothing[i]) == n && !strncasecmp(text, nothing[i], n))
            return true;
    return n == 0;
}

/* A unit: letters, % and /, and nothing behind it. */
static bool is_unit(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    while (isalpha((unsigned char)*p) || *p == '%' || *p == '/')
        p++;
    return !p[strspn(p, " \t")];
}

bool when_value(const char *text, double *out)
{
    const char *end;
    double      value;

    while (*text == ' ' || *text == '\t')
        text++;
    value = when_number(text, &end);
    if (end == text) {
        *out = NAN;
        return is_nothing(text);
    }
    if (*end && !is_unit(end))
        return false;
    *out = isfinite(value) && !is_blank(value) ? value : NAN;
    return true;
}

/* n digits, exactly. */
static bool take(const char **p, int n, int *out)
{
    int value = 0;

    for (int i = 0; i < n; i++, ++*p) {
        if (!digit(**p))
            return false;
        value = value * 10 + (**p - '0');
    }
    *out = value;
    return true;
}

/* Days since 1970-01-01 (Hinnant 2013, "chrono-compatible low-level date algorithms"). */
static int64_t days_from_civil(int year, int month, int day)
{
    const int64_t y       = month <= 2 ? year - 1 : year;
    const int64_t era     = y / 400; /* years are four digits: never negative but for the year 0 */
    const int64_t of_era  = y - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool take_clock(const char **p, double *seconds)
{
    int hour, minute, second;

    if (!take(p, 2, &hour) || *(*p)++ != ':' || !take(p, 2, &minute) || *(*p)++ != ':' ||
        !take(p, 2, &second) || hour > 23 || minute > 59 || second > 60)
        return false;
    *seconds = hour * 3600.0 + minute * 60.0 + second;
    if (**p == '.' || **p == ',') {
        double unit = 0.1;

        for (++*p; digit(**p); ++*p, unit /= 10)
            *seconds += unit * (**p - '0');
    }
    return true;
}

/* "Z", "+01:00", "+0100" or nothing. */
static bool take_zone(const char **p, double *seconds)
{
    int hours, minutes = 0, sign;

    if (**p == 'Z') {
        ++*p;
        return true;
    }
    if (**p != '+' && **p != '-')
        return true;
    sign = **p == '-' ? 1 : -1;
    ++*p;
    if (!take(p, 2, &hours))
        return false;
    if (**p == ':')
        ++*p;
    if (digit(**p) && !take(p, 2, &minutes))
        return false;
    *seconds += sign * (hours * 3600.0 + minutes * 60.0);
    return true;
}

static bool take_date(const char **p, double *seconds)
{
    int year, month, day;

    if (!take(p, 4, &year))
        return false;
    if (**p == '/' || **p == '-') {
        const char between = **p;

        ++*p;
        if (!take(p, 2, &month) || *(*p)++ != between || !take(p, 2, &day))
            return false;
    } else if (!take(p, 2, &month) || !take(p, 2, &day)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > 31 || year < 1)
        return false;
    *seconds = 86400.0 * (double)days_from_civil(year, month, day);
    return true;
}

static bool whole(const char *p)
{
    return !p[strspn(p, " \t\"")];
}

static bool plain_number(const char *text, double *seconds)
{
    const char  *end;
    const double n = when_number(text, &end);

    if (end == text || !whole(end) || !isfinite(n) || n < 0)
        return false;
    *seconds = n > 1e17 ? n * 1e-9 : n > 1e14 ? n * 1e-6 : n > 1e11 ? n * 1e-3 : n;
    return true;
}

bool when_time(const char *text, double *seconds)
{
    const char *p;
    double      date = 0, clock = 0;

    text += strspn(text, " \t\"");
    p = text;
    if (take_clock(&p, &clock) && whole(p)) {
        *seconds = clock;
        return true;
    }
    p = text;
    if (take_date(&p, &date)) {
        p += *p == 'T' ? 1 : strspn(p, " \t");
        if (take_clock(&p, &clock) && take_zone(&p, &clock) && whole(p)) {
            *seconds = date + clock;
            return true;
        }
    }
    return plain_number(text, seconds);
}
