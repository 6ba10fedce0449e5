/** Regressors of whole networks, for fits and predictions alike. */
#ifndef COUNTS_FEATURES_H
#define COUNTS_FEATURES_H

#include "counts/terms.h"
#include "network/metrics.h"

/** The work of a step: counts for its batch, and the number of ranks. */
typedef struct workload {
    /** of a network at its per-device batch; zeros for a separate collective */
    net_metrics counts;
    double      nodes;   /**< N: ranks that share the gradients, one device each */
    double      hosts;   /**< number of machines with these ranks; 0: one */
    double      bytes;   /**< in all-reduces, per step and rank */
    double      samples; /**< the batch, if only counts are known of the network; else 0 */
    uint32_t    unknown; /**< bit 1 << feature for each unknown count */
    bool        tokens;  /**< samples are rows of tokens; false: they are not, or it is unknown */
    term_vector forward, backward, update; /**< terms of the kernels of each pass; empty: unknown */
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
    FEATURE_RING_STEPS, /**< 2 (N - 1): successive messages in a ring all-reduce */
    /** 2 (N - 1) / N * S: bytes that each rank sends in it (Patarasuk & Yuan 2009) */
    FEATURE_RING_BYTES,
    N_FEATURES
} feature;

/** Value of a regressor; NAN: unknown. */
double feature_value(feature f, const workload *w);
/**
 * Seconds of a regressor with `coefficient` seconds per unit. If the coefficient is 0, the
 * regressor may be unknown.
 */
double      feature_seconds(feature f, double coefficient, const workload *w);
const char *feature_name(feature f);
/** Does it depend on the number of nodes, and on no count except the bytes of all-reduces? */
bool feature_of_nodes(feature f);
/** Is the value of a network the sum of those of its layers? */
bool feature_of_layers(feature f);
/** Can it be selected by name? A constant and features of nodes are in each formula. */
bool feature_chosen(feature f);
/** Names of the features to choose from; returns their number. */
size_t feature_choices(const char *name[N_FEATURES]);
/** The resource that bounds the feature's work. */
term_bound feature_bound(feature f);
/** Its unit, FLOP or element ...: coefficients are in seconds per unit. */
const char *feature_unit(feature f);

#endif
