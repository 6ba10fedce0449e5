/** Answers about collectives: a table, and a picture of times over bytes. */
#ifndef REPORT_COLLECTIVES_VIEW_H
#define REPORT_COLLECTIVES_VIEW_H

#include "predict/asked_collective.h"
#include "report/fields.h"

/** Some columns have no value where one group is alone. */
#define COLLECTIVE_GROUPS 1u
extern const field collective_fields[]; /**< of an asked_collective */

/**
 * Draws times over bytes, both logarithmic: a curve for each number of nodes and devices, with its
 * interval as a band.
 *
 * @param path  as of gnuplot_draw()
 * @param title one line
 * @param row   of n answers, those of a curve behind each other
 * @return as gnuplot_draw(); LM_E_ARG for more than CHART_CURVES curves
 */
lm_status plot_collectives(const char *path, const char *title, const asked_collective *row,
                           size_t n, bool keep_script, lm_error *err);

#endif
