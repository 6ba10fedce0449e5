/** Errors of predictions on held-out runs. */
#ifndef CROSSGPU_HELD_OUT_H
#define CROSSGPU_HELD_OUT_H

#include "crossgpu/crossgpu.h"

/** Units of leaving out. */
typedef enum held_out_kind {
    HELD_OUT_GROUP,    /**< each group of workloads in turn: an unseen model */
    HELD_OUT_WORKLOAD, /**< workloads, in HELD_OUT_PARTS parts */
    HELD_OUT_ROW,      /**< pairs of runs at random, in as many parts; others of the same workload
                       stay */
    HELD_OUT_GPU, /**< each GPU in turn: runs on it are predicted, all others are learned from */
    N_HELD_OUT
} held_out_kind;

#define HELD_OUT_PARTS 10

extern const char *const held_out_names[N_HELD_OUT];
/** The text of LM_E_NOTFOUND lists all kinds. */
lm_status held_out_parse(const char *name, held_out_kind *out, lm_error *err);

/**
 * A prediction for each row of `p` by a model that did not see its part.
 *
 * @param out p->n; seconds NAN: the method has none, as pair-ratio for a GPU left out
 * @return LM_E_ARG for fewer than two parts; as crossgpu_learn()
 */
lm_status held_out_predict(const pairs *p, const crossgpu_options *o, held_out_kind leave,
                           crossgpu_prediction *out, lm_error *err);

/** A prediction for each row of `p`, by a model that saw none of its runs. LM_E_NOTFOUND for
 * missing metrics, as crossgpu_predict(). */
lm_status held_out_test(const crossgpu *c, const pairs *p, crossgpu_prediction *out, lm_error *err);

#endif
