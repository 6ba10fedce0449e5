/* Bounds of a roofline, mixed. */
#include "crossgpu/bounds.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "solve/nnls.h"

enum { ARITHMETIC, TRAFFIC, HOST, N_BOUNDS };

#define RIDGE     1.0 /* squared, beside a sum over rows of squared relative errors */
#define MOST      1.5
#define LEAST_LOG -4.6 /* a hundredth: shares that come to nothing say nothing */

static bool has_rest(metric_unit u)
{
    return u != UNIT_SECONDS && u != UNIT_NONE;
}

size_t bounds_n_shares(const space *s)
{
    size_t n = 1;

    for (size_t i = 0; i < s->n_metrics; i++)
        n += has_rest(s->metric[i].unit) ? 2 : 1;
    return n;
}

/* What the shares are sums of, bounds_n_shares() of them: the next one of metric i; *rest that of
 * what it leaves, NAN where it leaves nothing. */
static double share_of(const space *s, const double *x, size_t i, double *rest)
{
    const metric_unit u = s->metric[i].unit;

    *rest = has_rest(u) ? fmin(fmax(1 - x[i], 0), 1) : NAN;
    return fmin(fmax(u == UNIT_SECONDS ? x[i] * fabs(x[i]) : x[i], 0), MOST);
}

void bounds_shares(const space *s, const double *x, double *out)
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

/* One row of the fit, relative to what was measured. */
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
    double      *gram = calloc(n * n, sizeof *gram), *h = calloc(n, sizeof *h);
    double      *a = malloc(n * sizeof *a), *shares = malloc(n_share * sizeof *shares);
    lm_status    status = LM_OK;

    *out = (bounds){ .n = n, .weight = calloc(n, sizeof *out->weight) };
    if (!gram || !h || !a || !shares || !out->weight)
        status = no_memory(err);
    for (size_t i = 0; i < rows->n && !status; i++) {
        columns_of(rows->p, selected(rows, i), shares, a);
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
    free(h);
    free(a);
    free(shares);
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

/* ---- text ---------------------------------------------------------------------------------------
 */

void bounds_text(lines *l, const space *s, bounds *b)
{
    if (!l->out) {
        b->n      = N_BOUNDS * bounds_n_shares(s);
        b->weight = lines_array(l, b->n, sizeof *b->weight);
    }
    LINE(l, "bounds", ITEM_REALS(b->weight, b->n, 0, DBL_MAX));
}
