/** Scaling curves over nodes (weak, strong, global batch) and their turning points. */
#ifndef PREDICT_SCALING_H
#define PREDICT_SCALING_H

#include "predict/bottleneck.h"

typedef enum {
    SCALING_WEAK, /**< the batch of each device is constant */
    /** the global batch is constant; each device takes ceil(B / n) samples at once */
    SCALING_STRONG,
    /**
     * as SCALING_STRONG, but in micro-steps of at most `batch` samples, whose gradients are summed
     */
    SCALING_GLOBAL
} scaling_kind;

/** weak, strong, global. */
const char *scaling_kind_name(scaling_kind k);
lm_status   scaling_kind_parse(const char *text, scaling_kind *out, lm_error *err);

/** A doubling of the nodes hardly helps if it gains less than this. */
#define TURNING_GAIN_WEAK   0.10 /* of the throughput */
#define TURNING_GAIN_STRONG 0.05 /* of the epoch time */
#define TURNING_LIMIT       65536

/** Which quantities grow with the number of nodes, and which stay constant. */
typedef struct scale_question {
    scaling_kind kind;
    int64_t      global_batch; /**< samples of a step on all devices; unused for weak scaling */
    int64_t      dataset;      /**< samples of an epoch; 0: unknown */
    /**
     * `nodes` is not read. `batch`: per device; not read for strong scaling. `sync.accumulation`:
     * weak scaling only; otherwise it follows from the global batch.
     */
    step_setup setup;
} scale_question;

/** Weak scaling with a batch per device. */
scale_question scale_weak(int64_t batch, int64_t dataset);

/** Bounds; NAN: unknown. */
typedef struct scale_bounds {
    double low, high;
} scale_bounds;

typedef struct scale_point {
    prediction step;
    int64_t    accumulation;
    /**
     * samples of a step on all devices: weak scaling: the sum of their batches; else the given
     * global batch
     */
    int64_t      global_batch;
    int64_t      idle; /**< devices without a sample: there are fewer samples than devices */
    double       samples_per_second;
    scale_bounds samples; /**< bounds, from those of the step */
    /**
     * throughput relative to one node with as many devices, or to a node's part of the fewest nodes
     * that hold a replica of a layout; NAN: these do not divide the global batch
     */
    double speedup;
    double efficiency; /**< speedup / nodes */
    /**
     * Bounds from prediction.slow and fast, on one node, too. An error in a device's own work is
     * the same on one node, so it cancels.
     */
    scale_bounds  efficiencies;
    uint64_t      steps_per_epoch; /**< ceil(D / global_batch); 0: not known */
    double        epoch_seconds;   /**< steps_per_epoch * T_step; NAN: not known */
    bottleneck_of bottleneck;
} scale_point;

/** Tokens of a sample of the predictor's network; 0: samples are not tokens. */
lm_status scale_tokens(const predictor *who, int64_t *out, lm_error *err);

/** The step that a question asks about, for a number of nodes. */
lm_status scale_setup(const scale_question *q, int64_t nodes, step_setup *out, lm_error *err);

/**
 * LM_E_ARG if a step on this number of nodes takes more samples than an epoch has; the text says
 * what helps.
 */
lm_status scale_fits_dataset(const scale_question *q, int64_t nodes, lm_error *err);

/** A question, and the results that all points of its curve share. Owns nothing. */
typedef struct scale_curve {
    const predictor   *who;
    scale_question     q;
    double             one;  /**< samples per second on one node */
    scale_bounds       ones; /**< the same if all-reduces take as long as their interval's ends */
    bottleneck_profile bounds;
} scale_curve;

/** Prepares a curve by predicting one node. Errors as predict_step(). */
lm_status scale_curve_begin(const predictor *who, const scale_question *q, scale_curve *out,
                            lm_error *err);
lm_status scale_curve_at(scale_curve *c, int64_t nodes, scale_point *out, lm_error *err);

/** Predicts one point without a curve. */
lm_status scale_at(const predictor *who, const scale_question *q, int64_t nodes, scale_point *out,
                   lm_error *err);

/**
 * Chooses the policy for several machines at a number of nodes: the largest product of their
 * throughputs. Machines that cannot be predicted are ignored.
 *
 * @param policy n policies; the first is the result if no machine can be predicted
 * @return LM_OK if one machine can be predicted, else the error of the first machine
 */
lm_status scale_best_policy(const predictor *const *who, size_t n_who, const scale_question *q,
                            int64_t nodes, const sync_policy *policy, size_t n, sync_policy *out,
                            lm_error *err);

/** The turning point of a curve: the smallest number of nodes whose doubling gains less than
 * TURNING_GAIN_*; 0: none up to TURNING_LIMIT. */
typedef struct turning_point {
    int64_t nodes;
    /** Turning points with all-reduces as in prediction.slow and fast; -1: unknown. */
    int64_t low, high;
} turning_point;

/**
 * Finds the turning point. It halves ranges of nodes in which no doubling can gain so little. Exact
 * if a step never gets shorter with more nodes (and the same batch per device), nor with more
 * samples. Numbers up to four nodes are always tested, because algorithms of all-reduces differ
 * there.
 *
 * @return LM_E_NOTFOUND if two nodes cannot be predicted
 */
lm_status scale_curve_turning(scale_curve *c, turning_point *out, lm_error *err);

/** The number of nodes only. */
lm_status scale_turning_point(const predictor *who, const scale_question *q, int64_t *out,
                              lm_error *err);

#endif
