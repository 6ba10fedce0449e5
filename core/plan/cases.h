/** What a step takes if what is assumed of it holds, or does not: one thing at a time. */
#ifndef PLAN_CASES_H
#define PLAN_CASES_H

#include "predict/predict.h"

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
    TIME_HALF_LINK, /**< half the bandwidth that was assumed between nodes */
    N_TIME_CASES
} time_case;

/** Seconds in each case. NAN: no interval says. */
typedef struct cases {
    double seconds[N_TIME_CASES];
} cases;

/**
 * Of a step as it was predicted for a setup. With a part of it at a bound, what the backward pass
 * hides of the all-reduces is found anew (overlapped_sync()). TIME_HALF_LINK is as expected: it
 * takes another predictor.
 *
 * @return what workloads_gradients() and overlapped_sync() return
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
