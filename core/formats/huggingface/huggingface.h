/**
 * Networks from Hugging Face's config.json: an architecture of transformers and its sizes.
 *
 * Each architecture that is known is a network that ships, with arguments for what its config says; what
 * would change the layers, but is no argument, is refused by its key.
 */
#ifndef FORMATS_HUGGINGFACE_HUGGINGFACE_H
#define FORMATS_HUGGINGFACE_HUGGINGFACE_H

#include "layers/registry.h"
#include "network/network.h"

#define HUGGINGFACE_TOKENS 4096 /**< of a sample, or as many as the config has places for */

/**
 * Opens a .json file: such a config, else a network of PALEO's (paleo.h).
 *
 * @param choices NULL: none. What is set counts more than the config
 * @return LM_E_IO; LM_E_SYNTAX for values that are none; LM_E_NOTFOUND for an architecture that is not
 *         known and keys that are not there; LM_E_UNSUPPORTED for values that its layers cannot have, and
 *         in a build without JSON
 */
lm_status huggingface_load(const char *path, const registry *reg, const network_choices *choices,
                           network **out, lm_error *err);

#endif
