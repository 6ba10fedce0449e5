/* A training run. */
#include "plan/training.h"

static uint64_t parts_of(int64_t whole, double each)
{
    const double most = (double)whole;

    return each >= most ? 1 : (uint64_t)((whole - 1) / (int64_t)each + 1);
}

uint64_t training_steps(const training *t, int64_t global_batch)
{
    return parts_of(t->dataset, (double)global_batch);
}

uint64_t training_evaluations(const training *t, int64_t batch, int64_t ranks)
{
    return t->evaluate ? parts_of(t->evaluate, (double)batch * (double)ranks) : 0;
}

double training_seconds(const training *t, uint64_t steps, double step, uint64_t evaluations,
                        double evaluation)
{
    double epoch = (double)steps * step;

    if (evaluations)
        epoch += (double)evaluations * evaluation;
    return t->startup + (double)t->epochs * epoch;
}
