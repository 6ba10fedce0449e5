/** What a trace of GPU metrics comes to: the distribution of each metric, as columns of a run. */
#ifndef CROSSGPU_DIGEST_H
#define CROSSGPU_DIGEST_H

#include "trace/trace.h"

/** mean, std (of all samples), min, q25, q50, q75, max */
#define DIGEST_STATISTICS 7

typedef struct digest_column {
    char   name[96]; /**< "power_draw_mean_w": metric, statistic, unit */
    double value;
} digest_column;

typedef struct digest {
    digest_column *column;
    size_t         n;
} digest;

/**
 * All samples of one GPU. Names are the trace's own in lower case, of letters, digits and
 * underscores; the unit is the one that the trace tells, else what tools are known to print.
 *
 * @param q       `gpu` is one of the trace's; `metric` is not looked at
 * @param metrics by any of their names; NULL: those of DCGM, nvidia-smi and `layermeter watch` that
 *                the trace has
 * @return LM_E_NOTFOUND for a metric that is not there, or where none is known; LM_E_ARG for one
 *         without a single value, LM_E_UNSUPPORTED for stdin, which is read but once; as
 * trace_load()
 */
lm_status digest_trace(const char *path, const trace_question *q, const char *const *metrics,
                       size_t n, digest *out, lm_error *err);
void      digest_free(digest *d);

#endif
