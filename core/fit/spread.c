/* Spread of repetitions of one time. */
#include "fit/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "fit/interval.h"
#include "observe/flags.h"

/* The normal distribution's quantile p in [0.5, 1), by Newton's method on libm's erfc(). */
static double normal_quantile(double p)
{
    double z = 0;

    for (int i = 0; i < 20; i++)
        z += (p - erfc(-z / sqrt(2)) / 2) * sqrt(2 * acos(-1)) * exp(z * z / 2);
    return z;
}

/* Mean of the i-th smallest of n normal values, in sigma (Blom 1958). */
static double normal_order(double i, double n)
{
    return normal_quantile((i - 0.375) / (n + 0.25));
}

/* normal_quantile(0.95) */
#define SIGMAS_P95 1.6448536269514722

/* Mean distance of the 95th percentile of n repetitions from their median, in sigma. The percentile
 * is interpolated (stats_quantile()); of three repetitions it is nearly the longest. */
static double sigmas(int64_t repeats)
{
    const double n = (double)repeats, at = 1 + 0.95 * (n - 1), below = floor(at);

    if (!repeats) /* unknown: taken as many */
        return SIGMAS_P95;
    return (1 - (at - below)) * normal_order(below, n) +
           (at - below) * normal_order(below + 1 > n ? n : below + 1, n);
}

#define REPEATS_LEAST_TOLD 3

double spread_of(const observation *row)
{
    if (!observation_of_network(row) || row->ranks > 1 || isnan(row->p95_seconds) ||
        (row->repeats && row->repeats < REPEATS_LEAST_TOLD))
        return NAN;
    return fmax(0, row->p95_seconds / row->seconds - 1) / sigmas(row->repeats);
}

/* Repetitions of a row. */
typedef struct repeated {
    const char *name; /* its network */
    double      spread;
    double      over;   /* measured 95th percentile over the median */
    double      sigmas; /* expected distance in sigma */
} repeated;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const repeated *)a)->name, ((const repeated *)b)->name);
}

static bool says(const observation *row)
{
    uint32_t flags = 0;

    flags_parse(row->flags, &flags); /* checked when the row was read */
    return row->phase == PHASE_INFERENCE && !row->skipped && !(flags & FLAGS_DOUBTFUL) &&
           !isnan(spread_of(row));
}

/* The median of all rows except `left` to `right`. */
static double median_but(const repeated *x, size_t n, size_t left, size_t right, double *room)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (i < left || i >= right)
            room[k++] = x[i].spread;
    return stats_quantile(room, k, 0.5);
}

/* Predicts each network by the spread of the others. */
static lm_status bound(const repeated *x, size_t n, double *room, residual *r, repeat_spread *out,
                       lm_error *err)
{
    interval  found;
    size_t    groups = 0;
    lm_status status;

    for (size_t i = 0, k; i < n; i = k, groups++) {
        for (k = i; k < n && !strcmp(x[k].name, x[i].name);)
            k++;
        if (k - i == n) /* a single network */
            return LM_OK;
        const double sigma = median_but(x, n, i, k, room);

        for (size_t j = i; j < k; j++)
            r[j] = (residual){ x[j].over / (1 + x[j].sigmas * sigma), groups, 0 };
    }
    if (!(status = interval_bounds(r, n, &found, err)) && groups >= INTERVAL_GROUPS) {
        out->low  = found.low;
        out->high = found.high;
    }
    return status;
}

lm_status spread_of_inference(const observations *obs, repeat_spread *out, lm_error *err)
{
    repeated *x      = malloc((obs->n_rows + 1) * sizeof *x);
    double   *room   = malloc((obs->n_rows + 1) * sizeof *room);
    residual *r      = malloc((obs->n_rows + 1) * sizeof *r);
    size_t    n      = 0;
    lm_status status = x && room && r ? LM_OK : no_memory(err);

    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        const observation *row = &obs->row[i];

        if (says(row))
            x[n++] = (repeated){ row->name, spread_of(row), row->p95_seconds / row->seconds,
                                 sigmas(row->repeats) };
    }
    *out = (repeat_spread){ .rows = 0 };
    if (!status && n >= SPREAD_LEAST) {
        qsort(x, n, sizeof *x, by_name);
        out->sigma = median_but(x, n, n, n, room);
        out->rows  = n;
        status     = bound(x, n, room, r, out, err);
    }
    free_all(x, room, r);
    return status;
}

double spread_p95(const repeat_spread *s, double median)
{
    return s->rows ? median * (1 + SIGMAS_P95 * s->sigma) : NAN;
}

void spread_p95_bounds(const repeat_spread *s, double median, double median_low, double median_high,
                       double *low, double *high)
{
    const bool   known = s->low > 0 && s->high > 0;
    const double p95   = known ? spread_p95(s, median) : (double)NAN;

    *low  = p95 / interval_of_product(median / median_low, 1 / s->low);
    *high = p95 * interval_of_product(median_high / median, s->high);
}
