/** Prediction intervals, from ratios measured / predicted on groups that were left out. */
#ifndef FIT_INTERVAL_H
#define FIT_INTERVAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>
#include <stdint.h>

#include "base/stats.h"
#include "network/phase.h"

struct lines; /* learn/lines.h */

/** Share of new points that an interval should contain. */
#define INTERVAL_COVERAGE 0.90
/** Fewest groups for an interval. */
#define INTERVAL_GROUPS 3
/**
 * Error of the prior group, as a logarithm. It was chosen on groups drawn from the residuals of larger
 * fits, 3 to 16 at a time: the bounds then hold 89 to 91 % of the other groups. Of values from 0.05 to
 * 0.125, this one and 0.075 have the least interval_score().
 */
#define INTERVAL_PRIOR 0.1
/**
 * Smallest factor by which an interval widens, up and down, for each octave beyond the measured
 * range: 10 %. Errors that did not grow within the range say little about the region beyond.
 */
#define INTERVAL_PER_OCTAVE 1.10

/** Dimensions of extrapolation. */
typedef enum scope {
    SCOPE_SECONDS, /**< the predicted time itself */
    SCOPE_BATCH,
    SCOPE_NODES,
    N_SCOPES
} scope;

typedef struct interval {
    size_t groups;    /**< number of groups */
    double low, high; /**< bounds of measured / predicted; NAN: fewer than INTERVAL_GROUPS */
    /** >= 1: divides low and multiplies high for each octave beyond the range */
    double per_octave;
    struct {
        double low, high; /**< measured range; NAN: the dimension does not matter */
    } range[N_SCOPES];
    /**
     * number of octaves for which `per_octave` was measured; beyond it INTERVAL_PER_OCTAVE is used.
     * 0: `per_octave` for any distance
     */
    double octaves;
} interval;

/** One point that was left out. */
typedef struct residual {
    double ratio; /**< measured / predicted, > 0; HUGE_VAL for a prediction of 0 or less */
    /** number of the group that was left out together: its ratios are not independent */
    size_t group;
    double beyond; /**< octaves beyond the data of its fit; 0: within */
} residual;

/**
 * Bounds that contain the central INTERVAL_COVERAGE of the ratios of a new group.
 *
 * They are quantiles of the mean of the groups' distributions, so that each group has the same
 * weight (CDF pooling: Dunn, Wasserman, Ramdas 2022, "Distribution-free prediction sets for
 * two-layer hierarchical models"). The share is raised (1 + 1 / n) times (conformal prediction,
 * Vovk et al. 2005). n is the number of independent ratios. It is the number of groups if the
 * ratios of a group deviate alike, and the number of ratios if groups do not differ (components of
 * variance of their logarithms).
 *
 * The range of fewer than 19 ratios holds less than INTERVAL_COVERAGE of new ones. Then the bounds
 * are those of a log-normal distribution with unknown mean and variance (Student's t). A prior group
 * of ratio 1 with the error INTERVAL_PRIOR adds to the groups. The bounds always enclose 1.
 *
 * Sets low, high and groups; NAN below INTERVAL_GROUPS groups. Sorts `r`.
 */
lm_status interval_bounds(residual *r, size_t n, interval *out, lm_error *err);

/**
 * Score of bounds by their width and by what they miss; less is better. The interval score of the
 * logarithms (Gneiting and Raftery 2007, "Strictly proper scoring rules, prediction, and estimation",
 * section 6.2): the width, plus 2 / (1 - INTERVAL_COVERAGE) times the distance of a value outside.
 * Infinite for bounds that reach down to 0.
 */
double interval_score(double low, double high, double value);

/** Do so many groups hold bounds of INTERVAL_COVERAGE within them? The largest and the least of fewer
 * hold a smaller share of new ones (interval_bounds()). */
static inline bool interval_enough(size_t groups)
{
    return INTERVAL_COVERAGE * (1 + 1 / (double)groups) < 1;
}

/**
 * Growth of bounds beyond the range: the smallest factor per octave with which they hold the
 * central INTERVAL_COVERAGE of the residuals that lie beyond, each group weighing the same. The
 * score of a residual is its distance to the interval over its octaves beyond, at least one
 * (Romano, Patterson, Candes 2019, "Conformalized quantile regression").
 *
 * The result is at least INTERVAL_PER_OCTAVE; it is INTERVAL_PER_OCTAVE with fewer than
 * INTERVAL_GROUPS groups beyond the range. A larger factor applies as far as residuals reach, at
 * least one octave: a slope over one octave says nothing about the eighth. Reads low and high, sets
 * per_octave and octaves. Sorts `r`.
 */
lm_status interval_growth(residual *r, size_t n, interval *out, lm_error *err);

/**
 * Ratio by which a value lies outside the range of a scope; 1: inside, or the scope does not
 * matter.
 */
static inline double interval_ratio(const interval *i, scope s, double value)
{
    /* comparisons with NAN are false */
    if (value > i->range[s].high)
        return value / i->range[s].high;
    return value > 0 && value < i->range[s].low ? i->range[s].low / value : 1;
}

/** The same in octaves; 0: inside. */
static inline double interval_octaves(const interval *i, scope s, double value)
{
    return log2(interval_ratio(i, s, value));
}

/** The largest ratio over all scopes. */
double interval_beyond(const interval *i, const double at[N_SCOPES]);

/** Ratio by which a place lies outside, and the bounds of measured / predicted there. */
typedef struct widening {
    double ratio, low, high;
} widening;

/** Widening factor for this many octaves beyond the range. */
static inline double interval_grown(const interval *i, double octaves)
{
    const double seen = i->octaves > 0 ? fmin(octaves, i->octaves) : octaves;

    return pow(i->per_octave, seen) * pow(INTERVAL_PER_OCTAVE, octaves - seen);
}

static inline widening interval_widening(const interval *i, double ratio)
{
    const double factor = ratio > 1 ? interval_grown(i, log2(ratio)) : 1;

    return (widening){ ratio, i->low / factor, i->high * factor };
}

/** Bounds of seconds. NAN: unknown. low is the smaller one also for a time below 0. */
static inline void interval_widened(const widening *w, double seconds, double *low, double *high)
{
    const double a = seconds * w->low, b = seconds * w->high;

    *low  = seconds < 0 ? b : a;
    *high = seconds < 0 ? a : b;
}

/** The same for a point, widened by interval_beyond(). */
void interval_at(const interval *i, double seconds, const double at[N_SCOPES], double *low,
                 double *high);

/** An unknown interval. */
extern const interval interval_unknown;

/** Bound, as a ratio, of a product of two factors that are off independently, from their bounds. */
static inline double interval_of_product(double a, double b)
{
    return exp(stats_quadrature(log(a), log(b), 0));
}

/** Are the bounds known? */
static inline bool interval_known(const interval *i)
{
    return i->groups >= INTERVAL_GROUPS && isfinite(i->low) && isfinite(i->high) &&
           isfinite(i->per_octave);
}

/**
 * Reads or writes the interval's line of a learned model: low, high, groups and growth; nothing if
 * the interval is unknown. Ranges are not stored.
 */
void interval_line(struct lines *l, const char *word, interval *i);

typedef struct intervals {
    interval of[N_TIMES]; /**< PHASE_GRAD: on several ranks; PHASE_GRAD_ONE: unused */
} intervals;

/**
 * The interval for a time on one rank or on several ranks: a step has two intervals, because
 * all-reduces vary more.
 */
phase interval_phase(phase p, bool many);

/**
 * Distances of a batch, or of a number of ranks, from the measured ranges of all intervals. Many
 * points share them.
 */
typedef struct interval_reach {
    widening of[N_TIMES];
    unsigned known; /**< bits 1 << phase of the known intervals */
} interval_reach;

/** Distances of a value of SCOPE_BATCH or SCOPE_NODES. */
void intervals_reach(const intervals *all, scope s, int64_t value, interval_reach *out);

/** Distances of a prediction. A member may be NULL: not needed. */
typedef struct interval_place {
    int64_t               batch, ranks; /**< batch 0: no batch */
    const interval_reach *of_batch, *of_ranks;
} interval_place;

/**
 * Bounds of a predicted time. If its own interval is unknown, the bounds of its parts are added: a
 * step is forward, backward, all-reduce and update.
 *
 * @param seconds predicted times at this point
 */
void intervals_at(const intervals *all, phase q, const double seconds[N_TIMES],
                  const interval_place *place, double *low, double *high);

/** Bounds of a step and all of its parts; NAN for other quantities. */
void intervals_of_step(const intervals *all, const double seconds[N_TIMES],
                       const interval_place *place, double low[N_TIMES], double high[N_TIMES]);

#endif
