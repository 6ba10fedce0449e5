/**
 * Traces of GPU metrics, sample by sample: what `dcgmi dmon`, `nvidia-smi --query-gpu
 * --format=csv`, `nvidia-smi dmon` and dcgm-exporter print, and CSV with named columns. The format
 * is known by its first lines.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "trace/metrics.h"

#define TRACE_GPUS_MAX 256
#define TRACE_NAME_MAX 64

/** What is wanted of a trace. */
typedef struct trace_question {
    const char *metric; /**< any of its names (metrics.h); in a CSV without heading the number of
                           its column; NULL: the column that shows a GPU's load best */
    const char *gpu;    /**< as the trace names it, "0"; NULL: all */
    double interval; /**< seconds between samples of a GPU, where the trace has no times; NAN: not
                        given */
    bool                         follow; /**< wait for more at the end of a file */
    const volatile sig_atomic_t *stop;   /**< not 0: the trace ends here; NULL: never */
    bool                         beside; /**< read what stands beside the metric, too */
} trace_question;

/** One value of the metric. */
typedef struct trace_sample {
    double   time;  /**< s, since whatever the trace counts from */
    float    value; /**< NAN: the trace says that there is none */
    size_t   gpu;   /**< trace_reader_gpu() names it */
    uint64_t line;
    float    beside[N_BESIDE]; /**< with `beside` in the question; NAN: not told */
} trace_sample;

typedef struct trace_reader trace_reader;

/**
 * @param path "-": stdin
 * @return LM_E_SYNTAX if it is no trace, LM_E_NOTFOUND for a metric that is not there, LM_E_ARG
 * without times and without an interval, LM_E_IO. Texts begin with the path, those about a line
 * with path:line.
 */
lm_status trace_reader_open(const char *path, const trace_question *q, trace_reader **out,
                            lm_error *err);
void      trace_reader_close(trace_reader *r);

/**
 * The next sample; *more is false at the end. A last row that is cut short is dropped.
 * LM_E_SYNTAX ("path:line: ...") for a row that is none, LM_E_NOTFOUND where columns change and the
 * metric is no longer among them.
 */
lm_status trace_reader_next(trace_reader *r, trace_sample *out, bool *more, lm_error *err);

const char *trace_reader_format(const trace_reader *r); /**< "dcgmi dmon" */
const char *trace_reader_metric(const trace_reader *r); /**< as the trace names it */
const char *trace_reader_unit(const trace_reader *r);   /**< "" if the trace does not say */
const char *trace_reader_path(const trace_reader *r);
size_t      trace_reader_gpus(const trace_reader *r); /**< so far */
const char *trace_reader_gpu(const trace_reader *r, size_t gpu);
bool        trace_reader_timed(const trace_reader *r);     /**< the trace has times of its own */
bool        trace_reader_cut_short(const trace_reader *r); /**< the last row was dropped */
uint64_t    trace_reader_line(const trace_reader *r);

#endif
