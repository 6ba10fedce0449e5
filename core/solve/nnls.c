/* The active set of non-negative least squares, and normal equations that it solves. */
#include "solve/nnls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"

#define APART     1e-10 /* of the diagonal */
#define TOLERANCE 1e-10
#define ALIKE     1e-9 /* slopes within this share of the larger are equal up to rounding */

/* ---- the active set ---- */

/* Moves x towards the solution of the columns in use until one reaches 0; true: none did. */
static bool advance(const nnls_search *f)
{
    double step = 1;
    size_t out  = f->n;

    for (size_t k = 0; k < f->n_use; k++) {
        const double now   = f->x[f->use[k]];
        const double reach = now <= 0 ? 0 : now / (now - f->s[k]);

        if (f->s[k] <= 0 && (out == f->n || reach < step)) {
            step = reach;
            out  = f->use[k];
        }
    }
    for (size_t k = 0; k < f->n_use; k++)
        f->x[f->use[k]] += step * (f->s[k] - f->x[f->use[k]]);
    if (out == f->n)
        return true;
    f->x[out]  = 0;
    f->in[out] = false;
    return false;
}

/* The column with the steepest descent of the error; the first of equal ones; n: none. */
static size_t steepest(const nnls_search *f)
{
    double least = f->least;
    size_t best  = f->n;

    for (size_t j = 0; j < f->n; j++) {
        const double g = f->in[j] ? 0 : f->slope(f, j);

        if (g > (best == f->n ? least : least * (1 + ALIKE))) {
            least = g;
            best  = j;
        }
    }
    return best;
}

lm_status nnls_descend(nnls_search *f, lm_error *err)
{
    for (size_t round = 0; round < 10 * f->n + 10; round++) {
        size_t next;

        do {
            lm_status status;

            f->n_use = 0;
            for (size_t j = 0; j < f->n; j++)
                if (f->in[j])
                    f->use[f->n_use++] = j;
            if ((status = f->solve(f, err)))
                return status;
        } while (!advance(f));
        if ((next = steepest(f)) == f->n)
            break;
        f->in[next] = true;
    }
    return LM_OK;
}

/* ---- normal equations ---- */

typedef struct equations {
    const double *gram, *h;
    double       *scale; /* 1 / sqrt of the diagonal; 0: a column of zeros */
    double       *a;     /* of the columns in use */
} equations;

static double entry(const equations *e, size_t n, size_t i, size_t j)
{
    return e->gram[i * n + j] * e->scale[i] * e->scale[j];
}

static lm_status solve_used(nnls_search *f, lm_error *err)
{
    const equations *e = f->context;
    const size_t     n = f->n_use;

    if (!n)
        return LM_OK;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            e->a[i * n + j] = entry(e, f->n, f->use[i], f->use[j]);
        e->a[i * n + i] += APART;
        f->s[i] = e->h[f->use[i]] * e->scale[f->use[i]];
    }
    /* the lower triangle by rows is the upper one by columns: LAPACK takes columns */
    if (blas.LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, 1, e->a, (lapack_int)n, f->s,
                                (lapack_int)n))
        return lm_error_set(err, LM_E_ARG, "normal equations are not positive definite");
    return LM_OK;
}

static double slope(const nnls_search *f, size_t j)
{
    const equations *e = f->context;
    double           g = e->h[j] * e->scale[j];

    for (size_t i = 0; i < f->n && e->scale[j] != 0; i++)
        if (f->x[i] > 0)
            g -= entry(e, f->n, j, i) * f->x[i];
    return g;
}

lm_status nnls_solve(const double *gram, const double *h, size_t n, double *x, lm_error *err)
{
    equations   e = { .gram = gram, .h = h };
    nnls_search f = { .n = n, .context = &e, .solve = solve_used, .slope = slope };
    double     *room, length = 0;
    lm_status   status = LM_OK;

    if (!n)
        return LM_OK;
    if ((status = blas_load(err)))
        return status;
    room  = malloc((3 * n + n * n) * sizeof *room);
    f.use = malloc(n * sizeof *f.use);
    f.in  = calloc(n, sizeof *f.in);
    if (!room || !f.use || !f.in)
        status = no_memory(err);
    else {
        e.scale = room;
        f.x     = room + n;
        f.s     = room + 2 * n;
        e.a     = room + 3 * n;
    }
    for (size_t j = 0; j < n && !status; j++) {
        const double d = gram[j * n + j];

        if (!isfinite(d) || !isfinite(h[j])) {
            status = lm_error_set(err, LM_E_ARG, "column %zu: not finite", j);
            break;
        }
        e.scale[j] = d > 0 ? 1 / sqrt(d) : 0;
        f.in[j]    = d > 0 && x[j] > 0;
        f.x[j]     = f.in[j] ? x[j] / e.scale[j] : 0;
        length     = fmax(length, fabs(h[j] * e.scale[j]));
    }
    f.least = TOLERANCE * length;
    if (!status)
        status = nnls_descend(&f, err);
    for (size_t j = 0; j < n && !status; j++)
        x[j] = f.x[j] * e.scale[j];
    free_all(room, f.use, f.in);
    return status;
}
