/** Anomaly scores of LinkedIn's Luminol (0.4, 2017), as Hur & Lee use them; for core/epochs. */
#ifndef EPOCHS_LUMINOL_H
#define EPOCHS_LUMINOL_H

#include <stddef.h>

#include <layermeter/error.h>

/** Fewer values than this and the bitmap detector's windows, 1.25 % of the series each, hold less
 * than the 50 values that it asks for. */
#define LUMINOL_BITMAP_LEAST 2000

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
 * Luminol's default detector, which it falls back to where the series is too short for bitmaps: the
 * distance from an exponential average (factor 0.2) in standard deviations, 0.65 of it with 0.35 of
 * the same of the slope where that is more.
 */
lm_status luminol_default(const double *x, size_t n, double *score, lm_error *err);

#endif
