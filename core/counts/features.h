/** Regressors: the only place where one is computed, for fits and predictions alike. */
#ifndef COUNTS_FEATURES_H
#define COUNTS_FEATURES_H

#include "counts/terms.h"
#include "network/metrics.h"

/** What a step does: the counts at its batch, and how many take part. */
typedef struct workload {
    net_metrics counts;  /**< of a network at its per-device batch; zero for a bare collective */
    double      nodes;   /**< N: ranks that share the gradients, one device each */
    double      hosts;   /**< machines that these are on; 0: one */
    double      bytes;   /**< all-reduced per step and rank */
    double      samples; /**< the batch, where only counts are known of the network; else 0 */
    uint32_t    unknown; /**< bit 1 << feature for each count that is not known of this network */
    term_vector forward, backward,
        update; /**< what the kernels of each pass do; empty: not known */
} workload;

/** Symbols as in ConvMeter. */
typedef enum feature {
    FEATURE_FLOPS,      /**< F: forward FLOPs of convolutions and linear layers */
    FEATURE_INPUTS,     /**< I: elements read by convolutions */
    FEATURE_OUTPUTS,    /**< O: elements written by convolutions */
    FEATURE_ONE,        /**< 1 */
    FEATURE_LAYERS,     /**< L: layers */
    FEATURE_WEIGHTS,    /**< W: trained elements */
    FEATURE_NODES,      /**< N */
    FEATURE_RING_STEPS, /**< 2 (N - 1): messages one after the other in a ring all-reduce */
    FEATURE_RING_BYTES, /**< 2 (N - 1) / N * S: bytes each rank sends in it (Patarasuk & Yuan 2009)
                         */
    N_FEATURES
} feature;

/** NAN where it is unknown. */
double feature_value(feature f, const workload *w);
/** Seconds of a term, `coefficient` of them per unit. What costs nothing need not be known. */
double      feature_seconds(feature f, double coefficient, const workload *w);
const char *feature_name(feature f);
/** Does it depend on the number of nodes, and on no count but the bytes that are all-reduced? */
bool feature_of_nodes(feature f);
/** Its value, if so. */
double feature_at_nodes(feature f, double nodes, double bytes);
/** Is it a network's as the sum over its layers'? */
bool feature_of_layers(feature f);
/** What it stands for: what bounds the work that it is proportional to. */
term_bound feature_bound(feature f);
/** What one of it is, FLOP or element ...: coefficients are in seconds per that. */
const char *feature_unit(feature f);
/** N_FEATURES if there is none of that name. */
feature feature_parse(const char *name);

#endif
