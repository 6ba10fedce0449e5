/** The methods and their parts; for core/epochs. A method fills `out` whole or returns why it found
 * no epochs. */
#ifndef EPOCHS_METHODS_H
#define EPOCHS_METHODS_H

#include "epochs/epochs.h"
#include "epochs/series.h"

lm_status epochs_by_tracking(const trace_grid *g, const series *s, epochs *out, lm_error *err);
lm_status epochs_by_luminol(const trace_grid *g, const series *s, epochs *out, lm_error *err);
lm_status epochs_by_changes(const trace_grid *g, const series *s, epochs *out, lm_error *err);

/**
 * Savitzky & Golay 1964, of first order: each value becomes that of the line fitted to the window
 * around it, which is the window's mean; the first and last half window those of the lines fitted
 * to the first and last window.
 *
 * @param window odd, at most n
 */
void savgol_first_order(const double *x, size_t n, size_t window, double *out);

/**
 * Bitmap detector (Wei, Kumar, Lolla, Keogh, Lonardi, Ratanamahatana 2005, "Assumption-Free Anomaly
 * Detection in Time Series"): values become one of four symbols by their place between the least
 * and the largest (symbolic aggregate approximation), pairs of symbols are counted in a window
 * before and a window behind each value (the cells of a chaos-game bitmap); the score is the
 * squared distance of the two bitmaps. Windows are 1.25 % of the series, at most 200 values.
 *
 * @param n at least LUMINOL_BITMAP_LEAST
 */
void luminol_bitmap(const double *x, size_t n, double *score);

/**
 * Where the mean of x changes: the segmentation of least squared deviations from the segments'
 * means plus `penalty` for each segment, exactly (PELT: Killick, Fearnhead & Eckley 2012, "Optimal
 * detection of changepoints with a linear computational cost").
 *
 * @param shortest segments have this many values or more, >= 1
 * @param end      malloc'ed: ends of the segments, the last is n
 */
lm_status pelt(const float *x, size_t n, double penalty, size_t shortest, size_t **end,
               size_t *n_end, lm_error *err);

/** What a method found. */
typedef struct found_places {
    const double *place;      /**< s, n + 1 of them */
    const double *alike;      /**< n, or NULL: not told */
    size_t        n;          /**< intervals, at least 1 */
    double        from, to;   /**< s: where training is at work; -INFINITY, INFINITY: not told */
    double        resolution; /**< s: how exactly places are known */
} found_places;

/**
 * Kinds of the intervals and of what is before and behind them, the steady epoch time and its
 * interval.
 *
 * Epochs are steady whose length is within five median deviations (4 % at least) of the median of
 * the second half;
 * longer ones at the beginning are warm-ups. The steady time is their mean; its 90 % interval
 * Student's, with the resolution of both ends. An epoch is missing if most of its bins are.
 */
lm_status label_epochs(const trace_grid *g, const found_places *f, epochs *out, lm_error *err);

#endif
