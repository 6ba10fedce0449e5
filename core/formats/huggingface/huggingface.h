/**
 * Networks from Hugging Face's config.json: an architecture of transformers and its sizes.
 *
 * Each known architecture is a network of this program, with arguments for values of the config. A
 * key that would change the layers, but has no argument, is an error.
 */
#ifndef FORMATS_HUGGINGFACE_HUGGINGFACE_H
#define FORMATS_HUGGINGFACE_HUGGINGFACE_H

#include "layers/registry.h"
#include "network/network.h"

#define HUGGINGFACE_TOKENS 4096 /**< default tokens of a sample, at most the config's positions */

/**
 * Opens a .json file: such a config, or a network of PALEO (paleo.h).
 *
 * @param choices NULL: none. Settings override the config
 * @return LM_E_IO; LM_E_SYNTAX for invalid values; LM_E_NOTFOUND for an unknown architecture or
 *         missing keys; LM_E_UNSUPPORTED for values that the layers do not support, and in a build
 *         without JSON
 */
lm_status huggingface_load(const char *path, const registry *reg, const network_choices *choices,
                           network **out, lm_error *err);

#endif
