/** Plans and answers of 'layermeter plan'. */
#ifndef CLI_PLAN_FIND_H
#define CLI_PLAN_FIND_H

#include "cli/plan_job.h"
#include "cli/plan_print.h"

/**
 * Every plan that is asked for, into job->set, those that others beat marked. Machines of which
 * several nodes are not calibrated are planned on one, unless numbers of nodes were asked for.
 *
 * @return LM_E_NOTFOUND or LM_E_ARG where there is no plan at all: the text says why, and what
 * would help
 */
lm_status plan_job_search(plan_job *job, lm_error *err);

/** The first goal for each machine (fewest nodes for a deadline, the fastest within a budget, else
 * the cheapest), then what else there is to say of all of them. None: no plan keeps to the limits.
 */
void plan_job_ask(const plan_job *job, plan_answers *out);

#endif
