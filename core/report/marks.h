/** Measured steps beside predicted curves. */
#ifndef REPORT_MARKS_H
#define REPORT_MARKS_H

#include <stddef.h>

#include "observe/observation.h"
#include "predict/scaling.h"

/** A measured step at the same configuration as a predicted one. */
typedef struct measured_mark {
    int64_t nodes, batch;
    double  samples_per_second;
} measured_mark;

/**
 * Measured steps of the predictor's network (inference: forward passes in evaluation mode), with
 * its element type, and with the nodes, devices per node and batch of one of the n points. A row
 * without `hosts` has one host; a row without `input` has the file's input.
 *
 * @param out   room for obs->n_rows
 * @param n_out number of steps found, may be 0
 * @return errors of reading the network
 */
lm_status measured_marks(const observations *obs, const predictor *who, bool inference,
                         const scale_point *point, size_t n, measured_mark *out, size_t *n_out,
                         lm_error *err);

#endif
