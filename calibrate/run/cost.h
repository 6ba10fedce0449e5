/**
 * Expected time of measuring a point: an estimate that learns.
 *
 * All estimates are made here, for listings, budgets, the remaining time and batch scripts:
 * cost_expected() from the seconds of one repetition. These come from the design
 * (design_expected()) if a formula predicts the point: with the coefficients of --machine, or else
 * guessed from the sweep's expected speeds until times are known. Other points use
 * cost_guess_once().
 */
#ifndef CALIBRATE_COST_H
#define CALIBRATE_COST_H

#include "sweep/sweep.h"

/**
 * Seconds = fixed + factor * (warm-up and repetitions times the seconds of one), for each kind of
 * point. Both are fitted to the times of points, with relative errors, together with a guess of low
 * weight.
 */
typedef struct cost_line {
    double ff, fx, xx, f, x; /* sums of the normal equations */
    double fixed, factor;
} cost_line;

typedef struct cost_model {
    cost_line kind[OBS_N_KINDS];
} cost_model;

/** virtual: simulated points take only their repetitions. */
void cost_begin(cost_model *m, bool virtual);

/** once: seconds of one repetition. */
double cost_expected(const cost_model *m, const stopping *stop, obs_kind kind, double once);

/** A point took `seconds`; `once` is the argument of cost_expected(). */
void cost_learn(cost_model *m, const stopping *stop, obs_kind kind, double once, double seconds);

/**
 * Seconds of one repetition of a kernel, a layer or a ring without a formula, from the sweep's
 * expected speeds.
 */
double cost_guess_once(const sweep *plan, const sweep_point *p);

#endif
