/** Parts of the output of plans: private to its files. */
#ifndef REPORT_PLAN_PARTS_H
#define REPORT_PLAN_PARTS_H

#include "report/plan/fields.h"
#include "report/plan/view.h"

/** "samples"; "tokens" of a generation. */
const char *plan_sample_word(const plan_job *job);

/** Facts that decide on columns. */
unsigned plan_facts_of(const plan_job *job);

/** Facts for columns of power, energy, CO2 and price of electricity; none if no power is known. */
unsigned plan_power_facts(const plan_job *job);

/** Power of a device, energy of all devices. NAN: unknown. */
typedef struct plan_power {
    bounded     watts;                    /**< of one device */
    double      joules;                   /**< all devices, one step */
    double      kwh, kg_co2, electricity; /**< all devices, whole run; electricity: its price */
    const char *by;                       /**< step_power_by() */
} plan_power;

/** Power and energy of a run of so many seconds. All devices draw the power of a training step to
 * its end, also during evaluations. Errors of bottleneck_profile_of(). */
lm_status plan_power_of(const plan_job *job, const plan_side *side, const step_setup *s,
                        const prediction *step, double run, plan_power *out, lm_error *err);

/** Prints a line with the price of a machine, or the reason for its lack. */
void plan_print_price(const plan_job *job, size_t machine, FILE *out);

/** Fills in a row, except for its power and the questions that it answers. Errors of
 * predict_step(). */
lm_status plan_row_of(const plan_job *job, const plan *p, plan_row *out, lm_error *err);

/** Writes the question, with its machines, as keys of an open JSON object. */
void plan_json_question(const plan_job *job, json *j);
/** Writes an answer as an element of an open JSON array. */
void plan_json_answer(const plan_job *job, const plan_answer *a, json *j);

#define PLAN_SENTENCE 600

#define HOURS_TEXT 40 /**< a text_duration() */
/** A line with the plan, its time and cost with bounds, and the time on fewer nodes. */
const char *plan_answer_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE]);
/** A line with the assumption that changes the answer most, and the changed answer. */
const char *plan_hangs_on_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE]);
/** A line for a machine without a plan within the limits. */
const char *plan_unmet_print(const plan_job *job, size_t machine, char out[PLAN_SENTENCE]);

#endif
