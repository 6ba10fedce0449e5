/** A trace in memory: a metric over time for each GPU, 12 bytes a sample, and the same at equal
 * steps of time. */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "trace/reader.h"

/** Makes the times of one GPU grow even if its clock jumps back. Zero-initialise. */
typedef struct trace_clock {
    double   first, last, offset; /**< s; offset: correction for jumps back */
    double   step;                /**< s, between the last two samples */
    bool     begun;
    size_t   n_jumps;
    double   jump; /**< s, the largest jump back */
    uint64_t jump_line;
} trace_clock;

/** Seconds since the first sample; a jump back counts as one step of the usual length. */
double trace_clock_add(trace_clock *c, double time, uint64_t line);

/** Samples of one GPU, in order. */
typedef struct trace_gpu_series {
    char        name[TRACE_NAME_MAX];
    size_t      n, room;
    double     *time;  /**< s, since the first sample of the trace; never falls */
    float      *value; /**< NAN: missing */
    size_t      n_missing;
    trace_clock clock;
    double      began; /**< s, time of its first sample in the trace */
    uint64_t    last_line;
} trace_gpu_series;

typedef struct trace {
    char              path[256], metric[96], unit[32];
    const char       *format;
    bool              timed;     /**< the trace has times */
    bool              cut_short; /**< the last row was dropped */
    size_t            n_gpus;
    trace_gpu_series *gpu;
} trace;

/** Reads a trace to its end. With q->gpu only that GPU's samples are kept. Errors as the reader's;
 * LM_E_NOTFOUND for an absent GPU. */
lm_status trace_load(const char *path, const trace_question *q, trace **out, lm_error *err);
void      trace_free(trace *t);

/** Does a GPU's name match the wanted one? "node7/0" matches "0", too. */
bool trace_gpu_is(const char *name, const char *wanted);

/** A metric at equal steps of time. */
typedef struct trace_grid {
    double start; /**< s, beginning of the first bin, since the first sample of the trace */
    double step;  /**< s */
    size_t n;
    float *x;         /**< mean of the samples in a bin; NAN: no sample */
    size_t n_missing; /**< bins without a value */
    /* The times of the samples. */
    double interval;          /**< s, median between samples */
    double shortest, longest; /**< s, the same in the parts (32) of the trace that differ most */
    double gap, gap_at; /**< s: longest time without samples in the whole series, and its place */
    size_t n_left_out;  /**< samples beyond a gap that is too long to bridge */
} trace_grid;

/**
 * A step is the median interval; if the sampling rate changes within the trace, that of its slowest
 * part. A gap longer than half of the sampled time splits the trace: its longer part counts.
 *
 * @return LM_E_SYNTAX for fewer than two samples or times that do not move; LM_E_NOMEM
 */
lm_status trace_grid_of(const trace_gpu_series *g, trace_grid *out, lm_error *err);
void      trace_grid_free(trace_grid *grid);

#endif
