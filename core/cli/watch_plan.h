/** layermeter watch --plan: what a run does beside what was planned. */
#ifndef CLI_WATCH_PLAN_H
#define CLI_WATCH_PLAN_H

#include "cli/watch_sampling.h"
#include "report/table.h"
#include "trace/reader.h"

typedef struct watch_order {
    const char *plan, *question; /**< file, and which of its answers; NULL: the first */
    const char *observations;    /**< file that the run is appended to; NULL: none */
    format      how;
} watch_order;

/** Follows a trace to its end, or until SIGINT or SIGTERM; with q->follow a file that grows. */
lm_status watch_trace(const watch_order *o, const char *path, const trace_question *q,
                      lm_error *err);

/** Samples, and follows the first device; q->metric is load or power. */
lm_status watch_live(const watch_order *o, const watch_sampling *how, const trace_question *q,
                     lm_error *err);

#endif
