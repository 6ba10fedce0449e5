/** A training run: epochs of steps, evaluations between them, and what comes before. */
#ifndef PLAN_TRAINING_H
#define PLAN_TRAINING_H

#include <stdint.h>

typedef struct training {
    int64_t epochs;
    int64_t dataset;  /**< samples of an epoch */
    int64_t evaluate; /**< samples of the evaluation behind each epoch; 0: none */
    double  startup;  /**< seconds before the first step, once; of the nodes, which are paid for */
} training;

/** Steps of an epoch, ceil(D / B): the last one may be partly filled, and takes its full time. */
uint64_t training_steps(const training *t, int64_t global_batch);

/** Forward passes of an evaluation that `ranks` devices share, `batch` samples each at once. */
uint64_t training_evaluations(const training *t, int64_t batch, int64_t ranks);

/**
 * Seconds of the whole run: startup + epochs (steps * step + evaluations * evaluation).
 *
 * @param step, evaluation seconds of one; the latter is not read where there are none
 */
double training_seconds(const training *t, uint64_t steps, double step, uint64_t evaluations,
                        double evaluation);

#endif
