/** Numbers and points in time as tools write them. */
#ifndef TRACE_WHEN_H
#define TRACE_WHEN_H

#include <stdbool.h>
#include <stddef.h>

/**
 * The number a text begins with; *end is what follows it. NAN, with *end == text, if there is none.
 * Exact to 15 digits, which is more than any metric has.
 */
double when_number(const char *text, const char **end);

/**
 * A value of a metric: a number with or without a unit behind it ("25.50 W", "0 %"). NAN and true
 * for what tools write where they have none: N/A, [N/A], [Not Supported], -, nothing, nan, and
 * DCGM's blanks, which are numbers beyond 2^31 - 17 of the smallest type. False: neither.
 */
bool when_value(const char *text, double *out);

/**
 * Seconds of a date and time: 2022/02/24 05:48:20.165, ISO 8601 (2022-02-24T05:48:20.165Z, +01:00),
 * 20220224 05:48:20, a time alone; or of a plain number, which beyond 1e11 are milliseconds since
 * 1970, beyond 1e14 micro- and beyond 1e17 nanoseconds. Proleptic Gregorian, without leap seconds
 * or time zones but those given.
 */
bool when_time(const char *text, double *seconds);

#endif
