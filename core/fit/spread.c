/* Spread of repetitions of one time. */
#include "fit/spread.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
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

double spread_of_inference(const observation *row)
{
    uint32_t flags = 0;

    flags_parse(row->flags, &flags); /* checked when the row was read */
    return row->phase == PHASE_INFERENCE && !row->skipped && !(flags & FLAGS_DOUBTFUL)
               ? spread_of(row)
               : (double)NAN;
}

lm_status spread_of_all(const observations *obs, repeat_spread *out, lm_error *err)
{
    double *of = malloc((obs->n_rows + 1) * sizeof *of);
    size_t  n  = 0;

    *out = (repeat_spread){ .rows = 0 };
    if (!of)
        return no_memory(err);
    for (size_t i = 0; i < obs->n_rows; i++) {
        const double spread = spread_of_inference(&obs->row[i]);

        if (!isnan(spread))
            of[n++] = spread;
    }
    if (n >= SPREAD_LEAST)
        *out = (repeat_spread){ stats_quantile(of, n, 0.5), n };
    free(of);
    return LM_OK;
}

double spread_p95(const repeat_spread *s, double median)
{
    return s->rows ? median * (1 + SIGMAS_P95 * s->sigma) : NAN;
}

double spread_p95_of(double sigma, int64_t repeats, double median)
{
    return median * (1 + sigmas(repeats) * sigma);
}
