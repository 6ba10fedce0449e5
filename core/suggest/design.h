/**
 * Design of measurements: the next point that improves the predictions of the targets most.
 *
 * A sequential, V-optimal design (also called I-optimal; Atkinson, Donev & Tobias 2007, chapter 10)
 * for the formulas of the model `counts` (forms.h). It takes the candidate that lowers the mean
 * expected variance of the targets' step times most, per second of measuring.
 *
 * A time is t = x.c (1 + network + size + noise). The deviations are relative:
 *
 *   c        coefficients. Before any measurement they are guesses, their standard deviation twice
 *            the guess, so that every formula has an answer
 *   network  deviation of one network from the formula, common to its points. It makes a second
 *            network worth more than a second point of the first: on held-out networks three points
 *            of each of 24 networks were nearly as good as twelve of each, while four networks
 *            instead of 24 were twice as bad. Counts do not tell all of a network
 *   size     deviation of times of one order of magnitude (caches, launches hidden behind work):
 *            straight lines between half decades of seconds. Without it a design measures the
 *            cheapest points only and trusts the formula to reach the targets from there
 *   noise    the same point measured twice
 *
 * Their standard deviations are estimated from enough residuals. A row w added to the information
 * matrix lowers the variance of a target v by (v.Pw)^2 / (noise^2 + w.Pw), with P its inverse
 * (Sherman & Morrison 1950). So no candidate needs a fit of its own.
 *
 * Pure arithmetic, without files, devices or clocks.
 */
#ifndef SUGGEST_DESIGN_H
#define SUGGEST_DESIGN_H

#include "counts/features.h"
#include "fit/calibration.h"
#include "fit/forms.h"

#define DESIGN_NONE ((size_t)-1)
/** Parts of a step, as bits: those with formulas. */
#define DESIGN_STEP \
    (1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_UPDATE | 1u << PHASE_SYNC)

/** A candidate or a target. */
typedef struct design_case {
    workload load;
    uint32_t parts;   /**< bit 1 << part for each part it tells or needs */
    size_t   network; /**< number of its network, from 0 up; DESIGN_NONE: a bare all-reduce */
} design_case;

/** Seconds by part; NAN: none. */
typedef struct design_times {
    double seconds[N_TIMES];
} design_times;

typedef struct design design;

/** Expected speed of one rank. Each layer and each message has a latency, too. */
typedef struct design_speeds {
    double flops_per_second, bytes_per_second;
} design_speeds;

/**
 * @param target, n_targets the targets, at least one; their parts add up to a step
 * @param n_networks        numbers of networks that cases may have
 * @param speeds            for the guesses of coefficients
 * @param known             a machine's coefficients, used instead of guesses; NULL: none
 */
lm_status design_new(const design_case *target, size_t n_targets, size_t n_networks,
                     const design_speeds *speeds, const calibration *known, design **out,
                     lm_error *err);
void      design_free(design *d);

/** Adds a measured case without the parts that are NAN or not in the model. Takes effect with
 * design_update(). */
lm_status design_measured(design *d, const design_case *what, const design_times *times,
                          lm_error *err);
/** Removes all measurements; takes effect with design_update(). */
void design_forget(design *d);
/** Fits again. Call it after design_measured() and before the functions below. */
lm_status design_update(design *d, lm_error *err);

/** Expected seconds of a case. */
design_times design_expected(const design *d, const design_case *what);
/** Their sum. */
double design_step_seconds(const design *d, const design_case *what);

/** Decrease of the targets' mean relative variance by a measurement of `what`. */
double design_gain(const design *d, const design_case *what);

/** Would `what` add a row to a formula with fewer rows than coefficients? */
bool design_lacks(const design *d, const design_case *what);

/**
 * The candidate with the largest gain per second, of those not `taken` that cost at most `limit`.
 * Candidates that a formula lacks go first. DESIGN_NONE if none has a gain.
 *
 * @param cost seconds of measuring each
 */
size_t design_next(const design *d, const design_case *candidate, const double *cost,
                   const bool *taken, size_t n, double limit);

/** Median over the targets of the expected width of a step's central 90 % interval, relative to the
 * step. It includes what can be learned and the deviations of networks and repetitions. */
double design_width(const design *d);

/** The same of each target. */
void design_widths(const design *d, double *width);

/** A copy for suppositions; design_measured() and design_update() must not be called on it. */
lm_status design_copy(const design *d, design **out, lm_error *err);
/** Supposes that `what` took its expected seconds: variances of the coefficients fall, their values
 * stay. */
void design_suppose(design *copy, const design_case *what);

/** design_width() after `seconds` of measuring as design_next() suggests. Does not change `d`.
 * *n_points: number of points; order: their numbers in turn, memory for `n`, or NULL. */
lm_status design_forecast(const design *d, const design_case *candidate, const double *cost,
                          const bool *taken, size_t n, double seconds, double *width,
                          size_t *n_points, size_t *order, lm_error *err);

#endif
