/**
 * Observations: measured times as a CSV file that anyone can write. OBSERVATIONS.md, beside this
 * file, specifies columns, units, words and points.
 *
 * One row is one time of one thing. The file holds geometry and seconds, never a regressor, so
 * files measured with another framework fit as well as our own.
 */
#ifndef OBSERVE_OBSERVATION_H
#define OBSERVE_OBSERVATION_H

#include <stdbool.h>
#include <stdio.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>
#include <layermeter/types.h>

#include "fabric/kind.h"
#include "network/bind.h"
#include "network/phase.h"

/** OBS_COUNTS: a network known by its counts alone; OBS_STREAM: one known by its kernels alone. */
typedef enum {
    OBS_NETWORK,
    OBS_KERNEL,
    OBS_COLLECTIVE,
    OBS_LAYER,
    OBS_COUNTS,
    OBS_STREAM,
    OBS_N_KINDS
} obs_kind;

/** No machine has more ranks; sums of more would leave their types. */
#define OBSERVATION_MOST_RANKS ((int64_t)1 << 24)

/** One row. Text points into the file's own storage. */
typedef struct observation {
    obs_kind    kind;
    phase       phase; /**< all but kernels */
    lm_pass     pass;  /**< kernels */
    lm_dtype    dtype;
    const char *name, *input, *algorithm, *geometry, *optimizer, *settings, *flags;
    const char *group;  /**< unit of leaving out; "": its name */
    const char *layout; /**< how ranks share the network, in words (program/layout.h); "": each has
                           samples of its own */
    int64_t     batch, ranks, hosts, bytes, bucket_bytes, threads,
        repeats; /**< 0: not given (ranks, hosts: 1) */
    double seconds, min_seconds, p95_seconds, cpu_seconds, clock_mhz, power_w,
        power_limit_w; /**< NAN: not given */
    autocast_kind on;  /**< kind of device it ran on, as far as the file says (provenance_kind()) */
    bool          skipped; /**< status other than ok: no time */
    bool waits; /**< the sync of a step in buckets holds the wait for the slowest rank's pass */
    int  line;
} observation;

typedef struct provenance_entry {
    char *key, *value;
} provenance_entry;

/** A whole file. */
typedef struct observations {
    char        *path;
    observation *row;
    size_t       n_rows, n_skipped; /**< n_skipped: rows without a time, which name the
                                              reason */
    size_t n_typed, n_untyped; /**< rows that say their element type; that do not, but have one */
    provenance_entry *provenance;
    size_t            n_provenance;
    bool              cut_short; /**< the last line was incomplete and is left out */
    char             *text;      /**< owns the texts of the rows */
} observations;

/** Key of the provenance of files whose syncs in buckets begin after the last rank's backward
 * pass. */
#define OBSERVATIONS_EXPOSED "exposed"

/** An empty row: an f32 network, texts empty, counts 0, times NAN. */
extern const observation observation_blank;

extern const char *const obs_kind_names[OBS_N_KINDS];
/** LM_E_NOTFOUND for an unknown kind. */
lm_status obs_kind_parse(const char *text, obs_kind *out);

/** Reads a file and checks every row. A time that is not positive and finite, an unknown word or a
 * missing column is an error with file, line and column. */
lm_status observations_load(const char *path, observations **out, lm_error *err);
void      observations_free(observations *obs);

/** Checks what a row of its kind needs, and its words; the error names the column. Reading a file
 * includes this check. */
lm_status observation_check(const observation *row, lm_error *err);

/** On a CPU is what names a `cpu` and no `gpu`, and is not simulated; all else on a GPU. */
autocast_kind provenance_kind(const provenance_entry *entry, size_t n);

/** Its collective; of a network that of its gradients. N_COLLECTIVE_KINDS: unknown, which
 * observation_check() refuses. */
collective_kind observation_collective(const observation *row);

/** First value under `key` in the provenance; NULL: none. */
const char *observations_provenance(const observations *obs, const char *key);

/** Word in the settings of rows with a held clock. */
#define OBSERVATION_CLOCK "clock="
/** The held clock, MHz; NAN: not held, or no number. */
double observation_held_mhz(const observation *row);

/** The highest power limit of the rows, at which the device's usual times were measured; NAN: no row
 * has one. */
double observations_limit(const observations *obs);
/** Is it of a lower limit than `usual`, the highest? */
bool observation_limited(const observation *row, double usual);

/** Its optimizer; momentum if a step's row names none. */
const char *observation_optimizer(const observation *row);

/** Is it of a whole network, known by layers or by counts? */
bool observation_of_network(const observation *row);

/** Key of a measured point, without times, flags and threads: for sets of points. */
void observation_key(const observation *row, char *buffer, size_t size);

/** Header row, and one row, as observations_load() reads them. */
void observation_print_head(FILE *out);
void observation_print(FILE *out, const observation *row, const char *status);

#endif
