/**
 * Steps of a job under power limits of its device, continued to limits that were not measured.
 *
 * A board keeps its limit by its clock (Choi et al., IPDPS 2014). Time and power at each limit are what
 * Zeus measures before it chooses one (You, Chung & Chowdhury, NSDI 2023). With the clock x, 1 the
 * highest, a step takes
 *
 *   seconds(x) = fixed + clocked / x
 *   watts(x)   = idle + dynamic g(x) (1 - waits fixed / seconds(x))
 *
 * Work that no clock changes is in `fixed`, and so is waiting for a host, in the share `waits` of it.
 * g is f V^2 as in power.h. The limit holds while the device is busy: x is the highest clock, 1 at most,
 * with idle + dynamic g(x) below it. Idle power, knee and slope of g are the device's, by all its jobs;
 * the rest is a job's own, by relative least squares of its seconds and watts. What a job's measurements
 * are off is interpolated between its limits.
 *
 * Half of the jobs of the accuracy exam chose the form; the other half is scored.
 */
#ifndef DEVICE_LIMITS_H
#define DEVICE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "network/phase.h"

/** A measured step; of several at one limit their mean. */
typedef struct limit_row {
    double limit_w, seconds, watts;
    size_t repeats;
} limit_row;

/** Whose steps they are. */
typedef struct limit_key {
    const char *network, *input, *optimizer; /**< as measured networks are looked up */
    int64_t     batch;
    phase       of; /**< a step, or a pass of inference */
} limit_key;

typedef struct limit_curve {
    char      *network, *input, *optimizer;
    int64_t    batch;
    phase      of;
    limit_row *row; /**< ascending limits */
    size_t     n, room;
    double     dynamic_w;      /**< of the busy device at the highest clock, beyond idle power */
    double     fixed, clocked; /**< s */
    double     waits;          /**< 0 to 1 */
} limit_curve;

/** Of one device. Zero-initialise. */
typedef struct limit_curves {
    double       idle_w;
    double       knee, slope; /**< knee: as a share of the highest clock */
    limit_curve *of;
    size_t       n, room;
    /* Of limits that were left out of their curves: how many; mean errors, and measured / predicted,
     * the central 90 %. */
    size_t rows;
    double seconds_mape, watts_mape;
    double seconds_low, seconds_high, watts_low, watts_high;
} limit_curves;

/** Fewest limits of a curve. */
#define LIMITS_LEAST 3

/** Draws more than its limit by more than this: the device cannot keep it. */
#define LIMIT_KEPT 1.02

/** Adds a measured step to the curve of its job. LM_E_NOMEM. */
lm_status limit_curves_add(limit_curves *all, const limit_key *key, limit_row row, lm_error *err);

/** Fits what steps tell; jobs with fewer limits than LIMITS_LEAST go. LM_E_NOMEM. */
lm_status limit_curves_fit(limit_curves *all, lm_error *err);

/** NULL: there is none. */
const limit_curve *limit_curves_find(const limit_curves *all, const limit_key *key);

/** Seconds and watts at a limit, which the watts never exceed. Pure. */
limit_row limit_curve_at(const limit_curves *all, const limit_curve *c, double limit_w);

void limit_curves_free(limit_curves *all);

#endif
