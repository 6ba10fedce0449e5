/* Formulas of a design, and rows of their design matrix. */
#include "suggest/design_formula.h"

#include <math.h>

#define SIZE_FIRST (-14) /* half decades from 1 s */

const phase design_parts[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_SYNC };

/* Coefficients and sizes, which targets share with what is measured. */
size_t formula_known(const formula *m)
{
    return m->f->n_features + DESIGN_SIZES;
}

size_t formula_unknowns(const design *d, const formula *m)
{
    return formula_known(m) + d->n_networks;
}

double formula_seconds(const formula *m, const workload *load)
{
    double seconds = 0;

    for (size_t k = 0; k < m->f->n_features; k++)
        seconds += m->c[k] * feature_value(m->f->feature[k], load);
    return seconds;
}

design_times design_expected(const design *d, const design_case *what)
{
    design_times out;

    for (phase p = 0; p < N_TIMES; p++)
        out.seconds[p] = NAN;
    for (size_t i = 0; i < DESIGN_PARTS; i++)
        if (what->parts & 1u << design_parts[i])
            out.seconds[design_parts[i]] = formula_seconds(&d->formula[i], &what->load);
    return out;
}

double design_step_seconds(const design *d, const design_case *what)
{
    const design_times t       = design_expected(d, what);
    double             seconds = 0;

    for (phase p = 0; p < N_TIMES; p++)
        seconds += isnan(t.seconds[p]) ? 0 : t.seconds[p];
    return seconds;
}

/* Half decades of seconds are the nodes between which the deviation of sizes runs straight. */
static void size_weights(double seconds, size_t *node, double *upper)
{
    const double at = 2 * log10(fmax(seconds, 1e-12)) - SIZE_FIRST;
    const double in = fmin(fmax(at, 0), DESIGN_SIZES - 1.001);

    *node  = (size_t)in;
    *upper = in - (double)*node;
}

static void put(sparse *w, size_t at, double value)
{
    w->at[w->n]      = at;
    w->value[w->n++] = value;
}

/* seconds: measured or expected. False where the part takes no time. */
bool formula_row(const formula *m, const double *x, double seconds, size_t group, sparse *out)
{
    const size_t p = m->f->n_features;
    size_t       node;
    double       upper;

    *out = (sparse){ .n = 0 };
    if (!(seconds > 0))
        return false;
    for (size_t k = 0; k < p; k++)
        put(out, k, x[k] / seconds);
    size_weights(seconds, &node, &upper);
    put(out, p + node, 1 - upper);
    put(out, p + node + 1, upper);
    if (group != DESIGN_NONE)
        put(out, formula_known(m) + group, 1);
    return true;
}

bool formula_case_row(const formula *m, const design_case *what, bool with_network, sparse *out)
{
    double x[FORM_MAX_FEATURES] = { 0 };

    *out = (sparse){ .n = 0 };
    if (!(what->parts & 1u << m->part))
        return false;
    for (size_t k = 0; k < m->f->n_features; k++)
        x[k] = feature_value(m->f->feature[k], &what->load);
    return formula_row(m, x, formula_seconds(m, &what->load),
                       with_network ? what->network : DESIGN_NONE, out);
}
