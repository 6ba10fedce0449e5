/** How far predictions are off on runs that were not learned from. */
#ifndef CROSSGPU_HELD_OUT_H
#define CROSSGPU_HELD_OUT_H

#include "crossgpu/crossgpu.h"

/** What is left out together. */
typedef enum held_out_kind {
    HELD_OUT_GROUP,    /**< each group of workloads in turn: a model nobody saw */
    HELD_OUT_WORKLOAD, /**< workloads, in HELD_OUT_PARTS parts */
    HELD_OUT_ROW, /**< pairs of runs at random, in as many parts: of the same workload others stay
                   */
    HELD_OUT_GPU, /**< each GPU in turn: predicted for are runs on it, learned from all without it
                   */
    N_HELD_OUT
} held_out_kind;

#define HELD_OUT_PARTS 10

extern const char *const held_out_names[N_HELD_OUT];
/** LM_E_NOTFOUND names all there are. */
lm_status held_out_parse(const char *name, held_out_kind *out, lm_error *err);

/**
 * A prediction for each row of `p` by a model that did not see its part.
 *
 * @param out  p->n; seconds NAN: the method has none, as pair-ratio of a GPU that is left out
 * @param judge intervals, too
 * @return LM_E_ARG where there are less than two parts; as crossgpu_learn()
 */
lm_status held_out_predict(const pairs *p, const crossgpu_options *o, held_out_kind leave,
                           crossgpu_prediction *out, lm_error *err);

/** A prediction for each row of `p`, whose runs the model did not see. LM_E_NOTFOUND for metrics
 * that are missing, as crossgpu_predict(). */
lm_status held_out_test(const crossgpu *c, const pairs *p, crossgpu_prediction *out, lm_error *err);

#endif
