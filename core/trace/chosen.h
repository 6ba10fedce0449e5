/** The choice of a GPU, in a whole trace and in a followed one. */
#ifndef TRACE_CHOSEN_H
#define TRACE_CHOSEN_H

#include "trace/trace.h"

/** The first GPU with a varying metric, by number if names are numbers; else the first. */
const trace_gpu_series *trace_choose_gpu(const trace *t);

/** Takes a sample of the chosen GPU; `time` never falls. */
typedef lm_status (*trace_taker)(void *context, double time, const trace_sample *s, lm_error *err);

/** A trace of one GPU, sample by sample: the wanted GPU, or the first. */
typedef struct trace_follower {
    trace_reader *reader;
    const char   *gpu; /**< wanted; NULL: the first */
    trace_clock   clock;
    size_t        chosen;
    bool          any; /**< was there a sample of it? */
    bool          said_jump, said_gpus, said_vanished;
    double        last; /**< its last time in the trace */
    trace_taker   take;
    /** s between samples; NAN: not known yet. */
    double (*interval)(void *context);
    /** Reports oddities, a line each and each once: jumps of a clock, other GPUs, a vanished
     * GPU. */
    void (*say)(const char *text);
    void *context;
} trace_follower;

/** Opens a follower whose take, interval, say and context are set. trace_follower_close() in either
 * case. */
lm_status trace_follower_open(trace_follower *f, const char *path, const trace_question *q,
                              lm_error *err);
/** To the end of the trace. */
lm_status trace_follower_run(trace_follower *f, lm_error *err);
void      trace_follower_close(trace_follower *f);

#endif
