/**
 * Observations: measured times in a CSV file that any program can write. OBSERVATIONS.md, in this
 * folder, specifies columns, units, words and points.
 *
 * One row is one time of one thing. The file has geometry and seconds, never a regressor. So files
 * from another framework can be fitted, too.
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

/** OBS_COUNTS: a network of which only counts are known; OBS_STREAM: only a list of kernels. */
typedef enum {
    OBS_NETWORK,
    OBS_KERNEL,
    OBS_COLLECTIVE,
    OBS_LAYER,
    OBS_COUNTS,
    OBS_STREAM,
    OBS_N_KINDS
} obs_kind;

/** Limit for ranks: sums of more would overflow. */
#define OBSERVATION_MOST_RANKS ((int64_t)1 << 24)

/** One row. Text points into the file's own storage. */
typedef struct observation {
    obs_kind    kind;
    phase       phase; /**< all but kernels */
    lm_pass     pass;  /**< kernels */
    lm_dtype    dtype;
    const char *name, *input, *algorithm, *geometry, *optimizer, *settings, *flags;
    const char *group; /**< unit of leaving out; "": the name */
    /**
     * how ranks share the network, in words (program/layout.h); "": each rank has samples of its
     * own
     */
    const char *layout;
    /**
     * micro-steps of a step under a layout that gives each rank a replica
     * (rows_settle_replicas()); 0: another layout, none, or not settled
     */
    int64_t accumulation;
    int64_t batch, ranks, hosts, bytes, bucket_bytes, threads,
        repeats; /**< 0: not given (ranks, hosts: 1) */
    double seconds, min_seconds, p95_seconds, cpu_seconds, clock_mhz, power_w,
        power_limit_w;     /**< NAN: not given */
    autocast_kind on;      /**< kind of device, as far as the file says (provenance_kind()) */
    bool          skipped; /**< status other than ok: the row has no time */
    /** the sync time of a step in buckets includes the wait for the slowest rank's pass */
    bool waits;
    int  line;
} observation;

typedef struct provenance_entry {
    char *key, *value;
} provenance_entry;

/** A whole file. */
typedef struct observations {
    char        *path;
    observation *row;
    size_t       n_rows, n_skipped; /**< n_skipped: rows without a time, with a reason */
    /** rows with an element type; rows without one whose kind has one */
    size_t            n_typed, n_untyped;
    provenance_entry *provenance;
    size_t            n_provenance;
    bool              cut_short; /**< the last line was incomplete and was ignored */
    char             *text;      /**< owns the texts of the rows */
} observations;

/**
 * Key of the provenance: in such files the sync time in buckets begins after the last rank's
 * backward pass.
 */
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

/**
 * AUTOCAST_CPU if the provenance has a `cpu` and no `gpu`, and is not simulated; otherwise
 * AUTOCAST_GPU.
 */
autocast_kind provenance_kind(const provenance_entry *entry, size_t n);

/**
 * The row's collective; for a network that of its gradients. N_COLLECTIVE_KINDS: unknown;
 * observation_check() refuses it.
 */
collective_kind observation_collective(const observation *row);

/** First value under `key` in the provenance; NULL: none. */
const char *observations_provenance(const observations *obs, const char *key);

/** Word for a library's choice in the settings of a collective, "chosen=tree/ll128": the first, and no part of its key. */
#define OBSERVATION_CHOSEN "chosen="
/** Word for a held clock in the settings of a row. */
#define OBSERVATION_CLOCK "clock="
/** The held clock, MHz; NAN: not held, or no number. */
double observation_held_mhz(const observation *row);

/**
 * The highest power limit of the rows; the device's normal times were measured at it. NAN: no row
 * has one.
 */
double observations_limit(const observations *obs);
/** Was the row measured at a power limit below `usual`, the highest one? */
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
