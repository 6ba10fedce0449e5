/** A trace in memory: a metric over time for each GPU, 12 bytes a sample, and the same at equal
 * steps of time. */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "trace/reader.h"

/** Makes the times of one GPU grow, whatever its clock does. Zero-initialise. */
typedef struct trace_clock {
    double   first, last, offset; /**< s; offset: what was added to make up for jumps back */
    double   step;                /**< s, between the last two samples */
    bool     begun;
    size_t   n_jumps;
    double   jump; /**< s, the furthest jump back */
    uint64_t jump_line;
} trace_clock;

/** Seconds since the first sample; a jump back counts as one step of before. */
double trace_clock_add(trace_clock *c, double time, uint64_t line);

/** Samples of one GPU, in order. */
typedef struct trace_gpu_series {
    char        name[TRACE_NAME_MAX];
    size_t      n, room;
    double     *time;  /**< s, since the first sample of the trace; never falls */
    float      *value; /**< NAN: missing */
    size_t      n_missing;
    trace_clock clock;
    double      began; /**< s, of its first sample, as the trace counts */
    uint64_t    last_line;
} trace_gpu_series;

typedef struct trace {
    char              path[256], metric[96], unit[32];
    const char       *format;
    bool              timed;     /**< its times are its own */
    bool              cut_short; /**< the last row was dropped */
    size_t            n_gpus;
    trace_gpu_series *gpu;
} trace;

/** Reads a trace to its end. With q->gpu only that GPU's samples are kept. Errors as the reader's,
 * and LM_E_NOTFOUND for a GPU that is not there. */
lm_status trace_load(const char *path, const trace_question *q, trace **out, lm_error *err);
void      trace_free(trace *t);

/** Does a GPU's name answer to what was asked for? "0" is "node7/0" too. */
bool trace_gpu_is(const char *name, const char *wanted);

/** A metric at equal steps of time. */
typedef struct trace_grid {
    double start; /**< s, of the first bin's beginning, since the first sample of the trace */
    double step;  /**< s */
    size_t n;
    float *x;         /**< mean of the samples in a bin; NAN: there are none */
    size_t n_missing; /**< bins without a value */
    /* What the samples' times are like. */
    double interval;          /**< s, the median between samples */
    double shortest, longest; /**< s, the same in the parts (32) of the trace that differ most */
    double gap, gap_at; /**< s: the longest time without samples, and where; in the whole series */
    size_t n_left_out;  /**< samples before or behind a gap that is too long to bridge */
} trace_grid;

/**
 * Steps are the median interval; where the sampling changes within the trace, that of its slowest
 * part. Where samples are missing for longer than half of what there is of them, the longer part
 * counts.
 *
 * @return LM_E_SYNTAX for fewer than two samples or times that do not move; LM_E_NOMEM
 */
lm_status trace_grid_of(const trace_gpu_series *g, trace_grid *out, lm_error *err);
void      trace_grid_free(trace_grid *grid);

#endif
