/** Options that say how gradients travel and what the update is: the same for all commands. */
#ifndef CLI_SETUP_OPTIONS_H
#define CLI_SETUP_OPTIONS_H

#include "cli/options.h"
#include "predict/price.h"

/** By their place in the command's own table. `devices_per_node` below 0: the command reads them.
 */
typedef struct setup_options {
    int sync, bucket, grad_dtype, accumulate, optimizer, devices_per_node;
} setup_options;

/** Rows of a command's table for them; OPTION_DEVICES_PER_NODE is in commands.h. */
#define OPTION_SYNC                                                   \
    {                                                                 \
        "sync", "RULE", "auto",                                       \
            "once, tensor, ddp[:25MiB], horovod[:128MiB:1ms]; auto: " \
            "ddp if measured between nodes, else once"                \
    }
#define OPTION_BUCKET                                                               \
    {                                                                               \
        "bucket", "SIZES", NULL,                                                    \
            "--sync ddp with this limit, 25MiB or 1MiB..64MiB*2; auto: best of all" \
    }
#define OPTION_GRAD_DTYPE                                                                    \
    {                                                                                        \
        "grad-dtype", "TYPE", NULL, "that gradients travel in, f16: instead of the weights'" \
    }
#define OPTION_ACCUMULATE                                                             \
    {                                                                                 \
        "accumulate", "K", "1", "micro-steps a step; gradients travel after the last" \
    }
#define OPTION_OPTIMIZER                                         \
    {                                                            \
        "optimizer", "NAME", "momentum", "sgd, momentum, adam or adafactor" \
    }

/** All of them but devices of a node: enumerators, and rows. */
#define SETUP_OPTIONS SYNC, BUCKET, GRAD_DTYPE, ACCUMULATE, OPTIMIZER
#define SETUP_ROWS                                                                    \
    [SYNC] = OPTION_SYNC, [BUCKET] = OPTION_BUCKET, [GRAD_DTYPE] = OPTION_GRAD_DTYPE, \
    [ACCUMULATE] = OPTION_ACCUMULATE, [OPTIMIZER] = OPTION_OPTIMIZER

/** What was asked. */
typedef struct setup_choice {
    step_setup   setup;  /**< without batch and nodes, which are 1; of the first policy */
    sync_policy *policy; /**< malloc'ed: the rule of --sync, or one for each --bucket */
    size_t       n;
    bool         automatic; /**< --bucket auto: the best of them is wanted */
    bool         given;     /**< any of --sync and --bucket, but `auto` */
} setup_choice;

/** False after a message, with *exit_code set; free(out->policy) in either case. */
bool setup_options_read(const options *o, const setup_options *at, setup_choice *out,
                        int *exit_code);

/** The same for a model: one that was learned of single layers knows any optimizer that was
 * measured, by its word, and in the setup stands the usual one. */
bool setup_options_read_of(const options *o, const char *model, const setup_options *at,
                           setup_choice *out, int *exit_code);

/** Were steps in buckets measured on the predictor's machine, of several nodes, and does its model
 * tell them? What messages within a node take of a pass says nothing of a network, even less of one
 * that is told. */
bool setup_in_buckets(const predictor *who);

/** Where no rule was given: buckets as DistributedDataParallel makes them if those of all machines
 * were measured, else it stays one message. */
void setup_options_settle(setup_choice *c, bool in_buckets);

#endif
