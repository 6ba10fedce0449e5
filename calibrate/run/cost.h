/**
 * How long measuring a point takes: a guess that learns.
 *
 * What is expected of a point is told here and nowhere else, for listings, budgets, the time left
 * and batch scripts: cost_expected() of the seconds of one repetition. These are the design's
 * (design_expected()) where a formula speaks of them: of --machine, else guessed from the sweep's
 * speeds to expect until times are known; and cost_guess_once() for the rest.
 */
#ifndef CALIBRATE_COST_H
#define CALIBRATE_COST_H

#include "sweep/sweep.h"

/**
 * Seconds = fixed + factor * (warm-up and repetitions times the seconds of one), for each kind of
 * point. Both are fitted to what points took, with relative errors, beside a guess that
 * counts as little.
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

/** A point took `seconds`; `once` is what cost_expected() was asked with. */
void cost_learn(cost_model *m, const stopping *stop, obs_kind kind, double once, double seconds);

/** Seconds of one repetition of a kernel, a layer or a ring, of which no formula speaks: by the
 * speeds that the sweep tells to expect. */
double cost_guess_once(const sweep *plan, const sweep_point *p);

#endif
