/** Curves over nodes: weak, strong and global-batch scaling, and where they stop paying. */
#ifndef PREDICT_SCALING_H
#define PREDICT_SCALING_H

#include "predict/price.h"

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
#define TURNING_STEPS       1024 /* every number of nodes up to here is tried, then each 1024th part */

/** What grows with the number of nodes, and what stays. */
typedef struct scale_question {
    scaling_kind kind;
    int64_t      global_batch; /**< samples of a step on all devices: not weak */
    int64_t      dataset;      /**< samples of an epoch */
    /** `nodes` is not read. `batch`: of a device; strong: not read. `sync.accumulation`: weak only;
     * else it follows. */
    step_setup setup;
} scale_question;

/** Weak scaling of a batch per device. */
scale_question scale_weak(int64_t batch, int64_t dataset);
/** Strong scaling of a batch of all devices. */
scale_question scale_strong(int64_t global_batch, int64_t dataset);

typedef struct scale_point {
    prediction step;
    int64_t    accumulation;
    int64_t    global_batch; /**< samples of a step on all devices: weak, what they take; else the
                                batch given */
    double   samples_per_second;
    double   speedup;         /**< samples per second against one node */
    double   efficiency;      /**< speedup / nodes */
    uint64_t steps_per_epoch; /**< ceil(D / global_batch) */
    double   epoch_seconds;   /**< steps_per_epoch * T_step */
} scale_point;

/** Step of a question at a number of nodes. */
lm_status scale_setup(const scale_question *q, int64_t nodes, step_setup *out, lm_error *err);

/** One point of the curve. */
lm_status scale_at(const predictor *who, const scale_question *q, int64_t nodes, scale_point *out,
                   lm_error *err);

/**
 * Smallest number of nodes whose doubling gains less than TURNING_GAIN_*, by a scan; 0 if there is
 * none up to TURNING_LIMIT. Above TURNING_STEPS nodes it is exact to one part in as many.
 */
lm_status scale_turning_point(const predictor *who, const scale_question *q, int64_t *out,
                              lm_error *err);

#endif
