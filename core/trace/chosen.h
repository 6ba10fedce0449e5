/** The choice of a GPU, in a whole trace and in a followed one. */
#ifndef TRACE_CHOSEN_H
#define TRACE_CHOSEN_H

#include "trace/trace.h"

/** Reports an oddity of a trace: one line of text, without a newline. */
typedef void (*trace_say)(const char *text);

/** The metric of one GPU at equal steps. */
typedef struct trace_chosen {
    char       path[256], metric[96], unit[32], gpu[TRACE_NAME_MAX];
    trace_grid grid;  /**< trace_grid_free() */
    double     first; /**< s: the GPU's first sample, since the first of the trace */
    size_t     n_samples;
} trace_chosen;

/**
 * Reads a whole trace. Without q->gpu it takes the first GPU with a varying metric, by number if
 * names are numbers; else the first.
 *
 * @param say hears of clocks that jump, GPUs that vanish, sampling that changes, long gaps and a
 *            last row cut short
 * @return what trace_load() and trace_grid_of() return; texts begin with the path
 */
lm_status trace_load_chosen(const char *path, const trace_question *q, trace_say say,
                            trace_chosen *out, lm_error *err);

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
    trace_say say; /**< hears once of jumps of a clock, of other GPUs and of a vanished GPU */
    void     *context;
} trace_follower;

/** Opens a follower whose take, interval, say and context are set. trace_follower_close() in either
 * case. */
lm_status trace_follower_open(trace_follower *f, const char *path, const trace_question *q,
                              lm_error *err);
/** To the end of the trace. */
lm_status trace_follower_run(trace_follower *f, lm_error *err);
void      trace_follower_close(trace_follower *f);

#endif
