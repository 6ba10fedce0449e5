/* Non-negative least squares from normal equations. */
#include "solve/nnls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"

#define APART     1e-10 /* of the diagonal */
#define TOLERANCE 1e-10

typedef struct search {
    const double *gram, *h;
    size_t        n;
    double       *scale; /* 1 / sqrt of the diagonal; 0: a column of zeros */
    double       *x;     /* scaled */
    double       *a, *s; /* of the columns in use: their equations and solution */
    size_t       *use;   /* their numbers, ascending */
    bool         *in;
    size_t        n_use;
} search;

static double entry(const search *f, size_t i, size_t j)
{
    return f->gram[i * f->n + j] * f->scale[i] * f->scale[j];
}

/* Solution of the columns in use. */
static lm_status solve_used(search *f, lm_error *err)
{
    f->n_use = 0;
    for (size_t j = 0; j < f->n; j++)
        if (f->in[j])
            f->use[f->n_use++] = j;
    if (!f->n_use)
        return LM_OK;
    for (size_t i = 0; i < f->n_use; i++) {
        for (size_t j = 0; j <= i; j++)
            f->a[i * f->n_use + j] = entry(f, f->use[i], f->use[j]);
        f->a[i * f->n_use + i] += APART;
        f->s[i] = f->h[f->use[i]] * f->scale[f->use[i]];
    }
    /* lower triangle by rows is the upper one by columns, which LAPACK wants */
    if (blas.LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'U', (lapack_int)f->n_use, 1, f->a,
                                (lapack_int)f->n_use, f->s, (lapack_int)f->n_use))
        return lm_error_set(err, LM_E_ARG, "normal equations are not positive definite");
    return LM_OK;
}

/* Goes from x towards the solution of the columns in use until one reaches 0; true: none did. */
static bool advance(search *f)
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

/* The column whose growth would lower the error most; n: there is none. */
static size_t steepest(const search *f, double least)
{
    size_t best = f->n;

    for (size_t j = 0; j < f->n; j++) {
        double g = f->h[j] * f->scale[j];

        if (f->in[j] || f->scale[j] == 0)
            continue;
        for (size_t i = 0; i < f->n; i++)
            if (f->x[i] > 0)
                g -= entry(f, j, i) * f->x[i];
        if (g > least) {
            least = g;
            best  = j;
        }
    }
    return best;
}

static lm_status descend(search *f, lm_error *err)
{
    double    length = 0;
    lm_status status = LM_OK;

    for (size_t j = 0; j < f->n; j++)
        length = fmax(length, fabs(f->h[j] * f->scale[j]));
    for (size_t round = 0; round < 10 * f->n + 10; round++) {
        size_t next;

        do
            status = solve_used(f, err);
        while (!status && !advance(f));
        if (status || (next = steepest(f, TOLERANCE * length)) == f->n)
            break;
        f->in[next] = true;
    }
    return status;
}

lm_status nnls_solve(const double *gram, const double *h, size_t n, double *x, lm_error *err)
{
    search    f = { .gram = gram, .h = h, .n = n };
    double   *room;
    lm_status status = LM_OK;

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
        f.scale = room;
        f.x     = room + n;
        f.s     = room + 2 * n;
        f.a     = room + 3 * n;
    }
    for (size_t j = 0; j < n && !status; j++) {
        const double d = gram[j * n + j];

        if (!isfinite(d) || !isfinite(h[j])) {
            status = lm_error_set(err, LM_E_ARG, "column %zu: not finite", j);
            break;
        }
        f.scale[j] = d > 0 ? 1 / sqrt(d) : 0;
        f.in[j]    = d > 0 && x[j] > 0;
        f.x[j]     = f.in[j] ? x[j] / f.scale[j] : 0;
    }
    if (!status)
        status = descend(&f, err);
    for (size_t j = 0; j < n && !status; j++)
        x[j] = f.x[j] * f.scale[j];
    free(room);
    free(f.use);
    free(f.in);
    return status;
}
