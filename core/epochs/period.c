/* Marks in a metric, autocorrelation at all levels of a series, and its peaks. */
#include "epochs/period.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fft.h"
#include "base/no_memory.h"
#include "base/order.h"
#include "base/stats.h"

/* Fewer marks say nothing of a period. */
#define MARKS_LEAST 5

/* Shorter periods are steps, not epochs: their parts cannot be told apart. */
#define PERIOD_LEAST_SAMPLES 12

/* ---- marks ----------------------------------------------------------------------------------- */

/* Distances are equal within this share; at least this share of them must be equal. */
#define EQUAL   0.08
#define REGULAR 0.8
#define SAME    0.125
/* A pause takes at most this part of the distance, of this part of the marks. */
#define BRIEF      0.1
#define SOME_BRIEF 0.25
/* The next number of marks that is tried is larger by this part. */
#define MORE 0.15

ORDER_DOWN_BY(by_area, mark, area)

ORDER_BY(by_time, mark, from)

/* Twice as many as are kept are gathered before the smaller half goes. */
static void gather(mark *list, size_t *n, mark m)
{
    if (*n == 2 * MARKS_MAX) {
        qsort(list, *n, sizeof *list, by_area);
        *n = MARKS_MAX;
    }
    list[(*n)++] = m;
}

size_t marks_find(const float *events, size_t n, mark out[MARKS_MAX])
{
    mark  *list  = malloc(2 * MARKS_MAX * sizeof *list);
    size_t count = 0;

    for (size_t i = 0; list && i < n;) {
        mark m = { i, i, 0 };

        if (events[i] == 0) {
            i++;
            continue;
        }
        while (i < n && (events[i] * events[m.from] > 0 ||
                         (i + 1 < n && events[i] == 0 && events[i + 1] * events[m.from] > 0))) {
            m.area += fabs((double)events[i]);
            m.to = ++i;
        }
        gather(list, &count, m);
    }
    if (!list)
        return 0;
    qsort(list, count, sizeof *list, by_area);
    count = count < MARKS_MAX ? count : MARKS_MAX;
    qsort(list, count, sizeof *list, by_time);
    memcpy(out, list, count * sizeof *list);
    free(list);
    return count;
}

/* Distances of marks in order of their times. */
static mark_period distances(const mark *m, size_t n, double *scratch)
{
    mark_period p;
    double      width;
    size_t      near = 0;

    for (size_t i = 0; i < n; i++)
        scratch[i] = (double)(m[i].to - m[i].from);
    width = stats_quantile(scratch, n, SOME_BRIEF);
    for (size_t i = 0; i + 1 < n; i++)
        scratch[i] = (double)m[i + 1].to - (double)m[i].to;
    p.bins = stats_quantile(scratch, n - 1, 0.5);
    for (size_t i = 0; i + 1 < n; i++)
        near += fabs(scratch[i] / p.bins - 1) <= EQUAL || fabs(scratch[i] / p.bins - 2) <= EQUAL;
    p.regular = (double)near / (double)(n - 1);
    p.brief   = width <= fmax(1, BRIEF * p.bins);
    return p;
}

static void keep_marks(mark_period *list, size_t *n, mark_period p)
{
    for (size_t i = 0; i < *n; i++)
        if (fabs(list[i].bins / p.bins - 1) < SAME) {
            if (p.regular > list[i].regular)
                list[i] = p;
            return;
        }
    if (*n < MARK_PERIODS_MAX)
        list[(*n)++] = p;
}

size_t marks_periods(const mark *m, size_t n, mark_period out[MARK_PERIODS_MAX])
{
    mark  *by_size = malloc(2 * (n + 1) * sizeof *by_size), *some = by_size ? by_size + n : NULL;
    double scratch[MARKS_MAX];
    size_t found = 0;

    if (!by_size)
        return 0;
    memcpy(by_size, m, n * sizeof *by_size);
    qsort(by_size, n, sizeof *by_size, by_area);
    for (size_t k = MARKS_LEAST; k <= n; k += 1 + (size_t)(MORE * (double)k)) {
        mark_period p;

        memcpy(some, by_size, k * sizeof *some);
        qsort(some, k, sizeof *some, by_time);
        p = distances(some, k, scratch);
        if (p.regular >= REGULAR)
            keep_marks(out, &found, p);
    }
    free(by_size);
    return found;
}

/* ---- autocorrelation ------------------------------------------------------------------------- */

#define LAG_FROM    12
#define LAG_TO      96
#define WINDOW      1024
#define WINDOWS_MAX 64
#define SIZE        (2 * WINDOW)
/* Weaker repetitions may be chance. */
#define EVENTS  1.5 /* chance meetings of events, as a standard deviation */
#define SIGMAS  3.0 /* of chance correlations, that a peak must exceed */
#define WEAKEST 0.12
/* A multiple of a period is a period of its own if its peak is higher by this. */
#define HIGHER 0.06
/* A peak stands out above both valleys beside it by this. */
#define PROMINENCE 0.04
/* Marks at equal times tell nothing new if the correlation there is as high. */
#define SHOWN 0.3

typedef struct acf {
    double *r;      /* by lag */
    size_t  n;      /* lags, from 0 */
    double  used;   /* bins in the correlations */
    double  events; /* bins that make up most of the variance, effectively: (sum of squares)^2 / sum
                       of 4th powers */
} acf;

/* Room for one window: values, their transform, running sums. */
typedef struct work {
    double re[SIZE], im[SIZE], sum[WINDOW + 1], squares[WINDOW + 1];
    double covariance[WINDOW], early[WINDOW], late[WINDOW];
} work;

/* Adds a window's sums: of both overlapping parts of each lag. */
static void add_window(work *w, const float *x, size_t n, size_t n_lags)
{
    double mean = 0;

    for (size_t i = 0; i < n; i++)
        mean += (double)x[i] / (double)n;
    memset(w->re, 0, sizeof w->re);
    memset(w->im, 0, sizeof w->im);
    w->sum[0] = w->squares[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i] - mean;

        w->re[i]          = v;
        w->sum[i + 1]     = w->sum[i] + v;
        w->squares[i + 1] = w->squares[i] + v * v;
    }
    fft(w->re, w->im, SIZE);
    for (size_t k = 0; k < SIZE; k++) {
        w->re[k] = w->re[k] * w->re[k] + w->im[k] * w->im[k];
        w->im[k] = 0;
    }
    fft(w->re, w->im, SIZE); /* the transform of an even sequence is the same both ways */
    for (size_t lag = 0; lag < n_lags && lag + 2 < n; lag++) {
        const double m     = (double)(n - lag);
        const double early = w->sum[n - lag], late = w->sum[n] - w->sum[lag];

        w->covariance[lag] += w->re[lag] / SIZE - early * late / m;
        w->early[lag] += w->squares[n - lag] - early * early / m;
        w->late[lag] += w->squares[n] - w->squares[lag] - late * late / m;
    }
}

static double effective(const float *x, size_t n)
{
    double mean = 0, squares = 0, fourths = 0;

    for (size_t i = 0; i < n; i++)
        mean += (double)x[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - mean;

        squares += d * d;
        fourths += d * d * d * d;
    }
    return fourths > 0 ? squares * squares / fourths : 1;
}

/* Standard deviation of a correlation at a lag if nothing repeats: Bartlett 1946,
 * with the correlations up to half of the lag; a chance meeting of two of few
 * events counts as one of them. */
static double chance(const acf *a, size_t lag)
{
    double sum = 1;

    for (size_t l = 1; l <= lag / 2; l++)
        sum += 2 * a->r[l] * a->r[l];
    return fmax(sqrt(sum / fmax(1, a->used - (double)lag)), EVENTS / a->events);
}

/* Correlations of a part of a level. */
static lm_status correlate(const float *x, size_t n, acf *out, lm_error *err)
{
    const size_t window  = n < WINDOW ? n : WINDOW;
    const size_t windows = n / window < WINDOWS_MAX ? n / window : WINDOWS_MAX;
    work        *w       = calloc(1, sizeof *w);

    out->n = n < WINDOW ? 2 * n / 3 + 1 : LAG_TO + LAG_TO / 8;
    out->r = malloc(out->n * sizeof *out->r);
    if (!w || !out->r) {
        free(w);
        return no_memory(err);
    }
    for (size_t i = 0; i < windows; i++) /* spread over all of it */
        add_window(w, x + (windows > 1 ? i * (n - window) / (windows - 1) : 0), window, out->n);
    out->used   = (double)(windows * window);
    out->events = effective(x, n);
    for (size_t lag = 0; lag < out->n; lag++) {
        const double scale = sqrt(w->early[lag] * w->late[lag]);

        out->r[lag] = scale > 0 ? w->covariance[lag] / scale : 0;
    }
    free(w);
    return LM_OK;
}

/* The highest peak within tolerance of `lag`. -1: none. */
static double peak_near(const acf *a, size_t lag, size_t tolerance)
{
    const size_t from = lag > tolerance ? lag - tolerance : 1;
    double       best = -1;

    for (size_t l = from; l <= lag + tolerance && l + 1 < a->n; l++)
        if (a->r[l] >= a->r[l - 1] && a->r[l] >= a->r[l + 1] && a->r[l] > best)
            best = a->r[l];
    return best;
}

/* The fall of the curve on both sides before it is higher again, within the lag itself. */
static double prominence(const acf *a, size_t lag)
{
    double left = a->r[lag], right = a->r[lag];

    for (size_t l = lag; l-- > lag / 3 && a->r[l] <= a->r[lag];)
        left = fmin(left, a->r[l]);
    for (size_t l = lag + 1; l < a->n && l < lag + lag / 2 + 2 && a->r[l] <= a->r[lag]; l++)
        right = fmin(right, a->r[l]);
    return a->r[lag] - fmax(left, right);
}

/* Is a fraction of the lag (a half, a third, ...) nearly as good? */
static bool is_multiple(const acf *a, size_t lag)
{
    for (size_t k = 2; lag / k >= 4; k++) {
        const size_t part = (lag + k / 2) / k;
        const double r    = peak_near(a, part, part / 12 + 1);

        if (r > a->r[lag] - HIGHER * (1 + a->r[lag]) && r > WEAKEST && prominence(a, part) > -1) {
            double valley = r;

            for (size_t l = 1; l < part; l++)
                valley = fmin(valley, a->r[l]);
            if (r - valley > PROMINENCE)
                return true;
        }
    }
    return false;
}

/* The peak's place between lags, by a parabola. */
static double between(const acf *a, size_t lag)
{
    const double l = a->r[lag - 1], m = a->r[lag], h = a->r[lag + 1], bend = l - 2 * m + h;

    return (double)lag + (bend < 0 ? 0.5 * (l - h) / bend : 0);
}

static void keep(period *list, size_t *n, period p)
{
    size_t at = *n;

    for (size_t i = 0; i < *n; i++)
        if (list[i].events == p.events &&
            fabs(list[i].seconds / p.seconds - 1) < 0.12) { /* seen at another level as well */
            if (p.strength > list[i].strength)
                list[i] = p;
            return;
        }
    if (*n == PERIODS_MAX) /* the weakest goes */
        for (size_t i = 0; i < *n; i++)
            at = at == *n || list[i].strength < list[at].strength ? i : at;
    else
        ++*n;
    list[at] = p;
}

ORDER_BY(by_length, period, seconds)

/* Peaks of one level's correlations. */
static lm_status look(const float *x, size_t n_bins, double step, size_t level, bool events,
                      period *out, size_t *n, lm_error *err)
{
    acf       a      = { NULL, 0, 0, 0 };
    lm_status status = correlate(x, n_bins, &a, err);

    for (size_t lag = LAG_FROM; !status && lag + 1 < a.n && (lag < LAG_TO || n_bins < WINDOW);
         lag++)
        if (a.r[lag] > fmax(WEAKEST, SIGMAS * chance(&a, lag)) && a.r[lag] >= a.r[lag - 1] &&
            a.r[lag] > a.r[lag + 1] && prominence(&a, lag) > PROMINENCE && !is_multiple(&a, lag))
            keep(out, n, (period){ between(&a, lag) * step, a.r[lag], level, events, false });
    free(a.r);
    return status;
}

/* Periods of marks at equal times, if they have enough bins for tracking. */
static void look_at_marks(const float *events, size_t n_bins, double step, size_t level,
                          period *out, size_t *n)
{
    mark        *m = malloc(MARKS_MAX * sizeof *m);
    mark_period  p[MARK_PERIODS_MAX];
    const size_t k = m ? marks_find(events, n_bins, m) : 0, found = m ? marks_periods(m, k, p) : 0;

    for (size_t i = 0; i < found; i++)
        if (p[i].bins >= PERIOD_LEAST_SAMPLES)
            keep(out, n, (period){ p[i].bins * step, p[i].regular, level, true, p[i].brief });
    free(m);
}

/* Periods of marks follow those of correlations. A period seen in both is marked; periods of marks
 * alone are tracked if correlations show little of them. */
static void add_marked(const period *marked, size_t n_marked, period *out, size_t *n)
{
    const size_t n_before = *n;

    for (size_t i = 0; i < n_marked; i++) {
        double strongest = 0;

        for (size_t k = 0; k < n_before; k++)
            if (fabs(out[k].seconds / marked[i].seconds - 1) < 0.12) {
                out[k].marked |= marked[i].marked;
                strongest = fmax(strongest, out[k].strength);
            }
        if (strongest < SHOWN && *n < PERIODS_MAX)
            out[(*n)++] = marked[i];
    }
}

lm_status periods_find(const series *s, period out[PERIODS_MAX], size_t *n, lm_error *err)
{
    period    marked[PERIODS_MAX];
    size_t    n_marked = 0;
    lm_status status   = LM_OK;

    *n = 0;
    for (size_t level = 0; level < s->n_levels && !status; level++) {
        const series_level *l    = &s->level[level];
        const size_t        from = series_bin(s, level, s->active_from),
                     to          = series_bin(s, level, s->active_to);
        float *events;

        if (to < from + 2 * LAG_FROM)
            break;
        if ((status = look(l->x + from, to - from, l->step, level, false, out, n, err)))
            break;
        events = series_events(l);
        status = events ? look(events + from, to - from, l->step, level, true, out, n, err)
                        : no_memory(err);
        if (!status)
            look_at_marks(events + from, to - from, l->step, level, marked, &n_marked);
        free(events);
    }
    if (!status)
        add_marked(marked, n_marked, out, n);
    qsort(out, *n, sizeof *out, by_length);
    return status;
}
