/** A run to be planned: its machines, what is asked, every plan, and the answers. */
#ifndef PLAN_JOB_H
#define PLAN_JOB_H

#include "plan/answer.h"
#include "plan/room.h"

/** A machine that is asked about. */
typedef struct plan_side {
    const char      *name;   /**< its file; of a model that takes a datasheet the device */
    const char      *device; /**< NULL: not known */
    const predictor *who;
    const network   *net;
    const registry  *reg;
    device_room      room;
    const price     *price;         /**< section that it is paid by; NULL: told, or none */
    char             no_price[508]; /**< why there is none; "": there is one */
    power_model      power;         /**< of a device, where it is known */
    bool             learned;       /**< the model that predicts steps tells their power, too */
    char             one_node[508]; /**< why only plans on one device are there; "": they are not */
} plan_side;

/** The caller fills all but own_batch and set, which plan_job_free() frees. */
typedef struct plan_job {
    const char   *network;
    plan_side    *side;
    plan_machine *machine; /**< the same, as plans take them */
    size_t        n;
    char          currency[CURRENCY_TEXT]; /**< of all costs; "": nothing has a price */
    money         kwh;                     /**< price of a kWh; amount NAN: not given */
    double        grams_per_kwh;           /**< CO2 of electricity; NAN: not told */
    plan_question question;
    bool          nodes_given; /**< numbers of nodes were asked for */
    bool          automatic;   /**< batches are powers of two that fit */
    int64_t      *own_batch;   /**< these; NULL: not made */
    plan_view     view;
    plan_limits   limits;
    plan_set      set;
} plan_job;

void plan_job_free(plan_job *job);

/** Have all machines a price? Else *why is the first one's reason; `why` may be NULL. */
bool plan_job_priced(const plan_job *job, const char **why);
/** Where prices come from: "list", "spot", or "given" where all of them were; NULL: there are none.
 */
const char *plan_price_name(const plan_job *job);

/** More machines than this no job has. */
#define PLAN_SIDES_MAX   64
#define PLAN_ANSWERS_MAX (PLAN_SIDES_MAX + 2)

typedef struct plan_answers {
    plan_answer answer[PLAN_ANSWERS_MAX];
    size_t      n;
} plan_answers;

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
