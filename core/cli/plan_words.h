/** Plans and answers in words. */
#ifndef CLI_PLAN_WORDS_H
#define CLI_PLAN_WORDS_H

#include "cli/plan_job.h"
#include "plan/answer.h"

#define PLAN_SENTENCE 600

/** "45 s", "12.5 min", "23.1 h", "1,200 h". */
#define HOURS_TEXT 40
const char *hours_print(double seconds, char buffer[HOURS_TEXT]);

/** One line: the plan, its time and cost with bounds, and what fewer nodes would take. */
const char *plan_answer_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE]);

/** One line: which assumption moves the answer most, and where to. */
const char *plan_hangs_on_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE]);

/** One line of a machine of which no plan keeps to the limits. */
const char *plan_unmet_print(const plan_job *job, size_t machine, char out[PLAN_SENTENCE]);

/** Fails with one line: the best there is, and what would help. */
lm_status plan_unmet(plan_job *job, lm_error *err);

#endif
