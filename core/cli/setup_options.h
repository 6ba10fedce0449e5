/** How gradients travel, and what the update is. */
#ifndef CLI_SETUP_OPTIONS_H
#define CLI_SETUP_OPTIONS_H

#include "cli/session.h"
#include "predict/scaling.h"

/** --sync: `auto`, or a policy. */
typedef struct sync_choice {
    bool        automatic;
    sync_policy policy;
} sync_choice;

/** What was asked. */
typedef struct setup_choice {
    /* As the options say it. */
    sync_choice   sync;
    option_counts buckets; /**< bytes; automatic: the best of them is wanted */
    lm_dtype      dtype;
    int64_t       accumulate;
    const char   *optimizer;
    /* What follows from them: setup_check(). */
    step_setup   setup;  /**< without batch and nodes, which are 1; of the first policy. The
                            devices of a node are an option of the command */
    sync_policy *policy; /**< the rule of --sync, or one for each --bucket; of the options' room */
    size_t       n;
    bool         given; /**< any of --sync and --bucket, but `auto` */
} setup_choice;

/** Fill a setup_choice. */
extern const option_row setup_option_rows[];

/**
 * Policies and optimizer. A model that was learned of single layers knows any optimizer that was
 * measured, by its word, and in the setup stands the usual one.
 *
 * @param known_only refuses optimizers that the program does not know by themselves
 */
lm_status setup_check(options *o, setup_choice *c, session_options *q, bool known_only,
                      lm_error *err);

/** What stays the same on more devices. */
typedef struct scaling_options {
    scaling_kind kind;
    int64_t      whole; /**< --global-batch; 0: not given */
} scaling_options;

/** Fill scaling_options: --scaling and --global-batch. */
extern const option_row scaling_option_rows[];

/** Do these go with --batch, which fills `batch`, and --accumulate? */
lm_status scaling_check(const options *o, const scaling_options *s, const void *batch,
                        const setup_choice *how, lm_error *err);

/** Where no rule was given: buckets as DistributedDataParallel makes them if those of all machines
 * were measured, else it stays one message. */
void setup_settle(setup_choice *c, bool in_buckets);

#endif
