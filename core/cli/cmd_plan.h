/** `layermeter plan`: its options and its parts, its machines in plan_job.c. */
#ifndef CLI_CMD_PLAN_H
#define CLI_CMD_PLAN_H

#include "cli/power_options.h"
#include "cli/session.h"
#include "plan/job.h"
#include "plan/paid.h"

/** What `layermeter plan` takes. */
typedef struct plan_options {
    fleet_options fleet;
    setup_choice  how;
    power_choice  power;
    training      training;
    double        deadline;             /**< s; NAN: not given */
    money         budget, energy_price; /**< of a kWh; amounts of 0: not given */
    int64_t       global_batch;         /**< 0: not given */
    option_counts memory, overhead;     /**< bytes, for all machines or for each */
    option_counts nodes, batch;         /**< batch automatic: powers of two that fit */
    bool          largest, all, keep_script;
    format        format;
    const char   *plot;
} plan_options;

/** A job with what is behind its machines. */
typedef struct plan_command {
    plan_job      job;
    plan_options *a;
    device_list  *devices;
    price_list   *prices;
    session      *session; /**< of each machine */
    predictor    *half;    /**< behind plan_machine.half_link */
} plan_command;

/**
 * Opens the machines that the options name: formulas, device, memory, price, power.
 * plan_command_close() in either case. `a`, the network and the question must be there.
 */
lm_status plan_command_open(plan_command *c, const options *o, lm_error *err);
void      plan_command_close(plan_command *c);

#endif
