/**
 * A predicted training step, or forward pass of inference: composes the prices of a model into
 * seconds with bounds.
 */
#ifndef PREDICT_PREDICT_H
#define PREDICT_PREDICT_H

#include "models/step_model.h"

/**
 * Is `--sync ddp` the default? It is if steps in buckets were measured on several nodes, the model
 * knows them, and the user describes no other link. Steps within one node do not suffice: they show
 * no effect of a network.
 */
bool predict_in_buckets(const predictor *who);

/**
 * Ratio of a forward pass in evaluation mode to one in training. If one replaces the other, its
 * bounds are wider by these factors. Reasons: in evaluation mode a batch norm scales by known
 * statistics and reads its input once, not twice; dropout is left out; a framework may choose other
 * kernels. Measured on CPUs (tests/bench/evaluation.sh, three runs): oneDNN ResNet-18 .94 to 1.01,
 * MobileNetV2 .60 to .91; PyTorch ResNet-18 .84 to 1.13, MobileNetV2 .42 to .65.
 */
#define EVALUATION_LEAST 0.42
#define EVALUATION_MOST  1.13

/**
 * Factor, up and down, on the bounds of a step in another element type than that of the machine
 * file. It is the largest of 63 published ratios of f32 or TF32 to autocast in f16, for training on
 * V100 and A100 (1.3 to 4.5, NVIDIA/DeepLearningExamples and Oneflow-Inc/DLPerf).
 */
#define DTYPE_DOUBT 4.5

/**
 * Factor on the high end of inference in FP8 that is predicted from 16 bits. By its bytes, and by the peaks
 * of each datasheet that tells both, FP8 takes half as long; at worst it gains nothing.
 */
#define FP8_MOST 2.0

/**
 * Factors on the bounds of a step with TF32 products, predicted from 16-bit measurements and the
 * ratio of the peaks (2 on an A100). Published pairs of ResNet-50, SSD, BERT-large and Transformer
 * on an A100 take 1.6 to 3.2 times as long (NVIDIA/DeepLearningExamples, six pairs).
 */
#define TF32_LEAST 0.8
#define TF32_MOST  1.62

/**
 * Predicts a step.
 *
 * @return LM_E_ARG and LM_E_OVERFLOW for an impossible setup; LM_E_NOTFOUND if the machine file
 *         lacks a needed formula (the text says how to get it); LM_E_UNSUPPORTED if messages should
 *         overlap a pass, but the model does not know when gradients are ready; errors of binding
 *         the network
 */
lm_status predict_step(const predictor *who, const step_setup *s, prediction *out, lm_error *err);
/** Faster predict_step(): of the bounds, only those of the parts, slow and fast are guaranteed. */
lm_status predict_seconds(const predictor *who, const step_setup *s, prediction *out,
                          lm_error *err);

/** predict_step() that also returns each message of the gradients: free(messages->bucket). */
lm_status predict_timeline(const predictor *who, const step_setup *s, prediction *out,
                           step_times *messages, lm_error *err);

/** A step whose parts take other times than predicted, to find what a plan depends on. */
typedef struct step_parts {
    /** s, all micro-steps; backward: without messages at the same time */
    double forward, backward;
    double update;   /**< s */
    double messages; /**< factor on the time of all-reduces */
} step_parts;

/** Seconds of such a step; `p` is the predicted one. NAN if a part is unknown. */
lm_status predict_case(const predictor *who, const step_setup *s, const prediction *p,
                       const step_parts *parts, double *out, lm_error *err);

/**
 * A cache for many steps of one network: prices by batch, exchanges by nodes, buckets. While it is
 * in use, predictor and machine must not change, and only one thread may use it.
 */
typedef struct step_scan step_scan;
lm_status                step_scan_new(step_scan **out, lm_error *err);
void                     step_scan_free(step_scan *s);

#endif
