/** What 'layermeter plan' asks: machines with their memory and prices, limits, and the plans found.
 */
#ifndef CLI_PLAN_JOB_H
#define CLI_PLAN_JOB_H

#include "cli/commands.h"
#include "cli/power_options.h"
#include "cli/setup_options.h"
#include "plan/assumptions.h"

/** Options by their place in the command's own table. */
typedef struct plan_options {
    session_options session;
    int             device, memory, overhead, price, prices, instance, spot, plan_devices;
} plan_options;

/** A machine of the command line. */
typedef struct plan_side {
    const char       *name;   /**< its file; of paleo the device */
    const char       *device; /**< NULL: not known */
    session           session;
    device_room       room;
    struct half_link *half;          /**< behind plan_machine.half_link */
    const price      *price;         /**< section that it is paid by; NULL: --price, or none */
    char              no_price[508]; /**< why there is none; "": there is one */
    power_choice      power;         /**< of a device, where it is known */
    char one_node[508]; /**< why only plans on one device are there; "": they are not */
} plan_side;

typedef struct plan_job {
    const options      *o;
    const plan_options *at;
    device_list        *devices;
    price_list         *prices;
    plan_side          *side;
    plan_machine       *machine; /**< the same, as plans take them */
    size_t              n;
    char                currency[CURRENCY_TEXT]; /**< of all costs; "": nothing has a price */
    money               given;                   /**< --price; amount NAN: not given */
    setup_choice        how;
    plan_question       question;
    money               kwh;         /**< --energy-price, of a kWh; amount NAN: not given */
    bool                nodes_given; /**< on the command line: not the default */
    bool                automatic;   /**< batches: powers of two that fit */
    int64_t            *own_batch;   /**< these; NULL: not made */
    plan_view           view;
    plan_limits         limits;
    plan_set            set;
} plan_job;

/** The value of an option that is given once for all machines or once for each; NULL: not given. */
const char *plan_nth(const plan_job *job, int at, size_t i);

/**
 * Opens the machines that the options name: formulas, device, memory, price. False after a message,
 * with *exit_code set; close in either case. `how` and `question.setup` must be there.
 */
bool plan_job_open(plan_job *job, int *exit_code);
void plan_job_close(plan_job *job);

/** Have all machines a price? Else *why is the first one's reason. */
bool plan_job_priced(const plan_job *job, const char **why);
/** Where prices come from: "list", "spot", or "given" where all of them were; NULL: there are none.
 */
const char *plan_price_name(const plan_job *job);

#endif
