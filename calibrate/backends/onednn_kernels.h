/** Kernels as oneDNN primitives or loops, with the buffers each of them needs. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_KERNELS_H
#define CALIBRATE_BACKENDS_ONEDNN_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "onednn_api.h"
#include "onednn_loops.h"

/** What a buffer is to its kernel: decides where the memory plan puts it. */
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
    int       argument; /**< DNNL_ARG_*; loops: its place */
    slot_role role;
    size_t    bytes;
    fill      fill; /**< what it holds before anything is run */
} slot;

enum { MAX_SLOTS = 10 };

/** A kernel made ready, used by all launches of equal kernels. */
typedef struct prepared_kernel {
    lm_kernel     kernel;
    bool          update;    /**< as the optimizer's */
    api_primitive primitive; /**< or */
    loop          loop;
    slot          slot[MAX_SLOTS];
    size_t        n_slots;
} prepared_kernel;

/** Same work on the same shapes; `repeat` is left out. */
bool kernels_equal(const lm_kernel *a, const lm_kernel *b);
/** Same shapes: the two are passes of one layer, as far as kernels tell. */
bool kernels_match(const lm_kernel *forward, const lm_kernel *backward);

/**
 * @param update  the kernel belongs to the optimizer
 * @param out     release with kernel_release(); untouched on failure
 * @return LM_E_UNSUPPORTED, or LM_E_NOMEM; the text names the kernel
 */
lm_status kernel_prepare(const api_device *device, const lm_kernel *k, bool update,
                         prepared_kernel *out, lm_error *err);
void      kernel_release(prepared_kernel *k);

/** dnnl_data_type_undef for a type this backend does not compute in. */
dnnl_data_type_t kernel_data_type(lm_dtype dtype);

#endif
