/** Runs of training jobs on several GPUs, with what was metered meanwhile:
 * a CSV file, see RUNS.md. */
#ifndef CROSSGPU_RUNS_H
#define CROSSGPU_RUNS_H

#include <stddef.h>

#include <layermeter/error.h>

/** Longer files are refused: pairs of runs are learned from, and there are several of each run. */
#define RUNS_MAX 20000

/** One run, or the median of those that repeat it: the same work on the same GPU. */
typedef struct gpu_run {
    const char   *workload; /**< what is the same where this is the same; "": not given */
    const char   *group;    /**< what is left out together; the workload where it is not given */
    const char   *gpu;
    double        seconds; /**< of an epoch or a step, > 0 */
    const double *value;   /**< of each column; NAN: missing */
    size_t        repeats;
    int           line; /**< of the first of them */
} gpu_run;

typedef struct runs {
    const char   *path;
    gpu_run      *run;
    size_t        n;
    const char  **column; /**< names of what was metered, in the file's order */
    size_t        n_columns;
    struct arena *arena; /**< owns all of the above */
} runs;

/**
 * Reads a file, plain or gzip; runs of one workload and GPU become one, by medians.
 *
 * @return LM_E_IO, LM_E_SYNTAX, LM_E_ARG (times, numbers), LM_E_UNSUPPORTED (more than RUNS_MAX),
 * LM_E_NOMEM; the text begins with path:line
 */
lm_status runs_load(const char *path, runs **out, lm_error *err);
void      runs_free(runs *r);

/** Place of a column; r->n_columns if there is none. */
size_t runs_column(const runs *r, const char *name);

#endif
