/** `layermeter validate`: its options, and machines that are left out (validate_machines.c). */
#ifndef CLI_CMD_VALIDATE_H
#define CLI_CMD_VALIDATE_H

#include "cli/commands.h"
#include "fit/launch_models.h"
#include "judge/devices.h"
#include "models/layerwise.h"
#include "models/step_model.h"
#include "report/errors_view.h"

typedef struct validate_options {
    split_rule   rule; /**< without the seed, until they are checked */
    uint64_t     seed;
    const char  *machine, *where, *algorithm, *learn, *layers, *devices;
    option_texts models, features, device; /**< several devices: where they are left out */
    bool         power;
    errors_form  form;
} validate_options;

/** Word of `--phase` for powers at each clock. */
#define PHASE_CLOCKS "clocks"

/** Misuse of --leave-out device, before any file is read; and its answer. */
lm_status validate_machines_check(options *o, lm_error *err);
lm_status validate_machines(const options *o, lm_error *err);

#endif
