/* Robust non-negative least squares of dense rows. */
#include "solve/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"
#include "solve/nnls.h"

void robust_work_free(robust_work *w)
{
    free_all(w->gram, w->h, w->weight, w->fit, w->summed, w->by);
    *w = (robust_work){ 0 };
}

static lm_status make_room(const robust_problem *r, robust_work *w, lm_error *err)
{
    if (w->gram && r->rows <= w->rows && r->n <= w->n && r->places <= w->places)
        return LM_OK;
    robust_work_free(w);
    w->gram   = malloc((r->n * r->n + 1) * sizeof *w->gram);
    w->h      = malloc((r->n + 1) * sizeof *w->h);
    w->weight = malloc((r->rows + 1) * sizeof *w->weight);
    w->fit    = malloc((r->rows + 1) * sizeof *w->fit);
    w->summed = malloc((r->rows + 1) * sizeof *w->summed);
    w->by     = malloc((r->places + r->n + 1) * sizeof *w->by);
    w->rows   = r->rows;
    w->n      = r->n;
    w->places = r->places;
    if (w->gram && w->h && w->weight && w->fit && w->summed && w->by)
        return LM_OK;
    robust_work_free(w);
    return no_memory(err);
}

static inline size_t column_of(const robust_problem *r, size_t place)
{
    return r->column ? r->column[place] : place;
}

static inline double scale_of(const robust_problem *r, size_t place)
{
    return r->scale ? r->scale[place] : 1;
}

static inline double share_of(const robust_problem *r, size_t row)
{
    return r->share ? r->share[row] : 1;
}

static inline double told(const robust_problem *r, size_t row)
{
    return r->b ? r->b[row] : 1;
}

/* Starts the equations with the ridge. */
static void hold(const robust_problem *r, robust_work *w)
{
    memset(w->gram, 0, r->n * r->n * sizeof *w->gram);
    memset(w->h, 0, r->n * sizeof *w->h);
    for (size_t j = 0; j < r->n; j++) {
        const double mu = r->mu ? r->mu[j] : r->ridge;

        w->gram[j * r->n + j] = mu;
        w->h[j]               = mu * (r->held ? r->held[j] : r->near);
    }
}

/* Converts sums over places to sums over unknowns. */
static void add_sums(const robust_problem *r, robust_work *w)
{
    for (size_t p = 0; p < r->places; p++) {
        const size_t a = column_of(r, p);

        if (a >= r->n)
            continue;
        w->h[a] += scale_of(r, p) * r->h[p];
        for (size_t q = 0; q <= p; q++) {
            const size_t b     = column_of(r, q);
            const double value = scale_of(r, p) * scale_of(r, q) * r->gram[p * r->places + q];

            if (b >= r->n)
                continue;
            w->gram[a > b ? a * r->n + b : b * r->n + a] += a == b && p != q ? 2 * value : value;
        }
    }
}

/* Adds a row with this weight to the equations. */
static void add_row(const robust_problem *r, robust_work *w, size_t row, double weight)
{
    const double *from = r->a + row * r->places;
    const bool    same = !r->column && !r->scale; /* places are unknowns */
    const double *a    = same ? from : w->by;

    if (!same)
        memset(w->by, 0, r->n * sizeof *w->by);
    for (size_t p = 0; p < r->places && !same; p++)
        if (column_of(r, p) < r->n)
            w->by[column_of(r, p)] += from[p] * scale_of(r, p);
    for (size_t j = 0; j < r->n; j++) {
        double      *to = w->gram + j * r->n;
        const double wa = weight * a[j];

        if (wa == 0)
            continue;
        w->h[j] += wa * told(r, row);
        for (size_t k = 0; k <= j; k++)
            to[k] += wa * a[k];
    }
}

/* Rows of equal weight are summed at once. */
static void add_alike(const robust_problem *r, robust_work *w)
{
    blas.cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)r->n, (int)r->rows, 1, r->a,
                     (int)r->n, 1, w->gram, (int)r->n);
    for (size_t i = 0; i < r->rows; i++)
        for (size_t j = 0; j < r->n; j++)
            w->h[j] += r->a[i * r->n + j];
    for (size_t i = 0; i < r->rows; i++)
        w->summed[i] = 1;
}

static void begin(const robust_problem *r, robust_work *w)
{
    hold(r, w);
    if (r->gram) {
        add_sums(r, w);
        for (size_t i = 0; i < r->rows; i++)
            w->summed[i] = share_of(r, i);
    } else if (!r->share && !r->b && !r->column && !r->scale && r->n && r->rows) {
        add_alike(r, w);
    } else {
        memset(w->summed, 0, r->rows * sizeof *w->summed);
    }
}

/* Updates the weights; false: all stay. */
static bool reweigh(const robust_problem *r, robust_work *w)
{
    bool any = false;

    for (size_t i = 0; i < r->rows; i++) {
        if (w->weight[i] == w->summed[i])
            continue;
        add_row(r, w, i, w->weight[i] - w->summed[i]);
        w->summed[i] = w->weight[i];
        any          = true;
    }
    for (size_t j = 0; j < r->n; j++)
        for (size_t k = 0; k < j; k++)
            w->gram[k * r->n + j] = w->gram[j * r->n + k];
    return any;
}

/* Predicts each row, and weights it by its error. */
static void judge(const robust_problem *r, const double *x, robust_work *w)
{
    const int places = (int)r->places;

    for (size_t p = 0; p < r->places; p++)
        w->by[p] = column_of(r, p) < r->n ? scale_of(r, p) * x[column_of(r, p)] : 0;
    memset(w->fit, 0, r->rows * sizeof *w->fit);
    if (places && r->rows)
        blas.cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)r->rows, places, 1, r->a, places, w->by,
                         1, 0, w->fit, 1);
    for (size_t i = 0; i < r->rows; i++)
        w->weight[i] = share_of(r, i) * robust_weight(fabs(w->fit[i] - told(r, i)), r->huber);
}

lm_status robust_solve(const robust_problem *r, double *x, robust_work *w, lm_error *err)
{
    lm_status status = make_room(r, w, err);

    if (status || (status = blas_load(err)))
        return status;
    begin(r, w);
    if (r->begins)
        judge(r, x, w);
    for (size_t i = 0; i < r->rows && !r->begins; i++)
        w->weight[i] = share_of(r, i);
    for (int round = 0; round <= r->rounds && !status; round++) {
        if (!reweigh(r, w) && round > 0)
            break; /* nothing would change */
        if (!(status = nnls_solve(w->gram, w->h, r->n, x, err)))
            judge(r, x, w);
    }
    return status;
}
