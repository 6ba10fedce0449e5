/** A generated use of a layer type: parameters as text, and input shapes. */
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
    bool      chooses; /**< `wants` is valid; else all inputs want gradients */
    uint8_t   wants[CASE_INPUTS];
    char      text[CASE_PARAMS][CASE_TEXT]; /**< as in a model file; empty: the default */
    lm_value  value[CASE_PARAMS];           /**< the same, parsed; texts point nowhere */
} check_case;

/** Pseudo-random numbers that follow from the seed. */
typedef struct case_random {
    uint64_t state;
} case_random;

/** A number below n. */
uint64_t case_below(case_random *r, uint64_t n);

/**
 * Generates a use of `type`, without knowledge of the type's name. The shapes often match (equal,
 * broadcastable, factors of a product), and small numbers often divide each other. Other uses are
 * one change of one of the `n_known` legal uses. Parameters lie in their ranges; the type may
 * refuse them.
 */
void case_generate(const lm_layer_type *type, const check_case *known, size_t n_known,
                   case_random *r, check_case *out);

/** Parses the texts. An error is a fault of the schema: generated values must parse. */
lm_status case_parse(const registry_entry *entry, check_case *c, lm_error *err);

/** The case as a model file that reproduces it. */
void case_print(const lm_layer_type *type, const check_case *c, char *buffer, size_t size);

#endif
