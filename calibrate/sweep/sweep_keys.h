/** Keys of a sweep's sections: one table for each section; all checks in one place. */
#ifndef CALIBRATE_SWEEP_KEYS_H
#define CALIBRATE_SWEEP_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/ini.h"
#include "measure/settings.h"

/** Malloc'ed numbers. */
typedef struct number_list {
    int64_t *value;
    size_t   n;
} number_list;

/** The list, or a single number. */
number_list number_list_or(number_list l, int64_t *one);

/** The values of a section. Not every section has all of them; 0, NULL or empty: not given. */
typedef struct sweep_values {
    const char *backend, *collective, *machine, *model, *kinds, *algorithms, *networks, *blocks,
        *chain, *dtype;
    const char *optimizers, *buckets, *progress, *phases;
    const char *type, *input, *layer_batch, *activation, *setting[N_SETTINGS];
    int64_t     threads, warmup, min_repeats, max_repeats, retries, seed, limit, count, clock;
    double      max_seconds, precision, noise, flops_per_second, bytes_per_second, launch_seconds;
    double      min_flops, max_flops, once_seconds, retry_share, anchor_share;
    double      busy_from, busy_until, drift, anchor_seconds, power_seconds;
    int64_t     max_bytes;
    number_list batch, image, ranks, nodes, devices, bytes;
} sweep_values;

typedef enum {
    KEY_WORD,
    KEY_NUMBER,
    KEY_REAL,
    KEY_TIME,
    KEY_BYTES,
    KEY_LIST,
    KEY_BYTE_LIST
} sweep_key_kind;

/** One key; a table of them ends with a NULL name. */
typedef struct sweep_key {
    const char    *name;
    sweep_key_kind kind;
    size_t         offset; /**< in sweep_values */
    double         min, max;
} sweep_key;

#define SWEEP_AT(field) offsetof(sweep_values, field)

/** Rows of a table: element types and settings. All their combinations are measured. */
#define SWEEP_VARIANT_KEYS                                                                      \
    { "dtype", KEY_WORD, SWEEP_AT(dtype), 0, 0 },                                               \
        SWEEP_SETTING_KEY("algorithms", SETTING_ALGORITHMS),                                    \
        SWEEP_SETTING_KEY("cache", SETTING_CACHE), SWEEP_SETTING_KEY("launch", SETTING_LAUNCH), \
        SWEEP_SETTING_KEY("layout", SETTING_LAYOUT), SWEEP_SETTING_KEY("math", SETTING_MATH)

/** Rows of a table: filters. */
#define SWEEP_FILTER_KEYS                                            \
    { "max_bytes", KEY_BYTES, SWEEP_AT(max_bytes), 1, 1e18 },        \
        { "max_flops", KEY_REAL, SWEEP_AT(max_flops), 1, 1e30 },     \
        { "max_seconds", KEY_TIME, SWEEP_AT(once_seconds), 0, 1e6 }, \
    {                                                                \
        "min_flops", KEY_REAL, SWEEP_AT(min_flops), 0, 1e30          \
    }

#define SWEEP_SETTING_KEY(name, at)                                                   \
    {                                                                                 \
        name, KEY_WORD, offsetof(sweep_values, setting) + (at) * sizeof(char *), 0, 0 \
    }

/**
 * Reads a section. Text goes into `text`.
 *
 * @param path of the sweep, for messages
 * @return LM_E_NOTFOUND for a key that `keys` lacks, LM_E_ARG outside its range, LM_E_SYNTAX
 */
lm_status sweep_read_section(const char *path, const ini_section *s, const sweep_key *keys,
                             arena *text, sweep_values *out, lm_error *err);
/** Reads one key of a section; LM_E_NOTFOUND for one that `keys` lacks. */
lm_status sweep_read_pair(const char *path, const ini_section *s, const ini_pair *p,
                          const sweep_key *keys, arena *text, sweep_values *out, lm_error *err);
/** NULL if there is none. */
const sweep_key *sweep_key_find(const sweep_key *keys, const char *name);
/** The lists. */
void sweep_values_free(sweep_values *v);

#endif
