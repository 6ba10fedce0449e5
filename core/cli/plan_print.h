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

/** Cost of a plan in a case of time, by the prices that are asked for. */
double plan_cost_at(const plan_job *job, const plan *p, time_case at);

/** What was asked, machines among it, as keys of an open JSON object. */
void plan_json_question(const plan_job *job, json *j);
/** One answer, as an element of an open JSON array. */
void plan_json_answer(const plan_job *job, const plan_answer *a, json *j);

#endif
