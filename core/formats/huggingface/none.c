/* A build without jansson reads no config.json; PALEO's loader says so. */
#include "formats/huggingface/huggingface.h"
#include "formats/paleo/paleo.h"

lm_status huggingface_load(const char *path, const registry *reg, const network_choices *choices,
                           network **out, lm_error *err)
{
    return paleo_load(path, reg, choices, out, err);
}
