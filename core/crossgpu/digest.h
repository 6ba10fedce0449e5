/** Digest of a trace of GPU metrics: the distribution of each metric within the steady epochs, as
 * columns of a run. */
#ifndef CROSSGPU_DIGEST_H
#define CROSSGPU_DIGEST_H

#include "epochs/epochs.h"
#include "trace/chosen.h"

/** mean, std (of these samples, not an estimate), min, q25, q50, q75, max */
#define DIGEST_STATISTICS 7

typedef struct digest_column {
    char   name[96]; /**< "power_draw_mean_w": metric, statistic, unit */
    double value;
} digest_column;

typedef struct digest {
    digest_column *column;
    size_t         n;
} digest;

/** The samples of a digest. */
typedef struct digest_times {
    const epochs *within; /**< only within its steady epochs; NULL: all */
    double        first;  /**< s: the GPU's first sample in the times of `within` */
} digest_times;

/**
 * Samples of one GPU. Names are the trace's in lower case, of letters, digits and underscores.
 * The unit is the trace's, else the one that tools are known to print.
 *
 * @param q       `gpu` is one of the trace's; `metric` is ignored
 * @param metrics by any of their names; NULL: those of DCGM, nvidia-smi and `layermeter watch` in
 * the trace
 * @return LM_E_NOTFOUND for an absent metric, or if none is known; LM_E_ARG for a metric without
 * values, LM_E_UNSUPPORTED for stdin, which can be read only once; as trace_load()
 */
lm_status digest_trace(const char *path, const trace_question *q, const digest_times *when,
                       const char *const *metrics, size_t n, digest *out, lm_error *err);
void      digest_free(digest *d);

/**
 * A job seen by a trace: its epochs by method layermeter, its metrics within them.
 *
 * @param q       without `gpu`: the first GPU with a varying load
 * @param seconds of an epoch or a step; NAN: that of the steady epochs. If it is given and there
 * are no epochs, all samples count, and `say` reports that
 * @return LM_E_NOTFOUND without epochs; as digest_trace() and trace_load_chosen()
 */
lm_status digest_job(const char *path, const trace_question *q, const char *const *metrics,
                     size_t n, trace_say say, double *seconds, digest *out, lm_error *err);

#endif
