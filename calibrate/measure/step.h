/** The native training step: gradients are all-reduced during the backward pass. */
#ifndef CALIBRATE_STEP_H
#define CALIBRATE_STEP_H

#include "measure/backend.h"

/** Zeros: not prepared. */
typedef struct native_step {
    gradient_bucket *bucket; /**< malloc'ed */
    step_sync        sync;
} native_step;

/** Is this point measured as one step, because its gradients are sent in buckets? */
bool step_wanted(const observation *point);

/** LM_E_UNSUPPORTED if a backend cannot run it. collective: backend for all-reduces, NULL: none. */
lm_status step_check(const backend *compute, const backend *collective, const settings *how,
                     lm_error *err);

/** Makes the buckets of a case that `compute` has prepared (`work`). */
lm_status step_make_buckets(native_step *s, backend *compute, void *work, const bench_case *what,
                            lm_error *err);
/** Prepares the collective for them. Called by each rank of what->group, or by none. */
lm_status step_prepare(native_step *s, backend *collective, const bench_case *what, lm_error *err);
void      step_release(native_step *s);

/**
 * Runs one step. Ranks start together; later only the all-reduces synchronise them.
 *
 * @param out wall times by phase, then CPU times, of this rank. PHASE_SYNC: exposed part of the
 *            all-reduces; PHASE_STEP: the whole
 */
lm_status step_run(const native_step *s, backend *compute, void *work, double out[2 * N_PHASES],
                   lm_error *err);

#endif
