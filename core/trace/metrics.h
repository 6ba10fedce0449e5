/** Names of GPU metrics; numbers, values and times as tools write them. */
#ifndef TRACE_METRICS_H
#define TRACE_METRICS_H

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

#define METRIC_NAME_MAX 96

/**
 * Do two names mean the same metric? As they stand, whatever their case; without the unit behind
 * them ("power.draw [W]" is "power.draw"); or as names of one DCGM field: its number, the column of
 * `dcgmi dmon`, its name, that of dcgm-exporter (1002, SMACT, PROF_SM_ACTIVE,
 * DCGM_FI_PROF_SM_ACTIVE).
 */
bool metric_same(const char *a, const char *b);

/** How well a metric of this name shows what a GPU does: the smaller, the better. METRIC_UNKNOWN:
 * nothing is known of it. */
#define METRIC_UNKNOWN 1000
int metric_rank(const char *name);

/** What may stand beside the metric that is asked for, and says why it is as it is. */
typedef enum {
    BESIDE_BUSY,  /**< % of the time in which anything ran */
    BESIDE_CLOCK, /**< MHz, of what computes */
    BESIDE_HELD,  /**< what holds the clock down: bits as NVML numbers them */
    BESIDE_POWER, /**< W */
    BESIDE_POWER_LIMIT,
    N_BESIDE
} metric_beside;

/** A name that is known for one of them, as a number; METRIC_UNKNOWN: it is none. */
size_t        metric_beside_find(const char *name);
metric_beside metric_beside_of(size_t number);
/** A value of it in its unit: fractions as %. NAN for what is no number. */
double metric_beside_value(size_t number, const char *cell);

/** "power.draw [W]": the name without unit and blanks, and the unit ("" if there is none). */
void metric_split(const char *text, char name[METRIC_NAME_MAX], char unit[METRIC_NAME_MAX]);

#endif
