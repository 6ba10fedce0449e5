/** Curves over nodes: weak and strong scaling, and where they stop paying. */
#ifndef PREDICT_SCALING_H
#define PREDICT_SCALING_H

#include "predict/price.h"

typedef enum {
    SCALING_WEAK,  /**< the batch of each device stays */
    SCALING_STRONG /**< the batch of all devices together stays; each takes ceil(B / N) */
} scaling_kind;

/** A doubling of the nodes that gains less than this does not pay. */
#define TURNING_GAIN_WEAK   0.10 /* of the throughput */
#define TURNING_GAIN_STRONG 0.05 /* of the epoch time */
#define TURNING_LIMIT       65536
#define TURNING_STEPS       1024 /* every number of nodes up to here is tried, then each 1024th part */

typedef struct scale_point {
    prediction step;
    int64_t    global_batch; /**< samples of a step on all nodes: weak, batch * nodes; strong, the
                                batch given */
    double   samples_per_second;
    double   speedup;         /**< samples per second against one node */
    double   efficiency;      /**< speedup / nodes */
    uint64_t steps_per_epoch; /**< ceil(D / (B N)) */
    double   epoch_seconds;   /**< steps_per_epoch * T_step */
} scale_point;

/** One point. `batch` is per device (weak) or of all devices together (strong). `dataset`: samples.
 */
lm_status scale_at(const predictor *who, scaling_kind kind, int64_t batch, int64_t nodes,
                   int64_t dataset, scale_point *out, lm_error *err);

/**
 * Smallest number of nodes whose doubling gains less than TURNING_GAIN_*, by a scan; 0 if there is
 * none up to TURNING_LIMIT. `batch` as in scale_at(). Above TURNING_STEPS nodes it is exact to one
 * part in as many.
 */
lm_status scale_turning_point(const predictor *who, scaling_kind kind, int64_t batch, int64_t *out,
                              lm_error *err);

#endif
