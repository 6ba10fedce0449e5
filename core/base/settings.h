/** The settings of measurements: words such as "mixed=bf16 layout=nhwc", with blanks or commas
 * between them. */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/types.h>

/** The value of the first word `key=value`, of *n characters; NULL: there is no such word.
 * @param settings may be NULL: no words */
const char *setting_value(const char *settings, const char *key, size_t *n);
/** Is `key=value` one of the words? */
bool setting_is(const char *settings, const char *key, const char *value);
/** The element type that is the value of `key`; 0: no such word, or not a type. */
lm_dtype setting_dtype(const char *settings, const char *key);

#endif
