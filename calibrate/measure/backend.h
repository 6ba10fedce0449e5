/**
 * Backends: what can be measured on. One table for compute libraries, collectives and the
 * simulator.
 *
 * A backend prepares a case (buffers, primitives), runs one phase of it as often as the harness
 * asks, and takes the time itself: only it knows when a device has finished. Statistics, stopping
 * rules and the rule over ranks are the harness's.
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

/** A case to measure: a network, a layer, a kernel (one phase, one kernel) or a collective. */
typedef struct bench_case {
    const observation     *point;   /**< kind, name, batch, ranks, bytes, algorithm, dtype */
    const world           *group;   /**< the ranks that take part, this one among them */
    const net_metrics     *metrics; /**< networks, layers: their counts at this batch; else NULL */
    const lm_kernel       *kernels[N_PHASES];   /**< in the order in which they run */
    size_t                 n_kernels[N_PHASES]; /**< 0: the phase does not exist here */
    const weight_gradient *gradients; /**< networks, layers: as kernels_gradients() lists them */
    size_t                 n_gradients;
    collective_kind        collective; /**< of the sync phase: its own, or that of gradients */
    int64_t                bytes;      /**< of its message */
    settings               how;        /**< those the backend obeys; zeroed: the defaults */
    optimizer              optimizer;  /**< of the update phase */
    bool
        evaluation; /**< its forward phase is all there is, in evaluation mode: no outputs are kept,
                        norms over the batch go by running statistics */
} bench_case;

/** Properties of simulated hardware: [sim] of a sweep file. */
typedef struct sim_config {
    const char *machine; /**< machine file with the true coefficients */
    const char *model;   /**< which model of that file */
    double      noise;   /**< standard deviation of the relative noise of one repetition */
    uint64_t    seed;
    double      flops_per_second, bytes_per_second, launch_seconds; /**< of single kernels */
    double busy_from, busy_until; /**< of the time measured so far, in seconds: between the two,
                                     somebody else has the core half of the time */
    double drift; /**< everything gets slower by this share with each second measured */
} sim_config;

typedef struct backend_config {
    const world *world;
    int64_t      threads; /**< per rank */
    sim_config   sim;
} backend_config;

typedef struct backend_time {
    double wall, cpu; /**< seconds; cpu: of the calling thread, NAN where it means nothing */
} backend_time;

/**
 * Gradients: of one trained tensor, or of several that are all-reduced together. A piece of the
 * compute backend's memory, of exactly as many bytes as the tensors have, whatever the layouts of
 * the backend's kernels take (see plan_gradients()).
 */
typedef struct gradient_bucket {
    void    *data; /**< memory of the backend's device; NULL where there is none */
    uint64_t bytes;
    lm_dtype dtype;
    size_t   needs; /**< complete once so many of the backward kernels have run */
} gradient_bucket;

/** All-reduces that go on while a backward pass does: a collective
 * backend, made ready for buckets. */
typedef struct step_sync {
    struct backend        *collective; /**< the compute backend itself, if it serves PHASE_SYNC */
    void                  *work;       /**< from its prepare_buckets(), if it has that */
    const gradient_bucket *bucket;
    size_t                 n_buckets;
} step_sync;

/** One native training step. exposed: from the end of the backward pass until all gradients are
 * reduced; the sum of the four is the step. */
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

    /** Provenance: calls put(context, key, value) for versions, devices, instruction sets. */
    void (*describe)(const backend *self,
                     void (*put)(void *context, const char *key, const char *value), void *context);

    /** Can this device follow the settings? LM_E_UNSUPPORTED, with one line that says why not. NULL: it
     * always can. */
    lm_status (*follows)(const backend *self, const settings *how, lm_error *err);

    /**
     * Buffers and primitives for the phases of `what` this backend serves (see `serves`).
     * LM_E_NOMEM and LM_E_UNSUPPORTED skip the case: the harness records it and goes on.
     */
    lm_status (*prepare)(backend *self, const bench_case *what, void **work, lm_error *err);
    /** Runs one phase once, from start to finished, and says how long it took. */
    lm_status (*run)(backend *self, void *work, phase part, backend_time *out, lm_error *err);
    void (*release)(backend *self, void *work);

    /** Which implementation runs the one kernel of a case, in the library's words; lives as long as
     * `work`. NULL: the backend has no choice. */
    const char *(*implementation)(const backend *self, const void *work);

    /** Of the FLOPs of products for which the device has units of its own (tensor cores), the share
     * that runs on them; NAN: there are none such. NULL: it has none. */
    double (*on_tensor_cores)(const backend *self, const void *work);

    /** Collective: did messages of this point go over TCP, though its hosts have InfiniBand? NULL: it
     * does not know. */
    bool (*detours)(const backend *self, const observation *point);

    /** How fast the device is allowed to be at this moment. NULL: it is the CPU, or virtual. May be
     * called between two runs; must not disturb them. */
    void (*state)(const backend *self, machine_state *out);
    /** What the device has used since some moment in the past, and what it draws now: J, W; NAN: it
     * does not say. NULL: it is the CPU, or virtual. As state(). */
    void (*power)(const backend *self, double *joules, double *watts);

    /* The native step; NULL where a backend cannot. */

    /**
     * Compute: where what->gradients lie, one entry each, ascending in memory and in `needs`. The
     * array belongs to `work`.
     */
    lm_status (*gradients)(backend *self, void *work, const gradient_bucket **out, size_t *n,
                           lm_error *err);
    /** Compute: one step; sync NULL: no gradients to exchange. On failure, too, every bucket is
     * started and finished: other ranks wait for them. */
    lm_status (*run_step)(backend *self, void *work, const step_sync *sync, step_time *out,
                          lm_error *err);

    /** Collective: as prepare(), for the buckets of one step. Every rank of what->group. */
    lm_status (*prepare_buckets)(backend *self, const bench_case *what,
                                 const gradient_bucket *bucket, size_t n, void **work,
                                 lm_error *err);
    /** Collective, from here on: sums are divided by the ranks, as an optimizer wants the mean.
     * Bucket `i` is complete behind what `stream` was given (host: now); starts its
     * all-reduce and returns at once. In the same order on every rank. */
    lm_status (*start_bucket)(backend *self, void *work, size_t i, void *stream, lm_error *err);
    /** Collective: lets what was started go on (host memory, between kernels), and says what was lost
     * meanwhile (device memory, while all of it is waited for). May be NULL. */
    lm_status (*poll_buckets)(backend *self, void *work, lm_error *err);
    /** Collective: all are reduced when this returns (host), or before
     * what `stream` is given next. */
    lm_status (*finish_buckets)(backend *self, void *work, void *stream, lm_error *err);
    /** Collective: not collective; nothing is under way. */
    void (*release_buckets)(backend *self, void *work);

    uint32_t serves;   /**< bit 1 << phase for each phase it can run */
    uint32_t settings; /**< bit 1 << setting for each setting it obeys */
    uint32_t on_gpu; /**< 1: its memory is a GPU's; buckets in it are for collectives of the same */
    uint32_t virtual; /**< 1: ranks exist in its numbers only, any count of them */
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

/** NULL-terminated; those this build has. */
extern const backend_type *const backends[];

#endif
