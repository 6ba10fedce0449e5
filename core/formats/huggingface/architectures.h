/** What each architecture's config says, and the network that it is. */
#ifndef FORMATS_HUGGINGFACE_ARCHITECTURES_H
#define FORMATS_HUGGINGFACE_ARCHITECTURES_H

#include <stddef.h>

typedef enum config_kind {
    CONFIG_NUMBER, /**< a whole number from 1 */
    CONFIG_COUNT,  /**< the same from 0 */
    CONFIG_FLAG,   /**< true or false, 1 or 0 */
    CONFIG_WORD,   /**< letters, digits, _ */
    CONFIG_ENTRIES /**< of an object: so many */
} config_kind;

/** An argument of the network, by keys of the config. */
typedef struct config_argument {
    const char *argument;
    const char *key;
    const char *other; /**< key in its place where it is missing or null; NULL: none */
    const char *over;  /**< key that `other` is divided by; NULL: none */
    const char
        *usual; /**< value where all keys are missing; "": the network's own; NULL: an error */
    config_kind kind;
    double      most; /**< it counts no more than so many; 0: no limit */
} config_argument;

/** A key that its layers know with one value alone. */
typedef struct config_must {
    const char *key;
    const char *
        value; /**< as text: words, numbers, true, false, null; "a|b": one of these; "=KEY": as that key */
    const char *usual; /**< where the key is missing; NULL: as `value` */
} config_must;

typedef struct architecture {
    const char *name;  /**< in `architectures`; transformers' class */
    const char *model; /**< `model_type`; in use where no architecture is named; NULL: not */
    const char *base;  /**< network that ships */
    const char *fixed; /**< an argument and its value, "pretraining=1"; NULL: none */
    const config_argument *argument;
    const config_must     *must; /**< the last has no key; so has the last argument */
} architecture;

extern const architecture architectures[];
extern const size_t       n_architectures;

#endif
