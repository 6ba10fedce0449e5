/** Networks from PALEO's JSON files (Qi, Sparks, Talwalkar 2017; github.com/TalwalkarLab/paleo). */
#ifndef FORMATS_PALEO_PALEO_H
#define FORMATS_PALEO_PALEO_H

#include "layers/registry.h"
#include "network/network.h"

/**
 * Imports a file with the meaning of PALEO's own graph.py and layers. It refuses layer types and
 * keys that PALEO would skip.
 *
 * @param choices NULL: none
 * @return LM_E_IO, LM_E_SYNTAX (no JSON, or no network of PALEO's), LM_E_NOTFOUND (unknown types,
 * keys, parents), LM_E_SHAPE, LM_E_NOMEM; LM_E_UNSUPPORTED in a build without JSON
 */
lm_status paleo_load(const char *path, const registry *reg, const network_choices *choices,
                     network **out, lm_error *err);

#endif
