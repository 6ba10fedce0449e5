/** The largest share of a step's time: for scans, as cheap as the step itself. */
#ifndef PREDICT_BOTTLENECK_H
#define PREDICT_BOTTLENECK_H

#include "models/step_model.h"

typedef enum bottleneck {
    BOTTLENECK_ARITHMETIC,
    BOTTLENECK_TRAFFIC,    /**< bytes to and from a device's memory */
    BOTTLENECK_LAUNCH,     /**< kernels started */
    BOTTLENECK_INTRA_NODE, /**< exposed all-reduces among the devices of one node */
    BOTTLENECK_INTER_NODE, /**< the same between nodes */
    BOTTLENECK_COMPUTE,    /**< a device's own work, of a model that does not say what bounds it */
    N_BOTTLENECKS
} bottleneck;

/** "arithmetic", "traffic", "launch", "intra-node", "inter-node", "compute". */
const char *bottleneck_name(bottleneck b);

/** Bound of an all-reduce. */
typedef enum sync_bound {
    SYNC_BOUND_UNKNOWN, /**< there is none, or the model does not tell */
    SYNC_BOUND_LATENCY, /**< as many messages of a single byte would take more than half as long */
    SYNC_BOUND_BANDWIDTH
} sync_bound;

/** "", "latency", "bandwidth". */
const char *sync_bound_name(sync_bound b);

/** Seconds by what bounds them as terms and features say it (terms.h), at a batch. */
typedef struct bound_seconds {
    double first[N_TERM_BOUNDS], more[N_TERM_BOUNDS]; /**< of one sample, of each more */
} bound_seconds;

/** Profile of a device's own work. */
typedef struct bottleneck_profile {
    bound_seconds passes;    /**< forward and backward of a micro-step */
    bound_seconds update[2]; /**< on one rank, on several: a model that does not tell the update
                                from the all-reduce has two */
    int64_t       batch; /**< the only one it is of; 0: of all, as the counts grow by equal steps */
} bottleneck_profile;

/** Of a learned model of layers, which does not say what bounds them, it is the default model's, or
 * nothing. `s->batch` matters only where the counts do not grow by equal steps; nodes and devices
 * do not. What predict_load() returns. */
lm_status bottleneck_profile_of(const predictor *who, const step_setup *s, bottleneck_profile *out,
                                lm_error *err);
/** Is it of that batch, too? */
bool bottleneck_profile_holds(const bottleneck_profile *p, int64_t batch);

typedef struct bottleneck_of {
    bottleneck most;
    double     share; /**< of the step; NAN: unknown */
    sync_bound sync;
    double     seconds[N_BOTTLENECKS]; /**< of the step, all of them */
    /** BOTTLENECK_COMPUTE's by the default model's prices, shares of 1; all 0: it has none. */
    double compute[N_TERM_BOUNDS];
} bottleneck_of;

/** Largest share of a predicted step. Exposed all-reduces are one share: between nodes where there
 * are several, else among the devices of one. Pure. */
bottleneck_of bottleneck_find(const predictor *who, const bottleneck_profile *p,
                              const step_setup *s, const prediction *step);

#endif
