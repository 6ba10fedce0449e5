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
    const char      *name;   /**< its file; the device for models with a datasheet */
    const char      *device; /**< NULL: unknown */
    const predictor *who;
    device_room      room;
    /** section of its price; NULL: the user gave the price, or there is none */
    const price *price;
    size_t       among;         /**< number of prices of which it is the cheapest */
    char         no_price[508]; /**< reason for a missing price; "": there is a price */
    power_model  power;         /**< of one device, if known */
    bool         learned;       /**< the step model also predicts power */
    double       at_peak;       /**< utilization_at_peak(); NAN or 0: unknown, or not asked for */
    double       again;         /**< recompute_share() of room.recompute */
    int64_t      batch;         /**< the first of its plans; smaller than asked if batch_free */
    const char  *smaller;       /**< why; NULL: it is not */
    /** reason why plans have one device only; "": no such limit */
    char one_node[508];
} plan_side;

/**
 * The caller fills in all members except the machines, own_batch and set, which plan_job_free()
 * frees.
 */
typedef struct plan_job {
    const char           *network;
    const struct network *net;
    const registry       *reg;
    plan_side            *side;
    plan_machine         *machine; /**< the same machines for plan_search() */
    predictor            *half;    /**< storage of machine.half_link */
    size_t                n;
    char                  currency[CURRENCY_TEXT]; /**< of all costs; "": no prices */
    money                 kwh;                     /**< price of a kWh; amount NAN: not given */
    double                grams_per_kwh;           /**< CO2 of electricity; NAN: not given */
    plan_question         question;
    generation_span       span;        /**< decoding: samples are tokens */
    bool                  nodes_given; /**< the user gave numbers of nodes */
    /** batch of all devices above which larger steps gain little; 0: not given */
    int64_t     critical;
    layout      told;       /**< properties that all layouts are to have (layout.told) */
    bool        whole;      /**< `told` is the layout; nothing is searched */
    /** hears of each search for layouts that begins; NULL: nobody does */
    void (*searches)(const char *machine, int64_t nodes);
    bool        automatic;  /**< batches are powers of two that fit */
    bool        batch_free; /**< the user gave no batch: a smaller one is as good */
    int64_t    *own_batch;  /**< storage of these batches; NULL: none */
    plan_view   view;
    plan_limits limits;
    plan_set    set;
} plan_job;

/** The user's description of a machine. */
typedef struct side_asked {
    const predictor *who;
    paid_asked       paid; /**< with its name */
    device_room      room; /**< zeros: not given */
} side_asked;

/** The user's description of all machines. */
typedef struct sides_asked {
    const char        *device_file; /**< searched before the shipped datasheets; NULL: none */
    const device_list *devices;     /**< devices of these files */
    const price_list  *prices;
    bool               wants_price; /**< it is an error if no machine has a price */
    bool               wants_peak;  /**< fill plan_side.at_peak */
    power_choice       power;
} sides_asked;

/**
 * Completes the machines from their files, datasheets and prices: device, memory, largest batches,
 * price, power. The question and the currency must be set. Call plan_job_free() in either case.
 *
 * @param side job->n entries
 * @return LM_E_NOTFOUND for a device without a datasheet, and for a missing price or power that is
 *         needed; errors of batch_limits_of() and power_choice_complete()
 */
lm_status plan_job_open(plan_job *job, const side_asked *side, const sides_asked *all,
                        lm_error *err);
void      plan_job_free(plan_job *job);

/**
 * Does at least one machine have a price? Costs on the others are unknown, and such plans answer no
 * question about cost. If none has a price, *why is the first reason; `why` may be NULL.
 */
bool plan_job_priced(const plan_job *job, const char **why);
/** Source of the prices: "list", "spot", or "given" by the user; NULL: no prices. */
const char *plan_price_name(const plan_job *job);

/** Does no machine's device hold one sample of the network? */
bool plan_job_too_large(const plan_job *job);

/** Maximum number of machines; up to how many of them each has a sentence. */
#define PLAN_SIDES_MAX    64
#define PLAN_MACHINES_FEW 3
#define PLAN_ANSWERS_MAX  (PLAN_SIDES_MAX + 2)

typedef struct plan_answers {
    plan_answer answer[PLAN_ANSWERS_MAX];
    size_t      n;
} plan_answers;

/**
 * Fills job->set with all plans and marks dominated ones. A machine without a calibration of
 * several nodes gets plans for one node, unless the user gave numbers of nodes.
 *
 * @return LM_E_NOTFOUND or LM_E_ARG if there is no plan; the text gives the reason and a remedy
 */
lm_status plan_job_search(plan_job *job, lm_error *err);
/**
 * Answers: the main goal for each machine (fewest nodes for a deadline, fastest within a budget,
 * else cheapest), then a second goal over all machines. Of more than PLAN_MACHINES_FEW the first
 * goal, too, is answered over all of them. Empty: no plan meets the limits.
 */
void plan_job_ask(const plan_job *job, plan_answers *out);

#endif
