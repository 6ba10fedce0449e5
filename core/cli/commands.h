/** The program's commands, and what they share. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"
#include "layers/registry.h"
#include "network/bind.h"

extern const command cmd_show, cmd_layers, cmd_fit, cmd_validate, cmd_predict, cmd_scale;

/** All layer types, from --plugin and the usual places. */
lm_status open_registry(const options *o, registry **out, lm_error *err);
/** Finds and loads a network by name or path. */
lm_status open_network(const char *name, network **out, lm_error *err);

#endif
