/** A predicted training step or forward pass of inference: what a model prices, composed into
 * seconds with bounds. */
#ifndef PREDICT_PREDICT_H
#define PREDICT_PREDICT_H

#include "models/step_model.h"

/** Are steps in buckets the usual ones? They were measured on several nodes, the model tells them,
 * and no other link is told. What messages within a node take of a pass says nothing of a network. */
bool predict_in_buckets(const predictor *who);

/**
 * By what a forward pass in evaluation mode differs from one in training: the bounds of one that
 * stands in for the other are so much wider. From a batch norm, which scales by known statistics
 * and reads its input once, not twice, and dropout, which is left out; up to a framework that picks
 * other kernels. Measured on CPUs, evaluation / training
 * (tests/bench/evaluation.sh, three runs): oneDNN ResNet-18 .94 to 1.01, MobileNetV2 .60 to .91;
 * PyTorch ResNet-18 .84 to 1.13, MobileNetV2 .42 to .65.
 */
#define EVALUATION_LEAST 0.42
#define EVALUATION_MOST  1.13

/**
 * By how much a step of another element type than the machine file's may be off, up and down: the
 * largest of 63 published ratios of f32 or TF32 to autocast in f16, of training on V100 and A100 (1.3
 * to 4.5, NVIDIA/DeepLearningExamples and Oneflow-Inc/DLPerf).
 */
#define DTYPE_DOUBT 4.5

/**
 * By what steps with products as TF32 are off those of 16 bits times the ratio of the peaks, which is 2 on an
 * A100: published pairs of ResNet-50, SSD, BERT-large and Transformer on one take 1.6 to 3.2 times as long
 * (NVIDIA/DeepLearningExamples, six pairs).
 */
#define TF32_LEAST 0.8
#define TF32_MOST  1.62

/**
 * Predicts a step.
 *
 * @return LM_E_ARG and LM_E_OVERFLOW for a setup that cannot be; LM_E_NOTFOUND if the machine file
 *         lacks a formula that it needs (the text says how to get it); LM_E_UNSUPPORTED for
 *         messages beside a pass where the model does not say when gradients are ready; what
 * binding the network returns
 */
lm_status predict_step(const predictor *who, const step_setup *s, prediction *out, lm_error *err);
/** The same in less time: of the bounds those of the parts, slow and fast are there for certain. */
lm_status predict_seconds(const predictor *who, const step_setup *s, prediction *out,
                          lm_error *err);

/** The same with the messages of its gradients, one by one: free(messages->bucket). */
lm_status predict_timeline(const predictor *who, const step_setup *s, prediction *out,
                           step_times *messages, lm_error *err);

/** A step whose parts take other times than predicted: what a plan hangs on. */
typedef struct step_parts {
    double forward, backward; /**< s, of all micro-steps; backward beside no message */
    double update;            /**< s */
    double messages;          /**< factor on the all-reduces */
} step_parts;

/** Seconds of such a step, `p` being the predicted one; NAN where a part is unknown. */
lm_status predict_case(const predictor *who, const step_setup *s, const prediction *p,
                       const step_parts *parts, double *out, lm_error *err);

/**
 * What steps of one network share: prices by batch, exchanges by nodes, buckets. For predictors
 * that are asked for many steps. Neither the predictor nor its machine may change meanwhile, nor
 * may two threads share one.
 */
typedef struct step_scan step_scan;
lm_status                step_scan_new(step_scan **out, lm_error *err);
void                     step_scan_free(step_scan *s);

#endif
