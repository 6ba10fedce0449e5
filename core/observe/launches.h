/** Observations of single kernels, and of kernels one after the other, as fits see them. */
#ifndef OBSERVE_LAUNCHES_H
#define OBSERVE_LAUNCHES_H

#include "base/arena.h"
#include "network/kernels.h"
#include "observe/observation.h"
#include "single/launch.h"

typedef struct launches {
    timed_kernel       *launch;
    const observation **row; /**< of each */
    size_t              n;
    double              multiprocessors; /**< of the device; 0: not known */
} launches;

/**
 * Rows of kind `kernel` that have a time. Their `algorithm` tells operators apart that have the
 * same geometry. The device's multiprocessors are those of the provenance: `multiprocessors`, or by
 * the datasheet of its `device`, if there is one of that name.
 *
 * @return LM_E_ARG, LM_E_NOTFOUND, LM_E_SYNTAX with file:line for a kernel that is none
 */
lm_status launches_from(const observations *obs, launches *out, lm_error *err);
void      launches_free(launches *l);

/** The device's multiprocessors, as above; 0: not known. */
lm_status launches_multiprocessors(const observations *obs, double *out, lm_error *err);

/** Has the file single kernels or streams, and nothing else that was timed? */
bool launches_only(const observations *obs);

/** Kernels in a row, as a file lists them. */
typedef struct kernel_stream {
    kernel_list  kernels; /**< repeat: launches of each */
    const char **tag;     /**< of each */
    char        *text;    /**< owns the tags */
} kernel_stream;

/**
 * Reads a list of kernels: a CSV file with columns name, phase and geometry as in observations of
 * kernels, and if it likes dtype, algorithm and repeats, here the launches. Other columns are
 * passed over.
 */
lm_status kernel_stream_load(const char *path, kernel_stream *out, lm_error *err);
void      kernel_stream_free(kernel_stream *s);

/**
 * Seconds of a phase: forward and inference are the kernels of the forward pass, backward the
 * others, a step all, one phase after the other.
 *
 * @param learned with what prices leave over (single/learned.h)
 * @param out     NAN if a kernel has no price
 * @return what launch_cost_of() does
 */
lm_status kernel_stream_seconds(const kernel_stream *s, layer_model *m, bool learned, phase p,
                                double *out, lm_error *err);

#endif
