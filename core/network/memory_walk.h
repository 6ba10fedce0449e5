/** State of memory_of_step() on its walk over a step: private to its files. */
#ifndef NETWORK_MEMORY_WALK_H
#define NETWORK_MEMORY_WALK_H

#include "network/autocast.h"
#include "network/memory.h"

#define NEVER TIMELINE_NEVER

/* Memory of one or more tensors: views and overwriting layers share it. */
typedef struct storage {
    size_t   owner; /* layer */
    uint64_t bytes;
    bool     resident;                      /* live for the whole step: data, constants, weights */
    size_t   last_reader;                   /* layer, by order of forward */
    bool     kept;                          /* by a layer other than the overwriting one */
    bool     here;                          /* this rank makes or reads it */
    size_t   first_dies, again, again_dies; /* events; `again` NEVER: not computed twice */
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
    size_t   copied, copy_dies; /* autocast's copy; NEVER: none */
    uint64_t copy_bytes;
} weight_life;

typedef struct walk {
    const bound_network  *full, *half; /* half: bound in 16 bit; NULL without mixed precision */
    const memory_options *o;
    timeline              t;
    arena                *arena;
    lm_error             *err;
    bool                 *is_half; /* by layer: its outputs are 16 bit */
    int64_t              *stage;   /* by layer; NULL: there is no pipeline */
    bool                 *used;    /* by layer: another reads what it makes */
    size_t               *first;   /* by layer: the number of its first output among all tensors */
    size_t               *base;    /* by tensor: the tensor whose storage it has */
    storage              *store;   /* by tensor, where base[i] == i */
    size_t               *grad;    /* by tensor: index of its gradient; NEVER: none yet */
    gradient             *gradient;
    size_t               *first_weight; /* by layer: the number of its first own weight */
    weight_life          *weight;
    size_t                n_layers, n_tensors, n_gradients, n_weights;
    uint64_t             *live[MEMORY_N_PARTS]; /* changes at each event */
    uint64_t              ever;                 /* all bytes of all lives: no sum is greater */
    memory_of_layer      *layer;
    memory_moment        *moment; /* NULL: nobody asks */
} walk;

/* Adds memory that is live from event `born` to event `dies`. Differences may wrap; sums do not. */
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

/* The layer in single precision: names, shapes, edges. */
static inline const bound_layer *plain(const walk *w, size_t l)
{
    return &w->full->layer[l];
}

static inline size_t n_inputs(const walk *w, size_t l)
{
    return plain(w, l)->decl->n_inputs; /* a source's batch is no input */
}

/** Adds activations, saved data and gradients of activations. LM_E_NOMEM. */
lm_status hold_tensors(walk *w);

#endif
