/** Fields of a plan, for `layermeter plan`. */
#ifndef REPORT_PLAN_FIELDS_H
#define REPORT_PLAN_FIELDS_H

#include "plan/search.h"
#include "report/step_fields.h"

/** A plan with further values. NAN: unknown. */
typedef struct plan_row {
    const char *machine;
    plan        plan;
    prediction  step;
    training    of;
    double      device_hours;
    double      cost[TIME_HIGH + 1]; /**< by time_case */
    double      watts, kwh;          /**< watts: of a device; kwh: of all */
    double      kg_co2, electricity; /**< CO2 and price of that energy */
    const char *power_by;            /**< step_power_by() */
    char        answers[80];         /**< questions that it answers */
    const char *currency, *price;    /**< "": none */
    bool        keeps_to_limits;
} plan_row;

/** Facts that decide on columns. */
enum plan_facts {
    PLAN_SIDES       = 1 << 0,  /**< there are several machines */
    PLAN_MICRO       = 1 << 1,  /**< steps may have several micro-steps */
    PLAN_SYNC        = 1 << 2,  /**< the user wants several policies */
    PLAN_PRICED      = 1 << 3,  /**< all machines have a price */
    PLAN_POWER       = 1 << 4,  /**< some power is known */
    PLAN_CO2         = 1 << 5,  /**< and the CO2 of electricity */
    PLAN_ELECTRICITY = 1 << 6,  /**< and its price */
    PLAN_TRAINING    = 1 << 7,  /**< plans train ... */
    PLAN_INFERENCE   = 1 << 8,  /**< ... or infer */
    PLAN_FAILURES    = 1 << 10, /**< devices fail */
    PLAN_SHARED      = 1 << 11, /**< devices may share the network */
    PLAN_SPREAD      = 1 << 9   /**< repetitions of inference are known to spread */
};

/** Fact of a program: training or inference. */
static inline unsigned plan_program_fact(program_kind p)
{
    return p == PROGRAM_INFERENCE ? PLAN_INFERENCE : PLAN_TRAINING;
}

/** Words of headings: currencies of costs and of a kWh, and what a sample is (plan_sample_word()). */
typedef struct plan_heads {
    const char *currency, *kwh, *sample;
} plan_heads;

/** Fields of the table of plans. Columns need a plan_heads. */
extern const field plan_fields[];
/** Fields of a plan within an answer, in JSON, from plan_fields. */
extern const field plan_answer_fields[];

/** The largest batch that fits a device. */
typedef struct largest_row {
    const char *machine, *device;        /**< device "": not known */
    int64_t     batch, batch_in_less;    /**< batch_in_less: with a tenth less memory */
    int64_t     accumulation;            /**< number of micro-steps */
    double      memory, needs, one_more; /**< bytes; one_more: needed with one sample more */
    prediction  step;
} largest_row;

extern const field largest_fields[];

#endif
