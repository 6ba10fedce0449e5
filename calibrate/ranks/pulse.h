/**
 * What this rank is doing, as its watchdog sees it. The measuring thread alone writes; a store to
 * memory of its own is all that it costs. It counts on before it says what it does now, and the
 * watchdog reads in the other order: a long wait is never taken for what comes behind it.
 */
#ifndef CALIBRATE_PULSE_H
#define CALIBRATE_PULSE_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum {
    PULSE_FREE,    /**< between points: nothing is expected of it */
    PULSE_WORK,    /**< on its own, in a kernel or around one */
    PULSE_WAIT,    /**< for other ranks */
    PULSE_EXCHANGE /**< in an all-reduce that is measured: at work, and waiting for the others */
} pulse_activity;

/** One process measures one point at a time, so there is one of it. */
extern _Atomic uint64_t pulse_count;
extern _Atomic int      pulse_now;
extern _Atomic uint32_t pulse_allowed_ms;

/** It goes on: between repetitions, or kernels. */
static inline void pulse_tick(void)
{
    atomic_store_explicit(&pulse_count,
                          atomic_load_explicit(&pulse_count, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/** From here on so long may pass between two signs that it goes on, beside the patience that there
 * is with everybody: one kernel on the slowest machine, or what a library prepares. */
static inline void pulse_allow(double seconds)
{
    const double most = UINT32_MAX / 1000; /* 49 days */

    pulse_tick();
    atomic_store_explicit(&pulse_allowed_ms, (uint32_t)(1e3 * (seconds < most ? seconds : most)),
                          memory_order_release);
}

/** Returns what it did before, to go back to. */
static inline pulse_activity pulse_enter(pulse_activity what)
{
    const int before = atomic_load_explicit(&pulse_now, memory_order_relaxed);

    pulse_tick();
    atomic_store_explicit(&pulse_now, (int)what, memory_order_release);
    return (pulse_activity)before;
}

#endif
