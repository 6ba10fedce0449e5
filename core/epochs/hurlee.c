/*
 * Methods `hurlee` and `hurlee-code`: Hur & Lee 2024. Both score the second half of the training.
 * Then they smooth (Savitzky-Golay, first order, a window by the length of the series) and scale to
 * 0..1 in rounds. Peaks of prominence 0.01 above the mean begin epochs. The epoch time is the mean
 * interval between peaks: all intervals count.
 *
 * hurlee: Luminol's bitmap score at any length, in windows of 1.25 % of the series and 25 values at
 * least, then three rounds. Rounds, order and windows are those of the authors' last notebook,
 * 2_Epoch_Latency/epoch_latency_gpucpu.ipynb of github.com/ddps-lab/cloud-hw-trainpred a43ddd9.
 * There is one score, not one a round, since a score has a peak at both sides of each change. Three
 * scores halve the epochs of traces like the authors' (median error 51 %; one score: 10 %).
 *
 * hurlee-code, as released for the GPU alone (epoch_latency_gpu.ipynb): the series is cut to 1999
 * values. For these, Luminol silently falls back to its default score. Two rounds follow. A loop
 * removes low peaks from the list it walks, and so skips the peak after each.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "epochs/methods.h"
#include "epochs/series.h"

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

/* ---- the method ------------------------------------------------------------------------------ */

#define ROUNDS          3
#define RELEASED_ROUNDS 2
#define RELEASED_MOST   1999
#define PROMINENCE      0.01
#define AUTHORS_LEAST   300 /* samples of a training; the authors leave shorter jobs out */

static size_t window_for(size_t n)
{
    const size_t window = n < 200 ? 11 : n < 800 ? 21 : n <= 1500 ? 91 : n <= 1900 ? 101 : 231;

    return window <= n ? window : (n - 1) / 2 * 2 + 1;
}

/* To 0..1, unless all are the same. */
static void scale(double *x, size_t n)
{
    double low = x[0], high = x[0];

    for (size_t i = 0; i < n; i++) {
        low  = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (size_t i = 0; i < n && high > low; i++)
        x[i] = (x[i] - low) / (high - low);
}

static void smooth(double *x, size_t n, double *scratch)
{
    savgol_first_order(x, n, window_for(n), scratch);
    memcpy(x, scratch, n * sizeof *x);
    scale(x, n);
}

/* Replaces x by its smoothed and scaled score. */
static lm_status score_of(double *x, size_t n, bool released, double *scratch, lm_error *err)
{
    const int rounds = released ? RELEASED_ROUNDS : ROUNDS;
    lm_status status = LM_OK;

    if (released)
        status = luminol_default(x, n, scratch, err);
    else
        luminol_bitmap(x, n, scratch);
    if (!status)
        memcpy(x, scratch, n * sizeof *x);
    for (int i = 0; i < rounds && !status; i++)
        smooth(x, n, scratch);
    return status;
}

/* The prominence of a peak: the smaller fall on its sides before the curve is higher again. */
static double prominence(const double *x, size_t n, size_t peak)
{
    double left = x[peak], right = x[peak];

    for (size_t i = peak; i-- > 0 && x[i] <= x[peak] && x[peak] - left < PROMINENCE;)
        left = fmin(left, x[i]);
    for (size_t i = peak + 1; i < n && x[i] <= x[peak] && x[peak] - right < PROMINENCE; i++)
        right = fmin(right, x[i]);
    return x[peak] - fmax(left, right);
}

/* Places of all peaks, as indices of x; the place of a flat peak is its middle. */
static size_t all_peaks(const double *x, size_t n, double *place)
{
    size_t found = 0;

    for (size_t i = 1; i + 1 < n; i++) {
        size_t end = i;

        if (x[i] <= x[i - 1])
            continue;
        while (end + 1 < n && x[end + 1] == x[i])
            end++;
        if (end + 1 < n && x[end + 1] < x[i] && prominence(x, n, i) >= PROMINENCE)
            place[found++] = 0.5 * (double)(i + end);
        i = end;
    }
    return found;
}

size_t hurlee_peaks(const double *x, size_t n, bool released, double *place)
{
    const size_t all         = all_peaks(x, n, place);
    size_t       kept        = 0;
    double       mean        = 0;
    bool         passed_over = false;

    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < all; i++) {
        const bool low = x[(size_t)place[i]] < mean && !passed_over;

        if (!low)
            place[kept++] = place[i];
        passed_over = released && low;
    }
    return kept;
}

static void note_limits(epochs *out, const char *name, size_t n)
{
    if (n < AUTHORS_LEAST)
        snprintf(out->note, sizeof out->note,
                 "%s: the training has %zu samples; its authors leave out fewer than %d", name, n,
                 AUTHORS_LEAST);
    else
        snprintf(out->note, sizeof out->note,
                 "%s: looks at the second half of the training alone, as its authors do", name);
}

/* `released`: hurlee-code. */
static lm_status find(const trace_grid *g, const series *s, bool released, epochs *out,
                      lm_error *err)
{
    const char  *name = epochs_method_names[released ? EPOCHS_HURLEE_CODE : EPOCHS_HURLEE];
    const double half = 0.5 * (s->active_from + s->active_to), step = s->level[0].step;
    const size_t from = series_bin(s, 0, half), whole = series_bin(s, 0, s->active_to) - from,
                 n = released && whole > RELEASED_MOST ? RELEASED_MOST : whole;
    double   *x = malloc(3 * (n + 2) * sizeof *x), *place = x + n;
    size_t    found  = 0;
    lm_status status = LM_OK;

    if (!x)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)s->level[0].x[from + i];
    if (n < LUMINOL_LEAST)
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "%s: %zu samples in the second half of the training are too few "
                              "(%d)",
                              name, n, LUMINOL_LEAST);
    else
        status = score_of(x, n, released, place, err);
    if (!status && (found = hurlee_peaks(x, n, released, place)) < 2)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s: %zu peak%s in %.4g s: no two epochs", name,
                              found, found == 1 ? "" : "s", (double)n * step);
    for (size_t i = 0; i < found; i++)
        place[i] = half + step * (place[i] + 0.5);
    if (!status)
        status = label_epochs(
            g, &(found_places){ place, NULL, found - 1, s->active_from, s->active_to, step, true },
            out, err);
    free(x);
    note_limits(out, name, 2 * whole);
    return status;
}

lm_status epochs_by_hurlee(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    return find(g, s, false, out, err);
}

lm_status epochs_by_hurlee_code(const trace_grid *g, const series *s, epochs *out, lm_error *err)
{
    return find(g, s, true, out, err);
}
