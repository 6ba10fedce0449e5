/**
 * What profilers and loggers say of a run, as observations: steps of a network, its single layers,
 * all-reduces. Readers of each format find them; this makes rows of them.
 */
#ifndef IMPORT_PROFILE_H
#define IMPORT_PROFILE_H

#include "import/extrap.h"

/**
 * Reads one file and appends its rows to *out, where counts of what was left out are, too. The file
 * is read as a stream: memory holds times alone, a million of each kind at the most.
 *
 * @param given regions: names in the file of the networks that ran; metrics; what else is not told
 * @param reg   layer types and formats of these networks
 * @return LM_E_IO, LM_E_SYNTAX (another file, or a damaged one), LM_E_NOTFOUND (no such network),
 *         LM_E_ARG (something is not told). Texts begin with the path
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

/** What the profiler of PyTorch calls a step, up to its number. */
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

/** How many units of starts and lengths a second has. */
void profile_unit(profile *p, double per_second);
/** Ranks of the whole run, where the file says so. */
void profile_world(profile *p, double ranks);

/** The region that a range is a step of, "train" or "train 12" of "train"; PROFILE_NONE: of none.
 * *number: 12; -1: none. */
size_t profile_region(const profile *p, const char *range, int64_t *number);
/** The layer of a network that a range is called by; PROFILE_NONE: none. */
size_t profile_layer(const profile *p, const char *range);

/** A step. `track` tells apart what ran side by side. PROFILE_NONE: it is said that no --region names
 * its network. */
lm_status profile_add_step(profile *p, size_t region, int64_t track, int64_t number, double start,
                           double length, lm_error *err);
/** One run of a layer's forward pass; its kernels' seconds. */
lm_status profile_add_layer(profile *p, size_t layer, double seconds, lm_error *err);
/** An all-reduce. ranks 0: not told. */
lm_status profile_add_message(profile *p, double bytes, double ranks, lm_dtype dtype,
                              double seconds, lm_error *err);

/** Makes rows. `step` is what a region would be called by; `nothing` is said where there are none. */
lm_status profile_rows(profile *p, const char *step, const char *nothing, lm_error *err);

/** A whole number from 1 up that is exact. */
bool profile_whole(double x);

#endif
