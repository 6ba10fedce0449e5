/* Fits of a design's formulas to measurements, and weights of the targets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"
#include "base/stats.h"
#include "solve/lsq.h"
#include "suggest/design_formula.h"

/* Deviations before residuals are known: a repetition minutes later differs by 5 %, networks by
 * twice that. */
#define NOISE       0.05
#define NETWORK     0.10
#define SIZE        0.10
#define ENOUGH_ROWS 12 /* residuals needed to estimate the three above */

static double guess_ratio(const formula *m)
{
    double sum = 0;

    for (size_t i = 0; i < m->n_rows; i++) {
        double guess = 0;

        for (size_t k = 0; k < m->f->n_features; k++)
            guess += m->guess[k] * m->row[i].x[k];
        sum += log(m->row[i].seconds / guess);
    }
    return m->n_rows ? exp(sum / (double)m->n_rows) : 1;
}

/* Relative non-negative least squares. The guess, scaled to the measured level, is one more row for
 * each coefficient. */
static lm_status fit(formula *m, double scale, lm_error *err)
{
    const size_t p = m->f->n_features, n = m->n_rows + p;
    double      *a      = calloc(n * p, sizeof *a);
    double      *b      = malloc(n * sizeof *b);
    double      *weight = malloc(n * sizeof *weight);
    lsq_solution s;
    lm_status    status = a && b && weight ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        const size_t k = i - m->n_rows; /* rows first, then one for each coefficient */

        if (i < m->n_rows) {
            memcpy(a + i * p, m->row[i].x, p * sizeof *a);
            b[i]      = m->row[i].seconds;
            weight[i] = 1 / b[i];
        } else {
            const double total = stats_quadrature(m->noise, m->network, 0);

            a[i * p + k] = 1;
            b[i]         = scale * m->guess[k];
            weight[i]    = total / (scale * m->guess_sd[k]);
        }
    }
    if (!status)
        status = lsq_fit(&(lsq_problem){ a, b, weight, n, p }, true, &s, err);
    if (!status)
        memcpy(m->c, s.x, p * sizeof *m->c);
    free_all(a, b, weight);
    return status;
}

/* Standard deviations from the residuals, between networks and within them. The variance within
 * networks is split equally into sizes and noise. */
static lm_status estimate(const design *d, formula *m, lm_error *err)
{
    double *sum     = calloc(d->n_networks + 1, sizeof *sum);
    size_t *count   = calloc(d->n_networks + 1, sizeof *count);
    double  squares = 0, between = 0, within;
    size_t  groups = 0;

    if (!sum || !count) {
        free(sum);
        free(count);
        return no_memory(err);
    }
    m->noise   = NOISE;
    m->network = NETWORK;
    m->size    = SIZE;
    for (size_t i = 0; i < m->n_rows; i++) {
        const row   *r              = &m->row[i];
        const size_t g              = r->network == DESIGN_NONE ? d->n_networks : r->network;
        double       fitted_seconds = 0, off;

        for (size_t k = 0; k < m->f->n_features; k++)
            fitted_seconds += m->c[k] * r->x[k];
        off = fitted_seconds / r->seconds - 1;
        sum[g] += off;
        count[g]++;
        squares += off * off;
    }
    for (size_t g = 0; g <= d->n_networks; g++)
        if (count[g]) {
            groups++;
            between += sum[g] * sum[g] / (double)count[g];
        }
    if (m->n_rows >= ENOUGH_ROWS && m->n_rows > groups + 4 && groups > 2) {
        within     = (squares - between) / (double)(m->n_rows - groups);
        between    = between / (double)m->n_rows - within * (double)groups / (double)m->n_rows;
        m->network = sqrt(fmin(fmax(between, NOISE * NOISE), 0.25));
        m->noise = m->size = sqrt(fmin(fmax(within / 2, NOISE * NOISE / 4), 0.25));
    }
    free(sum);
    free(count);
    return LM_OK;
}

static lm_status invert(double *a, size_t n, lm_error *err)
{
    const lapack_int size   = (lapack_int)n;
    lm_status        status = blas_load(err);

    if (status)
        return status;
    if (blas.LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'U', size, a, size) ||
        blas.LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'U', size, a, size))
        return lm_error_set(err, LM_E_ARG, "the information of a formula cannot be inverted");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i];
    return LM_OK;
}

static lm_status inform(const design *d, formula *m, double scale, lm_error *err)
{
    const size_t n     = formula_unknowns(d, m);
    const double noise = m->noise * m->noise;
    sparse       w;

    memset(m->p, 0, n * n * sizeof *m->p);
    for (size_t i = 0; i < n; i++) {
        const size_t p  = m->f->n_features;
        const double sd = i < p                  ? scale * m->guess_sd[i]
                          : i < formula_known(m) ? m->size
                                                 : m->network;

        m->p[i * n + i] = 1 / (sd * sd);
    }
    for (size_t r = 0; r < m->n_rows; r++) {
        if (!formula_row(m, m->row[r].x, m->row[r].seconds, m->row[r].network, &w))
            continue;
        for (size_t i = 0; i < w.n; i++)
            for (size_t j = 0; j < w.n; j++)
                m->p[w.at[i] * n + w.at[j]] += w.value[i] * w.value[j] / noise;
    }
    return invert(m->p, n, err);
}

/* Weights of a formula by the targets: each target's share of the step, because variances add
 * up. */
static void aim(const design *d, formula *m)
{
    const size_t q = formula_known(m);
    sparse       v;

    memset(m->t, 0, q * q * sizeof *m->t);
    for (size_t j = 0; j < d->n_targets; j++) {
        const design_case *target = &d->target[j];
        double             share;

        if (!formula_case_row(m, target, false, &v))
            continue;
        share = formula_seconds(m, &target->load) / design_step_seconds(d, target);
        for (size_t a = 0; a < v.n; a++)
            for (size_t b = 0; b < v.n; b++)
                m->t[v.at[a] * q + v.at[b]] +=
                    share * share * v.value[a] * v.value[b] / (double)d->n_targets;
    }
}

lm_status design_update(design *d, lm_error *err)
{
    double    scale[DESIGN_PARTS];
    lm_status status = LM_OK;

    for (size_t i = 0; i < DESIGN_PARTS && !status; i++) {
        formula *m = &d->formula[i];

        scale[i]   = guess_ratio(m);
        m->noise   = NOISE;
        m->network = NETWORK;
        if (!(status = fit(m, scale[i], err)))
            status = estimate(d, m, err);
        if (!status)
            status = inform(d, m, scale[i], err);
    }
    for (size_t i = 0; i < DESIGN_PARTS && !status; i++)
        aim(d, &d->formula[i]);
    return status;
}
