/* Linear least squares on LAPACKE. */
#include "solve/lsq.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"
#include "solve/nnls.h"

static lm_status check(const lsq_problem *p, lm_error *err)
{
    if (p->columns < 1 || p->columns > LSQ_MAX_COLUMNS)
        return lm_error_set(err, LM_E_ARG, "%zu coefficients: 1 to %d can be fitted", p->columns,
                            LSQ_MAX_COLUMNS);
    if (!p->rows)
        return lm_error_set(err, LM_E_ARG, "no rows to fit");
    for (size_t i = 0; i < p->rows * p->columns; i++)
        if (!isfinite(p->a[i]))
            return lm_error_set(err, LM_E_ARG, "row %zu: a regressor is not finite",
                                i / p->columns);
    for (size_t i = 0; i < p->rows; i++)
        if (!isfinite(p->b[i]) || (p->weight && !isfinite(p->weight[i])))
            return lm_error_set(err, LM_E_ARG, "row %zu: a value or weight is not finite", i);
    return LM_OK;
}

/* Triangle of the m x n matrix `a` (column after column, destroyed), m >= n, row after row. */
static lm_status triangle(double *a, size_t m, size_t n, double *r, lm_error *err)
{
    double tau[LSQ_MAX_COLUMNS + 1];

    if (blas.LAPACKE_dgeqrf(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)n, a, (lapack_int)m, tau))
        return lm_error_set(err, LM_E_NOMEM, "LAPACK could not factorise the problem");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            r[i * n + j] = j >= i ? a[j * m + i] : 0;
    return LM_OK;
}

lm_status lsq_factor(const lsq_problem *p, lsq_block *out, lm_error *err)
{
    const size_t n      = p->columns + 1;
    const size_t m      = p->rows > n ? p->rows : n; /* rows of zeros change nothing */
    lm_status    status = check(p, err);
    double      *a;

    if (status || (status = blas_load(err)))
        return status;
    a = calloc(m * n, sizeof *a);
    if (!a)
        return no_memory(err);
    for (size_t i = 0; i < p->rows; i++) {
        const double w = p->weight ? p->weight[i] : 1;

        for (size_t j = 0; j + 1 < n; j++)
            a[j * m + i] = p->a[i * (n - 1) + j] * w;
        a[(n - 1) * m + i] = p->b[i] * w;
        for (size_t j = 0; j < n && !status; j++)
            if (!isfinite(a[j * m + i]))
                status = lm_error_set(err, LM_E_ARG,
                                      "row %zu: too far from the others to be weighted", i);
    }
    if (status) {
        free(a);
        return status;
    }
    out->rows    = p->rows;
    out->columns = p->columns;
    status       = triangle(a, m, n, out->r, err);
    free(a);
    return status;
}

/* All blocks as one triangle with columns of length 1. */
typedef struct reduced {
    size_t n, rows;
    double r[LSQ_MAX_COLUMNS][LSQ_MAX_COLUMNS]; /* zero below the diagonal */
    double qtb[LSQ_MAX_COLUMNS];                /* first n entries of Q' b */
    double rest;                                /* |b|^2 outside the columns' space */
    double scale[LSQ_MAX_COLUMNS];              /* length of each column; 0: all zero */
} reduced;

static lm_status combine(const lsq_block *const *blocks, size_t n_blocks, reduced *out,
                         lm_error *err)
{
    double    r[(LSQ_MAX_COLUMNS + 1) * (LSQ_MAX_COLUMNS + 1)];
    double   *a = NULL;
    size_t    n = 0, m = 0, row = 0;
    lm_status status;

    memset(out, 0, sizeof *out);
    for (size_t b = 0; b < n_blocks; b++)
        if (blocks[b]) {
            n = blocks[b]->columns + 1;
            m += n;
            out->rows += blocks[b]->rows;
        }
    if (!n || out->rows < n - 1)
        return lm_error_set(err, LM_E_ARG, "%zu rows are too few for %zu coefficients", out->rows,
                            n ? n - 1 : 0);
    out->n = n - 1;
    a      = calloc(m * n, sizeof *a);
    if (!a)
        return no_memory(err);
    for (size_t b = 0; b < n_blocks; b++)
        for (size_t i = 0; blocks[b] && i < n; i++, row++)
            for (size_t j = 0; j < n; j++)
                a[j * m + row] = blocks[b]->r[i * n + j];
    status = triangle(a, m, n, r, err);
    free(a);
    if (status)
        return status;
    for (size_t j = 0; j < out->n; j++) {
        double largest = 0, squares = 0;

        for (size_t i = 0; i <= j; i++)
            largest = fmax(largest, fabs(r[i * n + j]));
        for (size_t i = 0; i <= j && largest > 0; i++)
            squares += (r[i * n + j] / largest) * (r[i * n + j] / largest);
        out->scale[j] = largest * sqrt(squares);
        for (size_t i = 0; i <= j && largest > 0; i++)
            out->r[i][j] = r[i * n + j] / out->scale[j];
        out->qtb[j] = r[j * n + n - 1];
    }
    out->rest = r[n * n - 1] * r[n * n - 1];
    return LM_OK;
}

#define WORK_DOUBLES (8 * LSQ_MAX_COLUMNS) /* dgelss asks for 5 n; more lets it use blocks */

/* The shortest least-squares solution over the chosen columns, its rank and spectrum (dgelss). */
typedef struct subset {
    size_t n, column[LSQ_MAX_COLUMNS];
    double x[LSQ_MAX_COLUMNS];
    double s[LSQ_MAX_COLUMNS];                   /* singular values, descending */
    double v[LSQ_MAX_COLUMNS * LSQ_MAX_COLUMNS]; /* row k: right singular vector k */
    size_t rank;
} subset;

static lm_status solve_subset(const reduced *p, double tolerance, subset *s, lm_error *err)
{
    const size_t n = s->n, m = p->n;
    double       a[LSQ_MAX_COLUMNS * LSQ_MAX_COLUMNS], b[LSQ_MAX_COLUMNS];
    double       work[WORK_DOUBLES]; /* work space is given, and matrices are column-major: LAPACKE
                                      * would copy and allocate */
    lapack_int   rank;

    s->rank = 0;
    if (!n)
        return LM_OK;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < m; i++)
            a[k * m + i] = p->r[i][s->column[k]];
    memcpy(b, p->qtb, m * sizeof *b);
    if (blas.LAPACKE_dgelss_work(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)n, 1, a,
                                 (lapack_int)m, b, (lapack_int)m, s->s, tolerance, &rank, work,
                                 WORK_DOUBLES))
        return lm_error_set(err, LM_E_NOMEM, "LAPACK could not solve the problem");
    s->rank = (size_t)rank;
    memcpy(s->x, b, n * sizeof *b);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            s->v[i * n + k] = a[k * m + i];
    return LM_OK;
}

/* Lawson & Hanson's NNLS: which columns stay, given that no coefficient may be negative. */
typedef struct bounded_search {
    const reduced *p;
    subset        *s; /* the solution over the columns that stay */
    double         tolerance;
} bounded_search;

static lm_status solve_used(nnls_search *f, lm_error *err)
{
    const bounded_search *b = f->context;
    lm_status             status;

    b->s->n = f->n_use;
    memcpy(b->s->column, f->use, f->n_use * sizeof *f->use);
    if (!(status = solve_subset(b->p, b->tolerance, b->s, err)))
        memcpy(f->s, b->s->x, f->n_use * sizeof *f->s);
    return status;
}

/* Negative gradient of half the squared error at x, column j: -r_j' (R x - Q'b). */
static double slope(const nnls_search *f, size_t j)
{
    const reduced *p = ((const bounded_search *)f->context)->p;
    double         g = 0;

    for (size_t i = 0; i <= j && p->scale[j] > 0; i++) {
        double residual = -p->qtb[i];

        for (size_t k = i; k < p->n; k++)
            residual += p->r[i][k] * f->x[k];
        g += p->r[i][j] * residual;
    }
    return -g;
}

static lm_status active_set(const reduced *p, double tolerance, subset *s, double *x, lm_error *err)
{
    const bounded_search b                   = { p, s, tolerance };
    bool                 in[LSQ_MAX_COLUMNS] = { false };
    double               at[LSQ_MAX_COLUMNS], length = 0;
    size_t               use[LSQ_MAX_COLUMNS];
    nnls_search          f = { .n       = p->n,
                               .context = &b,
                               .solve   = solve_used,
                               .slope   = slope,
                               .x       = x,
                               .in      = in,
                               .s       = at,
                               .use     = use };

    for (size_t j = 0; j < p->n; j++)
        length += p->qtb[j] * p->qtb[j];
    f.least = 1e-12 * sqrt(length);
    return nnls_descend(&f, err);
}

static double residual_squares(const reduced *p, const double *x)
{
    double sum = p->rest;

    for (size_t i = 0; i < p->n; i++) {
        double r = -p->qtb[i];

        for (size_t j = i; j < p->n; j++)
            r += p->r[i][j] * x[j];
        sum += r * r;
    }
    return sum;
}

/* Marks coefficients in the null space of all columns as undetermined: the data do not separate
 * them, also if the bound at 0 removed some. */
static void mark_determined(const reduced *p, const subset *all, lsq_solution *out)
{
    for (size_t k = 0; k < all->n; k++) {
        double null = 0;

        for (size_t i = all->rank; i < all->n; i++)
            null += all->v[i * all->n + k] * all->v[i * all->n + k];
        out->determined[all->column[k]] = p->scale[all->column[k]] > 0 && null < 1e-8;
    }
}

/* Standard errors from the spectrum of the columns in use. */
static void judge(const reduced *p, bool non_negative, const subset *s, lsq_solution *out)
{
    const double spare    = (double)p->rows - (double)s->rank;
    const double variance = spare > 0 ? out->weighted_rss / spare : NAN;

    for (size_t j = 0; j < p->n; j++) {
        out->standard_error[j] = NAN;
        out->at_bound[j]       = non_negative && p->scale[j] > 0;
    }
    for (size_t k = 0; k < s->n; k++) {
        const size_t j   = s->column[k];
        double       sum = 0;

        for (size_t i = 0; i < s->rank; i++)
            sum += s->v[i * s->n + k] * s->v[i * s->n + k] / (s->s[i] * s->s[i]);
        out->at_bound[j] = false;
        if (out->determined[j])
            out->standard_error[j] = sqrt(variance * sum) / p->scale[j];
    }
    out->rank      = s->rank;
    out->condition = s->rank ? s->s[0] / s->s[s->rank - 1] : NAN;
}

lm_status lsq_solve(const lsq_block *const *blocks, size_t n_blocks, bool non_negative,
                    lsq_solution *out, lm_error *err)
{
    lsq_solution result;
    reduced      p;
    subset       all, s;
    double       x[LSQ_MAX_COLUMNS] = { 0 };
    double       tolerance;
    lm_status    status = combine(blocks, n_blocks, &p, err);

    if (status)
        return status;
    memset(&result, 0, sizeof result);
    tolerance = (double)p.rows * DBL_EPSILON;
    all.n     = p.n;
    for (size_t j = 0; j < p.n; j++)
        all.column[j] = j;
    if ((status = solve_subset(&p, tolerance, &all, err)))
        return status;
    if (non_negative) {
        if ((status = active_set(&p, tolerance, &s, x, err)))
            return status;
    } else {
        s = all;
        memcpy(x, s.x, s.n * sizeof *x);
    }
    mark_determined(&p, &all, &result);
    result.weighted_rss = residual_squares(&p, x);
    for (size_t j = 0; j < p.n; j++)
        result.x[j] = p.scale[j] > 0 ? x[j] / p.scale[j] : 0;
    judge(&p, non_negative, &s, &result);
    *out = result;
    return LM_OK;
}

lm_status lsq_fit(const lsq_problem *problem, bool non_negative, lsq_solution *out, lm_error *err)
{
    lsq_block *block  = malloc(sizeof *block);
    lm_status  status = block ? lsq_factor(problem, block, err) : no_memory(err);

    if (!status)
        status = lsq_solve(&(const lsq_block *){ block }, 1, non_negative, out, err);
    free(block);
    return status;
}
