/* Intervals of predictions. */
#include "fit/interval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "base/text.h"
#include "learn/lines.h"

const interval interval_unknown = { .low        = NAN,
                                    .high       = NAN,
                                    .per_octave = INTERVAL_PER_OCTAVE,
                                    .range      = { { NAN, NAN }, { NAN, NAN }, { NAN, NAN } } };

/* A value of a group, and its weight: the values of a group weigh 1 / K together. */
typedef struct weighted {
    double value, weight;
} weighted;

ORDER_BY_BOTH(by_group, residual, group, ratio)

ORDER_BY(by_value, weighted, value)

/* Sorts residuals by group if they are not sorted. Returns the number of groups. */
static size_t count_groups(residual *r, size_t n)
{
    size_t k = 0, sorted = 1;

    while (sorted < n && r[sorted - 1].group <= r[sorted].group)
        sorted++;
    if (sorted < n)
        qsort(r, n, sizeof *r, by_group);
    for (size_t i = 0; i < n; i++)
        k += i == 0 || r[i].group != r[i - 1].group;
    return k;
}

/* Weights of residuals that are sorted by group, then in the order of their values. */
static void weigh(const residual *r, size_t n, size_t k, weighted *w)
{
    for (size_t first = 0, m; first < n; first += m) {
        for (m = 1; first + m < n && r[first + m].group == r[first].group;)
            m++;
        for (size_t i = first; i < first + m; i++)
            w[i].weight = 1 / ((double)m * (double)k);
    }
    qsort(w, n, sizeof *w, by_value);
}

/* The value outside of which at most `tail` of the weight lies, counted from one end. A tolerance
 * keeps rounding of the sum from skipping a value. */
static double cut(const weighted *w, size_t n, double tail, bool from_above)
{
    double sum = 0;
    size_t i   = 0;

    for (; i + 1 < n; i++) {
        sum += w[from_above ? n - 1 - i : i].weight;
        if (sum > tail + 1e-9)
            break;
    }
    return w[from_above ? n - 1 - i : i].value;
}

/* What ratios of k groups tell, in logarithms. */
typedef struct sample {
    double mean;     /* of the groups' means */
    double variance; /* of a ratio of a new group */
    double size;     /* effective number of independent ratios, at least k */
} sample;

/*
 * Components of variance between and within groups (one-way analysis of variance; Searle, Casella,
 * McCulloch 1992, "Variance components", chapter 3). The effective number is the variance of one ratio,
 * divided by that of the mean of the groups' means. The residuals are sorted by group.
 */
static sample sample_of(const residual *r, size_t n, size_t k)
{
    double all = 0, between = 0, within = 0, squares = 0, inverse = 0, n0;
    sample s = { .size = (double)k };

    for (size_t i = 0; i < n; i++)
        all += log(r[i].ratio) / (double)n;
    for (size_t first = 0, m; first < n; first += m) {
        double mean = 0;

        for (m = 1; first + m < n && r[first + m].group == r[first].group;)
            m++;
        for (size_t i = first; i < first + m; i++)
            mean += log(r[i].ratio) / (double)m;
        for (size_t i = first; i < first + m && n > k; i++)
            within += pow(log(r[i].ratio) - mean, 2) / (double)(n - k);
        between += (double)m * pow(mean - all, 2) / (double)(k - 1);
        squares += (double)m * (double)m;
        inverse += 1 / (double)m;
        s.mean += mean / (double)k;
    }
    n0         = ((double)n - squares / (double)n) / (double)(k - 1);
    between    = fmax(0, (between - within) / n0);
    s.variance = between + within;
    if (s.variance > 0 && n > k && isfinite(s.mean))
        s.size = s.variance / (between / (double)k + within * inverse / ((double)k * (double)k));
    return s;
}

/* The range of so many independent values holds a smaller share of new ones than INTERVAL_COVERAGE
 * (David and Nagaraja 2003, "Order statistics", section 7.2). */
static bool is_few(double size)
{
    return (size - 1) / (size + 1) < INTERVAL_COVERAGE;
}

/*
 * Bounds from few groups: Student's t, the distribution of a new normal value where mean and variance
 * are unknown, with their conjugate prior (Gelman et al. 2013, "Bayesian data analysis", section 3.3).
 * The prior counts as one group.
 */
static void bound_few(const sample *s, interval *out)
{
    const double n = s->size, freedom = 1 + n;
    const double squares =
        INTERVAL_PRIOR * INTERVAL_PRIOR + (n - 1) * s->variance + n / (n + 1) * s->mean * s->mean;
    const double middle = n / (n + 1) * s->mean;
    const double reach =
        stats_student90((size_t)freedom) * sqrt(squares / freedom * (1 + 1 / (n + 1)));

    out->low  = fmin(1, exp(middle - reach));
    out->high = fmax(1, exp(middle + reach));
}

/* Weight outside the interval, both sides together, for a sample of n independent values. */
static double outside(double n)
{
    return 1 - fmin(1, INTERVAL_COVERAGE * (1 + 1 / n));
}

lm_status interval_bounds(residual *r, size_t n, interval *out, lm_error *err)
{
    const size_t k = count_groups(r, n);
    sample       s;
    double       tail;
    weighted    *w;

    out->groups = k;
    out->low = out->high = NAN;
    if (k < INTERVAL_GROUPS)
        return LM_OK;
    s = sample_of(r, n, k);
    if (is_few(s.size) && isfinite(s.mean)) {
        bound_few(&s, out);
        return LM_OK;
    }
    w = malloc(n * sizeof *w);
    if (!w)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        w[i].value = r[i].ratio;
    weigh(r, n, k, w);
    tail      = outside(s.size) / 2;
    out->low  = fmin(1, cut(w, n, tail, false));
    out->high = fmax(1, cut(w, n, tail, true));
    free(w);
    return LM_OK;
}

double interval_score(double low, double high, double value)
{
    const double outside = fmax(0, fmax(log(low / value), log(value / high)));

    return low > 0 ? log(high / low) + 2 / (1 - INTERVAL_COVERAGE) * outside : HUGE_VAL;
}

lm_status interval_growth(residual *r, size_t n, interval *out, lm_error *err)
{
    size_t    beyond   = 0, k;
    double    farthest = 1;
    weighted *w;

    out->per_octave = INTERVAL_PER_OCTAVE;
    out->octaves    = 0;
    if (isnan(out->low))
        return LM_OK;
    for (size_t i = 0; i < n; i++)
        if (r[i].beyond > 0) {
            const residual keep = r[beyond];

            r[beyond++] = r[i];
            r[i]        = keep;
        }
    k = count_groups(r, beyond);
    if (k < INTERVAL_GROUPS)
        return LM_OK;
    w = malloc(beyond * sizeof *w);
    if (!w)
        return no_memory(err);
    for (size_t i = 0; i < beyond; i++) {
        const double above = log2(r[i].ratio / out->high), below = log2(out->low / r[i].ratio);

        /* an error just beyond the range has another cause: the slope is no steeper than over the
         * first whole octave */
        w[i].value = fmax(0, fmax(above, below)) / fmax(1, r[i].beyond);
        farthest   = fmax(farthest, r[i].beyond);
    }
    weigh(r, beyond, k, w);
    out->per_octave = fmax(INTERVAL_PER_OCTAVE, exp2(cut(w, beyond, outside((double)k), true)));
    if (out->per_octave > INTERVAL_PER_OCTAVE)
        out->octaves = farthest;
    free(w);
    return LM_OK;
}

double interval_beyond(const interval *i, const double at[N_SCOPES])
{
    double beyond = 0;

    for (scope s = 0; s < N_SCOPES; s++)
        beyond = fmax(beyond, interval_octaves(i, s, at[s]));
    return beyond;
}

void interval_at(const interval *i, double seconds, const double at[N_SCOPES], double *low,
                 double *high)
{
    const widening w = interval_widening(i, exp2(interval_beyond(i, at)));

    interval_widened(&w, seconds, low, high);
}

/* ---- text ---- */

void interval_line(lines *l, const char *word, interval *i)
{
    double x[] = { interval_known(i) ? i->low : (double)NAN, i->high, (double)i->groups,
                   i->per_octave };

    if (!LINE(l, word, ITEM_KNOWN(x, 4, 0, DBL_MAX)) || l->out)
        return;
    *i = interval_unknown;
    if (isnan(x[0]))
        return;
    lines_check(l, x[0] <= 1 && x[1] >= 1 && x[2] >= 1 && x[2] <= 1e9 && x[3] >= 1,
                "%s: expected bounds around 1 and a factor per octave of 1 or more", word);
    if (!l->status)
        *i = (interval){ .low        = x[0],
                         .high       = x[1],
                         .groups     = (size_t)x[2],
                         .per_octave = x[3],
                         .range      = { { NAN, NAN }, { NAN, NAN }, { NAN, NAN } } };
}

phase interval_phase(phase p, bool many)
{
    if (p == PHASE_STEP && many)
        return PHASE_STEP_MANY;
    return p == PHASE_GRAD && !many ? PHASE_UPDATE : p;
}

static widening reach_of(const interval *i, scope s, int64_t value)
{
    return interval_widening(i, interval_ratio(i, s, value > 0 ? (double)value : NAN));
}

void intervals_reach(const intervals *all, scope s, int64_t value, interval_reach *out)
{
    out->known = 0;
    for (phase p = 0; p < N_TIMES; p++) {
        out->of[p] = reach_of(&all->of[p], s, value);
        out->known |= interval_known(&all->of[p]) ? 1u << p : 0;
    }
}

/* Widening by the scope whose range the place exceeds most. */
static inline widening widening_at(const interval *i, phase slot, double seconds,
                                   const interval_place *place)
{
    const double    mine = interval_ratio(i, SCOPE_SECONDS, seconds);
    widening        by_batch, by_ranks;
    const widening *batch = &by_batch, *ranks = &by_ranks, *most;

    if (place->of_batch)
        batch = &place->of_batch->of[slot];
    else
        by_batch = reach_of(i, SCOPE_BATCH, place->batch);
    if (place->of_ranks)
        ranks = &place->of_ranks->of[slot];
    else
        by_ranks = reach_of(i, SCOPE_NODES, place->ranks);
    most = batch->ratio > ranks->ratio ? batch : ranks;
    return mine > most->ratio ? interval_widening(i, mine) : *most;
}

static inline bool is_known(const intervals *all, phase slot, const interval_place *place)
{
    return place->of_batch ? place->of_batch->known >> slot & 1 : interval_known(&all->of[slot]);
}

/* Bounds by the interval of the time itself. False: it is unknown, and the bounds stay. */
static inline bool bound_own(const intervals *all, phase slot, double seconds,
                             const interval_place *place, double *low, double *high)
{
    if (!is_known(all, slot, place))
        return false;
    const widening w = widening_at(&all->of[slot], slot, seconds, place);

    interval_widened(&w, seconds, low, high);
    return true;
}

/* Bounds of a part of a step on several ranks if only whole steps on one rank were measured: by the
 * interval of these. As bound_own(). */
static bool bound_as_whole(const intervals *all, phase p, const double seconds[N_TIMES],
                           const interval_place *place, double *low, double *high)
{
    const interval *whole = &all->of[PHASE_STEP];
    const double    own = seconds[PHASE_FORWARD] + seconds[PHASE_BACKWARD] + seconds[PHASE_UPDATE];
    const interval_place alone = { .batch = place->batch, .ranks = 1, .of_batch = place->of_batch };

    if (place->ranks < 2 || (p != PHASE_FORWARD && p != PHASE_BACKWARD && p != PHASE_UPDATE) ||
        is_known(all, PHASE_FORWARD, place) || !is_known(all, PHASE_STEP, place))
        return false;
    const widening w = widening_at(whole, PHASE_STEP, own, &alone);

    interval_widened(&w, seconds[p], low, high);
    return true;
}

/* Interval of a time that is a sum of others. */
static double sum_of(const double from[N_TIMES], bool many, phase p)
{
    if (p == PHASE_GRAD && many)
        return from[PHASE_SYNC] + from[PHASE_UPDATE];
    if (p == PHASE_BACKWARD_GRAD)
        return from[PHASE_BACKWARD] + from[PHASE_GRAD];
    if (p == PHASE_STEP)
        return from[PHASE_FORWARD] + from[PHASE_BACKWARD] + from[PHASE_GRAD];
    return NAN;
}

void intervals_of_step(const intervals *all, const double seconds[N_TIMES],
                       const interval_place *place, double low[N_TIMES], double high[N_TIMES])
{
    static const phase order[] = { /* parts before their sums */
                                   PHASE_FORWARD, PHASE_BACKWARD,      PHASE_UPDATE, PHASE_SYNC,
                                   PHASE_GRAD,    PHASE_BACKWARD_GRAD, PHASE_STEP
    };
    const bool many = place->ranks > 1;

    for (phase p = 0; p < N_TIMES; p++)
        low[p] = high[p] = NAN;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const phase p = order[i];

        if (!bound_own(all, interval_phase(p, many), seconds[p], place, &low[p], &high[p]) &&
            !bound_as_whole(all, p, seconds, place, &low[p], &high[p])) {
            low[p]  = sum_of(low, many, p);
            high[p] = sum_of(high, many, p);
        }
    }
}

void intervals_at(const intervals *all, phase p, const double seconds[N_TIMES],
                  const interval_place *place, double *low, double *high)
{
    double lows[N_TIMES], highs[N_TIMES];

    *low = *high = NAN;
    if (bound_own(all, interval_phase(p, place->ranks > 1), seconds[p], place, low, high))
        return;
    intervals_of_step(all, seconds, place, lows, highs);
    *low  = lows[p];
    *high = highs[p];
}
