/* Parts of a step by name. */
#include "features/parts.h"

static const char *const parts[N_PARTS] = {
    [PART_FORWARD]     = "forward",
    [PART_BACKWARD]    = "backward",
    [PART_GRAD_ONE]    = "grad_one",
    [PART_GRAD_MANY]   = "grad_many",
    [PART_JOINT]       = "joint",
    [PART_UPDATE]      = "update",
    [PART_SYNC]        = "sync",
    [PART_INFERENCE]   = "inference",
    [PART_STEP]        = "step",
    [PART_GRAD_INPUT]  = "grad_input",
    [PART_GRAD_WEIGHT] = "grad_weight",
};

const char *part_name(part p)
{
    return parts[p];
}
