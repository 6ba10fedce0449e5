/** Keys of a sweep's sections: one table for each section. */
#ifndef CALIBRATE_SWEEP_KEYS_H
#define CALIBRATE_SWEEP_KEYS_H

#include <layermeter/types.h>

#include "base/arena.h"
#include "base/ini_keys.h"
#include "measure/settings.h"

/** Forms of the steps of a section's networks. */
typedef struct sweep_steps {
    word_list  optimizers; /**< "": the usual one */
    count_list buckets;    /**< bytes; 0: one message after the backward pass */
    struct sweep_progress {
        uint8_t at[2]; /**< SETTING_PROGRESS, of points with buckets */
        size_t  n;     /**< 0: not given */
    } progress;
    struct sweep_phases {
        bool training, inference; /**< a step; a forward pass in evaluation mode */
    } phases;
} sweep_steps;

/** One optimizer, one message, training. */
extern const sweep_steps sweep_steps_usual;

/** Element types. */
typedef struct sweep_dtypes {
    lm_dtype at[8];
    size_t   n; /**< 0: not given */
} sweep_dtypes;

/** The values of a section. Not every section has all of them; 0, NULL or empty: not given. */
typedef struct sweep_values {
    const char  *backend, *collective, *machine, *model, *verify;
    word_list    kinds, algorithms, networks, blocks, setting[N_SETTINGS];
    sweep_dtypes dtypes;
    sweep_steps  steps;
    const char  *type, *input, *layer_batch, *drawn;
    int64_t      threads, warmup, min_repeats, max_repeats, retries, seed, limit, count, clock;
    double       max_seconds, precision, noise, flops_per_second, bytes_per_second, launch_seconds;
    double       min_flops, max_flops, once_seconds, retry_share, anchor_share;
    double       busy_from, busy_until, drift, anchor_seconds, power_seconds;
    int64_t      max_bytes;
    count_list   batch, image, ranks, nodes, devices, bytes;
    bool         chained;
} sweep_values;

/** The list, or a single number. */
count_list sweep_list_or(count_list l, const int64_t *one);

/** LM_E_UNSUPPORTED for an optimizer whose update cannot be run, LM_E_ARG for none. */
extern const value_type type_optimizers; /**< word_list */
extern const value_type type_buckets;    /**< count_list: 0, sizes and ranges of sizes */
extern const value_type type_progress;   /**< struct sweep_progress */
extern const value_type type_phases;     /**< struct sweep_phases */
extern const value_type type_dtypes;     /**< sweep_dtypes */

/** A row, and the end of a table. */
#define SWEEP_KEY(name, member, ...) INI_KEY(name, sweep_values, member, __VA_ARGS__)
#define SWEEP_END    \
    {                \
        .name = NULL \
    }

/** Rows of a table: element types and settings. All their combinations are measured. */
#define SWEEP_VARIANT_KEYS                                                 \
    SWEEP_KEY("dtype", dtypes, &type_dtypes),                              \
        SWEEP_KEY("algorithms", setting[SETTING_ALGORITHMS], &type_names), \
        SWEEP_KEY("cache", setting[SETTING_CACHE], &type_names),           \
        SWEEP_KEY("launch", setting[SETTING_LAUNCH], &type_names),         \
        SWEEP_KEY("layout", setting[SETTING_LAYOUT], &type_names),         \
        SWEEP_KEY("math", setting[SETTING_MATH], &type_names),             \
        SWEEP_KEY("mixed", setting[SETTING_MIXED], &type_names)

/** Rows of a table: filters. */
#define SWEEP_FILTER_KEYS                                              \
    SWEEP_KEY("max_bytes", max_bytes, &type_bytes, 1, 1e18),           \
        SWEEP_KEY("max_flops", max_flops, &type_real, 1, 1e30),        \
        SWEEP_KEY("max_seconds", once_seconds, &type_seconds, 0, 1e6), \
        SWEEP_KEY("min_flops", min_flops, &type_real, 0, 1e30)

/** A row of numbers of samples, of pixels. */
#define SWEEP_BATCH_KEY SWEEP_KEY("batch", batch, &type_counts, 1, 1e9)
#define SWEEP_IMAGE_KEY SWEEP_KEY("image", image, &type_counts, 1, 1e6)

#endif
