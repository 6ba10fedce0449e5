/** The program's commands, and what they share. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"
#include "layers/registry.h"
#include "network/bind.h"
#include "predict/price.h"

extern const command cmd_show, cmd_layers, cmd_fit, cmd_validate, cmd_predict, cmd_scale;

/** All layer types, from --plugin and the usual places. */
lm_status open_registry(const options *o, registry **out, lm_error *err);

/** What a prediction needs, opened together. */
typedef struct session {
    registry    *reg;
    calibration *cal;
    workloads   *loads;
    predictor    who;
    char         input[64]; /**< behind who.input */
} session;

/** Options by their place in the command's own table. */
typedef struct session_options {
    int machine, model, image, input, dtype;
} session_options;

/**
 * Opens what `o` names; the network is argument 0. False after a message, with *exit_code set;
 * close in either case.
 */
bool session_open(const options *o, const session_options *at, session *out, int *exit_code);
void session_close(session *s);

/** A positive whole number; false after a message, with *exit_code set. */
bool option_count(const options *o, int at, int64_t *out, int *exit_code);
/** A list such as 1,2,4..64*2, malloc'ed. */
bool option_list(const options *o, int at, int64_t **out, size_t *n, int *exit_code);

#endif
