/*
 * Method `hurlee`: Hur & Lee 2024. Three rounds of Luminol's bitmap detector, each smoothed by
 * Savitzky-Golay and scaled to 0..1, then peaks of prominence 0.01 above the mean; the epoch time
 * is the way from the first to the last over their number less one. Constants are those of the
 * authors' notebooks (github.com/ddps-lab/cloud-hw-trainpred, a43ddd9), which cut to the second
 * half of the training.
 *
 * Below 2000 samples Luminol falls back to its default detector, and so does this, with one round,
 * as released.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "epochs/methods.h"
#include "epochs/series.h"

/* Fewer values than this and the bitmap detector's windows, 1.25 % of the series each, hold less
 * than the 50 values that it asks for. */
#define LUMINOL_BITMAP_LEAST 2000

/* ---- smoothing ------------------------------------------------------------------------------- */

/* The line fitted to a window, at the places from..to of it. */
static void fit_line(const double *x, size_t window, size_t from, size_t to, double *out)
{
    const double middle = 0.5 * (double)(window - 1);
    double       mean = 0, slope = 0, squares = 0;

    for (size_t i = 0; i < window; i++) {
        mean += x[i] / (double)window;
        slope += x[i] * ((double)i - middle);
        squares += ((double)i - middle) * ((double)i - middle);
    }
    slope = squares > 0 ? slope / squares : 0;
    for (size_t i = from; i < to; i++)
        out[i - from] = mean + slope * ((double)i - middle);
}

void savgol_first_order(const double *x, size_t n, size_t window, double *out)
{
    const size_t half = window / 2;
    double       sum  = 0;

    for (size_t i = 0; i < window; i++)
        sum += x[i];
    for (size_t i = half; i + half < n; i++) {
        out[i] = sum / (double)window;
        if (i + half + 1 < n)
            sum += x[i + half + 1] - x[i - half];
    }
    fit_line(x, window, 0, half, out);
    fit_line(x + n - window, window, window - half, window, out + n - half);
}

/* ---- Luminol --------------------------------------------------------------------------------- */

#define SYMBOLS     4
#define CELLS       (SYMBOLS * SYMBOLS)
#define WINDOW_PART 0.0125
#define WINDOW_MOST 200
#define NOISE       0.001 /* scores below this part of the largest are none */
#define SMOOTHING   0.2
#define WEIGHT      0.65
#define SIGNIFICANT 0.94

static void denoise(double *score, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, score[i]);
    for (size_t i = 0; i < n; i++)
        if (score[i] < NOISE * most)
            score[i] = 0;
}

typedef struct symbols {
    const double *x;
    double        low, height; /* of a symbol's range */
} symbols;

static int symbol(const symbols *s, size_t i)
{
    const int k = s->height > 0 ? (int)((s->x[i] - s->low) / s->height) : 0;

    return k < SYMBOLS ? k : SYMBOLS - 1;
}

/* The cell of the pair i, i + 1. */
static int cell(const symbols *s, size_t i)
{
    return symbol(s, i) * SYMBOLS + symbol(s, i + 1);
}

void luminol_bitmap(const double *x, size_t n, double *score)
{
    const size_t part          = (size_t)(WINDOW_PART * (double)n);
    const size_t window        = part < WINDOW_MOST ? part : WINDOW_MOST;
    int          before[CELLS] = { 0 }, behind[CELLS] = { 0 };
    symbols      s    = { x, x[0], 0 };
    double       high = x[0];

    for (size_t i = 0; i < n; i++) {
        s.low    = fmin(s.low, x[i]);
        high     = fmax(high, x[i]);
        score[i] = 0;
    }
    s.height = (high - s.low) / SYMBOLS;
    for (size_t i = 0; i + 1 < window; i++) {
        before[cell(&s, i)]++;
        behind[cell(&s, window + i)]++;
    }
    for (size_t i = window; i + window <= n; i++) { /* windows [i - w, i) and [i, i + w) */
        for (int c = 0; c < CELLS; c++)
            score[i] += (double)(before[c] - behind[c]) * (double)(before[c] - behind[c]);
        if (i + window == n)
            break;
        before[cell(&s, i - window)]--;
        before[cell(&s, i - 1)]++;
        behind[cell(&s, i)]--;
        behind[cell(&s, i + window - 1)]++;
    }
    denoise(score, n);
}

/* Distances from the exponential average, in standard deviations of `of`. */
static void from_average(const double *x, size_t n, double *out, bool of_distance)
{
    double average = x[0], mean = 0, squares = 0, deviation;

    for (size_t i = 0; i < n; i++) {
        average = i ? SMOOTHING * x[i] + (1 - SMOOTHING) * average : x[0];
        out[i]  = fabs(x[i] - average);
    }
    for (size_t i = 0; i < n; i++)
        mean += (of_distance ? out[i] : x[i]) / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow((of_distance ? out[i] : x[i]) - mean, 2);
    deviation = sqrt(squares / (double)n);
    for (size_t i = 0; i < n && deviation > 0; i++)
        out[i] /= deviation;
    denoise(out, n);
}

/* Luminol's default detector, its fallback for series too short for bitmaps. The score is the
 * distance from an exponential average (factor 0.2) in standard deviations, or, if larger, 0.65
 * of it plus 0.35 of the same of the slope. */
static lm_status luminol_default(const double *x, size_t n, double *score, lm_error *err)
{
    double *slope = malloc(2 * n * sizeof *slope), *other = slope ? slope + n : NULL;

    if (!slope)
        return no_memory(err);
    for (size_t i = 1; i < n; i++)
        slope[i] = fabs(x[i] - x[i - 1]);
    slope[0] = n > 1 ? slope[1] : 0;
    from_average(x, n, score, false);
    from_average(slope, n, other, true);
    for (size_t i = 0; i < n; i++) {
        const double own = score[i];

        score[i] = fmax(own, WEIGHT * own + (1 - WEIGHT) * other[i]);
        if (own > SIGNIFICANT)
            score[i] = fmax(score[i], other[i]);
    }
    denoise(score, n);
    free(slope);
    return LM_OK;
}

/* ---- the method ------------------------------------------------------------------------------ */

#define ROUNDS        3
#define PROMINENCE    0.01
#define AUTHORS_LEAST 300 /* the authors leave shorter jobs out */

static size_t window_for(size_t n)
{
    const size_t window = n < 200 ? 11 : n < 800 ? 21 : n <= 1500 ? 91 : n <= 1900 ? 101 : 231;

    return window <= n ? window : (n - 1) / 2 * 2 + 1;
}

/* To 0..1; false: all are the same. */
static bool scale(double *x, size_t n)
{
    double low = x[0], high = x[0];

    for (size_t i = 0; i < n; i++) {
        low  = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (size_t i = 0; i < n && high > low; i++)
        x[i] = (x[i] - low) / (high - low);
    return high > low;
}

static bool smooth(double *x, size_t n, double *scratch)
{
    savgol_first_order(x, n, window_for(n), scratch);
    memcpy(x, scratch, n * sizeof *x);
    return scale(x, n);
}

/* Replaces x by its score. */
static lm_status rounds(double *x, size_t n, double *scratch, lm_error *err)
{
    lm_status status = LM_OK;

    if (n < LUMINOL_BITMAP_LEAST) {
        if ((status = luminol_default(x, n, scratch, err)))
            return status;
        memcpy(x, scratch, n * sizeof *x);
        smooth(x, n, scratch);
        smooth(x, n, scratch);
        return LM_OK;
    }
    for (int i = 0; i < ROUNDS; i++) {
        luminol_bitmap(x, n, scratch);
        memcpy(x, scratch, n * sizeof *x);
        smooth(x, n, scratch);
    }
    return LM_OK;
}

/* The lower of how far the curve falls on both sides before it is higher again. */
static double prominence(const double *x, size_t n, size_t peak)
{
    double left = x[peak], right = x[peak];

    for (size_t i = peak; i-- > 0 && x[i] <= x[peak] && x[peak] - left < PROMINENCE;)
        left = fmin(left, x[i]);
    for (size_t i = peak + 1; i < n && x[i] <= x[peak] && x[peak] - right < PROMINENCE; i++)
        right = fmin(right, x[i]);
    return x[peak] - fmax(left, right);
}

/* Times of the peaks above the mean; a flat peak is in its middle. */
static size_t peaks(const double *x, size_t n, double start, double step, double *place)
{
    double mean  = 0;
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 1; i + 1 < n; i++) {
        size_t end = i;

        if (x[i] <= x[i - 1])
            continue;
        while (end + 1 < n && x[end + 1] == x[i])
            end++;
        if (end + 1 < n && x[end + 1] < x[i] && x[i] >= mean && prominence(x, n, i) >= PROMINENCE)
            place[found++] = start + step * 0.5 * (double)(i + end + 1);
        i = end;
    }
    return found;
}

static void note_limits(epochs *out, size_t n)
{
    if (n < AUTHORS_LEAST)
        snprintf(
            out->note, sizeof out->note,
            "hurlee: the second half of the training has %zu samples; its authors leave out fewer than %d",
            n, AUTHORS_LEAST);
    else if (n < LUMINOL_BITMAP_LEAST)
        snprintf(
            out->note, sizeof out->note,
            "hurlee: the second half of the training has %zu samples, too few for bitmaps (%d): Luminol's "
            "default detector instead",
            n, LUMINOL_BITMAP_LEAST);
}

/* As published: all intervals count. */
static void plain_mean(const found_places *f, epochs *out)
{
    out->steady = (f->place[f->n] - f->place[0]) / (double)f->n;
    if (f->n < 3)
        out->low = out->high = NAN;
}

lm_status epochs_by_luminol(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    const double half = 0.5 * (s->active_from + s->active_to);
    const size_t from = series_bin(s, 0, half), to = series_bin(s, 0, s->active_to), n = to - from;
    double      *x      = malloc(3 * (n + 2) * sizeof *x);
    lm_status    status = LM_OK;

    if (!x)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)s->level[0].x[from + i];
    if (n < 11)
        status = lm_error_set(err, LM_E_NOTFOUND, "hurlee: %zu samples are too few", n);
    if (!status)
        status = rounds(x, n, x + n, err);
    if (!status) {
        const size_t       found = peaks(x, n, half, s->level[0].step, x + n);
        const found_places f     = { x + n,          NULL,         found - 1,
                                     s->active_from, s->active_to, s->level[0].step };

        if (found < 2)
            status = lm_error_set(err, LM_E_NOTFOUND, "hurlee: %zu peak%s in %.4g s: no two epochs",
                                  found, found == 1 ? "" : "s", s->active_to - half);
        else if (!(status = label_epochs(g, &f, out, err)))
            plain_mean(&f, out);
    }
    free(x);
    if (!status)
        note_limits(out, n);
    return status;
}
