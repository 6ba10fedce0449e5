/**
 * Traces of profilers and logs of runs as observations: steps of a network, single layers,
 * all-reduces. A reader per format finds these events. The functions here make rows of them.
 */
#ifndef IMPORT_PROFILE_H
#define IMPORT_PROFILE_H

#include "import/extrap.h"

/**
 * Reads one file and appends its rows to *out, which also counts the events left out. The file is
 * read as a stream: memory holds only times, a million of each kind at most.
 *
 * @param given regions (names of the networks in the file), metrics, and values that the file lacks
 * @param reg   layer types and formats of these networks
 * @return LM_E_IO, LM_E_SYNTAX (another file, or a damaged one), LM_E_NOTFOUND (no such network),
 *         LM_E_ARG (a value is missing). Messages begin with the path
 */
typedef lm_status profile_reader(const char *path, const extrap_options *given, const registry *reg,
                                 log_rows *out, lm_error *err);

/** Traces of PyTorch's profiler: Chrome's JSON, as Kineto writes it. */
profile_reader kineto_read;
/** Nsight Systems: the SQLite file of `nsys export`, or CSV of `nsys stats`. */
profile_reader nsys_read;
/** TensorBoard: a file of events, or the CSV that its page gives. */
profile_reader tensorboard_read;
/** Weights & Biases: the history of a run, CSV or a JSON object a line. */
profile_reader wandb_read;

/** Name of a step in PyTorch's profiler, without its number. */
#define KINETO_STEP "ProfilerStep"
/** Name of the region of a log that knows one network. */
#define LOGGED_STEP "step"

/* ---- for the readers ------------------------------------------------------------------------- */

typedef struct profile profile;

#define PROFILE_NONE ((size_t)-1)

/** Opens the networks of the regions. profile_close() on success. */
lm_status profile_open(const char *path, const extrap_options *given, const registry *reg,
                       log_rows *out, profile **made, lm_error *err);
void      profile_close(profile *p);

/** Sets the unit of starts and lengths: units per second. */
void profile_unit(profile *p, double per_second);
/** Sets the number of ranks of the run, if the file has it. */
void profile_world(profile *p, double ranks);

/** The region of a range that is a step: "train" and "train 12" belong to "train". PROFILE_NONE: no
 * region. *number: 12; -1: the range has no number. */
size_t profile_region(const profile *p, const char *range, int64_t *number);
/** The layer that a range is named after; PROFILE_NONE: none. */
size_t profile_layer(const profile *p, const char *range);

/** Adds a step. `track` separates steps that ran at the same time. With region PROFILE_NONE the result
 * is an error: no --region names the network. */
lm_status profile_add_step(profile *p, size_t region, int64_t track, int64_t number, double start,
                           double length, lm_error *err);
/** Adds one forward pass of a layer: seconds of its kernels. */
lm_status profile_add_layer(profile *p, size_t layer, double seconds, lm_error *err);
/** Adds an all-reduce. ranks 0: unknown. */
lm_status profile_add_message(profile *p, double bytes, double ranks, lm_dtype dtype,
                              double seconds, lm_error *err);

/** Makes the rows. `step` is an example of a region's name, `nothing` the message for a file without
 * events. */
lm_status profile_rows(profile *p, const char *step, const char *nothing, lm_error *err);

/** Is `x` a whole number of 1 or more that a double holds exactly? */
bool profile_whole(double x);

#endif
