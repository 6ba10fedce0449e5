/* Designs: creation, measurements, copies; formulas and rows of their design matrix. */
#include "suggest/design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "suggest/design_formula.h"

#define SIZE_FIRST (-14) /* half decades from 1 s */

const phase design_parts[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_SYNC };

/* Number of coefficients and sizes: the unknowns that targets share with measured points. */
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

/* The deviation of sizes is piecewise linear; its nodes are half decades of seconds. */
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

/* Seconds, measured or expected. False: the part takes no time. */
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

#define GUESS_SD 2.0 /* of a guessed coefficient, relative */

/* First coefficients, in the order of the forms' features. They are orders of magnitude, scaled as
 * a whole as soon as one time is known. CPUs of one thread showed 4e10 FLOP/s, 4e9 B/s of all
 * traffic, 4e-10 s for each input and output element of a convolution, and 1e-9 s for a byte
 * between ranks. */
static double usual_guess(const design_speeds *s, phase p, feature f)
{
    const double twice = p == PHASE_BACKWARD ? 2 : 1, element = 1.6 / s->bytes_per_second;

    switch (f) {
    case FEATURE_FLOPS: return twice / s->flops_per_second;
    case FEATURE_INPUTS:
    case FEATURE_OUTPUTS: return twice * element;
    case FEATURE_WEIGHTS: return (p == PHASE_UPDATE ? 4 : twice) * element;
    case FEATURE_LAYERS: return p == PHASE_UPDATE ? 5e-6 : twice * 2e-5;
    case FEATURE_RING_STEPS: return 2e-5;
    case FEATURE_RING_BYTES: return 4 / s->bytes_per_second;
    case FEATURE_ONE:
    case FEATURE_NODES:
    case N_FEATURES: break;
    }
    return 1e-4;
}

/* The longest side of any P. */
static size_t longest(const design *d)
{
    return FORM_MAX_FEATURES + DESIGN_SIZES + d->n_networks;
}

static bool formula_room(const design *d, formula *m)
{
    m->p = malloc(formula_unknowns(d, m) * formula_unknowns(d, m) * sizeof *m->p);
    m->t = malloc(formula_known(m) * formula_known(m) * sizeof *m->t);
    return m->p && m->t;
}

/* Seconds per message and per byte of a ring, from the ring formula of the fabric with the most
 * rows; NULL: unknown. */
static const double *known_ring(const calibration *known)
{
    const algorithm_model *a =
        known ? collective_algorithm(known->collectives, COLLECTIVE_ALLREDUCE, NULL) : NULL;
    const fabric_model *most = a ? &a->of[FABRIC_ONE] : NULL;

    if (a && a->of[FABRIC_MULTI].rows > most->rows)
        most = &a->of[FABRIC_MULTI];
    return most && most->rows && !isnan(most->baseline[BASELINE_HOCKNEY][0])
               ? most->baseline[BASELINE_HOCKNEY]
               : NULL;
}

static lm_status formula_new(const design *d, formula *m, phase p, const design_speeds *speeds,
                             const calibration *known, lm_error *err)
{
    const size_t  at    = form_find(DESIGN_MODEL, p);
    const fitted *given = known && known->fitted[at].present && !known->fitted[at].by_allreduces
                              ? &known->fitted[at]
                              : NULL;
    const double *ring  = p == PHASE_SYNC && !given ? known_ring(known) : NULL;

    m->part = p;
    m->f    = &forms[at];
    for (size_t k = 0; k < m->f->n_features; k++) {
        const double usual = usual_guess(speeds, p, m->f->feature[k]);

        m->guess[k]    = given ? given->coefficient[k].value : ring ? ring[k] : usual;
        m->guess_sd[k] = GUESS_SD * fmax(m->guess[k], given || ring ? 0.1 * usual : usual);
    }
    return formula_room(d, m) ? LM_OK : no_memory(err);
}

lm_status design_new(const design_case *target, size_t n_targets, size_t n_networks,
                     const design_speeds *speeds, const calibration *known, design **out,
                     lm_error *err)
{
    design   *d      = calloc(1, sizeof *d);
    lm_status status = LM_OK;

    if (!d)
        return no_memory(err);
    d->n_targets  = n_targets;
    d->n_networks = n_networks;
    d->target     = malloc((n_targets + 1) * sizeof *d->target);
    d->scratch    = malloc(longest(d) * sizeof *d->scratch);
    if (!d->target || !d->scratch)
        status = no_memory(err);
    else if (!n_targets)
        status = lm_error_set(err, LM_E_ARG, "nothing is asked for: no targets");
    for (size_t i = 0; i < DESIGN_PARTS && !status; i++)
        status = formula_new(d, &d->formula[i], design_parts[i], speeds, known, err);
    if (!status) {
        memcpy(d->target, target, n_targets * sizeof *target);
        status = design_update(d, err);
    }
    if (status) {
        design_free(d);
        return status;
    }
    *out = d;
    return LM_OK;
}

void design_free(design *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < DESIGN_PARTS; i++) {
        free_all(d->formula[i].row, d->formula[i].p, d->formula[i].t);
    }
    free_all(d->scratch, d->target, d);
}

static lm_status add_row(formula *m, const design_case *what, double seconds, lm_error *err)
{
    row *to;

    if (!array_grow(&m->row, m->n_rows, &m->room, sizeof *m->row))
        return no_memory(err);
    to  = &m->row[m->n_rows++];
    *to = (row){ .seconds = seconds, .network = what->network };
    for (size_t k = 0; k < m->f->n_features; k++)
        to->x[k] = feature_value(m->f->feature[k], &what->load);
    return LM_OK;
}

lm_status design_measured(design *d, const design_case *what, const design_times *times,
                          lm_error *err)
{
    for (size_t i = 0; i < DESIGN_PARTS; i++) {
        const double seconds = times->seconds[design_parts[i]];
        lm_status    status;

        if (seconds > 0 && what->parts & 1u << design_parts[i] &&
            (status = add_row(&d->formula[i], what, seconds, err)))
            return status;
    }
    return LM_OK;
}

void design_forget(design *d)
{
    for (size_t i = 0; i < DESIGN_PARTS; i++)
        d->formula[i].n_rows = 0;
}

lm_status design_copy(const design *d, design **out, lm_error *err)
{
    design *c  = malloc(sizeof *c);
    bool    ok = c != NULL;

    if (!ok)
        return no_memory(err);
    *c         = *d;
    c->target  = malloc((d->n_targets + 1) * sizeof *c->target);
    c->scratch = malloc(longest(d) * sizeof *c->scratch);
    ok         = c->target && c->scratch;
    for (size_t i = 0; i < DESIGN_PARTS; i++) {
        formula       *m    = &c->formula[i];
        const formula *from = &d->formula[i];
        const size_t   n = formula_unknowns(d, m), q = formula_known(m);

        m->row  = NULL;
        m->room = 0;
        if (!formula_room(d, m)) {
            ok = false;
            continue;
        }
        memcpy(m->p, from->p, n * n * sizeof *m->p);
        memcpy(m->t, from->t, q * q * sizeof *m->t);
    }
    if (!ok) {
        design_free(c);
        return no_memory(err);
    }
    memcpy(c->target, d->target, d->n_targets * sizeof *c->target);
    *out = c;
    return LM_OK;
}
