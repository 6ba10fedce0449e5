/* Luminol's scores of anomalies: github.com/linkedin/luminol, constants of its constants.py. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "epochs/methods.h"

#define SYMBOLS      4
#define CELLS        (SYMBOLS * SYMBOLS)
#define WINDOW_PART  0.0125
#define WINDOW_LEAST (LUMINOL_LEAST / 2)
#define WINDOW_MOST  200
#define NOISE        0.001 /* scores below this part of the largest are none */
#define SMOOTHING    0.2
#define WEIGHT       0.65
#define SIGNIFICANT  0.94

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
    const size_t window        = part < WINDOW_LEAST  ? WINDOW_LEAST
                                 : part < WINDOW_MOST ? part
                                                      : WINDOW_MOST;
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

lm_status luminol_default(const double *x, size_t n, double *score, lm_error *err)
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
