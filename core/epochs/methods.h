/** The methods and their parts; for core/epochs. A method fills `out` whole or returns why it found
 * no epochs. */
#ifndef EPOCHS_METHODS_H
#define EPOCHS_METHODS_H

#include "epochs/epochs.h"
#include "epochs/series.h"

typedef lm_status epochs_finder(const trace_grid *g, const series *s, epochs *out, lm_error *err);

epochs_finder epochs_by_tracking, epochs_by_hurlee, epochs_by_hurlee_code, epochs_by_changepoints,
    epochs_by_ruptures, epochs_by_jenks;

/**
 * Smoothing by Savitzky & Golay 1964, first order. A value becomes that of the line fitted to the
 * window around it, which is the window's mean. The first and last half windows take the lines of
 * the first and last window.
 *
 * @param window odd, at most n
 */
void savgol_first_order(const double *x, size_t n, size_t window, double *out);

/**
 * Bitmap detector (Wei, Kumar, Lolla, Keogh, Lonardi, Ratanamahatana 2005, "Assumption-Free Anomaly
 * Detection in Time Series"). Each value becomes one of four symbols by its place between the least
 * and the largest (symbolic aggregate approximation). Pairs of symbols are counted in a window
 * before and a window behind each value (the cells of a chaos-game bitmap). The score is the
 * squared distance of the two bitmaps. Windows are 1.25 % of the series, 25 to 200 values: Luminol
 * refuses two windows of fewer than LUMINOL_LEAST values unless it is told others.
 *
 * @param n at least LUMINOL_LEAST
 */
#define LUMINOL_LEAST 50
void luminol_bitmap(const double *x, size_t n, double *score);

/**
 * Luminol's default detector, its fallback for series of fewer than 2000 values. The score is the
 * distance d from an exponential average (factor 0.2) in standard deviations, or 0.65 d + 0.35 d'
 * if that is larger; d' is the same distance of the slope. LM_E_NOMEM.
 */
lm_status luminol_default(const double *x, size_t n, double *score, lm_error *err);

/**
 * Peaks of prominence 0.01 at least as high as the mean, as Hur & Lee count them. A flat peak is in
 * its middle.
 *
 * @param released as in their code, where the peak behind a removed one stays
 * @param place    n: filled with fractions of indices; returns their number
 */
size_t hurlee_peaks(const double *x, size_t n, bool released, double *place);

/**
 * Change points of the mean of x: exactly the segmentation of least squared deviations from the
 * segments' means plus `penalty` for each segment (PELT: Killick, Fearnhead & Eckley 2012, "Optimal
 * detection of changepoints with a linear computational cost").
 *
 * @param shortest least number of values of a segment, >= 1
 * @param end      malloc'ed: ends of the segments, the last is n
 */
lm_status pelt(const float *x, size_t n, double penalty, size_t shortest, size_t **end,
               size_t *n_end, lm_error *err);

/** Places found by a method. */
typedef struct found_places {
    const double *place;      /**< s, n + 1 of them */
    const double *alike;      /**< n, or NULL: unknown */
    size_t        n;          /**< intervals, at least 1 */
    double        from, to;   /**< s: bounds of the training; -INFINITY, INFINITY: unknown */
    double        resolution; /**< s: accuracy of the places */
    bool          all;        /**< all intervals count, whatever they are */
} found_places;

/**
 * Kinds of the intervals and of the time around them; the steady epoch time and its interval.
 *
 * An epoch is steady if its length is within five median deviations (at least 4 %) of the median of
 * the second half. Longer epochs at the beginning are warm-ups. An epoch is missing if most of its
 * bins are. The steady time is a mean; its 90 % interval is Student's, with the resolution of both
 * ends. If all intervals count they are all steady, and the 90 % interval is that of one more.
 */
lm_status label_epochs(const trace_grid *g, const found_places *f, epochs *out, lm_error *err);

#endif
