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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "epochs/label.h"
#include "epochs/luminol.h"
#include "epochs/methods.h"
#include "epochs/savgol.h"
#include "epochs/series.h"

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

static lm_status find(const trace_grid *g, const series *s, epochs *out, lm_error *err)
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

lm_status epochs_by_luminol(const trace_grid *g, epochs *out, lm_error *err)
{
    series    s;
    lm_status status = series_of(g, &s, err);

    if (status)
        return status;
    status = find(g, &s, out, err);
    series_free(&s);
    return status;
}
