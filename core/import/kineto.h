/** Traces of PyTorch's profiler, as observations. */
#ifndef IMPORT_KINETO_H
#define IMPORT_KINETO_H

#include "import/extrap.h"

/** What the profiler calls a step, up to its number. */
#define KINETO_STEP "ProfilerStep"

/**
 * Reads Chrome's JSON as the profiler writes it. Steps become one row: the network that
 * `given->regions` calls KINETO_STEP, with what `given->fixed` says. All-reduces by NCCL become a row
 * for each size, where the trace says how many elements they have. The file is read as a stream;
 * memory holds steps and all-reduces alone.
 *
 * @return LM_E_IO, LM_E_SYNTAX (no such trace, or neither in it), LM_E_ARG (something is not told).
 * Texts begin with the path. Counts of events left out are in *out.
 */
lm_status kineto_read(const char *path, const extrap_options *given, log_rows *out, lm_error *err);

#endif
