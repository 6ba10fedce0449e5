/* Names of metrics: DCGM's fields, nvidia-smi's columns. */
#include "trace/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/when.h"

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

/* What shows a GPU's load, the best first: how much of it works, whether it works, what it draws,
 * what its memory does. */
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

/* Without what dcgm-exporter and the header file put before it. */
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

/* Names of what stands beside. */
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
