/* Kernel ridge regression, a pair of GPUs at a time. */
#include "crossgpu/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/blas.h"
#include "base/no_memory.h"
#include "base/stats.h"

/* Pairs with fewer runs are not known. */
#define NEAREST_LEAST 5

/* Text of a pair: its runs, its median, its alphas. */
static void pair_text(lines *l, const nearest *k, nearest_pair *p)
{
    lines_begin(l, "pair");
    ITEMS(l, ITEM_COUNT(&p->n, 0, (double)k->n_runs));
    if (!l->out) {
        p->run   = lines_array(l, p->n, sizeof *p->run);
        p->alpha = lines_array(l, p->n, sizeof *p->alpha);
    }
    ITEMS(l, ITEM_COUNTS(p->run, p->n, 0, (double)k->n_runs - 1));
    lines_end(l);
    LINE(l, "median", ITEM_ANY(&p->median));
    LINE(l, "alpha", ITEM_REALS(p->alpha, p->n, -DBL_MAX, DBL_MAX));
}

void nearest_text(lines *l, size_t n_features, size_t n_gpus, nearest *k)
{
    const size_t n = n_gpus * n_gpus;

    if (!LINE(l, "nearest", ITEM_COUNT(&k->n_runs, 1, RUNS_MAX)))
        return;
    if (!l->out) {
        k->n_features = n_features;
        k->mean       = lines_array(l, n_features, sizeof *k->mean);
        k->deviation  = lines_array(l, n_features, sizeof *k->deviation);
        k->z          = lines_array(l, k->n_runs * n_features, sizeof *k->z);
        k->pair       = lines_array(l, n, sizeof *k->pair);
        k->n_gpus     = k->pair ? n_gpus : 0;
    }
    LINE(l, "scale", ITEM_REAL(&k->g, DBL_TRUE_MIN, DBL_MAX),
         ITEM_REAL(&k->l, DBL_TRUE_MIN, DBL_MAX));
    LINE(l, "mean", ITEM_REALS(k->mean, n_features, -DBL_MAX, DBL_MAX));
    LINE(l, "deviation", ITEM_REALS(k->deviation, n_features, -DBL_MAX, DBL_MAX));
    for (size_t i = 0; i < k->n_runs && !l->status; i++)
        LINE(l, "run", ITEM_REALS(k->z + i * n_features, n_features, -DBL_MAX, DBL_MAX));
    for (size_t i = 0; i < n && !l->status; i++)
        pair_text(l, k, &k->pair[i]);
}

static const double grid_g[] = { 0.03, 0.1, 0.3, 1 }, grid_l[] = { 0.01, 0.03, 0.1, 0.3 };

enum { N_G = 4, N_L = 4 };

void nearest_free(nearest *k)
{
    for (size_t i = 0; k->pair && i < k->n_gpus * k->n_gpus; i++) {
        free(k->pair[i].run);
        free(k->pair[i].alpha);
    }
    free_all(k->mean, k->deviation, k->z, k->pair);
    *k = (nearest){ .n_runs = 0 };
}

/* ---- distances ------------------------------------------------------------------------------- */

static double distance(const nearest *k, const double *a, const double *b)
{
    double sum = 0;

    for (size_t i = 0; i < k->n_features; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / (double)k->n_features;
}

static double scaled(const nearest *k, size_t i, double x)
{
    return k->deviation[i] > 0 ? (x - k->mean[i]) / k->deviation[i] : 0;
}

/* Mean and deviation of the rows' features; then those of all runs, scaled. */
static void scale_runs(nearest *k, const selection *rows)
{
    const double *x = rows->p->x;
    const size_t  m = k->n_features;

    for (size_t j = 0; j < m; j++) {
        double sum = 0, squares = 0;

        for (size_t i = 0; i < rows->n; i++)
            sum += x[selected(rows, i)->from * m + j];
        k->mean[j] = sum / (double)rows->n;
        for (size_t i = 0; i < rows->n; i++)
            squares += pow(x[selected(rows, i)->from * m + j] - k->mean[j], 2);
        k->deviation[j] = sqrt(squares / (double)rows->n);
        if (k->deviation[j] < 1e-9 * (1 + fabs(k->mean[j])))
            k->deviation[j] = 0;
        for (size_t i = 0; i < k->n_runs; i++)
            k->z[i * m + j] = scaled(k, j, x[i * m + j]);
    }
}

/* ---- one pair -------------------------------------------------------------------------------- */

/* Rows of one pair of GPUs, those of a fold together. */
typedef struct part {
    arena           *arena; /* owns all below */
    size_t           n, n_folds;
    const pair_row **row;
    size_t          *at;      /* of each in the selection */
    size_t          *fold;    /* of each */
    double          *squares; /* n x n distances */
    double          *inverse; /* n x n */
    double          *y, *alpha, *left, *block, *solved;
} part;

static bool part_room(part *p)
{
    const size_t n = p->n;

    p->squares = arena_array(p->arena, n * n, sizeof *p->squares);
    p->inverse = arena_array(p->arena, n * n, sizeof *p->inverse);
    p->y       = arena_array(p->arena, 4 * n + n * n, sizeof *p->y);
    if (!p->squares || !p->inverse || !p->y)
        return false;
    p->alpha  = p->y + n;
    p->left   = p->alpha + n;
    p->solved = p->left + n;
    p->block  = p->solved + n;
    return true;
}

/* The selection's rows of a pair, fold by fold, in their order. */
static lm_status part_of(const nearest *k, const selection *rows, const folds *by, size_t pair,
                         part *p, lm_error *err)
{
    arena  *a     = arena_new();
    size_t *begin = a ? arena_array(a, by->n + 1, sizeof *begin) : NULL;

    *p = (part){ .arena = a, .n_folds = by->n };
    if (begin) {
        p->row  = arena_array(a, rows->n + 1, sizeof *p->row);
        p->at   = arena_array(a, rows->n + 1, sizeof *p->at);
        p->fold = arena_array(a, rows->n + 1, sizeof *p->fold);
    }
    if (!p->row || !p->at || !p->fold)
        return no_memory(err);
    for (size_t i = 0; i < rows->n; i++)
        if (selected(rows, i)->pair == pair)
            begin[by->of[i] + 1]++;
    for (size_t f = 0; f < by->n; f++)
        begin[f + 1] += begin[f];
    for (size_t i = 0; i < rows->n; i++)
        if (selected(rows, i)->pair == pair) {
            const size_t to = begin[by->of[i]]++;

            p->row[to]  = selected(rows, i);
            p->fold[to] = by->of[i];
            p->at[to]   = i;
            p->n++;
        }
    if (!part_room(p))
        return no_memory(err);
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->n; j++)
            p->squares[i * p->n + j] = distance(k, k->z + p->row[i]->from * k->n_features,
                                                k->z + p->row[j]->from * k->n_features);
    return LM_OK;
}

static double centre(part *p)
{
    double median;

    for (size_t i = 0; i < p->n; i++)
        p->alpha[i] = p->row[i]->log_ratio;
    median = stats_quantile(p->alpha, p->n, 0.5);
    for (size_t i = 0; i < p->n; i++)
        p->y[i] = p->row[i]->log_ratio - median;
    return median;
}

/* (K + l I)^-1 and alpha. */
static lm_status solve(part *p, double g, double l, lm_error *err)
{
    const size_t     n    = p->n;
    const lapack_int size = (lapack_int)n;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            p->inverse[i * n + j] = exp(-g * p->squares[i * n + j]) + (i == j ? l : 0);
    if (blas.LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, p->inverse, size) ||
        blas.LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', size, p->inverse, size))
        return lm_error_set(err, LM_E_ARG, "runs that cannot be told apart");
    for (size_t i = 0; i < n; i++) /* the upper triangle by columns is the lower one by rows */
        for (size_t j = i + 1; j < n; j++)
            p->inverse[i * n + j] = p->inverse[j * n + i];
    for (size_t i = 0; i < n; i++) {
        p->alpha[i] = 0;
        for (size_t j = 0; j < n; j++)
            p->alpha[i] += p->inverse[i * n + j] * p->y[j];
    }
    return LM_OK;
}

/* Residuals of a fold's rows by a fit without it, from the fit to all; NAN for a single fold. */
static lm_status leave_fold(void *context, const fold_turn *t, lm_error *err)
{
    part  *p     = context;
    size_t first = 0, m = 1;

    while (!fold_out(t, first))
        first++;
    while (first + m < p->n && fold_out(t, first + m))
        m++;
    for (size_t i = 0; i < m; i++) {
        p->solved[i] = p->alpha[first + i];
        for (size_t j = 0; j < m; j++)
            p->block[i * m + j] = p->inverse[(first + i) * p->n + first + j];
    }
    if (blas.LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'U', (lapack_int)m, 1, p->block, (lapack_int)m,
                                p->solved, (lapack_int)m))
        return lm_error_set(err, LM_E_ARG, "runs that cannot be told apart");
    for (size_t i = 0; i < m; i++)
        p->left[first + i] = m == p->n ? NAN : p->solved[i];
    return LM_OK;
}

static lm_status leave_out(part *p, lm_error *err)
{
    const folds by = { .of = p->fold, .rows = p->n, .n = p->n_folds };

    return folds_leave_out(&by, leave_fold, p, err);
}

/* ---- all pairs ------------------------------------------------------------------------------- */

/* Sums of absolute errors with folds left out, and their number, over all pairs. */
static lm_status judge(part *p, double sum[N_G][N_L], size_t *n, lm_error *err)
{
    lm_status status = LM_OK;

    (void)centre(p);
    for (size_t g = 0; g < N_G; g++)
        for (size_t l = 0; l < N_L && !status; l++) {
            if ((status = solve(p, grid_g[g], grid_l[l], err)) || (status = leave_out(p, err)))
                return status;
            for (size_t i = 0; i < p->n; i++)
                if (!isnan(p->left[i])) {
                    sum[g][l] += fabs(p->left[i]);
                    *n += g == 0 && l == 0;
                }
        }
    return status;
}

static void choose(nearest *k, double sum[N_G][N_L], size_t n)
{
    k->g = 0.3; /* with one fold there are no held-out errors to choose by */
    k->l = 0.03;
    if (!n)
        return;
    for (size_t g = 0, best_g = 0, best_l = 0; g < N_G; g++)
        for (size_t l = 0; l < N_L; l++)
            if (sum[g][l] <= sum[best_g][best_l]) {
                best_g = g;
                best_l = l;
                k->g   = grid_g[g];
                k->l   = grid_l[l];
            }
}

/* The pair at the chosen scales. */
static lm_status take(nearest *k, part *p, size_t pair, double *left, lm_error *err)
{
    nearest_pair *out = &k->pair[pair];
    lm_status     status;

    if (p->n < NEAREST_LEAST) {
        for (size_t i = 0; left && i < p->n; i++)
            left[p->at[i]] = NAN;
        return LM_OK;
    }
    out->run    = malloc(p->n * sizeof *out->run);
    out->alpha  = malloc(p->n * sizeof *out->alpha);
    out->median = centre(p);
    if (!out->run || !out->alpha)
        return no_memory(err);
    if ((status = solve(p, k->g, k->l, err)) || (left && (status = leave_out(p, err))))
        return status;
    out->n = p->n;
    for (size_t i = 0; i < p->n; i++) {
        out->run[i]   = p->row[i]->from;
        out->alpha[i] = p->alpha[i];
        if (left)
            left[p->at[i]] = p->left[i];
    }
    return LM_OK;
}

static lm_status fit_pairs(nearest *k, const selection *rows, const folds *by, double *left,
                           lm_error *err)
{
    const size_t n_pairs       = k->n_gpus * k->n_gpus;
    double       sum[N_G][N_L] = { { 0 } };
    size_t       n             = 0;
    part        *p             = calloc(n_pairs, sizeof *p);
    lm_status    status        = p ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n_pairs && !status; i++)
        if (!(status = part_of(k, rows, by, i, &p[i], err)) && p[i].n >= NEAREST_LEAST)
            status = judge(&p[i], sum, &n, err);
    choose(k, sum, n);
    for (size_t i = 0; i < n_pairs && !status; i++)
        status = take(k, &p[i], i, left, err);
    for (size_t i = 0; p && i < n_pairs; i++)
        arena_free(p[i].arena);
    free(p);
    return status;
}

lm_status nearest_fit(const selection *rows, const folds *by, nearest *out, double *left,
                      lm_error *err)
{
    const size_t m = space_n_run(&rows->p->s), n_gpus = rows->p->n_gpus;
    lm_status    status;

    if ((status = blas_load(err)))
        return status;
    *out = (nearest){ .n_features = m,
                      .n_runs     = rows->p->r->n,
                      .n_gpus     = n_gpus,
                      .mean       = calloc(m, sizeof *out->mean),
                      .deviation  = calloc(m, sizeof *out->deviation),
                      .z          = calloc(rows->p->r->n * m, sizeof *out->z),
                      .pair       = calloc(n_gpus * n_gpus, sizeof *out->pair) };
    if (!out->mean || !out->deviation || !out->z || !out->pair) {
        status = no_memory(err);
    } else {
        scale_runs(out, rows);
        status = fit_pairs(out, rows, by, left, err);
    }
    if (status)
        nearest_free(out);
    return status;
}

bool nearest_knows(const nearest *k, size_t gpu_at)
{
    for (size_t i = 0; i < k->n_gpus && gpu_at < k->n_gpus; i++)
        if (k->pair[gpu_at * k->n_gpus + i].n || k->pair[i * k->n_gpus + gpu_at].n)
            return true;
    return false;
}

double nearest_log_ratio(const nearest *k, const double *x, size_t from, size_t to)
{
    const nearest_pair *p   = &k->pair[from * k->n_gpus + to];
    double              sum = p->n ? p->median : NAN;

    for (size_t i = 0; i < p->n; i++) {
        const double *z = k->z + p->run[i] * k->n_features;
        double        d = 0;

        for (size_t j = 0; j < k->n_features; j++)
            d += pow(scaled(k, j, x[j]) - z[j], 2);
        sum += p->alpha[i] * exp(-k->g * d / (double)k->n_features);
    }
    return sum;
}
