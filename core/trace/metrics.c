/* Names of metrics (DCGM's fields, nvidia-smi's columns); numbers and times in text. */
#include "trace/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- numbers and times ----------------------------------------------------------------------- */

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

/* A unit: letters, % and /, up to the end of the text. */
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

/* ---- names ----------------------------------------------------------------------------------- */

/* Fields as dcgm_fields.h numbers them; tags as dcgmi dmon heads its columns. */
static const struct field {
    const char *number, *tag, *name;
} fields[] = {
    { "90", "B1TTL", "BAR1_TOTAL" },
    { "93", "B1FRE", "BAR1_FREE" },
    { "100", "SMCLK", "SM_CLOCK" },
    { "101", "MMCLK", "MEM_CLOCK" },
    { "112", "", "CLOCK_THROTTLE_REASONS" },
    { "140", "MMTMP", "MEMORY_TEMP" },
    { "150", "TMPTR", "GPU_TEMP" },
    { "155", "POWER", "POWER_USAGE" },
    { "156", "TOTEC", "TOTAL_ENERGY_CONSUMPTION" },
    { "164", "EPLMT", "ENFORCED_POWER_LIMIT" },
    { "190", "PSTAT", "PSTATE" },
    { "202", "RPCTR", "PCIE_REPLAY_COUNTER" },
    { "203", "GPUTL", "GPU_UTIL" },
    { "204", "MCUTL", "MEM_COPY_UTIL" },
    { "211", "", "GPU_UTIL_SAMPLES" },
    { "240", "", "POWER_VIOLATION" },
    { "250", "FBTTL", "FB_TOTAL" },
    { "251", "FBFRE", "FB_FREE" },
    { "252", "FBUSD", "FB_USED" },
    { "1001", "GRACT", "PROF_GR_ENGINE_ACTIVE" },
    { "1002", "SMACT", "PROF_SM_ACTIVE" },
    { "1003", "SMOCC", "PROF_SM_OCCUPANCY" },
    { "1004", "TENSO", "PROF_PIPE_TENSOR_ACTIVE" },
    { "1005", "DRAMA", "PROF_DRAM_ACTIVE" },
    { "1006", "FP64A", "PROF_PIPE_FP64_ACTIVE" },
    { "1007", "FP32A", "PROF_PIPE_FP32_ACTIVE" },
    { "1008", "FP16A", "PROF_PIPE_FP16_ACTIVE" },
    { "1009", "PCITX", "PROF_PCIE_TX_BYTES" },
    { "1010", "PCIRX", "PROF_PCIE_RX_BYTES" },
    { "1011", "NVLTX", "PROF_NVLINK_TX_BYTES" },
    { "1012", "NVLRX", "PROF_NVLINK_RX_BYTES" },
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

/* Metrics of a GPU's load, the best first: how much of it works, whether it works, its power, its
 * memory's work. */
static const char *const loads[] = {
    "SMACT",
    "GRACT",
    "GPUTL",
    "utilization.gpu",
    "sm",
    "gpu_util",
    "gpu_utilization",
    "POWER",
    "power.draw",
    "pwr",
    "power",
    "DRAMA",
    "TENSO",
    "MCUTL",
    "mem",
    "utilization.memory",
    "mem_util",
    "clocks.current.sm",
    "SMCLK",
    "pclk",
    "utilization",
    "load",
    "value",
};

#define N_LOADS (sizeof loads / sizeof loads[0])

/* The name without the prefix of dcgm-exporter and of the header file. */
static const char *behind_prefix(const char *name)
{
    if (!strncasecmp(name, "DCGM_FI_", 8))
        name += 8;
    return !strncasecmp(name, "DEV_", 4) ? name + 4 : name;
}

static const struct field *field_of(const char *name)
{
    const char *bare = behind_prefix(name);

    for (size_t i = 0; i < N_FIELDS; i++)
        if (!strcmp(name, fields[i].number) || (*name && !strcasecmp(name, fields[i].tag)) ||
            !strcasecmp(bare, fields[i].name) ||
            (!strncmp(fields[i].name, "PROF_", 5) && !strcasecmp(bare, fields[i].name + 5)))
            return &fields[i];
    return NULL;
}

void metric_split(const char *text, char name[METRIC_NAME_MAX], char unit[METRIC_NAME_MAX])
{
    const char *bracket = strchr(text, '[');
    size_t      n       = bracket ? (size_t)(bracket - text) : strlen(text);

    text += strspn(text, " \t\"");
    n = bracket ? (size_t)(bracket - text) : strlen(text);
    while (n && strchr(" \t\"", text[n - 1]))
        n--;
    snprintf(name, METRIC_NAME_MAX, "%.*s", (int)n, text);
    unit[0] = '\0';
    if (bracket)
        snprintf(unit, METRIC_NAME_MAX, "%.*s", (int)strcspn(bracket + 1, "]"), bracket + 1);
}

bool metric_same(const char *a, const char *b)
{
    char                name_a[METRIC_NAME_MAX], name_b[METRIC_NAME_MAX], unit[METRIC_NAME_MAX];
    const struct field *field;

    metric_split(a, name_a, unit);
    metric_split(b, name_b, unit);
    if (!*name_a || !*name_b)
        return false;
    if (!strcasecmp(name_a, name_b))
        return true;
    field = field_of(name_a);
    return field && field == field_of(name_b);
}

int metric_rank(const char *name)
{
    for (size_t i = 0; i < N_LOADS; i++)
        if (metric_same(name, loads[i]))
            return (int)i;
    return METRIC_UNKNOWN;
}

/* Names of the values beside the metric. */
static const struct {
    const char   *name;
    metric_beside is;
    double        scale;
} besides[] = {
    { "GRACT", BESIDE_BUSY, 100 }, /* a fraction; GPU_UTIL is in % */
    { "GPUTL", BESIDE_BUSY, 1 },
    { "utilization.gpu", BESIDE_BUSY, 1 },
    { "sm", BESIDE_BUSY, 1 },
    { "gpu_utilization", BESIDE_BUSY, 1 },
    { "utilization", BESIDE_BUSY, 1 },
    { "SMCLK", BESIDE_CLOCK, 1 },
    { "clocks.current.sm", BESIDE_CLOCK, 1 },
    { "clocks.sm", BESIDE_CLOCK, 1 },
    { "pclk", BESIDE_CLOCK, 1 },
    { "CLOCK_THROTTLE_REASONS", BESIDE_HELD, 1 },
    { "CLOCKS_EVENT_REASONS", BESIDE_HELD, 1 },
    { "clocks_event_reasons.active", BESIDE_HELD, 1 },
    { "clocks_throttle_reasons.active", BESIDE_HELD, 1 },
    { "POWER", BESIDE_POWER, 1 },
    { "power.draw", BESIDE_POWER, 1 },
    { "power.draw.instant", BESIDE_POWER, 1 },
    { "pwr", BESIDE_POWER, 1 },
    { "EPLMT", BESIDE_POWER_LIMIT, 1 },
    { "enforced.power.limit", BESIDE_POWER_LIMIT, 1 },
    { "power.limit", BESIDE_POWER_LIMIT, 1 },
};

#define N_BESIDES (sizeof besides / sizeof besides[0])

size_t metric_beside_find(const char *name)
{
    for (size_t i = 0; i < N_BESIDES; i++)
        if (metric_same(besides[i].name, name))
            return i;
    return METRIC_UNKNOWN;
}

metric_beside metric_beside_of(size_t number)
{
    return besides[number].is;
}

double metric_beside_value(size_t number, const char *cell)
{
    double value;

    cell += strspn(cell, " \t");
    if (besides[number].is == BESIDE_HELD && !strncasecmp(cell, "0x", 2)) {
        char                    *end;
        const unsigned long long bits = strtoull(cell, &end, 16);

        return end > cell + 2 ? (double)bits : (double)NAN;
    }
    return when_value(cell, &value) ? besides[number].scale * value : (double)NAN;
}
