/** `layermeter plan`: its options and its parts, each in a file plan_*.c. */
#ifndef CLI_CMD_PLAN_H
#define CLI_CMD_PLAN_H

#include "cli/fleet.h"
#include "cli/power_options.h"
#include "cli/setup_options.h"
#include "plan/answer.h"
#include "plan/assumptions.h"
#include "report/plan_fields.h"

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

/** A machine of the command line. */
typedef struct plan_side {
    const char  *name;   /**< its file; of paleo the device */
    const char  *device; /**< NULL: not known */
    session      session;
    device_room  room;
    predictor    half;          /**< behind plan_machine.half_link */
    const price *price;         /**< section that it is paid by; NULL: --price, or none */
    char         no_price[508]; /**< why there is none; "": there is one */
    power_choice power;         /**< of a device, where it is known */
    char         one_node[508]; /**< why only plans on one device are there; "": they are not */
} plan_side;

typedef struct plan_job {
    const char   *network;
    plan_options *a;
    device_list  *devices;
    price_list   *prices;
    plan_side    *side;
    plan_machine *machine; /**< the same, as plans take them */
    size_t        n;
    char          currency[CURRENCY_TEXT]; /**< of all costs; "": nothing has a price */
    plan_question question;
    money         kwh;         /**< --energy-price, of a kWh; amount NAN: not given */
    bool          nodes_given; /**< on the command line: not the default */
    int64_t      *own_batch;   /**< these; NULL: not made */
    plan_view     view;
    plan_limits   limits;
    plan_set      set;
} plan_job;

/**
 * Opens the machines that the options name: formulas, device, memory, price, power. plan_job_close()
 * in either case. `a`, `network` and `question` must be there.
 */
lm_status plan_job_open(plan_job *job, const options *o, lm_error *err);
void      plan_job_close(plan_job *job);

/** Have all machines a price? Else *why is the first one's reason. */
bool plan_job_priced(const plan_job *job, const char **why);
/** Where prices come from: "list", "spot", or "given" where all of them were; NULL: there are none.
 */
const char *plan_price_name(const plan_job *job);

/* ---- plans and answers: plan_find.c -------------------------------------------------------------
 */

#define PLAN_ANSWERS_MAX (FLEET_MAX + 2)

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

/* ---- energy: plan_power.c -----------------------------------------------------------------------
 */

/** What the options tell, and what the machines' files do: after the machines were opened. */
lm_status plan_power_open(plan_job *job, lm_error *err);
/** Columns of power, energy, CO2 and price of electricity, where any machine's power is known. */
unsigned plan_power_facts(const plan_job *job);
/**
 * Their values. All devices of a run draw what a training step does from its first step to its end,
 * evaluations among it.
 *
 * @param unknown becomes the plan's machine if its power is not known though there are columns
 * @return what bottleneck_profile_of() returns
 */
lm_status plan_row_power(const plan_job *job, const plan *p, plan_row *out,
                         const plan_side **unknown, lm_error *err);

/* ---- what is printed: plan_print.c, plan_largest.c, plan_json.c ---------------------------------
 */

/** Answers, what they hang on, what they stand on, and the plans. */
lm_status plan_print(plan_job *job, const plan_answers *answers, lm_error *err);
/** The largest batches that fit, of one device and of several. */
lm_status plan_print_largest(const plan_job *job, lm_error *err);
/** All of a row but its power and the questions that it answers. What predict_step() returns. */
lm_status plan_row_of(const plan_job *job, const plan *p, plan_row *out, lm_error *err);
/** What was asked, machines among it, as keys of an open JSON object. */
void plan_json_question(const plan_job *job, json *j);
/** One answer, as an element of an open JSON array. */
void plan_json_answer(const plan_job *job, const plan_answer *a, json *j);

/* ---- words: plan_words.c ------------------------------------------------------------------------
 */

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
