/** Smoothing. */
#ifndef EPOCHS_SAVGOL_H
#define EPOCHS_SAVGOL_H

#include <stddef.h>

/**
 * Savitzky & Golay 1964, of first order: each value becomes that of the line fitted to the window
 * around it, which is the window's mean; the first and last half window those of the lines fitted
 * to the first and last window.
 *
 * @param window odd, at most n
 */
void savgol_first_order(const double *x, size_t n, size_t window, double *out);

#endif
