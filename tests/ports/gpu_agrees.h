/**
 * Kernels of the GPU backend beside plain loops in double precision, for tests: on the device that
 * is not there, wrong strides, exchanged operands, missing attributes and what is left over; on a
 * real one, its results.
 */
#ifndef PORTS_GPU_AGREES_H
#define PORTS_GPU_AGREES_H

#include "gpu_case.h"
#include "verify/elements.h"
#include "verify/reference.h"
#include "verify/verify.h"

enum { N_GPU_TYPES = 3 };
extern const lm_dtype gpu_types[N_GPU_TYPES];

/** Descriptors that are there now; 0 on a real device. */
size_t gpu_left(void);
/** Prepares; false: this device has no such kernel. The one that is not there has to know all. */
bool gpu_open_case(gpu_case *c, const settings *how, const lm_kernel *k);
/** Releases; as many descriptors must be left as were there before. */
void gpu_close_case(gpu_case *c, size_t before);

bool gpu_has(const gpu_case *c, int argument);
/** Numbers as the slot's type holds them, written into it; at least n, to be freed. */
double *gpu_give_from(const gpu_case *c, int argument, size_t n, unsigned seed);
double *gpu_give(const gpu_case *c, int argument);

/** From element `first` on: within a rounding of the result and `per_size` of what was added up, of
 * this element or, where differences cancel, of the largest. Frees `r`. */
void gpu_agrees_from(const gpu_case *c, int argument, size_t first, reference r, double per_size,
                     bool of_largest);
void gpu_agrees(const gpu_case *c, int argument, reference r, double per_size);

#endif
