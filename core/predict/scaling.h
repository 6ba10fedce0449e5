/** Curves over nodes: weak, strong and global-batch scaling, and where they stop paying. */
#ifndef PREDICT_SCALING_H
#define PREDICT_SCALING_H

#include "predict/bottleneck.h"

typedef enum {
    SCALING_WEAK,   /**< the batch of each device stays */
    SCALING_STRONG, /**< the batch of all devices together stays; each takes ceil(B / n) at once */
    SCALING_GLOBAL  /**< the same, but each takes it in micro-steps of `batch` samples at most,
                       whose gradients add up */
} scaling_kind;

/** weak, strong, global. */
const char *scaling_kind_name(scaling_kind k);
lm_status   scaling_kind_parse(const char *text, scaling_kind *out, lm_error *err);

/** A doubling of the nodes that gains less than this does not pay. */
#define TURNING_GAIN_WEAK   0.10 /* of the throughput */
#define TURNING_GAIN_STRONG 0.05 /* of the epoch time */
#define TURNING_LIMIT       65536

/** Quantities that grow with the number of nodes, and those that stay. */
typedef struct scale_question {
    scaling_kind kind;
    int64_t      global_batch; /**< samples of a step on all devices: not weak */
    int64_t      dataset;      /**< samples of an epoch; 0: not known */
    /** `nodes` is not read. `batch`: of a device; strong: not read. `sync.accumulation`: weak only;
     * else it follows. */
    step_setup setup;
} scale_question;

/** Weak scaling of a batch per device. */
scale_question scale_weak(int64_t batch, int64_t dataset);

/** Bounds; NAN: unknown. */
typedef struct scale_bounds {
    double low, high;
} scale_bounds;

typedef struct scale_point {
    prediction   step;
    int64_t      accumulation;
    int64_t      global_batch; /**< samples of a step on all devices: weak, what they take; else the
                                batch given */
    int64_t      idle;         /**< devices that get no sample: fewer samples than devices */
    double       samples_per_second;
    scale_bounds samples;    /**< by those of the step */
    double       speedup;    /**< samples per second against one node of as many devices; NAN: one
                                holds no replica of the network */
    double       efficiency; /**< speedup / nodes */
    /** By prediction.slow and fast, on one node, too: what is wrong about a device's own work is
     * wrong there, too, and cancels. */
    scale_bounds  efficiencies;
    uint64_t      steps_per_epoch; /**< ceil(D / global_batch); 0: not known */
    double        epoch_seconds;   /**< steps_per_epoch * T_step; NAN: not known */
    bottleneck_of bottleneck;
} scale_point;

/** Tokens of a sample of the predictor's network; 0: it is none of tokens. */
lm_status scale_tokens(const predictor *who, int64_t *out, lm_error *err);

/** Step of a question at a number of nodes. */
lm_status scale_setup(const scale_question *q, int64_t nodes, step_setup *out, lm_error *err);

/** LM_E_ARG, with what would help, if a step on so many nodes takes more samples than an epoch has.
 */
lm_status scale_fits_dataset(const scale_question *q, int64_t nodes, lm_error *err);

/** A question with what all points of its curve share. Owns nothing. */
typedef struct scale_curve {
    const predictor   *who;
    scale_question     q;
    double             one;  /**< samples per second on one node */
    scale_bounds       ones; /**< the same with all-reduces as long as their interval's ends */
    bottleneck_profile bounds;
} scale_curve;

/** Predicts one node. Errors as predict_step(). */
lm_status scale_curve_begin(const predictor *who, const scale_question *q, scale_curve *out,
                            lm_error *err);
lm_status scale_curve_at(scale_curve *c, int64_t nodes, scale_point *out, lm_error *err);

/** One point by itself. */
lm_status scale_at(const predictor *who, const scale_question *q, int64_t nodes, scale_point *out,
                   lm_error *err);

/**
 * The policy by which the machines are fastest together at a number of nodes, by the product of
 * their throughputs. A machine that cannot be asked does not count.
 *
 * @param policy n of them; the first if no machine can be asked
 * @return what the first of `who` that cannot be asked returned; LM_OK if one can
 */
lm_status scale_best_policy(const predictor *const *who, size_t n_who, const scale_question *q,
                            int64_t nodes, const sync_policy *policy, size_t n, sync_policy *out,
                            lm_error *err);

/** The turning point of a curve: the smallest number of nodes whose doubling gains less than
 * TURNING_GAIN_*; 0: none up to TURNING_LIMIT. */
typedef struct turning_point {
    int64_t nodes;
    /** Turning points of the curves by prediction.slow and fast; -1: unknown. */
    int64_t low, high;
} turning_point;

/**
 * Finds it, by halving ranges of nodes in which no doubling can gain so little. Exact where a step
 * takes no less time with more nodes of as many samples each, and with more samples; up to four
 * nodes, which algorithms of all-reduces treat apart, in any case.
 *
 * @return LM_E_NOTFOUND if two nodes cannot be predicted
 */
lm_status scale_curve_turning(scale_curve *c, turning_point *out, lm_error *err);

/** The number of nodes alone. */
lm_status scale_turning_point(const predictor *who, const scale_question *q, int64_t *out,
                              lm_error *err);

#endif
