/* The commands of the program, in the order of its help. */
#include "cli/commands.h"

const command *const commands[] = {
    &cmd_show,     &cmd_memory, &cmd_predict,   &cmd_scale,  &cmd_plan,     &cmd_energy,
    &cmd_report,   &cmd_page,   &cmd_calibrate, &cmd_fit,    &cmd_validate, &cmd_suggest,
    &cmd_transfer, &cmd_learn,  &cmd_digest,    &cmd_import, &cmd_export,   &cmd_collectives,
    &cmd_epochs,   &cmd_watch,  &cmd_models,    &cmd_layers, &cmd_devices,  &cmd_check,
};
const size_t n_commands = sizeof commands / sizeof commands[0];
