/** Gradients of a network in the order in which its backward pass completes them, and the work
 * until then. */
#ifndef OBSERVE_GRADIENTS_H
#define OBSERVE_GRADIENTS_H

#include <stdbool.h>

#include "counts/features.h"
#include "network/bind.h"

/** Counts of a network or layer, by name and by number. */
#define NET_COUNTS (sizeof(net_metrics) / sizeof(uint64_t))

typedef union net_counts {
    net_metrics metrics;
    uint64_t    value[NET_COUNTS];
} net_counts;

/** A term of the batch: its value for one sample (or for the only batch), and the step for each
 * sample more. */
typedef struct growing_term {
    uint32_t term;
    double   first, step;
} growing_term;

typedef struct scheduled_gradient {
    uint64_t bytes; /**< in the weights' own type */
    lm_dtype dtype;
    size_t   layer;      /**< whose backward kernels complete it; by the order of execution */
    size_t   begin, end; /**< of `item`: kernels between this gradient and the one before */
} scheduled_gradient;

typedef struct gradient_schedule {
    scheduled_gradient *gradient;
    size_t              n;
    growing_term       *item;
    size_t              n_layers;
    net_metrics        *first, *second; /**< counts of each layer at batches 1 and 2, or at the only
                                             batch; then `second` is NULL */
    int64_t             batch;          /**< the only batch; 0: all batches */
    bool                even;           /**< made by gradient_schedule_even(), without layers */
} gradient_schedule;

/** Gradients of a network bound at batches 1 and 2, or bound[1] = NULL, as by workloads_bind().
 * `out` is to be freed. Errors as terms_visit() and metrics_of_layer(). */
lm_status gradient_schedule_of(bound_network *const bound[2], const term_settings *s,
                               gradient_schedule **out, lm_error *err);
void      gradient_schedule_free(gradient_schedule *s);

/** Gradients of a network with known bytes alone: equal pieces, ready at a constant rate.
 * LM_E_NOMEM. */
lm_status gradient_schedule_even(uint64_t bytes, lm_dtype dtype, size_t pieces,
                                 gradient_schedule **out, lm_error *err);
/** Times of those pieces in a pass of so many seconds. */
void gradient_schedule_evenly(const gradient_schedule *s, double backward, double *ready);

/**
 * Seconds within the backward pass at which each gradient is ready, by the prices of all N_TERMS
 * terms. An unknown price of a term that occurs makes them NAN.
 *
 * @param ready memory for n
 */
void gradient_schedule_by_terms(const gradient_schedule *s, int64_t batch, const double *price,
                                double *ready);

/** The same by counts of the finished layers, each `coefficient` seconds. */
void gradient_schedule_by_features(const gradient_schedule *s, int64_t batch, const feature *f,
                                   const double *coefficient, size_t n_features, double *ready);

/** The same by the seconds of each layer's backward pass. */
void gradient_schedule_by_layers(const gradient_schedule *s, const double *seconds, double *ready);

#endif
