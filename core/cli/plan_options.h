/** Options of 'layermeter plan', and which of them exclude or need each other. */
#ifndef CLI_PLAN_OPTIONS_H
#define CLI_PLAN_OPTIONS_H

#include "cli/layout_options.h"
#include "cli/session.h"
#include "plan/job.h"

typedef struct plan_options {
    fleet_options fleet;
    setup_choice  how;
    power_choice  power;
    training      training;
    int64_t       tokens; /* of the data set; 0: not given */
    int64_t       gpus;   /* of all nodes; 0: not given */
    failure_model failures;
    double        deadline;             /* s; NAN: not given */
    double        rate, within;         /* samples/s, s; NAN: not given */
    money         budget, energy_price; /* of a kWh; amounts of 0: not given */
    batch_told    global_batch;
    option_counts memory, overhead; /* bytes, for all machines or for each */
    option_counts nodes, batch;     /* batch automatic: powers of two that fit */
    int64_t       layouts;          /* 0: none are searched */
    bool          assumed_batch;    /* global_batch is the usual one */
    layout_choice layout;
    bool          whole;     /* it is the layout, as it stands */
    int64_t       critical;  /* samples of a step; 0: not given */
    const char   *recompute; /* segments; NULL: none */
    bool          largest, all, keep_script;
    table_look    look;
    const char   *plot, *timeline;
} plan_options;

/** Checks them, and completes what follows from others (number of nodes, batch of a step). Errors of
 * misuse. */
lm_status plan_options_check(options *o, lm_error *err);

/** Were no nodes, devices and instances given? */
bool plan_options_place_free(const options *o, const plan_options *a);

/** Turns the search of layouts on, or, for inference, takes nodes of several devices, where the user
 * gave neither. As plan_options_check(). */
#define PLAN_SHARED_LAYOUTS 3
lm_status plan_options_share(const options *o, plan_options *a, lm_error *err);

#endif
