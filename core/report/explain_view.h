/** The parts of a predicted step, for `layermeter predict --explain`. */
#ifndef REPORT_EXPLAIN_VIEW_H
#define REPORT_EXPLAIN_VIEW_H

#include "predict/explain.h"
#include "report/fields.h"

/**
 * Prints the parts: the `top` longest rows, then the rest as one row; 0: all rows. Errors of
 * explain_step().
 */
lm_status explain_print(const predictor *who, const step_setup *s, explain_key key, size_t top,
                        format f, lm_error *err);

/** Prints the decisions of a tree for one layer. Errors of step_model.decide(). */
lm_status explain_path_print(const predictor *who, const step_setup *s, const char *layer, format f,
                             lm_error *err);

#endif
