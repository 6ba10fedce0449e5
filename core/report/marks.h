/** Measured steps beside predicted curves. */
#ifndef REPORT_MARKS_H
#define REPORT_MARKS_H

#include <stddef.h>

#include "observe/observation.h"
#include "predict/scaling.h"

/** A measured step, at the place of a predicted one. */
typedef struct measured_mark {
    int64_t nodes, batch;
    double  samples_per_second;
} measured_mark;

/**
 * Steps of the predictor's network (inference: its forward passes in evaluation mode) that were
 * measured with its element type, on the nodes, devices of a node and batch of one of the n points. A row without `hosts`
 * is of one host; a row without `input` is of the file's.
 *
 * @param out   room for obs->n_rows
 * @param n_out how many were found, 0 included
 * @return LM_E_* of a network that cannot be read
 */
lm_status measured_marks(const observations *obs, const predictor *who, bool inference,
                         const scale_point *point, size_t n, measured_mark *out, size_t *n_out,
                         lm_error *err);

#endif
