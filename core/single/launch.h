/** Prices of single launches of kernels, and of launches one after the other. */
#ifndef SINGLE_LAUNCH_H
#define SINGLE_LAUNCH_H

#include "single/learned.h"

/** One launch that was timed. */
typedef struct timed_kernel {
    lm_kernel   kernel;
    const char *tag;     /**< what its library calls it; "": not known */
    double      seconds; /**< > 0 */
} timed_kernel;

/**
 * Fits each class of launches that has enough rows.
 *
 * @param in              which rows take part; NULL: all
 * @param multiprocessors of the device; 0: not known
 * @return LM_E_ARG if no class has enough; LM_E_NOMEM. `out` is to be freed in any case
 */
lm_status launch_fit(const timed_kernel *row, const bool *in, size_t n, double multiprocessors,
                     layer_model *out, lm_error *err);

/** Learns residuals to a model that was fitted to these rows, as learned_fit() does. */
lm_status launch_learn(const timed_kernel *row, const bool *in, size_t n, double multiprocessors,
                       layer_model *m, residual_trees *judged, lm_error *err);

/** A launch as it is priced: a layer of one kernel. */
layer_shape launch_shape_of(const lm_kernel *k, const char *tag);
layer_run   launch_run(const layer_model *m, const layer_shape *s);
/** Is it the column of what any launch costs the device? */
bool launch_starts(const column *c);

/** Cost of one launch. */
typedef struct launch_cost {
    double floor; /**< host, seconds */
    double start; /**< device, of any launch */
    double work;  /**< device, beyond that; NAN: of a class without prices */
} launch_cost;

/**
 * Cost of one launch. A residual changes the work, and leaves a launch as it is that takes no
 * longer than its floor.
 *
 * @param learned with the residual
 * @return what learned_seconds() does
 */
lm_status launch_cost_of(layer_asker *a, const lm_kernel *k, const char *tag, bool learned,
                         launch_cost *out, lm_error *err);

/** Seconds of one launch by itself; NAN for a class without prices. */
lm_status launch_seconds(layer_asker *a, const lm_kernel *k, const char *tag, bool learned,
                         double *out, lm_error *err);

/**
 * Launches one after the other, none waited for: the device's starts and the host's floors hide
 * behind the work of those before, unless the host is the slower of the two. With W the work of all
 * and H their floors, seconds = (W^4 + H^4)^(1/4). Zero-initialise, add, ask.
 */
typedef struct stream_cost {
    double floors, work; /**< NAN: of one launch it is not known */
} stream_cost;

/** `repeat` launches of one cost. */
void   stream_add(stream_cost *s, uint32_t repeat, const launch_cost *cost);
double stream_seconds(const stream_cost *s);

#endif
