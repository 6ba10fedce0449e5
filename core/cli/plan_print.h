/** What 'layermeter plan' prints. */
#ifndef CLI_PLAN_PRINT_H
#define CLI_PLAN_PRINT_H

#include "cli/plan_job.h"
#include "plan/answer.h"

#define PLAN_ANSWERS_MAX (ARGUMENTS_MAX + 2)

typedef struct plan_answers {
    plan_answer answer[PLAN_ANSWERS_MAX];
    size_t      n;
    bool        all; /**< dominated plans, too */
} plan_answers;

/** Answers, what they hang on, what they stand on, and the plans. */
lm_status plan_print(plan_job *job, const plan_answers *answers, format f, lm_error *err);

/** The largest batches that fit, of one device and of several. */
lm_status plan_print_largest(const plan_job *job, format f, lm_error *err);

#endif
