/** Which GPU of a trace is looked at: of a whole one, and of one that is followed. */
#ifndef TRACE_CHOSEN_H
#define TRACE_CHOSEN_H

#include "trace/trace.h"

/** The first, by number where names are numbers, whose metric is not constant; else the first. */
const trace_gpu_series *trace_choose_gpu(const trace *t);

/** What is done with a sample of the chosen GPU: `time` never falls. */
typedef lm_status (*trace_taker)(void *context, double time, const trace_sample *s, lm_error *err);

/** A trace sample by sample, of one GPU: the one asked for, else the first. */
typedef struct trace_follower {
    trace_reader *reader;
    const char   *gpu; /**< asked for; NULL: the first */
    trace_clock   clock;
    size_t        chosen;
    bool          any; /**< was there a sample of it? */
    bool          said_jump, said_gpus, said_vanished;
    double        last; /**< its last time, as the trace has it */
    trace_taker   take;
    /** s between samples; NAN: not known yet. */
    double (*interval)(void *context);
    /** Oddities, a line each and each once: clocks that jump, other GPUs, one that vanishes. */
    void (*say)(const char *text);
    void *context;
} trace_follower;

/** Of a follower with take, interval, say and context. trace_follower_close() in either case. */
lm_status trace_follower_open(trace_follower *f, const char *path, const trace_question *q,
                              lm_error *err);
/** To the end of the trace. */
lm_status trace_follower_run(trace_follower *f, lm_error *err);
void      trace_follower_close(trace_follower *f);

#endif
