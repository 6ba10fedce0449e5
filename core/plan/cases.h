/** Times of a step under different assumptions, one change at a time. */
#ifndef PLAN_CASES_H
#define PLAN_CASES_H

#include "predict/predict.h"

typedef enum time_case {
    TIME_EXPECTED,
    TIME_LOW, /**< all at the bounds of their intervals */
    TIME_HIGH,
    TIME_COMPUTE_LOW, /**< only forward, backward and update */
    TIME_COMPUTE_HIGH,
    TIME_SYNC_LOW, /**< only all-reduces */
    TIME_SYNC_HIGH,
    TIME_BEYOND_LOW, /**< only the widening of intervals beyond the measured range */
    TIME_BEYOND_HIGH,
    TIME_HALF_LINK, /**< half the assumed bandwidth between nodes */
    N_TIME_CASES
} time_case;

/** Seconds in each case. NAN: no interval. */
typedef struct cases {
    double seconds[N_TIME_CASES];
} cases;

/**
 * Cases of a predicted step. If a part is at a bound, predict_case() computes the overlap again.
 * TIME_HALF_LINK gets the expected time, because it needs another predictor.
 *
 * @return errors of workloads_gradients() and predict_case()
 */
lm_status cases_of_step(const predictor *who, const step_setup *s, const prediction *step,
                        cases *out, lm_error *err);

/**
 * Cases of the evaluation in a training run: inference with this batch on one device. As
 * predict_step().
 */
lm_status cases_of_evaluation(const predictor *who, int64_t batch, cases *out, lm_error *err);

#endif
