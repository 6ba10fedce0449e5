/* Steps of one device a node, in short. */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include "predict/explain.h"
#include "predict/predict.h"
#include "predict/scaling.h"

/* The messages of a step: free(out->bucket). */
static inline lm_status buckets_of(const predictor *who, const step_setup *s, step_times *out,
                                   lm_error *err)
{
    prediction ignored;

    return predict_timeline(who, s, &ignored, out, err);
}

static inline lm_status step_at(const predictor *who, int64_t batch, int64_t nodes, prediction *out,
                                lm_error *err)
{
    const step_setup s = step_setup_of(batch, nodes);

    return predict_step(who, &s, out, err);
}

/** Strong scaling of a batch of all devices. */
static inline scale_question scale_strong(int64_t global_batch, int64_t dataset)
{
    return (scale_question){ .kind         = SCALING_STRONG,
                             .global_batch = global_batch,
                             .dataset      = dataset,
                             .setup        = step_setup_of(1, 1) };
}

static inline scale_question question_of(scaling_kind kind, int64_t batch, int64_t dataset)
{
    return kind == SCALING_WEAK ? scale_weak(batch, dataset) : scale_strong(batch, dataset);
}

static inline lm_status curve_at(const predictor *who, scaling_kind kind, int64_t batch,
                                 int64_t nodes, int64_t dataset, scale_point *out, lm_error *err)
{
    const scale_question q = question_of(kind, batch, dataset);

    return scale_at(who, &q, nodes, out, err);
}

static inline lm_status turning_at(const predictor *who, scaling_kind kind, int64_t batch,
                                   int64_t *out, lm_error *err)
{
    const scale_question q = question_of(kind, batch, 1);

    return scale_turning_point(who, &q, out, err);
}

#endif
