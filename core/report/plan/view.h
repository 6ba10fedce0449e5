/** Plans and answers as `layermeter plan` shows them: words, table, CSV and JSON. */
#ifndef REPORT_PLAN_VIEW_H
#define REPORT_PLAN_VIEW_H

#include "plan/job.h"
#include "report/table.h"

/** Answers, what they hang on, what they stand on, and the plans; `all`: also those that others
 * beat. */
lm_status plan_print(const plan_job *job, const plan_answers *answers, const table_look *look,
                     bool all, lm_error *err);
/** The largest batches that fit, of one device and of several. */
lm_status plan_print_largest(const plan_job *job, const table_look *look, lm_error *err);
/** Fails with one line: the best there is, and what would help. */
lm_status plan_unmet(const plan_job *job, lm_error *err);

#endif
