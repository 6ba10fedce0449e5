/** `layermeter watch`: its parts, each in a file watch_*.c. */
#ifndef CLI_CMD_WATCH_H
#define CLI_CMD_WATCH_H

#include <stdio.h>

#include "cli/commands.h"
#include "sample/sampler.h"
#include "trace/reader.h"
#include "watch/run.h"

/* ---- looks at devices at equal times, until a time, a signal or the last device's end -----------
 */

typedef struct watch_sampling {
    const char *devices;  /**< as sampler_open() takes them */
    double      interval; /**< s between looks, above 0 */
    double      seconds;  /**< so long; INFINITY: until a signal */
    const char *path;     /**< where rows go; NULL: to `out`, which may be NULL, too */
    FILE       *out;
    /** Called behind each look; anything but LM_OK ends the watch. NULL: nothing is. */
    lm_status (*take)(void *context, const char *index, const device_sample *s, lm_error *err);
    void *context;
} watch_sampling;

/**
 * Watches. SIGINT, SIGTERM and SIGHUP end it as `seconds` do: with whole rows, and LM_OK. A device
 * that is lost is told on stderr and left out from there on.
 *
 * @return what sampler_open() returns; LM_E_IO for a file that is there already or cannot be
 * written; LM_E_NOTFOUND when the last device is lost
 */
lm_status watch_sample(const watch_sampling *w, lm_error *err);

/* ---- what a run does beside what was planned ----------------------------------------------------
 */

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
