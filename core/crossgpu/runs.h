/** Runs of training jobs on several GPUs with their metrics: a CSV file, see RUNS.md. */
#ifndef CROSSGPU_RUNS_H
#define CROSSGPU_RUNS_H

#include <stddef.h>

#include <layermeter/error.h>

/** Longest file. Learning uses pairs of runs, and each run is in several. */
#define RUNS_MAX 20000

/** One run, or the median of its repeats: the same work on the same GPU. */
typedef struct gpu_run {
    const char   *workload; /**< equal for equal work; "": not given */
    const char   *group;    /**< unit of leaving out; the workload if not given */
    const char   *gpu;
    double        seconds; /**< of an epoch or a step, > 0 */
    const double *value;   /**< of each column; NAN: missing */
    size_t        repeats;
    int           line; /**< of the first repeat */
} gpu_run;

typedef struct runs {
    const char   *path;
    gpu_run      *run;
    size_t        n;
    const char  **column; /**< names of the metrics, in the file's order */
    size_t        n_columns;
    struct arena *arena; /**< owns all of the above */
} runs;

/**
 * Reads a file, plain or gzip. Runs of one workload and GPU are merged into their medians.
 *
 * @return LM_E_IO, LM_E_SYNTAX, LM_E_ARG (times, numbers), LM_E_UNSUPPORTED (more than RUNS_MAX),
 * LM_E_NOMEM; the text begins with path:line
 */
lm_status runs_load(const char *path, runs **out, lm_error *err);
void      runs_free(runs *r);

/** Place of a column; r->n_columns if there is none. */
size_t runs_column(const runs *r, const char *name);

#endif
