/** Words by which files of Extra-P and ours speak of the same: what
 * varies, and what a region is. */
#ifndef IMPORT_EXTRAP_KEYS_H
#define IMPORT_EXTRAP_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>

/** What may vary over the points of a file. */
typedef enum extrap_count {
    EXTRAP_NODES,   /**< hosts of an observation */
    EXTRAP_DEVICES, /**< ranks of each of them */
    EXTRAP_RANKS,   /**< of all */
    EXTRAP_BATCH,   /**< samples of each device */
    EXTRAP_BYTES,
    EXTRAP_BUCKET_BYTES,
    EXTRAP_THREADS,
    N_EXTRAP_COUNTS
} extrap_count;

/** What a region says behind its name, key=value. */
typedef enum extrap_text {
    EXTRAP_KIND,
    EXTRAP_PHASE,
    EXTRAP_INPUT,
    EXTRAP_DTYPE,
    EXTRAP_ALGORITHM,
    EXTRAP_GEOMETRY,
    EXTRAP_OPTIMIZER,
    EXTRAP_SETTINGS,
    N_EXTRAP_TEXTS
} extrap_text;

#define EXTRAP_COUNTS_KNOWN "nodes, devices, ranks, batch, bytes, bucket_bytes, threads"
#define EXTRAP_TEXTS_KNOWN  "kind, phase, input, dtype, algorithm, geometry, optimizer, settings"

const char *extrap_count_name(extrap_count c);
const char *extrap_text_name(extrap_text t);

/** By its name or one of the words that other programs use for it; false: none of them. */
bool extrap_count_find(const char *word, extrap_count *out);
bool extrap_text_find(const char *word, extrap_text *out);

/** What was said of a measurement. 0 and NULL: nothing. Texts are others'. */
typedef struct extrap_said {
    int64_t     count[N_EXTRAP_COUNTS];
    const char *text[N_EXTRAP_TEXTS];
} extrap_said;

/** "batch", "32". LM_E_NOTFOUND for another key, LM_E_ARG for a value that is none. */
lm_status extrap_say(extrap_said *said, const char *key, const char *value, lm_error *err);

/** A whole number from 1 up. */
lm_status extrap_count_of(double value, const char *what, int64_t *out, lm_error *err);

#endif
