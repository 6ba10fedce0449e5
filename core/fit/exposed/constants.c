/* Cost of messages to the backward pass and of the pass to messages, and the spread of ranks. */
#include "fit/exposed/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "fit/shared.h"
#include "fit/spread.h"

static bool same_but_buckets(const observation *a, const observation *b, int64_t ranks)
{
    return observation_of_network(b) && b->ranks == ranks && a->batch == b->batch &&
           a->dtype == b->dtype && !strcmp(a->name, b->name) && !strcmp(a->input, b->input);
}

/* A measured time beside no message, on so many ranks. */
static double measured_alone(const points *p, const point *pt, phase f, int64_t ranks)
{
    double sum = 0;
    size_t n   = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const double together = p->point[i].together[f];
        const double seconds  = isnan(together) ? p->point[i].seconds[f] : together;

        if (!isnan(seconds) && same_but_buckets(pt->row, p->point[i].row, ranks)) {
            sum += seconds;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}

double exposed_left(const points *p, const point *pt)
{
    const double told = pt->beside[PHASE_SYNC];
    const double more = pt->beside[PHASE_STEP] - measured_alone(p, pt, PHASE_STEP, 1);

    return isnan(told) && more > 0 ? more : told;
}

step_passes exposed_alone(const points *p, const calibration *cal, const char *model,
                          const point *pt, bool *slowest)
{
    step_passes  s    = exposed_passes(cal, model, pt);
    const phase  f    = s.told_apart ? PHASE_BACKWARD : PHASE_STEP;
    const double same = s.told_apart ? measured_alone(p, pt, f, pt->row->ranks) : NAN;
    const double one  = isnan(same) ? measured_alone(p, pt, f, 1) : same;

    *slowest = !isnan(same);
    if (isnan(one))
        return s;
    if (s.told_apart) {
        s.backward = isnan(same)
                         ? one * shared_times(cal, model, PHASE_BACKWARD, shared_devices(pt->row))
                         : same;
    } else { /* divided as it is predicted */
        const double times = one / (s.forward + s.backward);

        s.forward *= times;
        s.backward *= times;
    }
    return s;
}

/* One step, as measured. */
typedef struct trial {
    double step; /* the scale of errors */
    double more; /* what it took beyond its passes alone */
    double exposed;
    double bytes;
    double alone;   /* the backward pass */
    bool   slowest; /* the passes are the slowest rank's already */
    bool   waits;   /* exposed seconds include the wait for it */
    double late;    /* exposed seconds beyond those of the last constants that were tried */
    double pass;    /* backward, as these have it beside messages */

    exposed_question asked;
    priced_program  *program;
} trial;

typedef struct trials {
    trial *of;
    size_t n;
} trials;

static double either(double measured, double predicted)
{
    return isnan(measured) ? predicted : measured;
}

/* False: it does not say enough. */
static bool trial_of(const points *p, const calibration *cal, const char *model, const point *pt,
                     trial *out)
{
    const double *m = pt->beside;
    bool          slowest;
    step_passes   s = exposed_alone(p, cal, model, pt, &slowest);

    s.forward = either(m[PHASE_FORWARD], s.forward);
    s.update  = either(m[PHASE_UPDATE], s.update);
    *out      = (trial){ .step    = m[PHASE_STEP],
                         .more    = m[PHASE_STEP] - s.forward - s.backward - s.update,
                         .exposed = m[PHASE_SYNC],
                         .bytes   = pt->load.bytes,
                         .alone   = s.backward,
                         .slowest = slowest,
                         .waits   = pt->row->waits };
    return !isnan(out->more + out->exposed);
}

static void add_trial(const calibration *cal, trial *t, const step_times *o, exposed_sums *to)
{
    const double w     = 1 / (t->step * t->step);
    const double clock = o->beside * (1 + cal->overlapping.slowdown);
    const double off   = t->exposed - o->exposed - (t->waits ? o->wait : 0);
    const double rest =
        t->more - (o->backward - t->alone) - o->copy - o->exposed - (t->slowest ? 0 : o->straggler);

    t->late = off;
    t->pass = o->backward;
    to->grown_beside += w * (t->more - t->exposed) * clock;
    to->beside_beside += w * clock * clock;
    to->rest_bytes += w * rest * t->bytes;
    to->bytes_bytes += w * t->bytes * t->bytes;
    to->squares += w * (rest * rest + off * off);
    to->steps += w * rest * rest;
    to->n++;
}

bool exposed_fewer(int64_t hosts, int64_t than)
{
    return hosts < than;
}

bool exposed_as_many(int64_t hosts, int64_t as)
{
    return hosts >= as;
}

static void trials_free(trials *t)
{
    for (size_t i = 0; i < t->n; i++) {
        priced_program_free(t->of[i].program);
        gradient_schedule_free(t->of[i].asked.own);
    }
    free(t->of);
}

/* Steps on some numbers of hosts, with passes by the present calibration. */
static lm_status trials_new(const points *p, const calibration *cal, const char *model,
                            bool (*takes)(int64_t, int64_t), int64_t hosts, trials *out,
                            lm_error *err)
{
    trials    all    = { calloc(p->n_points + 1, sizeof *all.of), 0 };
    lm_status status = all.of ? LM_OK : no_memory(err);

    for (size_t i = 0; i < p->n_points && !status; i++) {
        const point *pt = &p->point[i];
        trial       *t  = &all.of[all.n];

        if (!point_in_buckets(pt) || !(pt->load.bytes > 0) || !takes(pt->row->hosts, hosts) ||
            !trial_of(p, cal, model, pt, t))
            continue;
        if (!(status = exposed_ask(p, cal, model, pt, t->alone, &t->asked, err))) {
            all.n++;
            status = priced_program_of(cal, model, NULL, t->asked.schedule, &t->asked.policy,
                                       &t->program, err);
        }
    }
    if (status)
        trials_free(&all);
    else
        *out = all;
    return status;
}

/* By the constants that the calibration has. */
static exposed_sums try_constants(trials *t, const calibration *cal)
{
    exposed_sums s = { .n = 0 };

    for (size_t i = 0; i < t->n; i++) {
        trial     *one = &t->of[i];
        step_times o;

        one->late           = NAN;
        one->asked.of.brief = true;
        priced_program_run(one->program, &one->asked.of, &o);
        if (!isnan(o.exposed))
            add_trial(cal, one, &o, &s);
    }
    return s;
}

lm_status exposed_try(const points *p, const calibration *cal, const char *model,
                      bool (*takes)(int64_t, int64_t), int64_t hosts, exposed_sums *out,
                      lm_error *err)
{
    trials          t;
    const lm_status status = trials_new(p, cal, model, takes, hosts, &t, err);

    if (status)
        return status;
    *out = try_constants(&t, cal);
    trials_free(&t);
    return LM_OK;
}

static double not_below_0(double above, double below)
{
    return below > 0 && above > 0 ? above / below : 0;
}

/* A pass may lose this share of the time beside messages. A longer pass has another cause. */
#define EXPOSED_MOST_LOST 0.9

double exposed_slowdown(const exposed_sums *s)
{
    const double lost = fmin(EXPOSED_MOST_LOST, not_below_0(s->grown_beside, s->beside_beside));

    return lost / (1 - lost);
}

/* Only ranks in training wait for each other. */
static double spread_at(const point *pt)
{
    return pt->row->phase == PHASE_INFERENCE ? NAN : spread_of(pt->row);
}

lm_status exposed_fit_straggler(const points *p, overlap_constants *out, lm_error *err)
{
    double *spread = malloc((p->n_points + 1) * sizeof *spread);
    size_t  n      = 0;

    if (!spread)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++)
        if (!isnan(spread_at(&p->point[i])))
            spread[n++] = spread_at(&p->point[i]);
    out->spreads   = n < EXPOSED_LEAST ? 0 : n;
    out->straggler = n < EXPOSED_LEAST ? 0 : stats_quantile(spread, n, 0.5);
    free(spread);
    return LM_OK;
}

/* Clocks resolve no less: a shorter exposed time counts as hidden. */
#define EXPOSED_TICK 1e-6

static int by_late(const void *a, const void *b)
{
    const trial *x = a, *y = b;

    if (isnan(x->late) || isnan(y->late))
        return (isnan(x->late) != 0) - (isnan(y->late) != 0);
    return (x->late > y->late) - (x->late < y->late);
}

/* Rounds of weights by a latency; they stay as they are sooner, or alternate. */
#define LATENCY_ROUNDS 20

/* Weight of a trial in the sum of deviations by factors, for each second of latency. */
static double pull(const trial *t, double latency)
{
    return 1 / fmax(t->exposed - t->late + latency, EXPOSED_TICK);
}

/* Latency of the last message with the least sum of |log(predicted / measured)|. It is a weighted
 * median; weights depend on the latency, so steps with little exposed time decide. (Least relative
 * deviations would give nearly the minimum of values that scatter by factors.) Only the first n
 * steps count: the all-reduces of the others are unknown. */
static double latency_of(trials *t, size_t n)
{
    double latency = 0, before = -1;

    qsort(t->of, t->n, sizeof *t->of, by_late);
    for (int round = 0; round < LATENCY_ROUNDS && latency != before; round++) {
        double all = 0, sum = 0;
        size_t i = 0;

        for (size_t k = 0; k < n; k++)
            all += pull(&t->of[k], latency);
        while (i + 1 < n && (sum += pull(&t->of[i], latency)) < all / 2)
            i++;
        before  = latency;
        latency = fmax(0, t->of[i].late);
    }
    return latency;
}

/* The constants with their latency and their cost of copies. */
static exposed_sums try_with(trials *t, double slowdown, double stretch, double surcharge,
                             calibration *cal)
{
    overlap_constants *c = &cal->overlapping;
    exposed_sums       s;

    c->slowdown  = slowdown;
    c->stretch   = stretch;
    c->surcharge = surcharge;
    c->latency = c->lag = c->copy = 0;
    s                             = try_constants(t, cal);
    if (s.n) {
        c->latency = latency_of(t, s.n);
        s          = try_constants(t, cal);
    }
    c->rows = s.n;
    c->copy = not_below_0(s.rest_bytes, s.bytes_bytes);
    return try_constants(t, cal);
}

/* Powers of sqrt(2) that are tried as the slowdown. */
#define EXPOSED_LOWEST  -8
#define EXPOSED_HIGHEST 6

/* Finds the best constants of a family. With `shares`, pass and message share a core: the more of
 * one, the less of the other. Otherwise the message runs as if it were alone. Returns the sum of
 * squares. */
static double try_family(trials *t, bool shares, double surcharge, calibration *cal)
{
    overlap_constants best  = cal->overlapping;
    double            least = INFINITY;

    for (int k = EXPOSED_LOWEST - !shares; k <= EXPOSED_HIGHEST; k++) {
        const double       slowdown = k < EXPOSED_LOWEST ? 0 : pow(2, k / 2.0);
        const exposed_sums s = try_with(t, slowdown, shares ? 1 / slowdown : 0, surcharge, cal);

        if (s.squares < least) {
            least = s.squares;
            best  = cal->overlapping;
        }
    }
    cal->overlapping = best;
    return least;
}

static void fit_trials(trials *t, calibration *cal)
{
    static const double surcharge[] = { 0, 0.25, 0.5, 1, 2 };
    overlap_constants   best        = cal->overlapping;
    double              least       = INFINITY;

    for (size_t k = 0; k < sizeof surcharge / sizeof surcharge[0]; k++)
        for (int shares = 0; shares < 2; shares++) {
            const double here = try_family(t, shares, surcharge[k], cal);

            if (here < least * (k ? EXPOSED_GAIN_MORE : shares ? EXPOSED_GAIN : 1)) {
                best  = cal->overlapping;
                least = here;
            }
        }
    cal->overlapping = best;
}

/* Deviations by a larger factor have another cause. */
#define LATENCY_OUTLIER 3.0
/* Latencies that are tried, at most, and shares of the pass: halves of halves. */
#define LATENCY_TRIES 64
#define LAG_HIGHEST   -1
#define LAG_LOWEST    -12

/* Sum of |log(predicted / measured)|, capped, with a latency of at most this share of the pass. */
static double off_with(const trials *t, size_t n, double latency, double lag)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const trial *one       = &t->of[i];
        const double late      = fmin(latency, lag * one->pass);
        const double predicted = fmax(one->exposed - one->late + late, EXPOSED_TICK);

        sum += fmin(log(LATENCY_OUTLIER), fabs(log(predicted / fmax(one->exposed, EXPOSED_TICK))));
    }
    return sum;
}

/* The best latency with a lag; its sum. */
static double best_latency(const trials *t, size_t n, double lag, double *out)
{
    const size_t apart = (n + LATENCY_TRIES - 1) / LATENCY_TRIES;
    double       least = INFINITY;

    for (size_t i = 0; i < n; i += apart) { /* by_late() */
        const double here = off_with(t, n, fmax(0, t->of[i].late), lag);

        if (here < least) {
            least = here;
            *out  = fmax(0, t->of[i].late);
        }
    }
    return least;
}

/* The latency is at most a share of the pass; it is kept if it leaves EXPOSED_GAIN of the deviations. */
static void fit_lag(trials *t, calibration *cal)
{
    overlap_constants *c = &cal->overlapping, best = *c;
    double             least;
    size_t             n;

    c->latency = 0;
    n          = try_constants(t, cal).n;
    qsort(t->of, t->n, sizeof *t->of, by_late);
    least = EXPOSED_GAIN * best_latency(t, n, INFINITY, &c->latency);
    for (int k = LAG_HIGHEST; k >= LAG_LOWEST; k--) {
        double       latency = 0;
        const double here    = best_latency(t, n, ldexp(1, k), &latency);

        if (here < least) {
            least        = here;
            best.latency = latency;
            best.lag     = ldexp(1, k);
        }
    }
    *c = best;
}

/* Sum of |log(predicted / measured)| of exposed seconds, capped, by the present constants. */
static double deviations(trials *t, calibration *cal)
{
    overlap_constants *c = &cal->overlapping, is = *c;
    size_t             n;
    double             sum;

    c->latency = 0;
    n          = try_constants(t, cal).n;
    sum        = off_with(t, n, is.latency, is.lag > 0 ? is.lag : INFINITY);
    *c         = is;
    return sum;
}

/* Deviations that differ by no more than rounding are the same. */
#define SAME 1e-6

/* Fits the share of bytes out of caches with the least deviations, and the other constants for each
 * share. The share only interpolates between times measured in and out of caches. Among equally
 * good shares, the one with the least latency is taken. */
static void fit_cold(trials *t, calibration *cal)
{
    static const double     cold[] = { 0, 0.25, 0.5, 1 };
    const overlap_constants none   = cal->overlapping;
    const size_t      shares = collective_spills(cal->collectives) ? sizeof cold / sizeof *cold : 1;
    overlap_constants best   = none;
    double            least  = INFINITY;

    for (size_t k = 0; k < shares; k++) {
        double here;

        cal->overlapping      = none;
        cal->overlapping.cold = cold[k];
        fit_trials(t, cal);
        if (cal->overlapping.rows)
            fit_lag(t, cal);
        here = deviations(t, cal);
        if (here < least * (1 - SAME) ||
            (here <= least * (1 + SAME) && cal->overlapping.latency < best.latency)) {
            least = here;
            best  = cal->overlapping;
        }
    }
    cal->overlapping = best;
}

lm_status exposed_fit_constants(const points *p, const char *model, calibration *cal, lm_error *err)
{
    trials          t;
    const lm_status status = trials_new(p, cal, model, exposed_fewer, INT64_MAX, &t, err);

    if (status)
        return status;
    if (try_constants(&t, cal).n >= EXPOSED_LEAST)
        fit_cold(&t, cal);
    trials_free(&t);
    return LM_OK;
}
