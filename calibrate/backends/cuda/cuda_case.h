/** A case on a GPU: its kernels, one block of memory, and how its launches are played. */
#ifndef CALIBRATE_BACKENDS_CUDA_CASE_H
#define CALIBRATE_BACKENDS_CUDA_CASE_H

#include <stdbool.h>

#include "cuda_kernels.h"
#include "measure/backend.h"
#include "measure/plan.h"

/** Launches begin..end-1 of a phase, recorded to be replayed. */
typedef struct cuda_piece {
    phase           part;
    size_t          begin, end;
    cudaGraphExec_t graph;
} cuda_piece;

/** Moments on the device: between two phases. */
typedef enum {
    MARK_BEGIN,
    MARK_FORWARD_END,
    MARK_BACKWARD_END,
    MARK_SYNC_END,
    MARK_END,
    N_MARKS
} cuda_mark;

typedef struct cuda_case {
    const cuda_device *device;
    cuda_kernel      **kernel; /**< each different one once */
    size_t             n_kernels;
    step_plan          plan;
    char              *memory;
    gradient_bucket   *gradient; /**< by plan.gradient */
    void              *flush;    /**< NULL: caches are as the kernels leave them */
    size_t             flush_bytes;
    bool               tf32;   /**< allowed in products of f32 */
    bool               alone;  /**< a single kernel */
    bool               replay; /**< from graphs */
    cuda_piece        *piece;  /**< those there are so far */
    size_t             n_pieces, room;
    cudaEvent_t        mark[N_MARKS];
} cuda_case;

/** The phases that a GPU runs by itself, and how many. */
extern const phase cuda_phases[];
enum { N_CUDA_PHASES = 3 };

/**
 * Everything, tried once: what the libraries load late is loaded, what cannot run is known.
 *
 * @param out  release with cuda_case_free(); untouched on failure
 * @return LM_E_NOMEM, LM_E_UNSUPPORTED, or LM_E_IO: the device is lost
 */
lm_status cuda_case_new(const cuda_device *device, const bench_case *what, cuda_case **out,
                        lm_error *err);
/** NULL is fine. */
void cuda_case_free(cuda_case *c);

/** Share of the FLOPs of products that runs on tensor cores; NAN: no product has such. */
double cuda_case_on_tensor_cores(const cuda_case *c);

/** Enqueues launches begin..end-1 of a phase, one by one or from a graph. */
lm_status cuda_case_play(cuda_case *c, phase part, size_t begin, size_t end, lm_error *err);

/** Enqueues a moment. */
lm_status cuda_case_mark(const cuda_case *c, cuda_mark mark, lm_error *err);
/** Waits for a moment, and for all before it. */
lm_status cuda_case_wait(const cuda_case *c, cuda_mark mark, lm_error *err);
/** Seconds from one moment to another; both are past. */
lm_status cuda_case_between(const cuda_case *c, cuda_mark from, cuda_mark to, double *seconds,
                            lm_error *err);

#endif
