/** Loops for kernels without oneDNN primitive, on the library's own threads; and filling of
 * buffers. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_LOOPS_H
#define CALIBRATE_BACKENDS_ONEDNN_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <oneapi/dnnl/dnnl.h>

#include "measure/plan.h"

/**
 * oneDNN's OpenMP threads, found at run time: no compiler's OpenMP is linked. Our loops use them,
 * too, so that no second set of threads competes for the cores.
 */
typedef struct team {
    int threads;
    void (*set)(int threads);
    void (*parallel)(void (*body)(void *), void *context, unsigned threads, unsigned flags);
    int (*self)(void);
    int (*present)(void);
} team;

/** LM_E_ARG for less than one thread, LM_E_UNSUPPORTED if the number of this oneDNN's threads
 * cannot be set. */
lm_status team_open(team *t, int64_t threads, lm_error *err);
/** Sets the number of threads again: another library of the process may have changed it. */
void team_apply(const team *t);

/**
 * From here on all threads of the team treat subnormal numbers as zero. Gradients of random data
 * vanish in a deep network, unlike those of a trained one. A CPU takes a hundred times as long for
 * subnormal numbers: DenseNet-121's backward pass took 2.4 s instead of 0.07.
 */
void team_flush_small(const team *t);

/** Body of a loop over begin <= i < end. */
typedef void (*team_body)(void *context, int64_t begin, int64_t end);

/** Runs 0 <= i < n, with one contiguous share for each thread. Shares begin at multiples of 64. */
void team_run(const team *t, int64_t n, team_body body, void *context);

enum { LOOP_MAX_OPERANDS = 9, LOOP_MAX_PARTS = 4096 };

/** A loop and its sizes. */
typedef struct loop {
    enum { LOOP_NONE, LOOP_MAP, LOOP_UPDATE, LOOP_GATHER, LOOP_SCATTER, LOOP_REDUCE } kind;
    int64_t n;     /**< elements; LOOP_GATHER, LOOP_SCATTER, LOOP_REDUCE: rows */
    int64_t width; /**< LOOP_MAP: operands; LOOP_UPDATE: the optimizer; LOOP_GATHER, LOOP_SCATTER,
                      LOOP_REDUCE: elements of a row */
    size_t  size;  /**< bytes of an element; LOOP_MAP, LOOP_REDUCE: 4, or 2 of bf16 */
    int64_t inner; /**< LOOP_REDUCE: number of adjacent rows; divides n */
} loop;

/**
 * Runs a loop on `at`:
 *  - LOOP_MAP      at[0 .. width-1] -> at[width]: sum over sqrt(width), width 0 or >= 3; 0: zeros
 *  - LOOP_UPDATE   weight, gradient and state of optimizer `width`: optimizer_update(). In place
 *  - LOOP_GATHER   table, row numbers (int32_t) -> rows
 *  - LOOP_SCATTER  rows, row numbers (int32_t) -> table, added
 *  - LOOP_REDUCE   rows -> their sums; and LOOP_MAX_PARTS elements of scratch
 */
void loop_run(const loop *l, const team *t, void *const *at);

/**
 * Fills `bytes` at `at` in parallel, so that each thread first touches the pages that it will use.
 *
 * @param position  of `at` among all filled bytes: no two buffers get the same random numbers
 */
void fill_run(const fill *f, const team *t, uint64_t position, void *at, size_t bytes);

#endif
