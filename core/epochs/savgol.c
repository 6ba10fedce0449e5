/* Savitzky-Golay smoothing of first order. */
#include "epochs/savgol.h"

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
