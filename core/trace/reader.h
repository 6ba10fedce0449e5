/** Traces of GPU metrics, sample by sample: output of `dcgmi dmon`, `nvidia-smi --query-gpu
 * --format=csv`, `nvidia-smi dmon` and dcgm-exporter, and CSV with named columns. The first
 * lines tell the format. */
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

/** A question to a trace. */
typedef struct trace_question {
    const char *metric;   /**< any of its names (metrics.h), in a CSV without heading the number of
                             its column; NULL: the column that shows a GPU's load best */
    const char *gpu;      /**< as the trace names it, "0"; NULL: all */
    double      interval; /**< seconds between samples of a GPU, for traces without times; NAN: none
                          given */
    bool        follow;   /**< wait for more at the end of a file */
    const volatile sig_atomic_t *stop;   /**< not 0: the trace ends here; NULL: never */
    bool                         beside; /**< read the values beside the metric, too */
} trace_question;

/** One value of the metric. */
typedef struct trace_sample {
    double   time;  /**< s, from the trace's own zero */
    float    value; /**< NAN: the trace has none */
    size_t   gpu;   /**< number among the reader's GPUs */
    uint64_t line;
    float    beside[N_BESIDE]; /**< with `beside` in the question; NAN: unknown */
} trace_sample;

struct trace_format;
struct line_source;

/** An open trace. Callers read the first group of fields; the rest belongs to core/trace. */
typedef struct trace_reader {
    const char *path;
    char        metric[METRIC_NAME_MAX], unit[METRIC_NAME_MAX]; /**< as in the trace; "": no unit */
    bool        timed;                                          /**< the trace has times */
    bool        cut_short;                                      /**< the last row was dropped */
    size_t      n_gpus;                                         /**< so far */
    char        gpu[TRACE_GPUS_MAX][TRACE_NAME_MAX];

    trace_question             q;
    const struct trace_format *format;
    struct line_source        *lines;
    bool                       headed; /* columns are known */
    bool                       ended;
    size_t                     n_columns, metric_at, gpu_at, time_at, date_at;
    size_t                     beside_at[N_BESIDE];   /* columns; COLUMN_NONE: none */
    size_t                     beside_find[N_BESIDE]; /* by metric_beside_find() */
    float (*beside)[N_BESIDE]; /* last values of each GPU, from lines of their own */
    size_t   offset;           /* of the metric's heading in its line */
    double   time_scale;       /* seconds in the trace's unit of time */
    lm_error doubtful;         /* of the row before; forgiven if that was the last row */
    uint64_t tick;             /* of traces without times: one sample of each GPU */
    size_t   last_gpu;
    uint64_t seen[TRACE_GPUS_MAX]; /* tick + 1 in which a GPU was last seen */
} trace_reader;

/**
 * @param path "-": stdin
 * @return LM_E_SYNTAX if it is no trace, LM_E_NOTFOUND for an absent metric, LM_E_ARG without times
 * and interval, LM_E_IO. Texts begin with the path, those about a line with path:line.
 */
lm_status trace_reader_open(const char *path, const trace_question *q, trace_reader **out,
                            lm_error *err);
void      trace_reader_close(trace_reader *r);

/** The next sample; *more is false at the end. A last row that is cut short is dropped. LM_E_SYNTAX
 * ("path:line: ...") for a bad row, LM_E_NOTFOUND if columns change and the metric is gone. */
lm_status trace_reader_next(trace_reader *r, trace_sample *out, bool *more, lm_error *err);

#endif
