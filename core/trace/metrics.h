/** Names of GPU metrics; numbers, values and times as tools write them. */
#ifndef TRACE_METRICS_H
#define TRACE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

/** The number at the beginning of a text; *end is the text behind it. NAN and *end == text if there
 * is none. Exact to 15 digits, more than any metric has. */
double when_number(const char *text, const char **end);

/** A metric's value: a number with or without a unit ("25.50 W", "0 %"). True and NAN for what
 * tools write without a value: N/A, [N/A], [Not Supported], -, nothing, nan, and DCGM's blanks,
 * which are numbers beyond 2^31 - 17 of the smallest type. False: neither. */
bool when_value(const char *text, double *out);

/**
 * Seconds of a date and time: 2022/02/24 05:48:20.165, ISO 8601 (2022-02-24T05:48:20.165Z, +01:00),
 * 20220224 05:48:20, or a time alone. Also of a plain number: beyond 1e11 milliseconds since 1970,
 * beyond 1e14 micro-, beyond 1e17 nanoseconds. Proleptic Gregorian; no leap seconds, and no time
 * zones but the given one.
 */
bool when_time(const char *text, double *seconds);

#define METRIC_NAME_MAX 96

/** Are two names the same metric? Case does not count, nor the unit ("power.draw [W]" is
 * "power.draw"). Names of one DCGM field are the same: its number, column of `dcgmi dmon`, name,
 * and name in dcgm-exporter (1002, SMACT, PROF_SM_ACTIVE, DCGM_FI_PROF_SM_ACTIVE). */
bool metric_same(const char *a, const char *b);

/** How well a metric of this name shows a GPU's load: smaller is better. METRIC_UNKNOWN: an unknown
 * name. */
#define METRIC_UNKNOWN 1000
int metric_rank(const char *name);

/** Values beside the metric, which may explain it. */
typedef enum {
    BESIDE_BUSY,  /**< % of the time in which anything ran */
    BESIDE_CLOCK, /**< MHz, of the multiprocessors */
    BESIDE_HELD,  /**< causes that hold the clock down: bits as NVML numbers them */
    BESIDE_POWER, /**< W */
    BESIDE_POWER_LIMIT,
    N_BESIDE
} metric_beside;

/** Number of a name known for one of them; METRIC_UNKNOWN: none. */
size_t        metric_beside_find(const char *name);
metric_beside metric_beside_of(size_t number);
/** Its value in its unit, fractions as %. NAN: no number. */
double metric_beside_value(size_t number, const char *cell);

/** "power.draw [W]": the name without unit and blanks, and the unit ("" if there is none). */
void metric_split(const char *text, char name[METRIC_NAME_MAX], char unit[METRIC_NAME_MAX]);

#endif
