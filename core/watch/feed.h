/** Where a watched run comes from: a trace, or the first device of this machine. */
#ifndef WATCH_FEED_H
#define WATCH_FEED_H

#include "sample/sampling.h"
#include "trace/chosen.h"
#include "watch/run.h"

/**
 * Feeds a run from a trace to its end, or until SIGINT or SIGTERM. With q->follow the file may
 * still grow.
 *
 * @param say hears of oddities of the trace
 * @return what trace_reader_open() and watch_run_end() return; LM_E_NOTFOUND for an absent GPU
 */
lm_status watch_trace(watch_run *r, const char *path, const trace_question *q, trace_say say,
                      watch_summary *out, lm_error *err);

/**
 * Samples devices and feeds a run from the first one.
 *
 * @param metric load or power, by any name (trace/metrics.h); NULL: load
 * @param out    also filled if sampling fails after samples of steady epochs; else untouched
 * @return what sampling_run() and watch_run_end() return; LM_E_NOTFOUND for another metric
 */
lm_status watch_live(watch_run *r, const sampling *how, const char *metric, watch_summary *out,
                     lm_error *err);

#endif
