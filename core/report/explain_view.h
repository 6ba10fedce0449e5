/** What a predicted step is made of, as `layermeter predict --explain` shows it. */
#ifndef REPORT_EXPLAIN_VIEW_H
#define REPORT_EXPLAIN_VIEW_H

#include "predict/explain.h"
#include "report/fields.h"

/** Prints what a step is made of, the `top` longest rows and the rest as one; 0: all. What
 * explain_step() returns. */
lm_status explain_print(const predictor *who, const step_setup *s, explain_key key, size_t top,
                        format f, lm_error *err);

/** Prints how a tree comes to what a model says of one layer. What step_model.decide() returns. */
lm_status explain_path_print(const predictor *who, const step_setup *s, const char *layer, format f,
                             lm_error *err);

#endif
