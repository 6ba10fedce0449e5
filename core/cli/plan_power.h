/** Energy of planned runs. */
#ifndef CLI_PLAN_POWER_H
#define CLI_PLAN_POWER_H

#include "cli/plan_job.h"
#include "report/table.h"

/** What the options tell, and what the machines' files do: after the machines were opened. False
 * after a message, with *exit_code set. */
bool plan_power_open(plan_job *job, const power_options *at, int energy_price, int *exit_code);

/** Columns of a plan's power, energy, CO2 and price of electricity, where any machine's power is
 * known. */
void plan_power_columns(const plan_job *job, table *t);

/**
 * Their cells. All devices of a run draw what a training step does from its first step to its end,
 * evaluations among it. `step` is the plan's, of predict_step().
 *
 * @param unknown becomes the plan's machine if its power is not known though there are columns
 * @return what bottleneck_profile_of() returns
 */
lm_status plan_power_cells(const plan_job *job, const plan *p, const prediction *step, table *t,
                           const plan_side **unknown, lm_error *err);

#endif
