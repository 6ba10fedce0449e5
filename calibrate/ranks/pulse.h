/**
 * State of this rank for its watchdog. Only the measuring thread writes; a write is one store to
 * its own memory. The thread counts a sign of life before it changes its state, and the watchdog
 * reads in the other order. So a long wait is never attributed to the next state.
 */
#ifndef CALIBRATE_PULSE_H
#define CALIBRATE_PULSE_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum {
    PULSE_FREE,    /**< between points: no sign of life is expected */
    PULSE_WORK,    /**< working alone: in a kernel, or around one */
    PULSE_WAIT,    /**< waiting for other ranks */
    PULSE_EXCHANGE /**< in a measured all-reduce: working, or waiting for the others */
} pulse_activity;

/** A process measures one point at a time, so it has one pulse. */
extern _Atomic uint64_t pulse_count;
extern _Atomic int      pulse_now;
extern _Atomic uint32_t pulse_allowed_ms;

/** A sign of life: between repetitions, or kernels. */
static inline void pulse_tick(void)
{
    atomic_store_explicit(&pulse_count,
                          atomic_load_explicit(&pulse_count, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/** Seconds of libraries that compile and try a new kernel, and of ranks that connect. */
#define PULSE_PREPARING 60.0

/**
 * Allows this much time, in addition to the usual patience, until the next sign of life: one kernel
 * on the slowest machine, or the preparations of a library.
 */
static inline void pulse_allow(double seconds)
{
    const double most = UINT32_MAX / 1000; /* 49 days */

    pulse_tick();
    atomic_store_explicit(&pulse_allowed_ms, (uint32_t)(1e3 * (seconds < most ? seconds : most)),
                          memory_order_release);
}

/** Sets the state and returns the previous one, to restore it. */
static inline pulse_activity pulse_enter(pulse_activity what)
{
    const int before = atomic_load_explicit(&pulse_now, memory_order_relaxed);

    pulse_tick();
    atomic_store_explicit(&pulse_now, (int)what, memory_order_release);
    return (pulse_activity)before;
}

#endif
