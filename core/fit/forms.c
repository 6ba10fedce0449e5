/* Which regressors each model takes for each part of a step, and how it is fitted. */
#include "fit/forms.h"

#include <string.h>

#define CONVMETER "ConvMeter"

#define FIOC { FEATURE_FLOPS, FEATURE_INPUTS, FEATURE_OUTPUTS, FEATURE_ONE }, 4
#define LWN  { FEATURE_LAYERS, FEATURE_WEIGHTS, FEATURE_NODES }, 3
#define FIOCLW                                                                                       \
    {                                                                                                \
        FEATURE_FLOPS, FEATURE_INPUTS, FEATURE_OUTPUTS, FEATURE_ONE, FEATURE_LAYERS, FEATURE_WEIGHTS \
    },                                                                                               \
        6
#define JOINT                                                        \
    { FEATURE_FLOPS,  FEATURE_INPUTS,  FEATURE_OUTPUTS, FEATURE_ONE, \
      FEATURE_LAYERS, FEATURE_WEIGHTS, FEATURE_NODES },              \
        7

/* F, I, O scale with the batch; the features hold them at the batch, which is the same. */
const form forms[] = {
    /* Ours: relative errors, non-negative, and what ConvMeter lacks in small batches: the weights
     * that every layer reads and the launch of every layer. Bytes and nodes multiply in the sync.
     */
    { "layermeter",
      PART_FORWARD,
      { FEATURE_FLOPS, FEATURE_INPUTS, FEATURE_OUTPUTS, FEATURE_WEIGHTS, FEATURE_LAYERS },
      5,
      true,
      true,
      "ConvMeter's regressors with weights and layers" },
    { "layermeter",
      PART_BACKWARD,
      { FEATURE_FLOPS, FEATURE_INPUTS, FEATURE_OUTPUTS, FEATURE_WEIGHTS, FEATURE_LAYERS },
      5,
      true,
      true,
      "ConvMeter's regressors with weights and layers" },
    { "layermeter",
      PART_UPDATE,
      { FEATURE_LAYERS, FEATURE_WEIGHTS },
      2,
      true,
      true,
      "launches and traffic of the optimizer" },
    { "layermeter",
      PART_SYNC,
      { FEATURE_RING_STEPS, FEATURE_RING_BYTES },
      2,
      true,
      true,
      "ring all-reduce, latency and bandwidth (Hockney 1994; Patarasuk & Yuan 2009)" },
    { "layermeter",
      PART_INFERENCE,
      { FEATURE_FLOPS, FEATURE_INPUTS, FEATURE_OUTPUTS, FEATURE_WEIGHTS, FEATURE_LAYERS },
      5,
      true,
      true,
      "ConvMeter's regressors with weights and layers" },
    { "layermeter", PART_STEP, FIOCLW, true, true, "the regressors of the step's parts" },

    { "convmeter", PART_FORWARD, FIOC, false, false, CONVMETER ", eq. 2" },
    { "convmeter", PART_BACKWARD, FIOC, false, false, CONVMETER ", eq. 3" },
    { "convmeter",
      PART_GRAD_ONE,
      { FEATURE_LAYERS },
      1,
      false,
      false,
      CONVMETER ", T_grad, N = 1" },
    { "convmeter", PART_GRAD_MANY, LWN, false, false, CONVMETER ", T_grad, N > 1" },
    { "convmeter", PART_JOINT, JOINT, false, false, CONVMETER ", T_bwd + T_grad" },
    { "convmeter", PART_INFERENCE, FIOC, false, false, CONVMETER ", eq. 2" },
    { "convmeter", PART_STEP, FIOCLW, false, false, CONVMETER ", T_fwd + T_bwd + T_grad, N = 1" },

    { "nnls", PART_FORWARD, FIOC, true, true, CONVMETER ", eq. 2, relative NNLS" },
    { "nnls", PART_BACKWARD, FIOC, true, true, CONVMETER ", eq. 3, relative NNLS" },
    { "nnls",
      PART_GRAD_ONE,
      { FEATURE_LAYERS },
      1,
      true,
      true,
      CONVMETER ", T_grad, relative NNLS" },
    { "nnls", PART_GRAD_MANY, LWN, true, true, CONVMETER ", T_grad, relative NNLS" },
    { "nnls", PART_JOINT, JOINT, true, true, CONVMETER ", T_bwd + T_grad, relative NNLS" },
    { "nnls", PART_INFERENCE, FIOC, true, true, CONVMETER ", eq. 2, relative NNLS" },
    { "nnls", PART_STEP, FIOCLW, true, true,
      CONVMETER ", T_fwd + T_bwd + T_grad, N = 1, relative NNLS" },
};

const size_t n_forms = sizeof forms / sizeof forms[0];

static const char *const parts[N_PARTS] = {
    [PART_FORWARD] = "forward",     [PART_BACKWARD] = "backward",   [PART_GRAD_ONE] = "grad_one",
    [PART_GRAD_MANY] = "grad_many", [PART_JOINT] = "joint",         [PART_UPDATE] = "update",
    [PART_SYNC] = "sync",           [PART_INFERENCE] = "inference", [PART_STEP] = "step",
};

const char *part_name(part p)
{
    return parts[p];
}

const char *model_at(size_t i)
{
    for (size_t f = 0; f < n_forms; f++)
        if ((f == 0 || strcmp(forms[f].model, forms[f - 1].model)) && i-- == 0)
            return forms[f].model;
    return NULL;
}

bool model_known(const char *name)
{
    return form_find(name, PART_FORWARD) < n_forms;
}

size_t form_find(const char *model, part p)
{
    size_t f = 0;

    while (f < n_forms && (forms[f].part != p || strcmp(forms[f].model, model)))
        f++;
    return f;
}

size_t form_find_named(const char *model, const char *part_text)
{
    size_t f = 0;

    while (f < n_forms &&
           (strcmp(parts[forms[f].part], part_text) || strcmp(forms[f].model, model)))
        f++;
    return f;
}
