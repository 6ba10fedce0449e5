/** Places of all buffers of a case: launches, and one block of memory for them all. */
#ifndef CALIBRATE_PLAN_H
#define CALIBRATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "measure/backend.h"
#include "observe/observation.h"

/** How a buffer begins. FILL_INDEX: int32_t, whatever `type`. */
typedef enum { FILL_NONE, FILL_NORMAL, FILL_ZERO, FILL_ONE, FILL_INDEX } fill_kind;

typedef struct fill {
    fill_kind kind;
    lm_dtype  type;  /**< LM_F32, LM_F16, LM_BF16; others: bytes that are 1 */
    double    scale; /**< FILL_NORMAL: standard deviation; FILL_INDEX: 0 .. scale - 1 */
} fill;

/** Role of a buffer in its kernel: it decides the buffer's place. */
typedef enum {
    ROLE_IN,        /**< what the kernel before produced */
    ROLE_IN_OTHER,  /**< another operand: an earlier product */
    ROLE_SAVED_IN,  /**< what the forward kernel read */
    ROLE_SAVED_OUT, /**< what the forward kernel produced */
    ROLE_STATE, /**< kept by the forward kernel for the backward one: statistics, places of maxima
                 */
    ROLE_OUT,   /**< what the next kernel reads */
    ROLE_ASIDE, /**< a product that no kernel reads */
    ROLE_WEIGHT,
    ROLE_GRADIENT, /**< of a weight */
    ROLE_MOMENTUM,
    ROLE_SCRATCH /**< nothing remains in it */
} slot_role;

/** One argument. */
typedef struct slot {
    int       argument; /**< the backend's name for it */
    slot_role role;
    size_t    bytes;
    fill      fill; /**< what it holds before anything is run */
} slot;

enum { MAX_SLOTS = 10 };

/** Purpose of a kernel's run: backends have other forms of some. */
typedef enum kernel_use { USE_TRAINING, USE_UPDATE, USE_EVALUATION } kernel_use;

/** A kernel with the buffers it needs; a backend's own kernels begin with one. */
typedef struct plan_kernel {
    lm_kernel  kernel;
    kernel_use use;
    slot       slot[MAX_SLOTS];
    size_t     n_slots;
} plan_kernel;

/** Parts of the block. */
typedef enum {
    SPACE_ACTIVATIONS,
    SPACE_STATE,
    SPACE_WEIGHTS,
    SPACE_GRADIENTS, /**< of weights, in the order in which the backward pass completes them */
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
    const plan_kernel *kernel;
    uint32_t           repeat;
    uint32_t           first_user; /**< bit i: slot[i] is the first in its region, which it fills */
    region             region[MAX_SLOTS];
    void              *at[MAX_SLOTS];
} launch;

/** Zeroed: nothing planned. */
typedef struct step_plan {
    const weight_gradient
             *gradient; /**< given, the caller's: what SPACE_GRADIENTS must have room for */
    size_t    n_gradients;
    bool      evaluation;  /**< given: the forward phase alone, none of whose outputs is kept */
    uint64_t *gradient_at; /**< malloc'ed: the offset of each in its space */
    launch   *launch[N_PHASES]; /**< malloc'ed; kernel and repeat are given */
    size_t    n[N_PHASES];
    uint64_t  size[N_SPACES];
} step_plan;

/** Same work on the same shapes; `repeat` is left out. */
bool kernels_equal(const lm_kernel *a, const lm_kernel *b);

/** Purpose of the kernels of a phase. */
kernel_use plan_use(const step_plan *p, phase of);

/** Gives every slot its region. LM_E_NOMEM. */
lm_status plan_make(step_plan *p, lm_error *err);

/** Bytes of all spaces together; saturates. */
uint64_t plan_bytes(const step_plan *p);

/** Start of a space in the block; SPACE_SCRATCH at a multiple of 256. */
uint64_t plan_space_offset(const step_plan *p, plan_space space);

/** Sets `at` of all launches: the block, of plan_bytes(), begins at `memory` (aligned to 64). */
void plan_place(step_plan *p, char *memory);

/** Fills `bytes` at `offset` in the block. */
typedef void (*plan_filler)(void *context, const fill *f, uint64_t offset, uint64_t bytes);

/** Small random numbers, ones where variances are, and so on: calls `each`, more than once for some
 * regions; the last call counts. */
void plan_fill(const step_plan *p, plan_filler each, void *context);

/**
 * Where the gradients lie, once placed: one entry each for p->gradient, as many bytes as each has,
 * none overlapping. Kernels fill a layer's part of the space in their own layouts, which may be
 * padded: then some bytes of an entry are padding, and as many of the layer's lie behind it. What
 * no kernel writes (a backend may have no kernel for a gradient, or write it elsewhere) keeps the
 * numbers it was filled with. So messages are as long as they should be, and complete when they
 * should be.
 *
 * @param memory as plan_place()
 * @param out    room for p->n_gradients
 */
void plan_gradients(const step_plan *p, char *memory, gradient_bucket *out);

/** Of SPACE_GRADIENTS: what kernels write, whether or not it is among p->gradient. For reports. */
uint64_t plan_gradients_written(const step_plan *p);

/** The launches. */
void plan_free(step_plan *p);

#endif
