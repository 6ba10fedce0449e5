/** Placement of all buffers of a case: launches, and one block of memory for them. */
#ifndef CALIBRATE_PLAN_H
#define CALIBRATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "measure/backend.h"
#include "observe/observation.h"

/** Initial contents of a buffer. FILL_INDEX and FILL_LENGTH: int32_t for any `type`. */
typedef enum { FILL_NONE, FILL_NORMAL, FILL_ZERO, FILL_ONE, FILL_INDEX, FILL_LENGTH } fill_kind;

typedef struct fill {
    fill_kind kind;
    lm_dtype  type; /**< LM_F32, LM_F16, LM_BF16; others: bytes that are 1 */
    /** FILL_NORMAL: standard deviation; FILL_INDEX: 0 .. scale - 1; FILL_LENGTH: each element */
    double scale;
} fill;

/** Element type of the contents. */
static inline lm_dtype fill_type(const fill *f)
{
    return f->kind == FILL_INDEX || f->kind == FILL_LENGTH ? LM_I32 : f->type;
}

/** Role of a buffer in its kernel; it decides the buffer's place. */
typedef enum {
    ROLE_IN,        /**< output of the previous kernel */
    ROLE_IN_OTHER,  /**< another operand: output of an earlier kernel */
    ROLE_SAVED_IN,  /**< input of the forward kernel */
    ROLE_SAVED_OUT, /**< output of the forward kernel */
    /** kept by the forward kernel for the backward kernel: statistics, places of maxima */
    ROLE_STATE,
    ROLE_OUT,   /**< input of the next kernel */
    ROLE_ASIDE, /**< an output that no kernel reads */
    ROLE_WEIGHT,
    ROLE_GRADIENT, /**< of a weight */
    ROLE_MOMENTUM,
    ROLE_SCRATCH /**< work space */
} slot_role;

/** One argument of a kernel. */
typedef struct slot {
    int       argument; /**< the backend's number of it */
    slot_role role;
    size_t    bytes;
    fill      fill; /**< contents before the first run */
} slot;

enum { MAX_SLOTS = 10 };

/** A kernel with its buffers; a backend's own kernel structs begin with it. */
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
    SPACE_RING,  /**< gradients of activations, in a ring */
    SPACE_LOSS,  /**< a gradient that no kernel computes */
    SPACE_SAVED, /**< an activation that no kernel computes */
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
    /** bit i: slot[i] is the first user of its region, and fills it */
    uint32_t first_user;
    region   region[MAX_SLOTS];
    void    *at[MAX_SLOTS];
} launch;

/** Zeros: nothing is planned. */
typedef struct step_plan {
    /** input, owned by the caller: gradients with room in SPACE_GRADIENTS */
    const weight_gradient *gradient;
    size_t                 n_gradients;
    bool                   evaluation;  /**< input: only the forward phase, without kept outputs */
    uint64_t              *gradient_at; /**< malloc'ed: offset of each gradient in its space */
    launch                *launch[N_PHASES]; /**< malloc'ed; kernel and repeat are inputs */
    size_t                 n[N_PHASES];
    uint64_t               size[N_SPACES];
} step_plan;

/** Same work on the same shapes; `repeat` is ignored. */
bool kernels_equal(const lm_kernel *a, const lm_kernel *b);

/** Assigns a region to each slot. LM_E_NOMEM. */
lm_status plan_make(step_plan *p, lm_error *err);

/** Bytes of all spaces together; saturates. */
uint64_t plan_bytes(const step_plan *p);

/** Start of a space in the block, a multiple of 256 bytes. */
uint64_t plan_space_offset(const step_plan *p, plan_space space);

/** Sets `at` of all launches: the block, of plan_bytes(), begins at `memory` (aligned to 256). */
void plan_place(step_plan *p, char *memory);

/**
 * plan_place() of one phase in a copy of the block, `shift` bytes behind it. Scratch and gradients
 * of activations stay: in a network, all layers use the same memory for them.
 */
void plan_place_copy(step_plan *p, phase part, char *memory, size_t shift);

/** Fills `bytes` at `offset` in the block. */
typedef void (*plan_filler)(void *context, const fill *f, uint64_t offset, uint64_t bytes);

/**
 * Sets small random numbers, ones for variances, and so on. Calls `each`, for some regions more
 * than once; the last call counts.
 */
void plan_fill(const step_plan *p, plan_filler each, void *context);

/**
 * The places of the gradients, after plan_place(): one entry for each of p->gradient, with exactly
 * its bytes, without overlap. Kernels fill a layer's part of the space in their own layouts, which
 * may be padded. Then some bytes of an entry are padding, and as many bytes of the layer lie after
 * it. Bytes that no kernel writes keep their initial numbers: a backend may have no kernel for a
 * gradient, or write it elsewhere. So messages have the right size and become complete at the right
 * time.
 *
 * @param memory as for plan_place()
 * @param out    room for p->n_gradients
 */
void plan_gradients(const step_plan *p, char *memory, gradient_bucket *out);

/** Bytes of SPACE_GRADIENTS that kernels write, in p->gradient or not. For reports. */
uint64_t plan_gradients_written(const step_plan *p);

/** Frees the launches. */
void plan_free(step_plan *p);

#endif
