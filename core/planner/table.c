/* The commands behind the page. */
#include "cli/commands.h"

const command *const commands[] = { &cmd_show, &cmd_memory, &cmd_predict, &cmd_scale,
                                    &cmd_plan, &cmd_models, &cmd_layers,  &cmd_devices };
const size_t         n_commands = sizeof commands / sizeof commands[0];
