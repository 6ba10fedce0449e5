/** Conditions while a rank measured a point: waits for a core, clock, throttling. */
#ifndef CALIBRATE_CONDITIONS_H
#define CALIBRATE_CONDITIONS_H

#include <stddef.h>

#include "measure/backend.h"
#include "measure/machine_state.h"
#include "measure/run_queue.h"

/** Findings of conditions_close(). */
typedef struct condition_report {
    /**
     * Median over the repetitions of wall time / (wall time minus the wait for a core), for all
     * compute phases together; NAN: unknown. Waiting for other ranks in an all-reduce does not
     * count.
     */
    double stretch;
    double own_seconds;  /**< this rank's median of its compute phases together; NAN: none */
    double seconds;      /**< sum over all repetitions */
    double clock_mhz;    /**< median; NAN: unknown */
    bool   waits_untold; /**< a CPU whose system does not report waits for a core */
    bool   heat_told;    /**< there is a throttle counter */
    bool   throttled;    /**< the counter rose, or the device reported it */
} condition_report;

/** State while one point is measured. */
typedef struct conditions {
    const backend *device;
    /** NULL: a simulated device, a device other than the CPU, or unknown */
    run_queue *queue;
    double    *stretch, *own;
    size_t     n, room;
    double     wall, waited; /**< of the current repetition */
    bool       waits_known;
    double     clock[16];
    size_t     n_clocks;
    double     throttles;
    bool       throttled;
} conditions;

/** Starts after the warm-up, when all threads exist. LM_E_NOMEM. */
lm_status conditions_open(conditions *c, const backend *device, size_t max_repetitions,
                          lm_error *err);

/**
 * Call these before and after a compute phase. If the backend does not know the CPU time of several
 * threads, it is set to the wall time minus the wait for a core.
 */
void conditions_phase_begins(conditions *c);
void conditions_phase_ended(conditions *c, backend_time *t);
/** Ends a repetition, which consists of the phases since the last call. */
void conditions_repetition_ended(conditions *c);

condition_report conditions_close(conditions *c);

#endif
