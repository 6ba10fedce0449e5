/* Bounds of a roofline, mixed; parts of a run, each with a factor. */
#include "crossgpu/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/stats.h"
#include "solve/nnls.h"

/* Pairs with fewer runs are not known. */
#define PARTS_LEAST 5

enum { ARITHMETIC, TRAFFIC, HOST, N_BOUNDS };

#define RIDGE     1.0 /* squared, beside a sum over rows of squared relative errors */
#define MOST      1.5
#define LEAST_LOG -4.6 /* a hundredth: lower shares tell nothing */

static bool has_rest(metric_unit u)
{
    return u != UNIT_SECONDS && u != UNIT_NONE;
}

/* Number of a run's shares, and the shares by its features; the first is 1. */
static size_t bounds_n_shares(const space *s)
{
    size_t n = 1;

    for (size_t i = 0; i < s->n_metrics; i++)
        n += has_rest(s->metric[i].unit) ? 2 : 1;
    return n;
}

/* Summands of the shares, bounds_n_shares() of them: that of metric i, and its rest to 1, or
 * NAN. */
static double share_of(const space *s, const double *x, size_t i, double *rest)
{
    const metric_unit u = s->metric[i].unit;

    *rest = has_rest(u) ? fmin(fmax(1 - x[i], 0), 1) : NAN;
    return fmin(fmax(u == UNIT_SECONDS ? x[i] * fabs(x[i]) : x[i], 0), MOST);
}

static void bounds_shares(const space *s, const double *x, double *out)
{
    *out++ = 1;
    for (size_t i = 0; i < s->n_metrics; i++) {
        double rest;

        *out++ = share_of(s, x, i, &rest);
        if (!isnan(rest))
            *out++ = rest;
    }
}

static void ratios_of(const gpu *from, const gpu *to, double r[N_BOUNDS])
{
    r[ARITHMETIC] = from->figure[FIGURE_PEAK] / to->figure[FIGURE_PEAK];
    r[TRAFFIC]    = from->figure[FIGURE_BANDWIDTH] / to->figure[FIGURE_BANDWIDTH];
    r[HOST]       = 1;
}

/* One row of the fit, divided by the measured ratio. */
static void columns_of(const pairs *p, const pair_row *row, double *shares, double *out)
{
    const size_t n = bounds_n_shares(&p->s);
    double       r[N_BOUNDS];

    ratios_of(&p->gpu[row->pair / p->n_gpus], &p->gpu[row->pair % p->n_gpus], r);
    bounds_shares(&p->s, p->x + row->from * space_n_run(&p->s), shares);
    for (size_t b = 0; b < N_BOUNDS; b++)
        for (size_t i = 0; i < n; i++)
            out[b * n + i] = r[b] * shares[i] / exp(row->log_ratio);
}

lm_status bounds_fit(const selection *rows, bounds *out, lm_error *err)
{
    const size_t n_share = bounds_n_shares(&rows->p->s), n = N_BOUNDS * n_share;
    double      *gram = calloc(n * (n + 2) + n_share, sizeof *gram), *h = gram + n * n, *a = h + n;
    lm_status    status;

    *out   = (bounds){ .n = n, .weight = calloc(n, sizeof *out->weight) };
    status = gram && out->weight ? LM_OK : no_memory(err);
    for (size_t i = 0; i < rows->n && !status; i++) {
        columns_of(rows->p, selected(rows, i), a + n, a);
        for (size_t j = 0; j < n; j++) {
            h[j] += a[j];
            for (size_t k = 0; k <= j; k++)
                gram[j * n + k] += a[j] * a[k];
        }
    }
    for (size_t j = 0; j < n && !status; j++) {
        gram[j * n + j] += RIDGE;
        for (size_t k = 0; k < j; k++)
            gram[k * n + j] = gram[j * n + k];
    }
    if (!status)
        status = nnls_solve(gram, h, n, out->weight, err);
    free(gram);
    if (status)
        bounds_free(out);
    return status;
}

void bounds_free(bounds *b)
{
    free(b->weight);
    *b = (bounds){ .n = 0 };
}

double bounds_log_ratio(const bounds *b, const space *s, const double *x, const gpu *from,
                        const gpu *to)
{
    const size_t  n      = b->n / N_BOUNDS;
    const double *weight = b->weight;
    double        r[N_BOUNDS], sum = 0;

    ratios_of(from, to, r);
    for (size_t k = 0; k < N_BOUNDS; k++, weight += n) {
        size_t at   = 0;
        double part = weight[at++];

        for (size_t i = 0; i < s->n_metrics; i++) {
            double rest;

            part += weight[at++] * share_of(s, x, i, &rest);
            if (!isnan(rest))
                part += weight[at++] * rest;
        }
        sum += r[k] * part;
    }
    return fmax(log(sum), LEAST_LOG);
}

/* ---- text ------------------------------------------------------------------------------------ */

void bounds_text(lines *l, const space *s, bounds *b)
{
    if (!l->out) {
        b->n      = N_BOUNDS * bounds_n_shares(s);
        b->weight = lines_array(l, b->n, sizeof *b->weight);
    }
    LINE(l, "bounds", ITEM_REALS(b->weight, b->n, 0, DBL_MAX));
}

static const double ridges[] = { 0.01, 0.03, 0.1 };

enum { N_RIDGES = 3 };

#define LEAST_RATIO 1e-3 /* lower shares tell nothing */

void parts_free(part_factors *p)
{
    free(p->known);
    free(p->factor);
    *p = (part_factors){ .n = 0 };
}

static lm_status parts_room(size_t n, size_t n_gpus, part_factors *out, lm_error *err)
{
    *out = (part_factors){ .n      = n,
                           .n_gpus = n_gpus,
                           .known  = calloc(n_gpus * n_gpus, sizeof *out->known),
                           .factor = calloc(n_gpus * n_gpus * n, sizeof *out->factor) };
    if (out->known && out->factor)
        return LM_OK;
    parts_free(out);
    return no_memory(err);
}

/* ---- one pair -------------------------------------------------------------------------------- */

/* Rows of a pair of GPUs, and normal equations of each fold. */
typedef struct problem {
    arena           *arena; /* owns all arrays */
    const selection *rows;
    const folds     *by; /* of the selection */
    size_t           n, n_rows;
    size_t          *at, *fold;   /* of each row: is it in the selection? its fold */
    double          *share;       /* n_rows x n */
    double          *gram, *h;    /* of each fold n x n, n */
    double          *sum, *sum_h; /* those of some folds, with the ridge */
    double          *x, *some;    /* a solution; scratch of n_rows */
    double           prior;       /* of each factor */
} problem;

static lm_status problem_room(const selection *rows, const folds *by, problem *p, lm_error *err)
{
    const size_t n = bounds_n_shares(&rows->p->s), m = rows->n + 1;
    arena       *a = p->arena = arena_new();

    if (!a)
        return no_memory(err);
    *p = (problem){ .arena = a,
                    .rows  = rows,
                    .by    = by,
                    .n     = n,
                    .at    = arena_array(a, m, sizeof *p->at),
                    .fold  = arena_array(a, m, sizeof *p->fold),
                    .share = arena_array(a, m * n, sizeof *p->share),
                    .gram  = arena_array(a, by->n * n * n, sizeof *p->gram),
                    .h     = arena_array(a, by->n * n, sizeof *p->h),
                    .sum   = arena_array(a, n * n, sizeof *p->sum),
                    .sum_h = arena_array(a, n, sizeof *p->sum_h),
                    .x     = arena_array(a, n, sizeof *p->x),
                    .some  = arena_array(a, m, sizeof *p->some) };
    return p->at && p->fold && p->share && p->gram && p->h && p->sum && p->sum_h && p->x && p->some
               ? LM_OK
               : no_memory(err);
}

/* Rows divided by the measured ratio, summed by folds. */
static void add_up(problem *p)
{
    memset(p->gram, 0, p->by->n * p->n * p->n * sizeof *p->gram);
    memset(p->h, 0, p->by->n * p->n * sizeof *p->h);
    for (size_t i = 0; i < p->n_rows; i++) {
        const double ratio = exp(selected(p->rows, p->at[i])->log_ratio), *a = p->share + i * p->n;
        double      *gram = p->gram + p->fold[i] * p->n * p->n, *h = p->h + p->fold[i] * p->n;

        for (size_t j = 0; j < p->n; j++) {
            h[j] += a[j] / ratio;
            for (size_t k = 0; k < p->n; k++)
                gram[j * p->n + k] += a[j] * a[k] / (ratio * ratio);
        }
    }
}

static void take_rows(problem *p, size_t pair)
{
    const pairs *all   = p->rows->p;
    double       total = 0;

    p->n_rows = 0;
    for (size_t i = 0; i < p->rows->n; i++) {
        const pair_row *row = selected(p->rows, i);
        double         *a   = p->share + p->n_rows * p->n;

        if (row->pair != pair)
            continue;
        bounds_shares(&all->s, all->x + row->from * space_n_run(&all->s), a);
        for (size_t j = 0; j < p->n; j++)
            total += a[j];
        p->some[p->n_rows]   = row->log_ratio;
        p->at[p->n_rows]     = i;
        p->fold[p->n_rows++] = p->by->of[i];
    }
    if (p->n_rows < PARTS_LEAST)
        return;
    p->prior = exp(stats_quantile(p->some, p->n_rows, 0.5)) * (double)p->n_rows / total;
    add_up(p);
}

/* Factors by all folds but one (FOLD_ALWAYS: by all); the search begins at p->x. */
static lm_status solve(problem *p, double ridge, size_t without, lm_error *err)
{
    const double weight = ridge * ridge / (p->prior * p->prior);

    memset(p->sum, 0, p->n * p->n * sizeof *p->sum);
    for (size_t j = 0; j < p->n; j++)
        p->sum_h[j] = weight * p->prior;
    for (size_t f = 0; f < p->by->n; f++) {
        if (f == without)
            continue;
        for (size_t j = 0; j < p->n; j++)
            p->sum_h[j] += p->h[f * p->n + j];
        for (size_t j = 0; j < p->n * p->n; j++)
            p->sum[j] += p->gram[f * p->n * p->n + j];
    }
    for (size_t j = 0; j < p->n; j++)
        p->sum[j * p->n + j] += weight;
    return nnls_solve(p->sum, p->sum_h, p->n, p->x, err);
}

static double log_ratio_of(const double *share, const double *factor, size_t n)
{
    double sum = 0;

    for (size_t j = 0; j < n; j++)
        sum += share[j] * factor[j];
    return log(fmax(sum, LEAST_RATIO));
}

/* A pair at one strength of the ridge. */
typedef struct pair_leaving {
    problem      *p;
    const double *all; /* the solution of all rows */
    double        ridge, *left;
} pair_leaving;

/* Residuals of a pair's rows of one fold; none if all its rows are in the fold. */
static lm_status leave_fold(void *context, const fold_turn *t, lm_error *err)
{
    pair_leaving *l    = context;
    problem      *p    = l->p;
    size_t        kept = 0;
    lm_status     status;

    for (size_t i = 0; i < p->n_rows; i++)
        kept += fold_in(t, i);
    if (!kept)
        return LM_OK;
    memcpy(p->x, l->all, p->n * sizeof *p->x);
    if ((status = solve(p, l->ridge, t->fold, err)))
        return status;
    for (size_t i = 0; i < p->n_rows; i++)
        if (fold_out(t, i))
            l->left[p->at[i]] = selected(p->rows, p->at[i])->log_ratio -
                                log_ratio_of(p->share + i * p->n, p->x, p->n);
    return LM_OK;
}

/* ---- all pairs ------------------------------------------------------------------------------- */

/* At one strength of the ridge. */
static lm_status fit_at(problem *p, double ridge, part_factors *out, double *left, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < p->rows->n; i++)
        left[i] = NAN;
    out->ridge = ridge;
    for (size_t k = 0; k < out->n_gpus * out->n_gpus && !status; k++) {
        take_rows(p, k);
        if (!(out->known[k] = p->n_rows >= PARTS_LEAST))
            continue;
        for (size_t j = 0; j < p->n; j++)
            p->x[j] = p->prior;
        if (!(status = solve(p, ridge, FOLD_ALWAYS, err))) {
            const folds  by = { .of = p->fold, .rows = p->n_rows, .n = p->by->n };
            pair_leaving l  = { p, out->factor + k * p->n, ridge, left };

            memcpy(out->factor + k * p->n, p->x, p->n * sizeof *p->x);
            status = folds_leave_out(&by, leave_fold, &l, err);
        }
    }
    return status;
}

static double mean_error(const double *left, size_t n)
{
    double sum = 0;
    size_t k   = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(left[i])) {
            sum += fabs(left[i]);
            k++;
        }
    return k ? sum / (double)k : NAN;
}

lm_status parts_fit(const selection *rows, const folds *by, part_factors *out, double *left,
                    lm_error *err)
{
    problem      p;
    double       least = HUGE_VAL, *own = malloc((rows->n + 1) * sizeof *own);
    part_factors best   = { .n = 0 };
    lm_status    status = own ? problem_room(rows, by, &p, err) : no_memory(err);

    if (!own)
        return status;
    for (size_t k = 0; k < N_RIDGES && !status; k++) {
        part_factors now;
        double       error;

        if ((status = parts_room(p.n, rows->p->n_gpus, &now, err)))
            break;
        if ((status = fit_at(&p, ridges[k], &now, own, err))) {
            parts_free(&now);
            break;
        }
        error = mean_error(own, rows->n);
        if (best.n && !(error < least)) { /* nothing to judge by: the weakest */
            parts_free(&now);
            continue;
        }
        least = isnan(error) ? least : error;
        memcpy(left, own, rows->n * sizeof *own);
        parts_free(&best);
        best = now;
    }
    arena_free(p.arena);
    free(own);
    if (status)
        parts_free(&best);
    *out = best;
    return status;
}

double parts_log_ratio(const part_factors *p, const space *s, const double *x, size_t from,
                       size_t to, double *shares)
{
    const size_t k = from * p->n_gpus + to;

    if (!p->known[k])
        return NAN;
    bounds_shares(s, x, shares);
    return log_ratio_of(shares, p->factor + k * p->n, p->n);
}

/* ---- text ------------------------------------------------------------------------------------ */

void parts_text(lines *l, const space *s, size_t n_gpus, part_factors *p)
{
    if (!l->out && !l->status)
        l->status = parts_room(bounds_n_shares(s), n_gpus, p, l->err);
    LINE(l, "parts", ITEM_ANY(&p->ridge));
    for (size_t k = 0; k < n_gpus * n_gpus && !l->status; k++) {
        const size_t n = l->out && !p->known[k] ? 0 : p->n;

        /* none for unknown pairs */
        LINE(l, "factors", ITEM_KNOWN(p->factor + k * p->n, n, 0, DBL_MAX));
        if (!l->out)
            p->known[k] = !isnan(p->factor[k * p->n]);
    }
}
