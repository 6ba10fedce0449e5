/** Observations of single kernels and of streams of kernels, as fits see them. */
#ifndef OBSERVE_LAUNCHES_H
#define OBSERVE_LAUNCHES_H

#include "base/arena.h"
#include "network/kernels.h"
#include "observe/observation.h"
#include "single/launch.h"

typedef struct launches {
    timed_kernel       *launch;
    const observation **row; /**< row of each launch */
    size_t              n;
    double              multiprocessors; /**< of the device; 0: unknown */
} launches;

/**
 * Rows of kind `kernel` with a time. Their `algorithm` separates operators with the same geometry.
 * The number of multiprocessors is in the provenance: `multiprocessors`, or the datasheet of its
 * `device`.
 *
 * @return LM_E_ARG, LM_E_NOTFOUND, LM_E_SYNTAX with file:line for a bad kernel
 */
lm_status launches_from(const observations *obs, launches *out, lm_error *err);
void      launches_free(launches *l);

/** The device's multiprocessors, as above; 0: unknown. */
lm_status launches_multiprocessors(const observations *obs, double *out, lm_error *err);

/** Does the file have only times of single kernels or of streams? */
bool launches_only(const observations *obs);

/** A list of kernels that run one after the other. */
typedef struct kernel_stream {
    kernel_list  kernels; /**< repeat: number of launches */
    const char **tag;     /**< of each */
    char        *text;    /**< owns the tags */
} kernel_stream;

/**
 * Reads a list of kernels: a CSV file with the columns name, phase and geometry, as in observations
 * of kernels. dtype, algorithm and repeats (here the number of launches) are optional; other
 * columns are ignored.
 */
lm_status kernel_stream_load(const char *path, kernel_stream *out, lm_error *err);
void      kernel_stream_free(kernel_stream *s);

/**
 * Seconds of a phase. Forward and inference: the kernels of the forward pass; backward: the other
 * kernels; step: all. Phases follow each other.
 *
 * @param learned add the learned residual (single/learned.h)
 * @param out     NAN if a kernel has no price
 * @return errors of launch_cost_of()
 */
lm_status kernel_stream_seconds(const kernel_stream *s, layer_asker *by, bool learned, phase p,
                                double *out, lm_error *err);

#endif
