/** Output of `layermeter plan --layouts`: the best layouts. */
#ifndef REPORT_PLAN_LAYOUTS_H
#define REPORT_PLAN_LAYOUTS_H

#include "plan/layout_plans.h"
#include "report/fields.h"

/** Columns. */
extern const field layout_fields[];

/**
 * Prints the extent of the search, the limit of the best layout, reasons against others; then a row
 * for each layout.
 *
 * @param picture file for a picture of the first layout's pipeline (timeline_draw()); NULL: none
 */
lm_status plan_print_layouts(const plan_job *job, const layout_plans *p, const table_look *look,
                             const char *picture, lm_error *err);

#endif
