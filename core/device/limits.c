/* Steps of a job under power limits. */
#include "device/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/stats.h"

/* Grids of trial values: idle power as a share of the lowest power; knees; slopes; dynamic power of
 * the busy device as a multiple of the highest power above idle; shares of waiting. */
static const double rests[]  = { 0.1, 0.3, 0.5, 0.7, 0.85, 0.95 };
static const double knees[]  = { 0.3, 0.45, 0.6, 0.75, 0.9 };
static const double slopes[] = { 0.5, 1, 1.5, 2 };
static const double waits[]  = { 0, 0.25, 0.5, 0.75, 1 };

#define COUNT(array)  (sizeof(array) / sizeof *(array))
#define DYNAMIC_FROM  0.95
#define DYNAMIC_STEP  1.12
#define DYNAMIC_STEPS 24
#define LOSS_MOST     0.1 /* limit of a job's loss: outliers do not decide the device's values */

/* ---- the clock under a limit ---- */

#define CLOCKS 256 /* of a table of clocks by their dynamic power */

/* f V^2, relative to the highest clock, and the inverse function. */
typedef struct clock_shape {
    double knee, slope, clock[CLOCKS + 1];
} clock_shape;

static double volts(const clock_shape *s, double x)
{
    return 1 + s->slope * fmax(0, x / s->knee - 1);
}

static double dynamic_of(const clock_shape *s, double x)
{
    const double v = volts(s, x) / volts(s, 1);

    return x * v * v;
}

static double find_clock(const clock_shape *s, double dynamic)
{
    double low = 0, high = 1;

    for (int i = 0; i < 30; i++) {
        const double middle = (low + high) / 2;

        if (dynamic_of(s, middle) > dynamic)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* No board runs slower than this share of its highest clock. */
#define LEAST_CLOCK 0.05

static void shape_of(double knee, double slope, clock_shape *s)
{
    s->knee  = knee;
    s->slope = slope;
    for (int i = 0; i <= CLOCKS; i++)
        s->clock[i] = fmax(LEAST_CLOCK, find_clock(s, (double)i / CLOCKS));
}

static double clock_at(const clock_shape *s, double dynamic)
{
    const double place = dynamic * CLOCKS;
    const int    at    = place > 0 ? (int)fmin(place, CLOCKS - 1) : 0;

    if (!(dynamic > 0))
        return s->clock[0];
    return dynamic >= 1 ? 1 : s->clock[at] + (place - at) * (s->clock[at + 1] - s->clock[at]);
}

/* ---- one job ---- */

/* Rows of a fit to a job: all except one (n: all). */
typedef struct job {
    const clock_shape *shape;
    double             idle_w;
    const limit_row   *row;
    size_t             n, without;
} job;

static limit_row at_clock(const job *j, const limit_curve *c, double limit_w)
{
    const double x       = clock_at(j->shape, (limit_w - j->idle_w) / c->dynamic_w);
    const double seconds = c->fixed + c->clocked / x;
    const double busy    = 1 - c->waits * c->fixed / seconds;

    return (limit_row){ .limit_w = limit_w,
                        .seconds = seconds,
                        .watts   = j->idle_w + c->dynamic_w * dynamic_of(j->shape, x) * busy };
}

/* Relative non-negative least squares of fixed + clocked / x. */
static void solve_seconds(const job *j, limit_curve *c)
{
    double aa = 0, ab = 0, bb = 0, a = 0, b = 0, det;

    for (size_t i = 0; i < j->n; i++) {
        const double x = clock_at(j->shape, (j->row[i].limit_w - j->idle_w) / c->dynamic_w);
        const double u = 1 / j->row[i].seconds, v = u / x;

        if (i == j->without)
            continue;
        aa += u * u;
        ab += u * v;
        bb += v * v;
        a += u;
        b += v;
    }
    det        = aa * bb - ab * ab;
    c->fixed   = det > 1e-12 * aa * bb ? (a * bb - b * ab) / det : 0;
    c->clocked = det > 1e-12 * aa * bb ? (b * aa - a * ab) / det : b / bb;
    if (c->fixed < 0 || c->clocked < 0) {
        c->clocked = c->fixed < 0 ? b / bb : 0;
        c->fixed   = c->fixed < 0 ? 0 : a / aa;
    }
}

static double loss_of(const job *j, const limit_curve *c)
{
    double sum = 0;

    for (size_t i = 0; i < j->n; i++) {
        const limit_row told    = at_clock(j, c, j->row[i].limit_w);
        const double    seconds = told.seconds / j->row[i].seconds - 1;
        const double    watts   = told.watts / j->row[i].watts - 1;

        if (i != j->without)
            sum += seconds * seconds + watts * watts;
    }
    return sum;
}

/* Fits a job's own figures into `c`. Returns the loss. */
static double fit_job(const job *j, limit_curve *c)
{
    double      most = 0, least = HUGE_VAL;
    limit_curve now = *c;

    for (size_t i = 0; i < j->n; i++)
        if (i != j->without)
            most = fmax(most, j->row[i].watts);
    most = fmax(most - j->idle_w, 0.05 * most);
    for (int i = 0; i < DYNAMIC_STEPS; i++) {
        now.dynamic_w = DYNAMIC_FROM * most * pow(DYNAMIC_STEP, i);
        solve_seconds(j, &now);
        for (size_t k = 0; k < COUNT(waits); k++) {
            double loss;

            now.waits = waits[k];
            loss      = loss_of(j, &now);
            if (loss < least) {
                least        = loss;
                c->dynamic_w = now.dynamic_w;
                c->fixed     = now.fixed;
                c->clocked   = now.clocked;
                c->waits     = now.waits;
            }
        }
    }
    return least;
}

/* Ratio of measurements and curve at a limit: linear in watts between neighbouring limits, constant
 * beyond the last ones. */
static limit_row corrected(const job *j, const limit_curve *c, double limit_w)
{
    const limit_row *below = NULL, *above = NULL;
    limit_row        told  = at_clock(j, c, limit_w), a, b;
    double           share = 0;

    for (size_t i = 0; i < j->n; i++) {
        const limit_row *r = &j->row[i];

        if (i == j->without)
            continue;
        if (r->limit_w <= limit_w)
            below = r;
        else if (!above)
            above = r;
    }
    below = below ? below : above;
    above = above ? above : below;
    if (above->limit_w > below->limit_w)
        share = (limit_w - below->limit_w) / (above->limit_w - below->limit_w);
    a = at_clock(j, c, below->limit_w);
    b = at_clock(j, c, above->limit_w);
    told.seconds *= (1 - share) * below->seconds / a.seconds + share * above->seconds / b.seconds;
    told.watts *= (1 - share) * below->watts / a.watts + share * above->watts / b.watts;
    told.watts = fmin(told.watts, limit_w);
    return told;
}

limit_row limit_curve_at(const limit_curves *all, const limit_curve *c, double limit_w)
{
    clock_shape s;
    const job   j = { &s, all->idle_w, c->row, c->n, c->n };

    shape_of(all->knee, all->slope, &s);
    return corrected(&j, c, limit_w);
}

/* ---- a device ---- */

static void drop(limit_curve *c)
{
    free_all(c->network, c->input, c->optimizer, c->row);
}

static void drop_short(limit_curves *all)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        if (all->of[i].n < LIMITS_LEAST)
            drop(&all->of[i]);
        else
            all->of[n++] = all->of[i];
    all->n = n;
}

static double least_watts(const limit_curves *all)
{
    double least = HUGE_VAL;

    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->of[i].n; k++)
            least = fmin(least, all->of[i].row[k].watts);
    return least;
}

/* Fits all jobs with these figures of the device. Returns the sum of losses. */
static double fit_jobs(limit_curves *all, const clock_shape *s, double idle_w)
{
    double sum = 0;

    for (size_t i = 0; i < all->n; i++) {
        limit_curve *c = &all->of[i];
        const job    j = { s, idle_w, c->row, c->n, c->n };

        sum += fmin(fit_job(&j, c), LOSS_MOST);
    }
    return sum;
}

static void fit_device(limit_curves *all)
{
    const double lowest = least_watts(all);
    double       least  = HUGE_VAL;
    clock_shape  s;

    for (size_t k = 0; k < COUNT(knees); k++)
        for (size_t l = 0; l < COUNT(slopes); l++) {
            shape_of(knees[k], slopes[l], &s);
            for (size_t r = 0; r < COUNT(rests); r++) {
                const double loss = fit_jobs(all, &s, rests[r] * lowest);

                if (loss < least) {
                    least       = loss;
                    all->knee   = knees[k];
                    all->slope  = slopes[l];
                    all->idle_w = rests[r] * lowest;
                }
            }
        }
    shape_of(all->knee, all->slope, &s);
    fit_jobs(all, &s, all->idle_w);
}

/* Held-out errors: each limit of each job is left out of its curve; the device's figures come from
 * all rows. */
static lm_status judge(limit_curves *all, lm_error *err)
{
    double     *seconds, *watts;
    clock_shape s;

    all->rows         = 0;
    all->seconds_mape = all->watts_mape = 0;
    for (size_t i = 0; i < all->n; i++)
        all->rows += all->of[i].n;
    seconds = malloc(2 * all->rows * sizeof *seconds + 1);
    if (!seconds)
        return no_memory(err);
    watts = seconds + all->rows;
    shape_of(all->knee, all->slope, &s);
    for (size_t i = 0, at = 0; i < all->n; i++)
        for (size_t k = 0; k < all->of[i].n; k++, at++) {
            const limit_row *r    = &all->of[i].row[k];
            limit_curve      left = all->of[i];
            const job        j    = { &s, all->idle_w, left.row, left.n, k };
            limit_row        told;

            fit_job(&j, &left);
            told        = corrected(&j, &left, r->limit_w);
            seconds[at] = r->seconds / told.seconds;
            watts[at]   = r->watts / told.watts;
            all->seconds_mape += fabs(1 / seconds[at] - 1) / (double)all->rows;
            all->watts_mape += fabs(1 / watts[at] - 1) / (double)all->rows;
        }
    all->seconds_low  = fmin(1, stats_quantile(seconds, all->rows, 0.05));
    all->seconds_high = fmax(1, stats_quantile(seconds, all->rows, 0.95));
    all->watts_low    = fmin(1, stats_quantile(watts, all->rows, 0.05));
    all->watts_high   = fmax(1, stats_quantile(watts, all->rows, 0.95));
    free(seconds);
    return LM_OK;
}

lm_status limit_curves_fit(limit_curves *all, lm_error *err)
{
    drop_short(all);
    if (!all->n)
        return LM_OK;
    fit_device(all);
    return judge(all, err);
}

/* ---- curves of a machine ---- */

static bool is_of(const limit_curve *c, const limit_key *key)
{
    return c->batch == key->batch && c->of == key->of && !strcmp(c->network, key->network) &&
           !strcmp(c->input, key->input) && !strcmp(c->optimizer, key->optimizer);
}

const limit_curve *limit_curves_find(const limit_curves *all, const limit_key *key)
{
    for (size_t i = 0; i < all->n; i++)
        if (is_of(&all->of[i], key))
            return &all->of[i];
    return NULL;
}

static limit_curve *curve_for(limit_curves *all, const limit_key *key)
{
    limit_curve *there = (limit_curve *)limit_curves_find(all, key), *c;

    if (there || !array_grow(&all->of, all->n, &all->room, sizeof *all->of))
        return there;
    c  = &all->of[all->n];
    *c = (limit_curve){ .network   = strdup(key->network),
                        .input     = strdup(key->input),
                        .optimizer = strdup(key->optimizer),
                        .batch     = key->batch,
                        .of        = key->of };
    if (!c->network || !c->input || !c->optimizer) {
        drop(c);
        return NULL;
    }
    all->n++;
    return c;
}

/* Joins several rows at one limit: their mean. */
static void join(limit_row *to, const limit_row *more)
{
    const double n = (double)++to->repeats;

    to->seconds += (more->seconds - to->seconds) / n;
    to->watts += (more->watts - to->watts) / n;
}

lm_status limit_curves_add(limit_curves *all, const limit_key *key, limit_row row, lm_error *err)
{
    limit_curve *c  = curve_for(all, key);
    size_t       at = 0;

    if (!c)
        return no_memory(err);
    while (at < c->n && c->row[at].limit_w < row.limit_w)
        at++;
    row.repeats = 1;
    if (at < c->n && c->row[at].limit_w == row.limit_w) {
        join(&c->row[at], &row);
        return LM_OK;
    }
    if (!array_grow(&c->row, c->n, &c->room, sizeof *c->row))
        return no_memory(err);
    memmove(c->row + at + 1, c->row + at, (c->n++ - at) * sizeof row);
    c->row[at] = row;
    return LM_OK;
}

void limit_curves_free(limit_curves *all)
{
    for (size_t i = 0; i < all->n; i++)
        drop(&all->of[i]);
    free(all->of);
    *all = (limit_curves){ .n = 0 };
}
