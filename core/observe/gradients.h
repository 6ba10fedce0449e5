/** The gradients of a network by the order in which its backward pass completes them, and what it
 * does until then. */
#ifndef OBSERVE_GRADIENTS_H
#define OBSERVE_GRADIENTS_H

#include <stdbool.h>

#include "counts/features.h"
#include "network/bind.h"

/** A term of the batch: first of one sample (or of the only batch), and by how much each more. */
typedef struct growing_term {
    uint32_t term;
    double   first, step;
} growing_term;

typedef struct scheduled_gradient {
    uint64_t bytes; /**< in the weights' own type */
    lm_dtype dtype;
    size_t   layer;      /**< whose backward kernels complete it; by the order of execution */
    size_t   begin, end; /**< of `item`: the kernels that run behind the gradient before it */
} scheduled_gradient;

typedef struct gradient_schedule {
    scheduled_gradient *gradient;
    size_t              n;
    growing_term       *item;
    size_t              n_layers;
    net_metrics        *first, *second; /**< counts of each layer at batches 1 and 2, or at the only
                                           batch it is of, second being NULL */
    int64_t             batch;          /**< that; 0: of all */
    bool                even; /**< of no layers that are known: see gradient_schedule_even() */
} gradient_schedule;

/**
 * Of a network bound at batches 1 and 2, or bound[1] = NULL, as workloads_bind() gives it. `out` is
 * to be freed. LM_E_... as terms_visit() and metrics_of_layer().
 */
lm_status gradient_schedule_of(bound_network *const bound[2], const term_settings *s,
                               gradient_schedule **out, lm_error *err);
void      gradient_schedule_free(gradient_schedule *s);

/** Of a network of which only the bytes of its gradients are known: equal pieces, ready at a
 * constant rate. LM_E_NOMEM. */
lm_status gradient_schedule_even(uint64_t bytes, lm_dtype dtype, size_t pieces,
                                 gradient_schedule **out, lm_error *err);
/** When each of those is, of a pass of so many seconds. */
void gradient_schedule_evenly(const gradient_schedule *s, double backward, double *ready);

/**
 * Seconds within a backward pass after which each gradient is there, by the prices of all N_TERMS
 * terms; a price that is unknown of something that happens makes them NAN.
 *
 * @param ready room for n
 */
void gradient_schedule_by_terms(const gradient_schedule *s, int64_t batch, const double *price,
                                double *ready);

/** The same by counts of the layers that are done, each `coefficient` seconds. */
void gradient_schedule_by_features(const gradient_schedule *s, int64_t batch, const feature *f,
                                   const double *coefficient, size_t n_features, double *ready);

/** The same by the seconds of each layer's backward pass. */
void gradient_schedule_by_layers(const gradient_schedule *s, const double *seconds, double *ready);

#endif
