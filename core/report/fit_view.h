/**
 * Results of a fit as a table: a row for each formula, class of layers or kernels, residual,
 * learned model, collective and power model.
 */
#ifndef REPORT_FIT_VIEW_H
#define REPORT_FIT_VIEW_H

#include "fit/calibration.h"
#include "layerwise/layerwise_importance.h"
#include "learn/lesson.h"
#include "report/fields.h"
#include "single/model.h"

/**
 * The columns; `several`: for machines that share a residual or learned models. field_rows_print()
 * prints and frees them.
 */
field_rows fit_table(format f, bool several);

/** The formulas of a machine file, and its classes of layers and kernels with their residuals. */
void fit_table_formulas(field_rows *t, const calibration *cal);
/** The tasks of a learned model. */
void fit_table_learned(field_rows *t, const layerwise_model *m);
/** The other table: importance of features, rows of layerwise_importance(). */
field_rows fit_table_worth(format f);
/** A layerwise_worth_taker that adds a row to field_rows. */
void fit_table_add_worth(void *to, const layerwise_worth *w);
/** The collectives and the power model of a machine file. */
void fit_table_others(field_rows *t, const calibration *cal);

/** With several machines: the classes of layers of one machine. */
void fit_table_machine(field_rows *t, const char *name, const layer_model *layers);
/** The residual of a class; `of` has its rows and its held-out error. */
void fit_table_residual(field_rows *t, size_t class, const residual_trees *of);

#endif
