/** A training run: start-up, epochs of steps, and evaluations. */
#ifndef PLAN_TRAINING_H
#define PLAN_TRAINING_H

#include <stdint.h>

typedef struct training {
    int64_t epochs;
    int64_t dataset;  /**< samples of an epoch */
    int64_t evaluate; /**< samples of the evaluation after each epoch; 0: none */
    double  startup;  /**< seconds before the first step; part of the paid time */
} training;

/** Steps of an epoch, ceil(D / B). A partly filled last step takes its full time. */
uint64_t training_steps(const training *t, int64_t global_batch);

/** Forward passes of an evaluation on `ranks` devices with `batch` samples each. */
uint64_t training_evaluations(const training *t, int64_t batch, int64_t ranks);

/**
 * Seconds of the whole run: startup + epochs (steps * step + evaluations * evaluation).
 *
 * @param step, evaluation seconds of one; `evaluation` is not read if evaluations is 0
 */
double training_seconds(const training *t, uint64_t steps, double step, uint64_t evaluations,
                        double evaluation);

#endif
