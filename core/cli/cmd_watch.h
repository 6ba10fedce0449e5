/** `layermeter watch`: its parts, each in a file watch_*.c. */
#ifndef CLI_CMD_WATCH_H
#define CLI_CMD_WATCH_H

#include <stdio.h>

#include "cli/commands.h"
#include "sample/sampling.h"
#include "trace/reader.h"
#include "watch/run.h"

/* ---- what a run does beside what was planned ---- */

typedef struct watch_order {
    const char *plan, *question; /**< file, and which of its answers; NULL: the first */
    const char *observations;    /**< file that the run is appended to; NULL: none */
    format      how;
} watch_order;

/** Follows a trace to its end, or until SIGINT or SIGTERM; with q->follow a file that grows. */
lm_status watch_trace(const watch_order *o, const char *path, const trace_question *q,
                      lm_error *err);

/** Samples, and follows the first device; q->metric is load or power. */
lm_status watch_live(const watch_order *o, const sampling *how, const trace_question *q,
                     lm_error *err);

/** "layermeter: ..." on stderr. */
void watch_say(const char *text);

/** What is printed so far. */
typedef struct watch_printer {
    const watch_plan *plan;
    format            how;
    size_t            n;
} watch_printer;

/** An epoch, or a step: a row, at once. The plan goes before the first, on stderr. */
void watch_print_row(watch_printer *w, const watched *each);
/** What the run was like: a sentence, or a last row of JSON. CSV: the sentence on stderr. */
void watch_print_summary(watch_printer *w, const watch_summary *s);

#endif
