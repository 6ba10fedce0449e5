/* Order statistics, and the errors of predictions. */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/order.h"

ORDER_BY_VALUE(by_value, double)

static void swap(double *a, double *b)
{
    const double kept = *a;

    *a = *b;
    *b = kept;
}

static void insert(double *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && v[k] < v[k - 1]; k--)
            swap(&v[k], &v[k - 1]);
}

#define FEW  16 /* ranges of so few values are sorted by insertion */
#define DEEP 48 /* depth at which qsort() takes over */

/* Hoare's quicksort by the median of three, without a call for each comparison. */
static void quicksort(double *v, size_t n, int depth)
{
    while (n > FEW && depth-- > 0) {
        double *middle = v + n / 2, *last = v + n - 1, pivot;
        size_t  low = 0, high = n - 1;

        if (*middle < *v)
            swap(middle, v);
        if (*last < *middle)
            swap(last, middle);
        if (*middle < *v)
            swap(middle, v);
        pivot = *middle;
        for (;; low++, high--) {
            while (v[low] < pivot)
                low++;
            while (pivot < v[high])
                high--;
            if (low >= high)
                break;
            swap(&v[low], &v[high]);
        }
        quicksort(v + high + 1, n - high - 1, depth);
        n = high + 1;
    }
    if (n > FEW)
        qsort(v, n, sizeof *v, by_value);
    else
        insert(v, n);
}

/* Callers ask for several quantiles of the same values: only the first call has to sort. */
static void sort(double *values, size_t n)
{
    size_t i = 1;

    while (i < n && values[i - 1] <= values[i])
        i++;
    if (i < n)
        quicksort(values, n, DEEP);
}

double stats_quantile(double *values, size_t n, double q)
{
    const double place = q * (double)(n - 1);
    const size_t below = (size_t)floor(place);
    const size_t above = below + 1 < n ? below + 1 : below;

    sort(values, n);
    if (place == (double)below ||
        values[above] == values[below]) /* exact, also if both are infinite */
        return values[below];
    return values[below] + (place - (double)below) * (values[above] - values[below]);
}

double stats_mad(double *values, double *scratch, size_t n)
{
    const double median = stats_quantile(values, n, 0.5);

    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(values[i] - median);
    return stats_quantile(scratch, n, 0.5);
}

void stats_add(stats_moments *m, double value, double weight)
{
    const double off = value - m->mean;

    m->weight += weight;
    m->mean += off * weight / m->weight;
    m->squares += weight * off * (value - m->mean);
    m->n++;
}

stats_errors stats_compare(const double *predicted, const double *measured, size_t n)
{
    stats_errors e    = { n, NAN, NAN, NAN, NAN, NAN };
    double      *ape  = n ? malloc(n * sizeof *ape) : NULL;
    double       mean = 0, total = 0, squares = 0, sum_ape = 0;
    double       low = INFINITY, high = -INFINITY;

    if (!ape)
        return e;
    for (size_t i = 0; i < n; i++)
        mean += measured[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double error = predicted[i] - measured[i];

        ape[i] = fabs(error) / measured[i];
        sum_ape += ape[i];
        squares += error * error;
        total += (measured[i] - mean) * (measured[i] - mean);
        low  = fmin(low, measured[i]);
        high = fmax(high, measured[i]);
    }
    e.mape       = sum_ape / (double)n;
    e.median_ape = stats_quantile(ape, n, 0.5);
    e.rmse       = sqrt(squares / (double)n);
    if (high > low) {
        e.nrmse = e.rmse / (high - low);
        e.r2    = 1 - squares / total;
    }
    free(ape);
    return e;
}

double stats_student90(size_t df)
{
    static const double few[] = { 6.3137515, 2.9199856, 2.3533634 };
    const double        z = 1.6448536269514722, v = (double)df;

    if (df <= 3)
        return few[df - 1];
    return z + (pow(z, 3) + z) / (4 * v) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * v * v * v);
}
