/** A planning job: machines, question, all plans, and answers. */
#ifndef PLAN_JOB_H
#define PLAN_JOB_H

#include "plan/assumptions.h"
#include "plan/paid.h"
#include "plan/room.h"
#include "predict/generation.h"
#include "predict/power_choice.h"

/** A machine of the job. */
typedef struct plan_side {
    const char      *name;   /**< its file; for models with a datasheet the device */
    const char      *device; /**< NULL: unknown */
    const predictor *who;
    device_room      room;
    const price     *price;         /**< section of its price; NULL: given by the user, or none */
    size_t           among;         /**< of so many prices it is the cheapest */
    char             no_price[508]; /**< reason for a missing price; "": it has one */
    power_model      power;         /**< of a device, if known */
    bool             learned;       /**< the step model also predicts power */
    double           again;         /**< recompute_share() of room.recompute */
    char             one_node[508]; /**< reason for plans on one device only; "": no such limit */
} plan_side;

/** The caller fills all but the machines, own_batch and set, which plan_job_free() frees. */
typedef struct plan_job {
    const char           *network;
    const struct network *net;
    const registry       *reg;
    plan_side            *side;
    plan_machine         *machine; /**< the same machines for plan_search() */
    predictor            *half;    /**< behind machine.half_link */
    size_t                n;
    char                  currency[CURRENCY_TEXT]; /**< of all costs; "": no prices */
    money                 kwh;                     /**< price of a kWh; amount NAN: not given */
    double                grams_per_kwh;           /**< CO2 of electricity; NAN: not given */
    plan_question         question;
    generation_span       span;        /**< of decoding: samples are tokens */
    bool                  nodes_given; /**< the user gave numbers of nodes */
    int64_t     critical;  /**< samples of a step beyond which more gain little; 0: not told */
    bool        automatic; /**< batches: powers of two that fit */
    int64_t    *own_batch; /**< these batches; NULL: none */
    plan_view   view;
    plan_limits limits;
    plan_set    set;
} plan_job;

/** What is told of a machine. */
typedef struct side_asked {
    const predictor *who;
    paid_asked       paid; /**< its name, too */
    device_room      room; /**< zeros: not told */
} side_asked;

/** What is told of all machines. */
typedef struct sides_asked {
    const char        *device_file; /**< read before the shipped datasheets; NULL: none */
    const device_list *devices;     /**< of these files */
    const price_list  *prices;
    bool               wants_price; /**< it is an error if no machine has a price */
    power_choice       power;
} sides_asked;

/**
 * Completes the machines by their files, datasheets and prices: device, memory and the batches that
 * fit, price, power. The question and the currency must be there. plan_job_free() in either case.
 *
 * @param side job->n of them
 * @return LM_E_NOTFOUND for a device without datasheet, a price or a power that is asked for and
 *         missing; what batch_limits_of() and power_choice_complete() return
 */
lm_status plan_job_open(plan_job *job, const side_asked *side, const sides_asked *all,
                        lm_error *err);
void      plan_job_free(plan_job *job);

/** Has any machine a price? What costs of others are is unknown, and they answer no question of cost.
 * If none has, *why is the first reason; `why` may be NULL. */
bool plan_job_priced(const plan_job *job, const char **why);
/** Source of the prices: "list", "spot", or "given" by the user; NULL: no prices. */
const char *plan_price_name(const plan_job *job);

/** Maximum number of machines. */
#define PLAN_SIDES_MAX   64
#define PLAN_ANSWERS_MAX (PLAN_SIDES_MAX + 2)

typedef struct plan_answers {
    plan_answer answer[PLAN_ANSWERS_MAX];
    size_t      n;
} plan_answers;

/**
 * Fills job->set with all plans and marks dominated ones. A machine without calibration of several
 * nodes gets plans for one node, unless the user gave numbers of nodes.
 *
 * @return LM_E_NOTFOUND or LM_E_ARG without any plan; the text gives the reason and a remedy
 */
lm_status plan_job_search(plan_job *job, lm_error *err);
/** Answers: the main goal for each machine (fewest nodes for a deadline, fastest within a budget,
 * else cheapest), then a second goal over all machines. None: no plan meets the limits. */
void plan_job_ask(const plan_job *job, plan_answers *out);

#endif
