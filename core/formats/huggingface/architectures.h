/** Architectures: keys of the config and the network that ships. */
#ifndef FORMATS_HUGGINGFACE_ARCHITECTURES_H
#define FORMATS_HUGGINGFACE_ARCHITECTURES_H

#include <stddef.h>

typedef enum config_kind {
    CONFIG_NUMBER, /**< a whole number from 1 */
    CONFIG_COUNT,  /**< a whole number from 0 */
    CONFIG_FLAG,   /**< true or false, 1 or 0 */
    CONFIG_WORD,   /**< letters, digits, _ */
    CONFIG_ENTRIES /**< number of entries of an object */
} config_kind;

/** An argument of the network, by keys of the config. */
typedef struct config_argument {
    const char *argument;
    const char *key;
    const char *other; /**< key to use if the first one is missing or null; NULL: none */
    const char *over;  /**< key that `other` is divided by; NULL: none */
    const char
        *usual; /**< value if all keys are missing; "": the network's default; NULL: an error */
    config_kind kind;
    double      most; /**< upper limit of the value; 0: none */
} config_argument;

/** A key that must have a certain value, because the layers support no other. */
typedef struct config_must {
    const char *key;
    const char         *
        value; /**< as text: words, numbers, true, false, null; "a|b": one of these; "=KEY": the value of that key */
    const char *usual; /**< value if the key is missing; NULL: as `value` */
} config_must;

typedef struct architecture {
    const char *name;  /**< transformers' class, in `architectures` */
    const char *model; /**< `model_type`, if the config names no architecture; NULL: none */
    const char *base;  /**< network of this program */
    const char *fixed; /**< an argument and its value, "pretraining=1"; NULL: none */
    const config_argument *argument;
    const config_must     *must; /**< ends without key, as does `argument` */
} architecture;

extern const architecture architectures[];
extern const size_t       n_architectures;

#endif
