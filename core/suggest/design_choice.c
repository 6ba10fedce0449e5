/* The gain of a point, and the choice of the next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "suggest/design_formula.h"

#define WIDTH_90 (2 * 1.6449) /* standard normal */

/* a = P w, the first `rows` of it. */
static void times_p(const formula *m, size_t n, const sparse *w, size_t rows, double *a)
{
    for (size_t i = 0; i < rows; i++) {
        a[i] = 0;
        for (size_t j = 0; j < w->n; j++)
            a[i] += m->p[w->at[j] * n + i] * w->value[j];
    }
}

/* w' P w */
static double variance(const formula *m, size_t n, const sparse *w)
{
    double sum = 0;

    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < w->n; j++)
            sum += w->value[i] * w->value[j] * m->p[w->at[i] * n + w->at[j]];
    return sum;
}

static double formula_gain(const design *d, const formula *m, const design_case *what)
{
    const size_t n = formula_unknowns(d, m), q = formula_known(m);
    double       a[FORM_MAX_FEATURES + DESIGN_SIZES] = { 0 }, sum = 0;
    sparse       w;

    if (!formula_case_row(m, what, true, &w))
        return 0;
    times_p(m, n, &w, q, a);
    for (size_t i = 0; i < q; i++)
        for (size_t j = 0; j < q; j++)
            sum += a[i] * m->t[i * q + j] * a[j];
    return sum / (m->noise * m->noise + variance(m, n, &w));
}

double design_gain(const design *d, const design_case *what)
{
    double gain = 0;

    for (size_t i = 0; i < DESIGN_PARTS; i++)
        gain += formula_gain(d, &d->formula[i], what);
    return gain;
}

bool design_lacks(const design *d, const design_case *what)
{
    for (size_t i = 0; i < DESIGN_PARTS; i++)
        if (what->parts & 1u << design_parts[i] &&
            d->formula[i].n_rows < d->formula[i].f->n_features)
            return true;
    return false;
}

size_t design_next(const design *d, const design_case *candidate, const double *cost,
                   const bool *taken, size_t n, double limit)
{
    size_t best    = DESIGN_NONE;
    double best_by = 0;
    bool   lacks   = false;

    for (size_t i = 0; i < n; i++) {
        bool   needed;
        double by;

        if (taken[i] || !(cost[i] <= limit))
            continue;
        needed = design_lacks(d, &candidate[i]);
        if (lacks && !needed)
            continue;
        by = design_gain(d, &candidate[i]) / cost[i];
        if (by > 0 && ((needed && !lacks) || by > best_by)) {
            best    = i;
            best_by = by;
            lacks   = needed;
        }
    }
    return best;
}

/* Of one target, relative to its step. */
static double target_width(const design *d, const design_case *target)
{
    const double step  = design_step_seconds(d, target);
    double       width = 0;

    for (size_t i = 0; i < DESIGN_PARTS; i++) {
        const formula *m = &d->formula[i];
        sparse         v;
        double         sum;

        if (!formula_case_row(m, target, false, &v))
            continue;
        sum =
            variance(m, formula_unknowns(d, m), &v) + m->network * m->network + m->noise * m->noise;
        width += WIDTH_90 * sqrt(sum) * formula_seconds(m, &target->load) / step;
    }
    return width;
}

void design_widths(const design *d, double *width)
{
    for (size_t j = 0; j < d->n_targets; j++)
        width[j] = target_width(d, &d->target[j]);
}

double design_width(const design *d)
{
    double *width = malloc(d->n_targets * sizeof *width);
    double  median;

    if (!width)
        return NAN;
    design_widths(d, width);
    median = stats_quantile(width, d->n_targets, 0.5);
    free(width);
    return median;
}

/* P with one more row (Sherman & Morrison). */
static void learn(const design *d, formula *m, const design_case *what)
{
    const size_t n = formula_unknowns(d, m);
    double      *a = d->scratch;
    sparse       w;
    double       below;

    if (!formula_case_row(m, what, true, &w))
        return;
    times_p(m, n, &w, n, a);
    below = m->noise * m->noise + variance(m, n, &w);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            m->p[i * n + j] -= a[i] * a[j] / below;
    m->n_rows++; /* counted only, for design_lacks(); a copy has no rows */
}

void design_suppose(design *copy, const design_case *what)
{
    for (size_t i = 0; i < DESIGN_PARTS; i++)
        learn(copy, &copy->formula[i], what);
}

lm_status design_forecast(const design *d, const design_case *candidate, const double *cost,
                          const bool *taken, size_t n, double seconds, double *width,
                          size_t *n_points, size_t *order, lm_error *err)
{
    bool     *gone = malloc(n + 1);
    size_t    at, count = 0;
    design   *copy   = NULL;
    lm_status status = gone ? design_copy(d, &copy, err) : no_memory(err);

    if (!status) {
        memcpy(gone, taken, n * sizeof *gone);
        while ((at = design_next(copy, candidate, cost, gone, n, seconds)) != DESIGN_NONE) {
            design_suppose(copy, &candidate[at]);
            gone[at] = true;
            seconds -= cost[at];
            if (order)
                order[count] = at;
            count++;
        }
        *width    = design_width(copy);
        *n_points = count;
    }
    design_free(copy);
    free(gone);
    return status;
}
