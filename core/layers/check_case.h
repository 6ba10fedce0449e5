/** One use of a layer type, made up: parameters as text, and input shapes. */
#ifndef LAYERS_CHECK_CASE_H
#define LAYERS_CHECK_CASE_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/plugin.h>

#include "layers/registry.h"

#define CASE_INPUTS 4
#define CASE_PARAMS 48
#define CASE_TEXT   48

/** Plain data. */
typedef struct check_case {
    lm_dtype  dtype; /**< of the network */
    uint32_t  n_inputs;
    lm_tensor input[CASE_INPUTS];
    bool      chooses; /**< `wants` is told; else the gradients of all inputs are wanted */
    uint8_t   wants[CASE_INPUTS];
    char      text[CASE_PARAMS][CASE_TEXT]; /**< as in a model file; empty: the default */
    lm_value  value[CASE_PARAMS];           /**< the same, parsed; texts point nowhere */
} check_case;

/** Numbers that look random and follow from the seed alone. */
typedef struct case_random {
    uint64_t state;
} case_random;

/** A number below n. */
uint64_t case_below(case_random *r, uint64_t n);

/**
 * Makes up a use of `type`: with shapes that often go together (equal, broadcastable, the factors
 * of a product, ...) and small numbers that often divide each other, or else by changing something
 * in one of the `n_known` that are known to be legal. Knows no type by name. Parameters lie in
 * their ranges; whether the type accepts them is for the type to say.
 */
void case_generate(const lm_layer_type *type, const check_case *known, size_t n_known,
                   case_random *r, check_case *out);

/** Parses the texts. An error is the schema's: generated values are meant to parse. */
lm_status case_parse(const registry_entry *entry, check_case *c, lm_error *err);

/** The case as a model file that reproduces it. */
void case_print(const lm_layer_type *type, const check_case *c, char *buffer, size_t size);

#endif
