/** A case on a GPU: kernels, one block of memory, and functions that enqueue its launches. */
#ifndef CALIBRATE_BACKENDS_CUDA_CASE_H
#define CALIBRATE_BACKENDS_CUDA_CASE_H

#include <stdbool.h>

#include "cuda_kernels.h"
#include "measure/backend.h"
#include "measure/plan.h"

/** A graph of launches begin..end-1 of a phase. */
typedef struct cuda_piece {
    phase           part;
    size_t          begin, end;
    cudaGraphExec_t graph;
} cuda_piece;

/** Events on the device, between phases. */
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
    cuda_kernel      **kernel; /**< each different kernel once */
    size_t             n_kernels;
    step_plan          plan;
    char              *memory;
    gradient_bucket   *gradient; /**< one for each plan.gradient */
    void              *flush;    /**< memory that empties the cache; NULL: warm caches */
    size_t             flush_bytes;
    settings           how;    /**< as the case wants them */
    bool               alone;  /**< a single kernel */
    bool               replay; /**< replays graphs */
    cuda_piece        *piece;  /**< graphs recorded so far */
    size_t             n_pieces, room;
    cudaEvent_t        mark[N_MARKS];
} cuda_case;

/** Phases that a GPU runs, and their number. */
extern const phase cuda_phases[];
enum { N_CUDA_PHASES = 3 };

/**
 * Makes a case and runs it once, so that libraries load their modules and kernels that cannot run
 * are found.
 *
 * @param out  release with cuda_case_free(); untouched on failure
 * @return LM_E_NOMEM, LM_E_UNSUPPORTED, or LM_E_IO: the device is lost
 */
lm_status cuda_case_new(const cuda_device *device, const bench_case *what, cuda_case **out,
                        lm_error *err);
/** NULL is fine. */
void cuda_case_free(cuda_case *c);

/** Share of the products' FLOPs that runs on tensor cores; NAN: no product could use them. */
double cuda_case_on_tensor_cores(const cuda_case *c);

/** Enqueues launches begin..end-1 of a phase, one by one or from a graph. */
lm_status cuda_case_play(cuda_case *c, phase part, size_t begin, size_t end, lm_error *err);

/** Enqueues an event. */
lm_status cuda_case_mark(const cuda_case *c, cuda_mark mark, lm_error *err);
/** Waits for an event and all work before it. */
lm_status cuda_case_wait(const cuda_case *c, cuda_mark mark, lm_error *err);
/** Seconds between two events, which have both happened. */
lm_status cuda_case_between(const cuda_case *c, cuda_mark from, cuda_mark to, double *seconds,
                            lm_error *err);

#endif
