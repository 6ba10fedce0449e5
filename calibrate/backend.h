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

#include "fit/observation.h"
#include "network/metrics.h"
#include "world.h"

/** What is to be measured: a network, a kernel (one phase, one kernel) or a collective. */
typedef struct bench_case {
    const observation *point;             /**< kind, name, batch, ranks, bytes, algorithm, dtype */
    const world       *group;             /**< the ranks that take part, this one among them */
    const net_metrics *metrics;           /**< networks: their counts at this batch; else NULL */
    const lm_kernel   *kernels[N_PHASES]; /**< in the order in which they run */
    size_t             n_kernels[N_PHASES]; /**< 0: the phase does not exist here */
} bench_case;

/** What simulated hardware is like: [sim] of a sweep file. */
typedef struct sim_config {
    const char *machine; /**< machine file with the true coefficients */
    const char *model;   /**< which model of that file */
    double      noise;   /**< standard deviation of the relative noise of one repetition */
    uint64_t    seed;
    double      flops_per_second, bytes_per_second, launch_seconds; /**< of single kernels */
} sim_config;

typedef struct backend_config {
    const world *world;
    int64_t      threads; /**< per rank */
    sim_config   sim;
} backend_config;

typedef struct backend_time {
    double wall, cpu; /**< seconds; cpu: of the calling thread, NAN where it means nothing */
} backend_time;

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

    /**
     * Buffers and primitives for the phases of `what` this backend serves (see `serves`).
     * LM_E_NOMEM and LM_E_UNSUPPORTED skip the case: the harness records it and goes on.
     */
    lm_status (*prepare)(backend *self, const bench_case *what, void **work, lm_error *err);
    /** Runs one phase once, from start to finished, and says how long it took. */
    lm_status (*run)(backend *self, void *work, phase part, backend_time *out, lm_error *err);
    void (*release)(backend *self, void *work);

    uint32_t serves;  /**< bit 1 << phase for each phase it can run */
    uint32_t virtual; /**< 1: ranks exist in its numbers only, any count of them */
};

extern const backend_type backend_sim;
#ifdef LAYERMETER_HAVE_ONEDNN
extern const backend_type backend_onednn;
#endif
#ifdef LAYERMETER_HAVE_MPI
extern const backend_type backend_mpi;
#endif

/** NULL-terminated; those this build has. */
extern const backend_type *const backends[];

#endif
