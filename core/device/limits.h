/**
 * Steps of a job under power limits of its device, extrapolated to limits that were not measured.
 *
 * A board keeps its limit by reducing its clock (Choi et al., IPDPS 2014). Zeus measures time and
 * power at each limit before it chooses one (You, Chung & Chowdhury, NSDI 2023). With the clock x,
 * 1 being the highest, a step has
 *
 *   seconds(x) = fixed + clocked / x
 *   watts(x)   = idle + dynamic g(x) (1 - waits fixed / seconds(x))
 *
 * `fixed` is the time that does not depend on the clock. Its share `waits` is waiting for the host.
 * g is f V^2 as in power.h. The limit holds while the device is busy: x is the highest clock, at
 * most 1, with idle + dynamic g(x) below the limit. Idle power, and knee and slope of g, are shared
 * by all jobs of the device. The other values belong to a job. They are fitted by relative least
 * squares to its seconds and watts. The remaining error of a job is interpolated between its
 * limits.
 *
 * The form was chosen on half of the jobs of the accuracy exam; the other half is scored.
 */
#ifndef DEVICE_LIMITS_H
#define DEVICE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "network/phase.h"

/** A measured step; the mean if there are several at one limit. */
typedef struct limit_row {
    double limit_w, seconds, watts;
    size_t repeats;
} limit_row;

/** The job that steps belong to. */
typedef struct limit_key {
    const char *network, *input, *optimizer; /**< as in the list of measured networks */
    int64_t     batch;
    phase       of; /**< a step, or a pass of inference */
} limit_key;

typedef struct limit_curve {
    char      *network, *input, *optimizer;
    int64_t    batch;
    phase      of;
    limit_row *row; /**< in order of ascending limits */
    size_t     n, room;
    double     dynamic_w;      /**< dynamic power of the busy device at the highest clock */
    double     fixed, clocked; /**< s */
    double     waits;          /**< 0 to 1 */
} limit_curve;

/** All jobs of one device. Zero-initialise. */
typedef struct limit_curves {
    double       idle_w;
    double       knee, slope; /**< knee: as a share of the highest clock */
    limit_curve *of;
    size_t       n, room;
    /*
     * Cross-validation over the limits of each curve: number of rows; mean errors; central 90 % of
     * measured / predicted.
     */
    size_t rows;
    double seconds_mape, watts_mape;
    double seconds_low, seconds_high, watts_low, watts_high;
} limit_curves;

/** Fewest limits of a curve. */
#define LIMITS_LEAST 3

/** If the power exceeds the limit by more than this factor, the device cannot keep it. */
#define LIMIT_KEPT 1.02

/** Adds a measured step to its job's curve. LM_E_NOMEM. */
lm_status limit_curves_add(limit_curves *all, const limit_key *key, limit_row row, lm_error *err);

/** Fits the curves; jobs with fewer than LIMITS_LEAST limits are removed. LM_E_NOMEM. */
lm_status limit_curves_fit(limit_curves *all, lm_error *err);

/** NULL: no such curve. */
const limit_curve *limit_curves_find(const limit_curves *all, const limit_key *key);

/** Seconds and watts at a limit; the watts never exceed it. Pure. */
limit_row limit_curve_at(const limit_curves *all, const limit_curve *c, double limit_w);

void limit_curves_free(limit_curves *all);

#endif
