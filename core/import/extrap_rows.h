/** Rows to write for Extra-P: selected observations, or predictions. */
#ifndef IMPORT_EXTRAP_ROWS_H
#define IMPORT_EXTRAP_ROWS_H

#include "base/lists.h"
#include "observe/observation.h"
#include "predict/predict.h"

typedef struct extrap_rows {
    observation *row; /**< texts are not owned */
    size_t       n;
    size_t       n_flagged; /**< number of flagged rows that have no better measurement */
} extrap_rows;

/**
 * Selects rows of one kind. Leaves out skipped rows, and flagged rows if their configuration has
 * others.
 *
 * @param name networks to take; none: all
 * @param kind NULL: the first present kind of network, counts, collective, layer, kernel, stream
 * @return LM_E_NOTFOUND without such a row, LM_E_ARG if all are skipped, LM_E_NOMEM;
 *         extrap_rows_free() in either case
 */
lm_status extrap_rows_measured(const observations *obs, const word_list *name, const obs_kind *kind,
                               extrap_rows *out, lm_error *err);

/** Allocates rows for n steps. LM_E_NOMEM; extrap_rows_free() in either case. */
lm_status extrap_rows_new(size_t n_steps, extrap_rows *out, lm_error *err);
/** Adds a row for each known part of a step, or one of inference. The sync of several ranks is the
 * exposed part. */
void extrap_rows_step(extrap_rows *rows, const predictor *who, const step_setup *s,
                      const prediction *p);
/** Leaves out phases that are missing at some of the n points, which the text format cannot
 * express. Names them in `left_out`: "forward, backward"; "": none. */
void extrap_rows_common(extrap_rows *rows, size_t n, char *left_out, size_t size);
void extrap_rows_free(extrap_rows *rows);

#endif
