/** Order statistics and errors of predictions. */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <math.h>
#include <stddef.h>

/**
 * Quantile q in [0, 1] of n >= 1 values, linear between the closest ranks (Hyndman & Fan 1996, type
 * 7). Sorts the values in place.
 */
double stats_quantile(double *values, size_t n, double q);

/** Median absolute deviation from the median; scratch holds n values. Sorts `values`. */
double stats_mad(double *values, double *scratch, size_t n);

/**
 * The size of a sum of three independent errors: sqrt(a^2 + b^2 + c^2). Unlike hypot(), it has the
 * same digits with every C library.
 */
static inline double stats_quadrature(double a, double b, double c)
{
    return sqrt(a * a + b * b + c * c);
}

/** The 95 % quantile of Student's t with df >= 1 degrees of freedom: a 90 % interval reaches so
 * many standard errors to both sides. Exact to 3, then by Cornish & Fisher's expansion (Abramowitz
 * & Stegun 26.7.5). */
double stats_student90(size_t df);

/** Running weighted mean, and the sum of squared distances from it. Zero-initialise. */
typedef struct stats_moments {
    double weight, mean, squares;
    size_t n;
} stats_moments;

/** One more value (West 1979, "Updating mean and variance estimates: an improved method"). */
void stats_add(stats_moments *m, double value, double weight);

/** Mean and spread of values that are taken one by one (Welford 1962). Zeros: none was taken. */
typedef struct stats_sample {
    size_t n;
    double mean, squares; /**< sum of squared deviations from the mean */
} stats_sample;

static inline void stats_take(stats_sample *s, double value)
{
    const double off = value - s->mean;

    s->mean += off / (double)++s->n;
    s->squares += off * (value - s->mean);
}

/** Standard deviation; NAN for fewer than two values. */
static inline double stats_sd(const stats_sample *s)
{
    return s->n > 1 ? sqrt(s->squares / (double)(s->n - 1)) : (double)NAN;
}

/** Errors of predictions against measurements. */
typedef struct stats_errors {
    size_t n;
    double mape;       /**< mean |predicted - measured| / measured */
    double median_ape; /**< median of the same */
    double rmse;       /**< root of the mean squared error, in the values' unit */
    double nrmse;      /**< rmse / (largest - smallest measured); NAN if all are equal */
    double r2;         /**< 1 - residual / total sum of squares; NAN if all are equal */
} stats_errors;

/** measured[i] > 0. All fields but n are NAN for n == 0. */
stats_errors stats_compare(const double *predicted, const double *measured, size_t n);

#endif
