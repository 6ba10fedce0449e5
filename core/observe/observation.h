/**
 * Observations: what was measured, as a CSV file that anyone can write. OBSERVATIONS.md, beside
 * this file, is its specification: columns, units, words, and what a point is.
 *
 * One row is one time of one thing. The file holds geometry and seconds, never a regressor, so a
 * file measured with another framework fits as well as one of our own.
 */
#ifndef OBSERVE_OBSERVATION_H
#define OBSERVE_OBSERVATION_H

#include <stdbool.h>
#include <stdio.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>
#include <layermeter/types.h>

#include "network/phase.h"
#include "sync/kind.h"

/** OBS_COUNTS: a network of which only counts are known; OBS_STREAM: one of which only its kernels
 * are. */
typedef enum {
    OBS_NETWORK,
    OBS_KERNEL,
    OBS_COLLECTIVE,
    OBS_LAYER,
    OBS_COUNTS,
    OBS_STREAM,
    OBS_N_KINDS
} obs_kind;

/** One row. Text points into the file's own storage. */
typedef struct observation {
    obs_kind    kind;
    phase       phase; /**< all but kernels */
    lm_pass     pass;  /**< kernels */
    lm_dtype    dtype;
    const char *name, *input, *algorithm, *geometry, *optimizer, *settings, *flags;
    const char *group; /**< what it is left out with; "": its name */
    int64_t     batch, ranks, hosts, bytes, bucket_bytes, threads,
        repeats; /**< 0: not given (ranks, hosts: 1) */
    double seconds, min_seconds, p95_seconds, cpu_seconds, clock_mhz,
        power_w;  /**< NAN: not given */
    bool skipped; /**< status other than ok: no time */
    bool waits;   /**< the sync of a step in buckets holds the wait for the slowest rank's pass */
    int  line;
} observation;

typedef struct provenance_entry {
    char *key, *value;
} provenance_entry;

/** A whole file. */
typedef struct observations {
    char             *path;
    observation      *row;
    size_t            n_rows, n_skipped; /**< n_skipped: rows that say why they hold no time */
    provenance_entry *provenance;
    size_t            n_provenance;
    bool              cut_short; /**< the last line was incomplete and is left out */
    char             *text;      /**< owns what the rows point at */
} observations;

/** Key of the provenance of files whose syncs in buckets begin when the last rank has done its
 * backward pass. */
#define OBSERVATIONS_EXPOSED "exposed"

/** A row of which nothing is given: an f32 network's, its text empty, counts 0, times NAN. */
extern const observation observation_blank;

extern const char *const obs_kind_names[OBS_N_KINDS];
/** LM_E_NOTFOUND for a name that is no kind. */
lm_status obs_kind_parse(const char *text, obs_kind *out);

/**
 * Reads a file. Every row is checked: a time that is not a positive finite number, an unknown word
 * or a missing column is an error that names file, line and column.
 */
lm_status observations_load(const char *path, observations **out, lm_error *err);
void      observations_free(observations *obs);

/** What must be there for a row's kind, and words that are known; the error names the column. Files
 * are checked when they are read. */
lm_status observation_check(const observation *row, lm_error *err);

/** Which collective it is of: its own, or of networks that of their gradients. N_COLLECTIVE_KINDS:
 * none that is known, which observation_check() refuses. */
collective_kind observation_collective(const observation *row);

/** First value under `key` in the provenance; NULL if there is none. */
const char *observations_provenance(const observations *obs, const char *key);

/** Word of the settings of a row whose clock was held. */
#define OBSERVATION_CLOCK "clock="
/** The clock that it was held at, MHz; NAN: it was not, or not at a number. */
double observation_held_mhz(const observation *row);

/** Its optimizer; momentum where a step's row does not name any. */
const char *observation_optimizer(const observation *row);

/** Is it of a whole network, be its layers known or only its counts? */
bool observation_of_network(const observation *row);

/** What tells one measured point from another, whatever its times, flags and threads: for
 * sets of points. */
void observation_key(const observation *row, char *buffer, size_t size);

/** Header row, and one row, as observations_load() reads them. */
void observation_print_head(FILE *out);
void observation_print(FILE *out, const observation *row, const char *status);

#endif
