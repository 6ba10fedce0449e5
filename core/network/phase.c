/* Times of a training step by name. */
#include "network/phase.h"

#include <string.h>

const phase phases_shown[N_TIMES] = {
    PHASE_FORWARD,       PHASE_BACKWARD, PHASE_UPDATE,     PHASE_SYNC,     PHASE_GRAD,
    PHASE_BACKWARD_GRAD, PHASE_STEP,     PHASE_INFERENCE,  PHASE_P95,      PHASE_GRAD_INPUT,
    PHASE_GRAD_WEIGHT,   PHASE_EXPOSED,  PHASE_OVERLAPPED, PHASE_GRAD_ONE, PHASE_STEP_MANY,
};

static const char *const names[N_TIMES] = {
    [PHASE_FORWARD]       = "forward",
    [PHASE_BACKWARD]      = "backward",
    [PHASE_SYNC]          = "sync",
    [PHASE_UPDATE]        = "update",
    [PHASE_STEP]          = "step",
    [PHASE_INFERENCE]     = "inference",
    [PHASE_GRAD_INPUT]    = "grad_input",
    [PHASE_GRAD_WEIGHT]   = "grad_weight",
    [PHASE_GRAD]          = "grad",
    [PHASE_BACKWARD_GRAD] = "backward+grad",
    [PHASE_GRAD_ONE]      = "grad_one",
    [PHASE_STEP_MANY]     = "step_many",
    [PHASE_EXPOSED]       = "exposed",
    [PHASE_OVERLAPPED]    = "overlapped",
    [PHASE_P95]           = "p95",
};

const char *phase_name(phase p)
{
    return names[p];
}

lm_status phase_parse(const char *text, phase *out)
{
    for (phase p = 0; p < N_PHASES; p++)
        if (!strcmp(names[p], text)) {
            *out = p;
            return LM_OK;
        }
    return LM_E_NOTFOUND;
}

const char *phase_formula(phase p)
{
    return p == PHASE_GRAD ? "grad_many" : p == PHASE_BACKWARD_GRAD ? "joint" : names[p];
}
