/** The bottleneck: the largest share of a step's time. It is cheap enough for scans. */
#ifndef PREDICT_BOTTLENECK_H
#define PREDICT_BOTTLENECK_H

#include "models/step_model.h"

typedef enum bottleneck {
    BOTTLENECK_ARITHMETIC,
    BOTTLENECK_TRAFFIC,    /**< moving bytes to and from a device's memory */
    BOTTLENECK_LAUNCH,     /**< starting kernels; also waits for the host of an eager framework */
    BOTTLENECK_INTRA_NODE, /**< exposed all-reduces among the devices of one node */
    BOTTLENECK_INTER_NODE, /**< the same between nodes */
    BOTTLENECK_BUBBLE,     /**< waiting for other stages of a pipeline */
    BOTTLENECK_COMPUTE,    /**< a device's own work, if the model does not know its bound */
    N_BOTTLENECKS
} bottleneck;

/** "arithmetic", "traffic", "launch", "intra-node", "inter-node", "bubble",
 * "compute". */
const char *bottleneck_name(bottleneck b);

/** The resource that bounds an all-reduce. */
typedef enum sync_bound {
    SYNC_BOUND_UNKNOWN, /**< no all-reduce, or the model does not tell */
    /** the same number of messages of one byte would take more than half as long */
    SYNC_BOUND_LATENCY,
    SYNC_BOUND_BANDWIDTH
} sync_bound;

/** "", "latency", "bandwidth". */
const char *sync_bound_name(sync_bound b);

/** Seconds per bound, as terms and features define it (terms.h), for a batch. */
typedef struct bound_seconds {
    /** seconds for one sample; for each further sample */
    double first[N_TERM_BOUNDS], more[N_TERM_BOUNDS];
} bound_seconds;

/** Profile of a device's own work. */
typedef struct bottleneck_profile {
    bound_seconds passes; /**< forward and backward of a micro-step */
    /**
     * [0] on one rank, [1] on several: a model that cannot separate update and all-reduce has two
     */
    bound_seconds update[2];
    /** the only valid batch; 0: any batch, because the counts grow in equal steps */
    int64_t batch;
} bottleneck_profile;

/**
 * Makes the profile. A learned model of layers does not know its bounds; then the profile is that
 * of the default model, or empty. `s->batch` matters only if the counts do not grow in equal steps;
 * nodes and devices do not matter. Errors of predict_load().
 */
lm_status bottleneck_profile_of(const predictor *who, const step_setup *s, bottleneck_profile *out,
                                lm_error *err);
/** Is the profile valid for this batch, too? */
bool bottleneck_profile_holds(const bottleneck_profile *p, int64_t batch);

typedef struct bottleneck_of {
    bottleneck most;
    double     share; /**< share of the step; NAN: unknown */
    sync_bound sync;
    double     seconds[N_BOTTLENECKS]; /**< seconds of each part of the step */
    double     others;                 /**< mean of all ranks' seconds at work, by this rank's */
    /**
     * Split of BOTTLENECK_COMPUTE by the default model's prices, in shares of 1; all 0: no such
     * prices.
     */
    double compute[N_TERM_BOUNDS];
} bottleneck_of;

/**
 * Largest share of a predicted step. Exposed all-reduces are one share: inter-node if there are
 * several nodes, else intra-node. Under a layout the profile is scaled to what the slowest rank
 * computes, and messages that passes wait for count as those of the ranks of tp. Pure.
 */
bottleneck_of bottleneck_find(const predictor *who, const bottleneck_profile *p,
                              const step_setup *s, const prediction *step);

#endif
