/** Logs of power (nvidia-smi, dcgmi, `layermeter watch`): the mean power of a run. */
#ifndef TRACE_POWER_LOG_H
#define TRACE_POWER_LOG_H

#include <stddef.h>

#include <layermeter/error.h>

#include "device/power_series.h"
#include "trace/reader.h"

/** One GPU of a log. */
typedef struct power_log_gpu {
    char       name[TRACE_NAME_MAX];
    power_mean mean;
    size_t     samples, missing; /**< missing: rows without a value */
    size_t     gaps;             /**< long times without rows */
    double     gap_seconds;      /**< their sum */
    size_t     jumps;            /**< jumps of its clock into the past */
} power_log_gpu;

typedef struct power_log {
    char           metric[METRIC_NAME_MAX], unit[METRIC_NAME_MAX]; /**< as in the log */
    power_log_gpu *gpu;
    size_t         n;
} power_log;

/** A gap is this many times longer than the usual time between rows. */
#define POWER_LOG_GAP 10.0

/**
 * Reads a log in watts, or in milli- or kilowatts if the heading says so. Each value holds for the
 * time since the value before it. Left out: power before it settles and behind the run
 * (power_settle_run()), and gaps.
 *
 * @param q metric NULL: the column of power, by the names that tools give it
 * @return as trace_load(); LM_E_NOTFOUND without such a column, LM_E_ARG for another unit or more
 * watts than any device draws; the text begins with the path
 */
lm_status power_log_read(const char *path, const trace_question *q, power_log *out, lm_error *err);
void      power_log_free(power_log *l);

#endif
