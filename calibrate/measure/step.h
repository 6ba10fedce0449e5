/** The native training step: a backward pass behind whose kernels gradients are all-reduced. */
#ifndef CALIBRATE_STEP_H
#define CALIBRATE_STEP_H

#include "measure/backend.h"

/** Zeroed: nothing is prepared. */
typedef struct native_step {
    gradient_bucket *bucket; /**< malloc'ed */
    step_sync        sync;
} native_step;

/** Is this point measured as one step, since its gradients go in buckets? */
bool step_wanted(const observation *point);

/** LM_E_UNSUPPORTED if one of them cannot; collective: who runs the all-reduces, NULL: nobody. */
lm_status step_check(const backend *compute, const backend *collective, const settings *how,
                     lm_error *err);

/** The buckets of a case that `compute` has prepared (`work`). */
lm_status step_make_buckets(native_step *s, backend *compute, void *work, const bench_case *what,
                            lm_error *err);
/** Makes the collective ready for them. Every rank of what->group, or none. */
lm_status step_prepare(native_step *s, backend *collective, const bench_case *what, lm_error *err);
void      step_release(native_step *s);

/**
 * Runs one. Ranks begin together; nothing else holds them together but their all-reduces.
 *
 * @param out wall times by phase, then CPU times, of this rank. PHASE_SYNC: what is left of the
 *            all-reduces behind the backward pass; PHASE_STEP: the whole
 */
lm_status step_run(const native_step *s, backend *compute, void *work, double out[2 * N_PHASES],
                   lm_error *err);

#endif
