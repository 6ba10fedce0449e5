/** What a step takes if what is assumed of it holds, or does not: one thing at a time. */
#ifndef PLAN_CASES_H
#define PLAN_CASES_H

#include "predict/price.h"

typedef enum time_case {
    TIME_EXPECTED,
    TIME_LOW, /**< all at the bounds of their intervals */
    TIME_HIGH,
    TIME_COMPUTE_LOW, /**< forward, backward and update alone */
    TIME_COMPUTE_HIGH,
    TIME_SYNC_LOW, /**< all-reduces alone */
    TIME_SYNC_HIGH,
    TIME_BEYOND_LOW, /**< only what the intervals widen by beyond what was measured */
    TIME_BEYOND_HIGH,
    N_TIME_CASES
} time_case;

/** Seconds in each case. NAN: no interval says. */
typedef struct cases {
    double seconds[N_TIME_CASES];
} cases;

/**
 * Of a step as it was predicted for a setup.
 *
 * A bound of the all-reduces is a factor on each of them: what of it the backward pass hides is
 * predicted anew. Forward, backward and update at their bounds add to the step as they are: that a
 * longer backward pass hides more is not in it.
 */
lm_status cases_of_step(const predictor *who, const step_setup *s, const prediction *step,
                        cases *out, lm_error *err);

/**
 * Of a forward pass of one device in evaluation: by the formula of inference where the machine file
 * has one, else by that of training's forward pass. LM_E_NOTFOUND where neither is there, or what
 * predict_step() returns.
 */
lm_status cases_of_evaluation(const predictor *who, int64_t batch, cases *out, lm_error *err);

#endif
