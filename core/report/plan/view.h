/** Output of `layermeter plan`: plans and answers as words, table, CSV and JSON. */
#ifndef REPORT_PLAN_VIEW_H
#define REPORT_PLAN_VIEW_H

#include "plan/job.h"
#include "report/table.h"

/** Prints answers, their sensitivity and basis, and the plans; `all`: also dominated plans. */
lm_status plan_print(const plan_job *job, const plan_answers *answers, const table_look *look,
                     bool all, lm_error *err);
/** Prints the largest batches that fit, for one device and for several. */
lm_status plan_print_largest(const plan_job *job, const table_look *look, lm_error *err);
/** Returns an error of one line: the best plan outside of the limits, and a remedy. */
lm_status plan_unmet(const plan_job *job, lm_error *err);

#endif
