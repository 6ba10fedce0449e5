/**
 * Observations: what was measured, as a CSV file that anyone can write.
 *
 * One row is one time of one thing. The file holds geometry and seconds, never a regressor, so a
 * file measured with another framework fits as well as one of our own. Lines that begin with `#`
 * before the header row are provenance ("# key: value"). The columns, in any order; those without
 * (required) may be missing or empty:
 *
 *   kind       network | kernel | collective                                          (required)
 *   name       network: a model name or path; kernel: its op; collective: allreduce   (required)
 *   phase      network: forward backward sync update step;                            (required)
 *              kernel: forward grad_input grad_weight; collective: sync
 *   seconds    median wall time over the repetitions, the slowest rank's; > 0         (required)
 *   input      network: shape of one sample, 3x224x224 (default: the model file's)
 *   batch      samples per device and step; networks need it
 *   dtype      f32 (default) f16 bf16 f64 ...
 *   ranks      devices that took part (default 1)
 *   hosts      machines these ranks ran on (default 1)
 *   bytes      collective: message size per rank, in bytes
 *   algorithm  collective and sync: default | ring
 *   geometry   kernel: "n=8 c_in=64 ..." (see kernels.h)
 *   optimizer  network: sgd | momentum (default) | adam
 *   bucket_bytes  network: gradients were all-reduced in buckets of at most so many bytes, while
 *              the backward pass went on; `sync` is then what was left of it after the backward
 *              pass. Empty: in one message, after it
 *   settings   how the backend ran it, where that is a choice: "layout=nhwc math=tf32"; keys in
 *              alphabetical order (calibrate/settings.h)
 *   threads    threads per rank
 *   repeats    timed repetitions behind `seconds`
 *   min_seconds, p95_seconds  minimum and 95th percentile of the wall time
 *   cpu_seconds  median of the CPU time behind it: one thread's; of several threads the wall time
 *              less the longest that one of them waited for a core
 *   clock_mhz  median clock of the device while it was measured
 *   flags      what keeps the time from being taken at its word (flags.h), separated by spaces:
 *              contended throttled drifted: it is used only where the same was not measured
 *              without; anchor: a point once more, by which changes of the machine are seen
 *   status     ok (default), or why there is no time (skipped-memory, skipped-unsupported); our
 *              own files end each row with it, so that a row cut short is seen
 */
#ifndef FIT_OBSERVATION_H
#define FIT_OBSERVATION_H

#include <stdbool.h>
#include <stdio.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>
#include <layermeter/types.h>

typedef enum { OBS_NETWORK, OBS_KERNEL, OBS_COLLECTIVE, OBS_LAYER, OBS_N_KINDS } obs_kind;

/** Parts of a training step. PHASE_STEP is their sum as measured. A layer has all but sync. */
typedef enum {
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_SYNC,   /**< all-reduce of the gradients */
    PHASE_UPDATE, /**< optimizer */
    PHASE_STEP,
    N_PHASES
} phase;

/** One row. Text points into the file's own storage. */
typedef struct observation {
    obs_kind    kind;
    phase       phase; /**< all but kernels */
    lm_pass     pass;  /**< kernels */
    lm_dtype    dtype;
    const char *name, *input, *algorithm, *geometry, *optimizer, *settings, *flags;
    int64_t     batch, ranks, hosts, bytes, bucket_bytes, threads,
        repeats; /**< 0: not given (ranks, hosts: 1) */
    double seconds, min_seconds, p95_seconds, cpu_seconds, clock_mhz; /**< NAN: not given */
    bool   skipped; /**< status other than ok: no time */
    int    line;
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

const char *phase_name(phase p);
/** LM_E_NOTFOUND for a name that is no phase. */
lm_status   phase_parse(const char *text, phase *out);
const char *obs_kind_name(obs_kind kind);

/**
 * Reads a file. Every row is checked: a time that is not a positive finite number, an unknown word
 * or a missing column is an error that names file, line and column.
 */
lm_status observations_load(const char *path, observations **out, lm_error *err);
void      observations_free(observations *obs);

/** First value under `key` in the provenance; NULL if there is none. */
const char *observations_provenance(const observations *obs, const char *key);

/** What tells one measured point from another, whatever its times, flags and threads: for
 * sets of points. */
void observation_key(const observation *row, char *buffer, size_t size);

/** Header row, and one row, as observations_load() reads them. */
void observation_print_head(FILE *out);
void observation_print(FILE *out, const observation *row, const char *status);

#endif
