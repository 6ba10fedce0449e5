/** A metric at equal steps of time, out of samples at any. */
#ifndef TRACE_GRID_H
#define TRACE_GRID_H

#include "trace/trace.h"

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
