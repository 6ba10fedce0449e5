/** Under what conditions a rank measured a point: waits for a core, clock, throttling. */
#ifndef CALIBRATE_CONDITIONS_H
#define CALIBRATE_CONDITIONS_H

#include <stddef.h>

#include "measure/backend.h"
#include "measure/machine_state.h"
#include "measure/run_queue.h"

/** Findings of conditions_close(). */
typedef struct condition_report {
    /**
     * Median over the repetitions of wall time / (wall time less the wait for a core), of the
     * compute phases together; NAN: unknown. An all-reduce waits for other ranks, which is no
     * contention.
     */
    double stretch;
    double
        own_seconds;  /**< this rank's median of its compute phases together; NAN: there are none */
    double seconds;   /**< of all of them */
    double clock_mhz; /**< median; NAN: unknown */
    bool   waits_untold; /**< a CPU, and the system does not tell who waits for a core */
    bool   heat_told;    /**< there is a throttle counter */
    bool   throttled;    /**< it rose, or the device said so */
} condition_report;

/** Kept while one point is measured. */
typedef struct conditions {
    const backend *device;
    run_queue     *queue; /**< NULL: a virtual device, a device of its own, or unknown */
    double        *stretch, *own;
    size_t         n, room;
    double         wall, waited; /**< of the repetition under way */
    bool           waits_known;
    double         clock[16];
    size_t         n_clocks;
    double         throttles;
    bool           throttled;
} conditions;

/** Begins, behind the warm-up: only then all threads are there. LM_E_NOMEM. */
lm_status conditions_open(conditions *c, const backend *device, size_t max_repetitions,
                          lm_error *err);

/** Around one compute phase. The CPU time of several threads, which the backend does not know, is
 * filled in: the wall time less the wait for a core. */
void conditions_phase_begins(conditions *c);
void conditions_phase_ended(conditions *c, backend_time *t);
/** The phases since the last call were one repetition. */
void conditions_repetition_ended(conditions *c);

condition_report conditions_close(conditions *c);

#endif
