/**
 * Which point to measure next, so that what people will ask for is known best.
 *
 * A sequential design for the formulas of the model `counts` (forms.h), V-optimal (also called
 * I-optimal; Atkinson, Donev & Tobias 2007, chapter 10): of the candidates the one that lowers the
 * mean expected variance of the targets' step times the most, per second that measuring it takes.
 *
 * Each time is taken as t = x.c (1 + network + size + noise), all relative:
 *
 *   c        the coefficients; before anything is measured a guess with twice itself as standard
 *            deviation, so that every formula has an answer at any time
 *   network  what one network deviates from the formula, all of its points alike. It makes a second
 *            network worth more than a second point of the first: on held-out networks three points
 *            of each of 24 networks were nearly as good as twelve of each, while four networks
 *            instead of 24 were twice as bad. Counts are not all that a network is.
 *   size     what all times of one order of magnitude deviate (caches, launches hidden behind
 *            work): straight lines between half decades of seconds. Without it a design measures
 * the cheapest points only and trusts the formula to reach the targets from there. noise    the
 * same point measured twice
 *
 * Their standard deviations are estimated from the residuals once there are enough. Adding a row w
 * to the information matrix lowers the variance of a target v by (v.Pw)^2 / (noise^2 + w.Pw), with
 * P its inverse (Sherman & Morrison 1950), so no candidate needs a fit of its own.
 *
 * Pure arithmetic: knows no files, devices or clocks.
 */
#ifndef SUGGEST_DESIGN_H
#define SUGGEST_DESIGN_H

#include "counts/features.h"
#include "fit/calibration.h"
#include "fit/forms.h"

#define DESIGN_NONE ((size_t)-1)

/** Something that can be measured, or that will be asked for. */
typedef struct design_case {
    workload load;
    uint32_t parts;   /**< bit 1 << part for each part whose time it gives or needs */
    size_t   network; /**< number of its network, from 0 up; DESIGN_NONE: a bare all-reduce */
} design_case;

/** Seconds by part; NAN: none. */
typedef struct design_times {
    double seconds[N_TIMES];
} design_times;

typedef struct design design;

/** What to expect of one rank. Each layer and each message has a latency beside that. */
typedef struct design_speeds {
    double flops_per_second, bytes_per_second;
} design_speeds;

/**
 * @param target, n_targets what will be asked for: their parts add up to a step; at least one
 * @param n_networks        numbers of networks that cases may have
 * @param speeds            to guess coefficients by
 * @param known             a machine's coefficients to begin with, where it has them; NULL: guesses
 */
lm_status design_new(const design_case *target, size_t n_targets, size_t n_networks,
                     const design_speeds *speeds, const calibration *known, design **out,
                     lm_error *err);
void      design_free(design *d);

/** Adds a measured case; parts with NAN, or that are no part of the model, are left out. Takes
 * effect with design_update(). */
lm_status design_measured(design *d, const design_case *what, const design_times *times,
                          lm_error *err);
/** Takes back all that was measured, as if it had never been; with design_update(), too. */
void design_forget(design *d);
/** Fits again and takes stock: to be called after design_measured(), before what follows. */
lm_status design_update(design *d, lm_error *err);

/** Seconds that a case will take, by what is known so far. */
design_times design_expected(const design *d, const design_case *what);
/** The same, of all parts together. */
double design_step_seconds(const design *d, const design_case *what);

/** How much measuring it lowers the targets' mean relative variance. */
double design_gain(const design *d, const design_case *what);

/** Does any formula have fewer rows than coefficients, although `what` would add to it? */
bool design_lacks(const design *d, const design_case *what);

/**
 * The candidate with the largest gain per second among those not `taken` that cost at most `limit`;
 * those that a formula lacks go first. DESIGN_NONE if there is none with a gain.
 *
 * @param cost seconds that measuring each takes
 */
size_t design_next(const design *d, const design_case *candidate, const double *cost,
                   const bool *taken, size_t n, double limit);

/** Median over the targets of the expected width of the central 90 % interval of a step, relative
 * to it: what can be learned, and what a network and a repetition deviate in any case. */
double design_width(const design *d);

/** The same of each target, in their order. */
void design_widths(const design *d, double *width);

/** One that knows the same and can be told what to suppose; design_measured() and design_update()
 * are not for it. */
lm_status design_copy(const design *d, design **out, lm_error *err);
/** As if `what` had been measured, and had taken the seconds that are expected: what is known of
 * coefficients gets sharper, their values stay. */
void design_suppose(design *copy, const design_case *what);

/**
 * design_width() after the next `seconds` of measuring were spent as design_next() says. Does not
 * change `d`. *n_points: how many it would be; order: their numbers in turn, room for `n` (NULL:
 * not wanted).
 */
lm_status design_forecast(const design *d, const design_case *candidate, const double *cost,
                          const bool *taken, size_t n, double seconds, double *width,
                          size_t *n_points, size_t *order, lm_error *err);

#endif
