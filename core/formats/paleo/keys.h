/** One layer of PALEO's, from its JSON object. */
#ifndef FORMATS_PALEO_KEYS_H
#define FORMATS_PALEO_KEYS_H

#include <jansson.h>

#include "formats/paleo/model.h"

/**
 * Fills in kind and keys of l. The caller sets name, line and type.
 *
 * @param n_parts parts of its model-parallel block; 0: none
 */
lm_status paleo_read_layer(const paleo_model *m, paleo_layer *l, json_t *json, int64_t n_parts,
                           lm_error *err);

#endif
