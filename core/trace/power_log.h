/** Logs of power (nvidia-smi, dcgmi, `layermeter watch`): the mean of a run. */
#ifndef TRACE_POWER_LOG_H
#define TRACE_POWER_LOG_H

#include <stddef.h>

#include <layermeter/error.h>

#include "energy/power_series.h"
#include "trace/reader.h"

/** One GPU of a log. */
typedef struct power_log_gpu {
    char       name[TRACE_NAME_MAX];
    power_mean mean;
    size_t     samples, missing; /**< missing: rows without a value */
    size_t     gaps;             /**< times between rows that nothing is known of */
    double     gap_seconds;      /**< all of them */
    size_t     jumps;            /**< how often its clock went back */
} power_log_gpu;

typedef struct power_log {
    char           metric[METRIC_NAME_MAX], unit[METRIC_NAME_MAX]; /**< as the log has them */
    power_log_gpu *gpu;
    size_t         n;
} power_log;

/** A time between rows this many times the usual one is a gap. */
#define POWER_LOG_GAP 10.0

/**
 * Reads a log. Watts, or milli- or kilowatts where the heading says so; each value is taken for the
 * time since the one before it. What is drawn before power settles and behind the run is left out
 * (power_settle_run()), and what lies in gaps.
 *
 * @param q metric NULL: the column of the power, by the names that tools give it
 * @return what trace_load() returns; LM_E_NOTFOUND without such a column, LM_E_ARG for one in
 *         another unit, or of more than any device draws; the text begins with the path
 */
lm_status power_log_read(const char *path, const trace_question *q, power_log *out, lm_error *err);
void      power_log_free(power_log *l);

#endif
