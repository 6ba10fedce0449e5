/** Private state of memory_of_step() while it walks over a step. */
#ifndef NETWORK_MEMORY_WALK_H
#define NETWORK_MEMORY_WALK_H

#include "network/autocast.h"
#include "network/memory.h"
#include "network/mixed/fp8.h"

#define NEVER TIMELINE_NEVER

/* Memory that one or more tensors share: views and overwriting layers share it. */
typedef struct storage {
    size_t   owner; /* index of the layer that makes it */
    uint64_t bytes;
    bool     resident;    /* live during the whole step: data, constants, weights */
    size_t   last_reader; /* layer, in forward order */
    bool     kept;        /* a layer other than the overwriting one keeps it */
    bool     here;        /* this rank makes or reads it */
    size_t   first_dies, again, again_dies; /* events; `again` NEVER: it is not recomputed */
} storage;

/* Gradient of an activation; several tensors may share it. */
typedef struct gradient {
    size_t   born, dies; /* events */
    uint64_t bytes;
    bool     shared;
    bool     here; /* this rank makes it */
} gradient;

/* Uses of a weight tensor so far. */
typedef struct weight_life {
    bool     has_gradient;
    size_t   copied, copy_dies; /* events of autocast's 16-bit copy; NEVER: no copy */
    uint64_t copy_bytes;
} weight_life;

typedef struct walk {
    /* half: the 16-bit binding; NULL without mixed precision */
    const bound_network  *full, *half;
    const memory_options *o;
    timeline              t;
    arena                *arena;
    lm_error             *err;
    bool                 *is_half; /* per layer: its outputs are 16 bit */
    size_t               *fp8;     /* per layer: its products in FP8 */
    int64_t              *stage;   /* per layer; NULL: no pipeline */
    bool                 *used;    /* per layer: another layer reads its output */
    size_t               *first;   /* per layer: number of its first output among all tensors */
    size_t               *base;    /* per tensor: the tensor whose storage it uses */
    storage              *store;   /* per tensor, valid where base[i] == i */
    size_t               *grad;    /* per tensor: index of its gradient; NEVER: none yet */
    gradient             *gradient;
    size_t               *first_weight; /* per layer: number of its first own weight */
    weight_life          *weight;
    size_t                n_layers, n_tensors, n_gradients, n_weights;
    uint64_t             *live[MEMORY_N_PARTS]; /* change of live bytes at each event */
    uint64_t              ever; /* sum of all bytes: no sum of live bytes can be larger */
    memory_of_layer      *layer;
    memory_moment        *moment; /* NULL: not wanted */
} walk;

/*
 * Adds memory that is live from event `born` to event `dies`. Single differences may wrap around;
 * their sums do not.
 */
static inline void hold(walk *w, memory_part part, size_t born, size_t dies, uint64_t bytes)
{
    w->ever = lm_add(w->ever, bytes);
    w->live[part][born] += bytes;
    w->live[part][dies + 1] -= bytes;
}

/* Does this rank have the layer? */
static inline bool is_mine(const walk *w, size_t l)
{
    return !w->stage || w->stage[l] % w->o->stage.ranks == w->o->stage.rank;
}

static inline size_t last_event(const walk *w)
{
    return w->t.n_events - 1;
}

static inline void extend(size_t *dies, size_t event)
{
    if (*dies == NEVER || *dies < event)
        *dies = event;
}

/* The layer in the single-precision binding: names, shapes, edges. */
static inline const bound_layer *plain(const walk *w, size_t l)
{
    return &w->full->layer[l];
}

static inline size_t n_inputs(const walk *w, size_t l)
{
    return plain(w, l)->decl->n_inputs; /* the batch of a source is not an input */
}

/** Adds weights, states of the optimizer, gradients of weights, copies and buckets. */
void hold_weights(walk *w);
/** Adds activations, saved data and gradients of activations. LM_E_NOMEM. */
lm_status hold_tensors(walk *w);
/** Adds what the other micro-batches in flight keep for their backward passes. */
void hold_in_flight(walk *w);

#endif
