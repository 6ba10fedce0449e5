/** Where every buffer of a case lies: launches, and one block of memory for them all. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_PLAN_H
#define CALIBRATE_BACKENDS_ONEDNN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "fit/observation.h"
#include "onednn_kernels.h"

/** Parts of the block. */
typedef enum {
    SPACE_ACTIVATIONS,
    SPACE_STATE,
    SPACE_WEIGHTS,
    SPACE_GRADIENTS, /**< of weights */
    SPACE_MOMENTUM,
    SPACE_RING,  /**< gradients on their way back */
    SPACE_LOSS,  /**< a gradient that comes from no kernel */
    SPACE_SAVED, /**< an activation that comes from no kernel */
    SPACE_SCRATCH,
    N_SPACES
} plan_space;

/** `bytes` of a space. */
typedef struct region {
    plan_space space;
    uint64_t   offset, bytes;
} region;

/** A kernel at its place in a phase. */
typedef struct launch {
    const prepared_kernel *kernel;
    uint32_t               repeat;
    uint32_t        first_user; /**< bit i: slot[i] is the first in its region, which it fills */
    region          region[MAX_SLOTS];
    void           *at[MAX_SLOTS];
    dnnl_exec_arg_t argument[MAX_SLOTS];
} launch;

/** Zeroed: nothing planned. */
typedef struct plan {
    launch  *launch[N_PHASES]; /**< kernel and repeat are given */
    size_t   n[N_PHASES];
    uint64_t size[N_SPACES];
    char    *memory;
} plan;

/** Gives every slot its region. LM_E_NOMEM. */
lm_status plan_make(plan *p, lm_error *err);

/**
 * Allocates, and sets `at`. LM_E_NOMEM if `ranks` processes on this machine that do the same want
 * more than it has left (less a tenth).
 */
lm_status plan_allocate(plan *p, int64_t ranks, lm_error *err);

/** Small random numbers, ones where variances are, and so on. */
void plan_fill(const plan *p, const team *t);

/** Memory and launches. */
void plan_free(plan *p);

#endif
