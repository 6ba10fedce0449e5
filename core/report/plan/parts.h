/** Parts of a view of plans: private to its files. */
#ifndef REPORT_PLAN_PARTS_H
#define REPORT_PLAN_PARTS_H

#include "report/plan/fields.h"
#include "report/plan/view.h"

/** Facts that decide on columns. */
unsigned plan_facts_of(const plan_job *job);

/** Those of columns of power, energy, CO2 and price of electricity: none where no power is known. */
unsigned plan_power_facts(const plan_job *job);

/** Power of a device, energy of all. NAN: unknown. */
typedef struct plan_power {
    bounded     watts;                    /**< of one device */
    double      joules;                   /**< of all in a step */
    double      kwh, kg_co2, electricity; /**< of all in the run; the last is its price */
    const char *by;                       /**< step_power_by() */
} plan_power;

/** All devices draw the power of a training step from the first step to the end of a run of so many seconds,
 * evaluations included. What bottleneck_profile_of() returns. */
lm_status plan_power_of(const plan_job *job, const plan_side *side, const step_setup *s,
                        const prediction *step, double run, plan_power *out, lm_error *err);

/** One line on the price of a machine, or on why it has none. */
void plan_print_price(const plan_job *job, size_t machine, FILE *out);

/** All of a row but its power and the questions that it answers. What predict_step() returns. */
lm_status plan_row_of(const plan_job *job, const plan *p, plan_row *out, lm_error *err);

/** What was asked, machines among it, as keys of an open JSON object. */
void plan_json_question(const plan_job *job, json *j);
/** One answer, as an element of an open JSON array. */
void plan_json_answer(const plan_job *job, const plan_answer *a, json *j);

#define PLAN_SENTENCE 600

#define HOURS_TEXT 40 /**< a text_duration() */
/** One line: the plan, its time and cost with bounds, and what fewer nodes would take. */
const char *plan_answer_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE]);
/** One line: which assumption moves the answer most, and where to. */
const char *plan_hangs_on_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE]);
/** One line of a machine of which no plan keeps to the limits. */
const char *plan_unmet_print(const plan_job *job, size_t machine, char out[PLAN_SENTENCE]);

#endif
