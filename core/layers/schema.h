/** Parameter schemas: parse and check values of a model file. */
#ifndef LAYERS_SCHEMA_H
#define LAYERS_SCHEMA_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/plugin.h>

/** Entry i of a type's schema, with the plugin's stride. Fields that an older plugin lacks are 0.
 */
lm_param schema_param(const lm_layer_type *type, uint32_t i);
/** Index of a parameter by name; type->n_params if there is none. */
uint32_t schema_find(const lm_layer_type *type, const char *name);

/**
 * Parses one value. Text values point into `text`, which must outlive them. The error names the
 * parameter, the expected kind and the given text.
 */
lm_status schema_parse(const lm_param *param, const char *text, lm_value *out, lm_error *err);

/** Shortest text that schema_parse() reads as this value; "" if it does not fit. */
const char *schema_print(const lm_param *param, const lm_value *value, char *buffer, size_t size);
/** Is it the parameter's default value? */
bool schema_is_fallback(const lm_param *param, const lm_value *value);

/** Checks the schema itself: names, kinds, ranges and defaults. */
lm_status schema_check(const lm_layer_type *type, lm_error *err);

/** "integer", "2 integers", "yes or no", "same or valid" ... for documentation and messages. */
const char *schema_describe(const lm_param *param, char *buffer, size_t size);

#endif
