/**
 * Backends: the hardware and libraries that run benchmarks. One table for compute libraries,
 * collectives and the simulator.
 *
 * A backend prepares a case (buffers, primitives) and runs one phase of it as often as the harness
 * asks. It takes the time itself, because only the backend knows when a device has finished.
 * Statistics, stopping rules and the rule over ranks belong to the harness.
 */
#ifndef CALIBRATE_BACKEND_H
#define CALIBRATE_BACKEND_H

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "measure/machine_state.h"
#include "measure/settings.h"
#include "network/kernels.h"
#include "network/metrics.h"
#include "network/optimizer.h"
#include "observe/observation.h"
#include "ranks/world.h"

/** Purpose of a kernel's run: a backend may have special forms. */
typedef enum kernel_use { USE_TRAINING, USE_UPDATE, USE_EVALUATION } kernel_use;

/** Purpose of the kernels of a phase. */
static inline kernel_use kernel_use_in(phase of, bool evaluation)
{
    return of == PHASE_UPDATE ? USE_UPDATE : evaluation ? USE_EVALUATION : USE_TRAINING;
}

struct verify_trial;

/** A case to measure: a network, a layer, a kernel (one phase, one kernel) or a collective. */
typedef struct bench_case {
    const observation *point;             /**< kind, name, batch, ranks, bytes, algorithm, dtype */
    const world       *group;             /**< the ranks that take part, with this one */
    const net_metrics *metrics;           /**< networks, layers: counts at this batch; else NULL */
    const lm_kernel   *kernels[N_PHASES]; /**< in the order of execution */
    size_t             n_kernels[N_PHASES]; /**< 0: the phase does not exist */
    /** networks, layers: in the order of kernels_gradients() */
    const weight_gradient *gradients;
    size_t                 n_gradients;
    /** of the sync phase: the case's own collective, or that of gradients */
    collective_kind collective;
    int64_t         bytes;     /**< size of its message */
    settings        how;       /**< settings that the backend obeys; zeros: defaults */
    optimizer       optimizer; /**< optimizer of the update phase */
    /**
     * only the forward phase exists, in evaluation mode: no outputs are kept, and norms over the
     * batch use running statistics
     */
    bool evaluation;
} bench_case;

/** Properties of simulated hardware: section [sim] of a sweep file. */
typedef struct sim_config {
    const char *machine; /**< machine file with the true coefficients */
    const char *model;   /**< model in that file */
    double      noise;   /**< standard deviation of the relative noise of one repetition */
    uint64_t    seed;
    /** rates for single kernels */
    double flops_per_second, bytes_per_second, launch_seconds;
    /** period of measured time, in s, in which another program uses the core half of the time */
    double busy_from, busy_until;
    double drift; /**< slowdown per second of measured time, as a share */
} sim_config;

typedef struct backend_config {
    const world *world;
    int64_t      threads; /**< per rank */
    sim_config   sim;
} backend_config;

typedef struct backend_time {
    double wall, cpu; /**< seconds; cpu: of the calling thread, NAN if it has no meaning */
} backend_time;

/**
 * Gradients of one trained tensor, or of several tensors that share an all-reduce. It is a piece of
 * the compute backend's memory with exactly the bytes of the tensors, whatever layout the backend's
 * kernels use (see plan_gradients()).
 */
typedef struct gradient_bucket {
    void    *data; /**< memory on the backend's device; NULL: there is none */
    uint64_t bytes;
    lm_dtype dtype;
    size_t   needs; /**< number of backward kernels that must run before it is complete */
} gradient_bucket;

/** All-reduces during a backward pass: a collective backend, prepared for buckets. */
typedef struct step_sync {
    struct backend        *collective; /**< the compute backend itself, if it serves PHASE_SYNC */
    void                  *work;       /**< result of its prepare_buckets(), if it has that */
    const gradient_bucket *bucket;
    size_t                 n_buckets;
} step_sync;

/**
 * One native training step. exposed: from the end of the backward pass until all gradients are
 * reduced. The step is the sum of the four.
 */
typedef struct step_time {
    backend_time forward, backward, exposed, update;
} step_time;

typedef struct backend_type backend_type;

/** An open backend; each type embeds this as the first member of its own struct. */
typedef struct backend {
    const backend_type *type;
} backend;

struct backend_type {
    const char *name, *doc;

    lm_status (*open)(const backend_config *config, backend **out, lm_error *err);
    void (*close)(backend *self);

    /** Provenance: calls put(context, key, value) for versions, devices and instruction sets. */
    void (*describe)(const backend *self,
                     void (*put)(void *context, const char *key, const char *value), void *context);

    /** Can this device follow the settings? LM_E_UNSUPPORTED, with one line that says why not. NULL: it
     * always can. */
    lm_status (*follows)(const backend *self, const settings *how, lm_error *err);

    /**
     * Prepares buffers and primitives for the phases of `what` that this backend serves (see
     * `serves`). For LM_E_NOMEM and LM_E_UNSUPPORTED the harness records that the case was skipped,
     * and continues.
     */
    lm_status (*prepare)(backend *self, const bench_case *what, void **work, lm_error *err);
    /** Runs one phase once, until it has finished, and returns its time. */
    lm_status (*run)(backend *self, void *work, phase part, backend_time *out, lm_error *err);
    void (*release)(backend *self, void *work);

    /**
     * Runs a trial's kernel once, on the contents that verify_give() has for its buffers, and shows
     * them to verify_take() (verify/verify.h). NULL: kernels are not verified. LM_E_UNSUPPORTED: no
     * such kernel, or its buffers have no counterpart; LM_E_NOMEM.
     */
    lm_status (*try_kernel)(backend *self, struct verify_trial *t, lm_error *err);

    /**
     * Name of the implementation of a case's single kernel, in the library's words; of a collective's
     * algorithm and protocol, "tree/ll128", or "": unknown. Lives as long as `work`. NULL: the backend has
     * no choice.
     */
    const char *(*implementation)(const backend *self, const void *work);

    /**
     * The share of FLOPs that runs on tensor cores, among products for which the device has tensor
     * cores; NAN: no such product. NULL: the device has none.
     */
    double (*on_tensor_cores)(const backend *self, const void *work);

    /**
     * Collective: did messages of this point use TCP, although the hosts have InfiniBand? NULL:
     * unknown.
     */
    bool (*detours)(const backend *self, const observation *point);

    /**
     * Present clock limits of the device. NULL: it is the CPU, or simulated. May be called between
     * two runs, and must not disturb them.
     */
    void (*state)(const backend *self, machine_state *out);
    /**
     * Energy since some moment in the past, J, and present power, W; NAN: not reported. NULL: it is
     * the CPU, or simulated. As state().
     */
    void (*power)(const backend *self, double *joules, double *watts);

    /* The native step; NULL if a backend has none. */

    /**
     * Compute: the places of what->gradients, one entry each, ascending in memory and in `needs`.
     * The array belongs to `work`.
     */
    lm_status (*gradients)(backend *self, void *work, const gradient_bucket **out, size_t *n,
                           lm_error *err);
    /**
     * Compute: runs one step; sync NULL: no gradient exchange. Also on failure each bucket is
     * started and finished, because other ranks wait for it.
     */
    lm_status (*run_step)(backend *self, void *work, const step_sync *sync, step_time *out,
                          lm_error *err);

    /** Collective: prepare() for the buckets of one step. Called by each rank of what->group. */
    lm_status (*prepare_buckets)(backend *self, const bench_case *what,
                                 const gradient_bucket *bucket, size_t n, void **work,
                                 lm_error *err);
    /**
     * Collective, from here on. Sums are divided by the number of ranks, because an optimizer needs
     * the mean. Starts the all-reduce of bucket `i` and returns at once. The bucket is complete
     * after the present work of `stream` (host: now). Each rank uses the same order.
     */
    lm_status (*start_bucket)(backend *self, void *work, size_t i, void *stream, lm_error *err);
    /**
     * Collective: lets started all-reduces progress (host memory, between kernels), and reports
     * lost ranks (device memory, while waiting for all). May be NULL.
     */
    lm_status (*poll_buckets)(backend *self, void *work, lm_error *err);
    /**
     * Collective: all buckets are reduced on return (host), or before the next work of `stream`.
     */
    lm_status (*finish_buckets)(backend *self, void *work, void *stream, lm_error *err);
    /** Collective: frees `work`. It is not a collective call; no all-reduce is running. */
    void (*release_buckets)(backend *self, void *work);

    uint32_t serves;   /**< bits 1 << phase of the phases that it can run */
    uint32_t settings; /**< bits 1 << setting of the settings that it obeys */
    /** 1: its memory is on a GPU; such buckets need collectives of the same kind */
    uint32_t on_gpu;
    uint32_t virtual; /**< 1: ranks are simulated; any number of them */
};

extern const backend_type backend_sim;
#ifdef LAYERMETER_HAVE_ONEDNN
extern const backend_type backend_onednn;
#endif
#ifdef LAYERMETER_HAVE_CUDA
extern const backend_type backend_cudnn;
#endif
#ifdef LAYERMETER_HAVE_MPI
extern const backend_type backend_mpi;
#endif
#ifdef LAYERMETER_HAVE_NCCL
extern const backend_type backend_nccl;
#endif

/** Backends of this build; ends with NULL. */
extern const backend_type *const backends[];

#endif
