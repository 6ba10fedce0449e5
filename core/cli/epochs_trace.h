/** What `layermeter epochs` reads, chosen and checked. */
#ifndef CLI_EPOCHS_TRACE_H
#define CLI_EPOCHS_TRACE_H

#include "epochs/epochs.h"
#include "report/table.h"
#include "trace/trace.h"

/** A GPU's metric at equal steps, and what there is to say of the trace: one line for each oddity.
 */
typedef struct epochs_trace {
    char       path[256], metric[96], unit[32], gpu[TRACE_NAME_MAX];
    trace_grid grid;
    size_t     n_samples;
} epochs_trace;

/**
 * Reads a trace; of several GPUs takes the one asked for, else the first whose metric is not
 * constant. Oddities (clocks that jump, GPUs that vanish, sampling that changes, long gaps, a last
 * row cut short) go to stderr, a line each.
 */
lm_status epochs_trace_load(const char *path, const trace_question *q, epochs_trace *out,
                            lm_error *err);

/** Follows a trace in constant memory and prints each epoch as a row when it has ended, until the
 * trace does. LM_E_NOTFOUND if it ends without any. */
lm_status epochs_follow(const char *path, const trace_question *q, epochs_method m, format f,
                        lm_error *err);

#endif
