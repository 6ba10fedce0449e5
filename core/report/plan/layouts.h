/** The best layouts, as `layermeter plan --layouts` shows them. */
#ifndef REPORT_PLAN_LAYOUTS_H
#define REPORT_PLAN_LAYOUTS_H

#include "plan/layout_plans.h"
#include "report/fields.h"

/** Columns. */
extern const field layout_fields[];

/**
 * What was looked at, what limits the best, why others are worse; then a row each.
 *
 * @param picture a file for the first one's pipeline (pipeline_draw()); NULL: none
 */
lm_status plan_print_layouts(const plan_job *job, const layout_plans *p, const table_look *look,
                             const char *picture, lm_error *err);

#endif
