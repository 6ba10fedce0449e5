/** The program's commands, and code that they share. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdio.h>

#include "api/handles.h"
#include "fabric/collective.h"
#include "layers/registry.h"
#include "network/bind.h"
#include "options/options.h"
#include "predict/explain.h"
#include "report/fields.h"
#include "report/notes.h"

extern const command cmd_show, cmd_layers, cmd_fit, cmd_validate, cmd_predict, cmd_scale,
    cmd_import, cmd_models, cmd_memory, cmd_check, cmd_calibrate, cmd_suggest, cmd_devices,
    cmd_transfer, cmd_learn, cmd_digest, cmd_export, cmd_plan, cmd_report, cmd_collectives,
    cmd_epochs, cmd_watch, cmd_energy, cmd_page;

/** Commands of this program: all, or those that the page in a browser needs. */
extern const command *const commands[];
extern const size_t         n_commands;

/** For rows: options for training only, for its messages only, and not for decoding. */
#define OF_TRAINING(else_said) .when = "phase=training", .otherwise = else_said
#define OF_EXCHANGE            OF_TRAINING("is for training: replicas of --phase %s exchange nothing")
#define NOT_OF_DECODING \
    .when = "phase!=decode", .otherwise = "--phase decode has one token: give --context"

/** Loads all layer types: --plugin, the environment and the installed folder. */
lm_status open_registry(const options *o, registry **out, lm_error *err);

/** Options for reading a network's file. */
typedef struct network_options {
    option_texts treat, ignore, set;
    int64_t      sequence; /**< 0: not given */
    bool         strict;
} network_options;
extern const option_row network_option_rows[];

/** Opens the library: layer types and search paths for networks and predictors. */
lm_status open_library(const options *o, lm_library **out, lm_error *err);
/** Opens the network in argument 0. */
lm_status open_network(const options *o, const network_options *how, const lm_library *library,
                       lm_network **out, lm_error *err);
/** Prints "note: ..." if the network has a note. */
void print_note(const network *net, FILE *out);

/** Fill a table_look: --format, --columns and --wide. */
extern const option_row look_option_rows[];
/** Error for unknown columns. */
lm_status look_check(const options *o, const table_look *look, const field *fields,
                     const field *from, lm_error *err);

/** Fill an interconnect: --bandwidth (NAN: not given), --latency and --interconnect. */
extern const option_row link_option_rows[];

/** Prints "layermeter: ..." on stderr. */
void say_line(const char *text);

#endif
