/** Fields of a plan: what `layermeter plan` shows of it. */
#ifndef REPORT_PLAN_FIELDS_H
#define REPORT_PLAN_FIELDS_H

#include "plan/search.h"
#include "report/step_fields.h"

/** A plan with what is said beside it. NAN: unknown. */
typedef struct plan_row {
    const char *machine;
    plan        plan;
    prediction  step;
    training    of;
    double      device_hours;
    double      cost[TIME_HIGH + 1]; /**< by time_case */
    double      watts, kwh;          /**< of a device, of all */
    double      kg_co2, electricity; /**< of that energy */
    const char *power_by;            /**< step_power_by() */
    char        answers[80];         /**< questions that it answers */
    const char *currency, *price;    /**< "": there is none */
    bool        keeps_to_limits;
} plan_row;

/** Facts that decide on columns. */
enum plan_facts {
    PLAN_SIDES       = 1 << 0,  /**< there are several machines */
    PLAN_MICRO       = 1 << 1,  /**< steps may have several micro-steps */
    PLAN_SYNC        = 1 << 2,  /**< several policies are asked for */
    PLAN_PRICED      = 1 << 3,  /**< all machines have a price */
    PLAN_POWER       = 1 << 4,  /**< some power is known */
    PLAN_CO2         = 1 << 5,  /**< and the CO2 of electricity */
    PLAN_ELECTRICITY = 1 << 6,  /**< and its price */
    PLAN_TRAINING    = 1 << 7,  /**< one of the two: plans train ... */
    PLAN_INFERENCE   = 1 << 8,  /**< ... or infer */
    PLAN_FAILURES    = 1 << 10, /**< devices fail */
    PLAN_SPREAD      = 1 << 9   /**< repetitions of inference are known to spread */
};

/** Which of the two a program is. */
static inline unsigned plan_program_fact(program_kind p)
{
    return p == PROGRAM_INFERENCE ? PLAN_INFERENCE : PLAN_TRAINING;
}

/** In whose money heads are. */
typedef struct plan_money {
    const char *currency, *kwh;
} plan_money;

/** A row in the table of plans. Columns are made for a plan_money. */
extern const field plan_fields[];
/** A plan within an answer, in JSON: from plan_fields. */
extern const field plan_answer_fields[];

/** The largest batch that fits a device. */
typedef struct largest_row {
    const char *machine, *device;        /**< device "": not known */
    int64_t     batch, batch_in_less;    /**< where a tenth of the memory is not free */
    int64_t     accumulation;            /**< micro-steps of a step */
    double      memory, needs, one_more; /**< bytes: there is, at the batch, at one sample more */
    prediction  step;
} largest_row;

extern const field largest_fields[];

#endif
