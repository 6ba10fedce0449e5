/** Prices of single launches of kernels, and of streams of launches. */
#ifndef SINGLE_LAUNCH_H
#define SINGLE_LAUNCH_H

#include "single/learned.h"

/** A measured launch. */
typedef struct timed_kernel {
    lm_kernel   kernel;
    const char *tag;     /**< name of the operator in its library; "": unknown */
    double      seconds; /**< > 0 */
    /**
     * the mean of many launches behind one another: streams pay all of its constant time, whose
     * start no earlier launch hides
     */
    bool queued;
} timed_kernel;

/**
 * Fits each class of launches that has enough rows.
 *
 * @param in              rows to use; NULL: all
 * @param multiprocessors of the device; 0: unknown
 * @return LM_E_ARG if no class has enough; LM_E_NOMEM. The caller frees `out` in any case
 */
lm_status launch_fit(const timed_kernel *row, const bool *in, size_t n, double multiprocessors,
                     layer_model *out, lm_error *err);

/** Learns residuals to a model that was fitted to these rows, as learned_fit() does. */
lm_status launch_learn(const timed_kernel *row, const bool *in, size_t n, double multiprocessors,
                       layer_model *m, residual_trees *judged, lm_error *err);

/** A launch in the form that prices need: a layer of one kernel. */
layer_shape launch_shape_of(const lm_kernel *k, const char *tag);
layer_run   launch_run(const layer_model *m, const layer_shape *s);
/** Is it the column with the device's constant cost of any launch? */
bool launch_starts(const column *c);

/** Cost of one launch. */
typedef struct launch_cost {
    double floor; /**< host, seconds */
    double start; /**< device, constant part of any launch */
    double work;  /**< device, the rest; NAN: the class has no prices */
} launch_cost;

/**
 * Cost of one launch. A residual scales the work. It does not change a launch that takes no longer
 * than its floor.
 *
 * @param learned use the residual
 * @return errors of learned_seconds()
 */
lm_status launch_cost_of(layer_asker *a, const lm_kernel *k, const char *tag, bool learned,
                         launch_cost *out, lm_error *err);

/** Seconds of a separate launch; NAN for a class without prices. */
lm_status launch_seconds(layer_asker *a, const lm_kernel *k, const char *tag, bool learned,
                         double *out, lm_error *err);

/**
 * Launches in a stream, without waiting. The device's starts and the host's floors overlap the work
 * of earlier launches, unless the host is slower. With W the sum of all work and H the sum of the
 * floors, seconds = (W^4 + H^4)^(1/4). Zero-initialise, add, ask.
 */
typedef struct stream_cost {
    double floors, work; /**< NAN: unknown for at least one launch */
} stream_cost;

/** Adds `repeat` launches with the same cost. */
void   stream_add(stream_cost *s, uint32_t repeat, const launch_cost *cost);
double stream_seconds(const stream_cost *s);

#endif
