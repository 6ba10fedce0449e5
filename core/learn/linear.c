/* Linear regression by ordinary least squares. */
#include "learn/linear.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"

void linear_free(linear *l)
{
    if (!l)
        return;
    free(l->factor);
    free(l);
}

double linear_predict(const linear *l, const double *x)
{
    double sum = l->base;

    for (size_t k = 0; k < l->n_features; k++)
        sum += l->factor[k] * x[k];
    return sum;
}

static lm_status linear_new(size_t n_features, linear **out, lm_error *err)
{
    linear *l = calloc(1, sizeof *l);

    if (!l || !(l->factor = calloc(n_features, sizeof *l->factor))) {
        free(l);
        return no_memory(err);
    }
    l->n_features = n_features;
    *out          = l;
    return LM_OK;
}

/* ---- training ---- */

static double mean_of(const double *x, size_t n, size_t stride)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i * stride] / (double)n;
    return sum;
}

/* Feature k in column k of `a`, with mean 0 and deviation 1; all 0 where it does not vary. Returns
 * the deviation; 0: it does not. */
static double scale_feature(const learn_rows *r, size_t k, double mean, double *a)
{
    double squares = 0, largest = 0, deviation;

    for (size_t i = 0; i < r->n; i++) {
        a[i] = r->x[i * r->n_features + k] - mean;
        squares += a[i] * a[i] / (double)r->n;
        largest = fmax(largest, fabs(r->x[i * r->n_features + k]));
    }
    deviation = sqrt(squares);
    if (!isfinite(deviation) || deviation <= largest * DBL_EPSILON * 16)
        deviation = 0; /* only rounding errors remain */
    for (size_t i = 0; i < r->n; i++)
        a[i] = deviation > 0 ? a[i] / deviation : 0;
    return deviation;
}

/* Factors of the scaled features: the first n_features of `b` (of which there is room for both). */
static lm_status solve(const learn_rows *r, double *a, double *b, double *values, lm_error *err)
{
    const lapack_int m = (lapack_int)r->n, n = (lapack_int)r->n_features, most = m > n ? m : n;
    lapack_int       rank, info;
    lm_status        status = blas_load(err);

    if (status)
        return status;
    info = blas.LAPACKE_dgelsd(LAPACK_COL_MAJOR, m, n, 1, a, m, b, most, values,
                               (double)most * DBL_EPSILON, &rank);
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return no_memory(err);
    return info ? lm_error_set(err, LM_E_ARG, "the least squares of %zu features did not converge",
                               r->n_features)
                : LM_OK;
}

static lm_status fit(const learn_rows *r, linear *to, lm_error *err)
{
    const size_t most = r->n > r->n_features ? r->n : r->n_features;
    const double y    = mean_of(r->y, r->n, 1);
    double      *a    = malloc(r->n * r->n_features * sizeof *a);
    double      *b = calloc(most, sizeof *b), *values = malloc(most * sizeof *values);
    lm_status    status = a && b && values ? LM_OK : no_memory(err);

    for (size_t k = 0; k < r->n_features && !status; k++)
        to->factor[k] = scale_feature(r, k, mean_of(r->x + k, r->n, r->n_features), a + k * r->n);
    for (size_t i = 0; i < r->n && !status; i++)
        b[i] = r->y[i] - y;
    if (!status && !(status = solve(r, a, b, values, err))) {
        to->base = y;
        for (size_t k = 0; k < r->n_features; k++) {
            to->factor[k] = to->factor[k] > 0 ? b[k] / to->factor[k] : 0;
            to->base -= to->factor[k] * mean_of(r->x + k, r->n, r->n_features);
        }
    }
    free_all(a, b, values);
    return status;
}

lm_status linear_train(const learn_rows *rows, linear **out, lm_error *err)
{
    linear   *l      = NULL;
    lm_status status = learn_rows_check(rows, LINEAR_FEATURES, err);

    if (status || (status = linear_new(rows->n_features, &l, err)))
        return status;
    if ((status = fit(rows, l, err)))
        linear_free(l);
    else
        *out = l;
    return status;
}

/* ---- text ---- */

void linear_text(lines *l, linear **both)
{
    linear *x = *both = lines_made(l, *both, sizeof *x);

    if (!x || !LINE(l, "linear", ITEM_COUNT(&x->n_features, 1, LINEAR_FEATURES)))
        return;
    if (!l->out)
        x->factor = lines_array(l, x->n_features, sizeof *x->factor);
    LINE(l, "factors", ITEM_ANY(&x->base), ITEM_REALS(x->factor, x->n_features, -DBL_MAX, DBL_MAX));
}
