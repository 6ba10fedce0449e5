/* Which point to measure next. */
#include "suggest/design.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lsq.h"
#include "base/stats.h"

/* Size classes: half decades of seconds, from 1e-7 to 1e3. */
#define N_SIZES    21
#define SIZE_FIRST (-14)

/* Before residuals tell: a repetition minutes later differs by 5 %, networks by twice that. */
#define NOISE       0.05
#define NETWORK     0.10
#define SIZE        0.10
#define GUESS_SD    2.0 /* of a guessed coefficient, relative */
#define ENOUGH_ROWS 12  /* for estimates of the three above */

#define WIDTH_90 (2 * 1.6449) /* standard normal */

/* The model that is fitted meanwhile: few coefficients, known after few points, each of which says
 * something of all of them. */
#define MODEL "counts"

/* The parts a step is made of in it. */
static const part parts[] = { PART_FORWARD, PART_BACKWARD, PART_UPDATE, PART_SYNC };

#define N_STEP_PARTS (sizeof parts / sizeof parts[0])

/* Coefficients, in the order of the forms' features: nothing but an order of magnitude, scaled as a
 * whole as soon as one time is known. Seen on CPUs of one thread: 4e10 FLOP a second, 4e9 bytes of
 * all that is read and written, 4e-10 s for each element that a convolution takes and gives, 1e-9 s
 * for a byte between ranks. */
static double usual_guess(const design_speeds *s, part p, feature f)
{
    const double twice = p == PART_BACKWARD ? 2 : 1, element = 1.6 / s->bytes_per_second;

    switch (f) {
    case FEATURE_FLOPS: return twice / s->flops_per_second;
    case FEATURE_INPUTS:
    case FEATURE_OUTPUTS: return twice * element;
    case FEATURE_WEIGHTS: return (p == PART_UPDATE ? 4 : twice) * element;
    case FEATURE_LAYERS: return p == PART_UPDATE ? 5e-6 : twice * 2e-5;
    case FEATURE_RING_STEPS: return 2e-5;
    case FEATURE_RING_BYTES: return 4 / s->bytes_per_second;
    default: return 1e-4;
    }
}

/* One measured time. */
typedef struct row {
    double x[FORM_MAX_FEATURES];
    double seconds;
    size_t network;
} row;

/* One formula. Its unknowns are p coefficients, N_SIZES sizes, then one for each network. */
typedef struct formula {
    part        part;
    const form *f;
    double      guess[FORM_MAX_FEATURES], guess_sd[FORM_MAX_FEATURES]; /* seconds per unit */
    double      c[FORM_MAX_FEATURES];                                  /* fitted */
    row        *row;
    size_t      n_rows, room;
    double      noise, network, size; /* standard deviations, relative */
    double     *p;                    /* inverse of the information, d x d */
    double     *t;                    /* targets: mean of share^2 v v', q x q */
} formula;

struct design {
    formula      formula[N_STEP_PARTS];
    double      *scratch; /* as long as the longest side of a P */
    design_case *target;
    size_t       n_targets, n_networks;
};

/* Coefficients and sizes, which targets share with what is measured. */
static size_t known_size(const formula *m)
{
    return m->f->n_features + N_SIZES;
}

static size_t full_size(const design *d, const formula *m)
{
    return known_size(m) + d->n_networks;
}

/* Of a side of any P. */
static size_t longest(const design *d)
{
    return FORM_MAX_FEATURES + N_SIZES + d->n_networks;
}

static lm_status no_memory(lm_error *err)
{
    return lm_error_set(err, LM_E_NOMEM, "out of memory");
}

/* ---- times --------------------------------------------------------------------------------------
 */

static double part_seconds(const formula *m, const workload *load)
{
    double seconds = 0;

    for (size_t k = 0; k < m->f->n_features; k++)
        seconds += m->c[k] * feature_value(m->f->feature[k], load);
    return seconds;
}

design_times design_expected(const design *d, const design_case *what)
{
    design_times out;

    for (part p = 0; p < N_PARTS; p++)
        out.seconds[p] = NAN;
    for (size_t i = 0; i < N_STEP_PARTS; i++)
        if (what->parts & 1u << parts[i])
            out.seconds[parts[i]] = part_seconds(&d->formula[i], &what->load);
    return out;
}

/* Half decades of seconds are the nodes between which the deviation of sizes runs straight. */
static void size_weights(double seconds, size_t *node, double *upper)
{
    const double at = 2 * log10(fmax(seconds, 1e-12)) - SIZE_FIRST;
    const double in = fmin(fmax(at, 0), N_SIZES - 1.001);

    *node  = (size_t)in;
    *upper = in - (double)*node;
}

/* A row of the design matrix: its few entries that are not zero. */
typedef struct sparse {
    size_t at[FORM_MAX_FEATURES + 3];
    double value[FORM_MAX_FEATURES + 3];
    size_t n;
} sparse;

static void put(sparse *w, size_t at, double value)
{
    w->at[w->n]      = at;
    w->value[w->n++] = value;
}

/* seconds: measured or expected. False where the part takes no time. */
static bool make_row(const formula *m, const double *x, double seconds, size_t group, sparse *out)
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
        put(out, known_size(m) + group, 1);
    return true;
}

static bool case_row(const formula *m, const design_case *what, bool with_network, sparse *out)
{
    double x[FORM_MAX_FEATURES] = { 0 };

    *out = (sparse){ .n = 0 };
    if (!(what->parts & 1u << m->part))
        return false;
    for (size_t k = 0; k < m->f->n_features; k++)
        x[k] = feature_value(m->f->feature[k], &what->load);
    return make_row(m, x, part_seconds(m, &what->load), with_network ? what->network : DESIGN_NONE,
                    out);
}

/* ---- opening ------------------------------------------------------------------------------------
 */

static bool formula_room(const design *d, formula *m)
{
    m->p = malloc(full_size(d, m) * full_size(d, m) * sizeof *m->p);
    m->t = malloc(known_size(m) * known_size(m) * sizeof *m->t);
    return m->p && m->t;
}

/* Seconds of a message and of a byte of a ring, as its formula says beside the all-reduces' model,
 * of the fabric with the most rows; NULL: nothing is known. */
static const double *known_ring(const calibration *known)
{
    const algorithm_model *a    = known ? collective_algorithm(known->allreduces, NULL) : NULL;
    const fabric_model    *most = a ? &a->of[FABRIC_ONE] : NULL;

    if (a && a->of[FABRIC_MULTI].rows > most->rows)
        most = &a->of[FABRIC_MULTI];
    return most && most->rows && !isnan(most->baseline[BASELINE_HOCKNEY][0])
               ? most->baseline[BASELINE_HOCKNEY]
               : NULL;
}

static lm_status formula_new(const design *d, formula *m, part p, const design_speeds *speeds,
                             const calibration *known, lm_error *err)
{
    const size_t  at    = form_find(MODEL, p);
    const fitted *given = known && known->fitted[at].present && !known->fitted[at].by_allreduces
                              ? &known->fitted[at]
                              : NULL;
    const double *ring  = p == PART_SYNC && !given ? known_ring(known) : NULL;

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
    for (size_t i = 0; i < N_STEP_PARTS && !status; i++)
        status = formula_new(d, &d->formula[i], parts[i], speeds, known, err);
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
    for (size_t i = 0; i < N_STEP_PARTS; i++) {
        free(d->formula[i].row);
        free(d->formula[i].p);
        free(d->formula[i].t);
    }
    free(d->scratch);
    free(d->target);
    free(d);
}

static lm_status add_row(formula *m, const design_case *what, double seconds, lm_error *err)
{
    if (m->n_rows == m->room) {
        const size_t room = m->room ? 2 * m->room : 64;
        row         *more = realloc(m->row, room * sizeof *more);

        if (!more)
            return no_memory(err);
        m->row  = more;
        m->room = room;
    }
    m->row[m->n_rows] = (row){ .seconds = seconds, .network = what->network };
    for (size_t k = 0; k < m->f->n_features; k++)
        m->row[m->n_rows].x[k] = feature_value(m->f->feature[k], &what->load);
    m->n_rows++;
    return LM_OK;
}

lm_status design_measured(design *d, const design_case *what, const design_times *times,
                          lm_error *err)
{
    for (size_t i = 0; i < N_STEP_PARTS; i++) {
        const double seconds = times->seconds[parts[i]];
        lm_status    status;

        if (seconds > 0 && what->parts & 1u << parts[i] &&
            (status = add_row(&d->formula[i], what, seconds, err)))
            return status;
    }
    return LM_OK;
}

void design_forget(design *d)
{
    for (size_t i = 0; i < N_STEP_PARTS; i++)
        d->formula[i].n_rows = 0;
}

/* ---- fit ----------------------------------------------------------------------------------------
 */

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

/* Relative non-negative least squares with the guess, scaled to the level of what was measured, as
 * one more row for each coefficient. */
static lm_status fit(formula *m, double scale, lm_error *err)
{
    const size_t     p = m->f->n_features, n = m->n_rows + p;
    double          *a      = calloc(n * p, sizeof *a);
    double          *b      = malloc(n * sizeof *b);
    double          *weight = malloc(n * sizeof *weight);
    lsq_block       *block  = malloc(sizeof *block);
    const lsq_block *use[]  = { block };
    lsq_solution     s;
    lm_status        status = a && b && weight && block ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        const size_t k = i - m->n_rows; /* rows first, then one for each coefficient */

        if (i < m->n_rows) {
            memcpy(a + i * p, m->row[i].x, p * sizeof *a);
            b[i]      = m->row[i].seconds;
            weight[i] = 1 / b[i];
        } else {
            const double total = sqrt(m->noise * m->noise + m->network * m->network);

            a[i * p + k] = 1;
            b[i]         = scale * m->guess[k];
            weight[i]    = total / (scale * m->guess_sd[k]);
        }
    }
    if (!status)
        status = lsq_factor(&(lsq_problem){ a, b, weight, n, p }, block, err);
    if (!status)
        status = lsq_solve(use, 1, true, &s, err);
    if (!status)
        memcpy(m->c, s.x, p * sizeof *m->c);
    free(a);
    free(b);
    free(weight);
    free(block);
    return status;
}

/* Standard deviations from the residuals: between networks, and within them; of the latter half
 * goes to sizes and half to noise. */
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

/* ---- information --------------------------------------------------------------------------------
 */

static lm_status invert(double *a, size_t n, lm_error *err)
{
    const lapack_int size = (lapack_int)n;

    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'U', size, a, size) ||
        LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'U', size, a, size))
        return lm_error_set(err, LM_E_ARG, "the information of a formula cannot be inverted");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i];
    return LM_OK;
}

static lm_status inform(const design *d, formula *m, double scale, lm_error *err)
{
    const size_t n     = full_size(d, m);
    const double noise = m->noise * m->noise;
    sparse       w;

    memset(m->p, 0, n * n * sizeof *m->p);
    for (size_t i = 0; i < n; i++) {
        const size_t p  = m->f->n_features;
        const double sd = i < p ? scale * m->guess_sd[i] : i < known_size(m) ? m->size : m->network;

        m->p[i * n + i] = 1 / (sd * sd);
    }
    for (size_t r = 0; r < m->n_rows; r++) {
        if (!make_row(m, m->row[r].x, m->row[r].seconds, m->row[r].network, &w))
            continue;
        for (size_t i = 0; i < w.n; i++)
            for (size_t j = 0; j < w.n; j++)
                m->p[w.at[i] * n + w.at[j]] += w.value[i] * w.value[j] / noise;
    }
    return invert(m->p, n, err);
}

static double step_seconds(const design *d, const design_case *what)
{
    const design_times t       = design_expected(d, what);
    double             seconds = 0;

    for (part p = 0; p < N_PARTS; p++)
        seconds += isnan(t.seconds[p]) ? 0 : t.seconds[p];
    return seconds;
}

/* What the targets ask of a formula: each by its share of the step, as variances add up. */
static void aim(const design *d, formula *m)
{
    const size_t q = known_size(m);
    sparse       v;

    memset(m->t, 0, q * q * sizeof *m->t);
    for (size_t j = 0; j < d->n_targets; j++) {
        const design_case *target = &d->target[j];
        double             share;

        if (!case_row(m, target, false, &v))
            continue;
        share = part_seconds(m, &target->load) / step_seconds(d, target);
        for (size_t a = 0; a < v.n; a++)
            for (size_t b = 0; b < v.n; b++)
                m->t[v.at[a] * q + v.at[b]] +=
                    share * share * v.value[a] * v.value[b] / (double)d->n_targets;
    }
}

lm_status design_update(design *d, lm_error *err)
{
    double    scale[N_STEP_PARTS];
    lm_status status = LM_OK;

    for (size_t i = 0; i < N_STEP_PARTS && !status; i++) {
        formula *m = &d->formula[i];

        scale[i]   = guess_ratio(m);
        m->noise   = NOISE;
        m->network = NETWORK;
        if (!(status = fit(m, scale[i], err)))
            status = estimate(d, m, err);
        if (!status)
            status = inform(d, m, scale[i], err);
    }
    for (size_t i = 0; i < N_STEP_PARTS && !status; i++)
        aim(d, &d->formula[i]);
    return status;
}

/* ---- choice -------------------------------------------------------------------------------------
 */

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
    const size_t n = full_size(d, m), q = known_size(m);
    double       a[FORM_MAX_FEATURES + N_SIZES] = { 0 }, sum = 0;
    sparse       w;

    if (!case_row(m, what, true, &w))
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

    for (size_t i = 0; i < N_STEP_PARTS; i++)
        gain += formula_gain(d, &d->formula[i], what);
    return gain;
}

bool design_lacks(const design *d, const design_case *what)
{
    for (size_t i = 0; i < N_STEP_PARTS; i++)
        if (what->parts & 1u << parts[i] && d->formula[i].n_rows < d->formula[i].f->n_features)
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

/* ---- what is known ------------------------------------------------------------------------------
 */

/* Of one target, relative to its step. */
static double target_width(const design *d, const design_case *target)
{
    const double step  = step_seconds(d, target);
    double       width = 0;

    for (size_t i = 0; i < N_STEP_PARTS; i++) {
        const formula *m = &d->formula[i];
        sparse         v;
        double         sum;

        if (!case_row(m, target, false, &v))
            continue;
        sum = variance(m, full_size(d, m), &v) + m->network * m->network + m->noise * m->noise;
        width += WIDTH_90 * sqrt(sum) * part_seconds(m, &target->load) / step;
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

/* P after a row more (Sherman & Morrison). */
static void learn(const design *d, formula *m, const design_case *what)
{
    const size_t n = full_size(d, m);
    double      *a = d->scratch;
    sparse       w;
    double       below;

    if (!case_row(m, what, true, &w))
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
    for (size_t i = 0; i < N_STEP_PARTS; i++)
        learn(copy, &copy->formula[i], what);
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
    for (size_t i = 0; i < N_STEP_PARTS; i++) {
        formula       *m    = &c->formula[i];
        const formula *from = &d->formula[i];
        const size_t   n = full_size(d, m), q = known_size(m);

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
