/** Keys of a sweep's sections: one table a section, checked values in one place. */
#ifndef CALIBRATE_SWEEP_KEYS_H
#define CALIBRATE_SWEEP_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/ini.h"

/** Malloc'ed numbers. */
typedef struct number_list {
    int64_t *value;
    size_t   n;
} number_list;

/** The list, or one number that stands for it. */
number_list number_list_or(number_list l, int64_t *one);

/** Where a section's values go. Not every section has all; 0, NULL or empty: not given. */
typedef struct sweep_values {
    const char *backend, *collective, *machine, *model, *algorithms, *networks, *dtype;
    int64_t     threads, warmup, min_repeats, max_repeats, seed, limit;
    double      max_seconds, precision, noise, flops_per_second, bytes_per_second, launch_seconds;
    double      max_flops;
    number_list batch, image, ranks, nodes, devices, bytes;
} sweep_values;

typedef enum { KEY_WORD, KEY_NUMBER, KEY_REAL, KEY_TIME, KEY_LIST, KEY_BYTE_LIST } sweep_key_kind;

/** One key; a table of them ends with a NULL name. */
typedef struct sweep_key {
    const char    *name;
    sweep_key_kind kind;
    size_t         offset; /**< in sweep_values */
    double         min, max;
} sweep_key;

#define SWEEP_AT(field) offsetof(sweep_values, field)

/**
 * Reads a section. Text goes into `text`.
 *
 * @param path of the sweep, for messages
 * @return LM_E_NOTFOUND for a key that `keys` lacks, LM_E_ARG outside its range, LM_E_SYNTAX
 */
lm_status sweep_read_section(const char *path, const ini_section *s, const sweep_key *keys,
                             arena *text, sweep_values *out, lm_error *err);
/** The lists. */
void sweep_values_free(sweep_values *v);

#endif
