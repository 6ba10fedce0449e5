/**
 * Gradients of a network in the order in which its backward pass completes them, with the work up
 * to each.
 */
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

/**
 * A term as a function of the batch: value for one sample (or for the only batch), and increment
 * per further sample.
 */
typedef struct growing_term {
    uint32_t term;
    double   first, step;
} growing_term;

typedef struct scheduled_gradient {
    uint64_t bytes; /**< in the weights' own type */
    lm_dtype dtype;
    size_t   layer; /**< layer whose backward kernels complete it, in the order of execution */
    /** range in `item`: the kernels between the previous gradient and this one */
    size_t begin, end;
} scheduled_gradient;

typedef struct gradient_schedule {
    scheduled_gradient *gradient;
    size_t              n;
    growing_term       *item;
    size_t              n_layers;
    /** counts of each layer at batches 1 and 2; with one batch only, `second` is NULL */
    net_metrics *first, *second;
    int64_t      batch;  /**< the only batch; 0: any batch */
    bool         even;   /**< made by gradient_schedule_even(), without layers */
    bool         tokens; /**< of a network of tokens */
} gradient_schedule;

/**
 * Gradients of a network that is bound at batches 1 and 2, or at one batch with bound[1] = NULL, as
 * by workloads_bind(). The caller frees `out`. Errors as terms_visit() and metrics_of_layer().
 */
lm_status gradient_schedule_of(bound_network *const bound[2], const term_settings *s,
                               gradient_schedule **out, lm_error *err);
void      gradient_schedule_free(gradient_schedule *s);

/**
 * Gradients of a network of which only the bytes are known: equal pieces, ready at a constant rate.
 * LM_E_NOMEM.
 */
lm_status gradient_schedule_even(uint64_t bytes, lm_dtype dtype, size_t pieces,
                                 gradient_schedule **out, lm_error *err);
/** Ready times of those pieces in a pass of `backward` seconds. */
void gradient_schedule_evenly(const gradient_schedule *s, double backward, double *ready);

/**
 * Ready time of each gradient, in seconds from the start of the backward pass, from the prices of
 * all N_TERMS terms. NAN if a price of an occurring term is unknown.
 *
 * @param ready room for n
 */
void gradient_schedule_by_terms(const gradient_schedule *s, int64_t batch, const double *price,
                                double *ready);

/** The same from counts of the finished layers, with `coefficient` in seconds per unit. */
void gradient_schedule_by_features(const gradient_schedule *s, int64_t batch, const feature *f,
                                   const double *coefficient, size_t n_features, double *ready);

/** The same from the seconds of each layer's backward pass. */
void gradient_schedule_by_layers(const gradient_schedule *s, const double *seconds, double *ready);

#endif
