/** Shared by the readers of the formats; for core/trace alone. */
#ifndef TRACE_FORMATS_H
#define TRACE_FORMATS_H

#include "trace/lines.h"
#include "trace/metrics.h"
#include "trace/reader.h"

#define TRACE_COLUMNS_MAX 512
#define COLUMN_NONE       ((size_t)-1)

typedef struct trace_format {
    const char *name;
    /** Is this line, the first one with content, in this format? */
    bool (*is)(const char *line);
    /** Chooses the metric if the beginning of the trace suffices. May be NULL. */
    lm_status (*begin)(trace_reader *r, const char *head, lm_error *err);
    /** Takes a line; *got: it holds a value of the metric. Errors name path and line. */
    lm_status (*row)(trace_reader *r, char *line, trace_sample *out, bool *got, lm_error *err);
} trace_format;

extern const trace_format trace_dcgm, trace_smi_dmon, trace_prometheus, trace_csv;

/** "path:line: ..." */
lm_status trace_wrong(const trace_reader *r, lm_status code, lm_error *err, const char *fmt, ...)
    LM_PRINTF(4, 5);

/** Numbers a GPU by its name; the first to appear is 0. */
lm_status trace_gpu(trace_reader *r, const char *name, size_t n, size_t *out, lm_error *err);

/** Time of a GPU's sample in a trace without times: a GPU seen again begins the next tick. LM_E_ARG
 * without an interval. */
lm_status trace_tick(trace_reader *r, size_t gpu, double *time, lm_error *err);

/** Chooses the metric among n column names into r->metric, r->unit and *at. Names that are NULL or
 * "" are no candidates. The first heading decides; later headings must have the same metric. */
lm_status trace_choose(trace_reader *r, const char *const *name, size_t n, size_t *at,
                       lm_error *err);

/** A cell of the metric as a sample of `gpu`, without its time. Refuses a cell that is neither a
 * value nor a sign for none. */
lm_status trace_cell(trace_reader *r, const char *cell, size_t gpu, trace_sample *out,
                     lm_error *err);

/** The values beside the metric in its row; `cell` is in the order given to trace_choose(). */
void trace_beside(const trace_reader *r, char *const *cell, trace_sample *out);

/** Splits at blanks (and commas, if `commas`), in place; at most max words. */
size_t trace_words(char *line, bool commas, char **word, size_t max);

#endif
