/** Keys in sections of INI files. A table with one row per key reads and checks the values. */
#ifndef BASE_INI_KEYS_H
#define BASE_INI_KEYS_H

#include "base/ini.h"
#include "base/values.h"

typedef struct ini_key {
    const char *name; /**< NULL: the end of the table */
    size_t      at;   /**< offset of the member that takes the value */
    value_form  form;
} ini_key;

/** A row: the key, the member of T that it fills, the type, and further members of a value_form. */
#define INI_KEY(name, T, member, ...) \
    {                                 \
        name, offsetof(T, member),    \
        {                             \
            .type = __VA_ARGS__       \
        }                             \
    }

/** The row of a key; NULL if there is none. */
const ini_key *ini_key_find(const ini_key *keys, const char *name);

/** Reads one pair. As ini_keys_read(). */
lm_status ini_key_read(const char *path, const ini_pair *p, const ini_key *keys, const char *what,
                       struct arena *room, void *out, lm_error *err);

/**
 * Reads all pairs of a section into the struct at `out`. Texts and lists belong to `room`.
 *
 * @param what such a section is, for messages: "a device"
 * @return LM_E_NOTFOUND for a key that the table lacks, else what the type returns. The text begins
 *         with "path:line: "
 */
lm_status ini_keys_read(const char *path, const ini_section *s, const ini_key *keys,
                        const char *what, struct arena *room, void *out, lm_error *err);

#endif
