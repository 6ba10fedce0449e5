/** Rows that are written for Extra-P: chosen among observations, or predicted. */
#ifndef IMPORT_EXTRAP_ROWS_H
#define IMPORT_EXTRAP_ROWS_H

#include "base/lists.h"
#include "observe/observation.h"
#include "predict/predict.h"

typedef struct extrap_rows {
    observation *row; /**< texts are not owned */
    size_t       n;
    size_t       n_flagged; /**< flagged when measured; nothing better was measured there */
} extrap_rows;

/**
 * Rows of one kind, without skipped rows and without flagged rows whose configuration has others.
 *
 * @param name networks to take; none: all
 * @param kind NULL: the first there is of network, counts, collective, layer, kernel, stream
 * @return LM_E_NOTFOUND without such a row, LM_E_ARG if all are skipped, LM_E_NOMEM;
 *         extrap_rows_free() in either case
 */
lm_status extrap_rows_measured(const observations *obs, const word_list *name, const obs_kind *kind,
                               extrap_rows *out, lm_error *err);

/** Room for the rows of n steps. LM_E_NOMEM; extrap_rows_free() in either case. */
lm_status extrap_rows_new(size_t n_steps, extrap_rows *out, lm_error *err);
/** A row for each known part of a step, or one of inference. The sync of several ranks is what the
 * backward pass does not hide. */
void extrap_rows_step(extrap_rows *rows, const predictor *who, const step_setup *s,
                      const prediction *p);
/** Leaves out the phases that are not there at each of n points, which the text format cannot hold, and
 * names them: "forward, backward"; "": there are none. */
void extrap_rows_common(extrap_rows *rows, size_t n, char *left_out, size_t size);
void extrap_rows_free(extrap_rows *rows);

#endif
