/* Shrunk fits. */
#include "shrink/shrink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"
#include "solve/robust.h"

const shrink_options shrink_default = { .mu = 0.01, .huber = 0.15, .alike = 0.5, .rounds = 5 };

const shrink_options shrink_counted = {
    .mu = 1, .huber = 0.25, .alike = 0.05, .rounds = 8, .slots_only = true
};

/* Prior of a family for few rows, and its value without rows: a multiple of another family's
 * coefficient. `weight`: of the ridge that holds it there; 0: only its rows decide.
 *
 * Grouped arithmetic reuses little data, depthwise less; vector units compute it, not matrix units.
 * The last four families correct the others. In most networks they are below a percent of the
 * time, so their fitted values are arbitrary; in another network they can dominate. So they start
 * as a few bytes of traffic each: an element of a function or of a copied window as two of f32,
 * a plane as a cache line, a FLOP of a pooling window as one element. The ridges of windows and of
 * pooling are weaker: networks show twenty times the price of pooling, or none. */
static const struct {
    term_family other;
    double      times, weight;
} stand_in[N_TERM_FAMILIES] = {
    [FAMILY_DENSE]           = { FAMILY_DENSE, NAN, 0 },
    [FAMILY_GROUPED]         = { FAMILY_DENSE, 4, 0 },
    [FAMILY_DEPTHWISE]       = { FAMILY_GROUPED, 3, 0 },
    [FAMILY_REORDERED]       = { FAMILY_TRAFFIC, 1, 0 },
    [FAMILY_WEIGHTS]         = { FAMILY_TRAFFIC, 1, 0 },
    [FAMILY_TRAFFIC]         = { FAMILY_TRAFFIC, NAN, 0 },
    [FAMILY_LAUNCHES]        = { FAMILY_LAUNCHES, NAN, 0 },
    [FAMILY_PLANES]          = { FAMILY_TRAFFIC, 64, 1 },
    [FAMILY_COLUMNS]         = { FAMILY_TRAFFIC, 8, 0.2 },
    [FAMILY_POOL]            = { FAMILY_TRAFFIC, 4, 0.2 },
    [FAMILY_ELEMENTS]        = { FAMILY_TRAFFIC, 8, 1 },
    [FAMILY_COUNTED_FLOPS]   = { FAMILY_COUNTED_FLOPS, NAN, 0 },
    [FAMILY_COUNTED_OUTPUTS] = { FAMILY_COUNTED_OUTPUTS, NAN, 0 },
    [FAMILY_COUNTED_WEIGHTS] = { FAMILY_COUNTED_WEIGHTS, NAN, 0 },
    [FAMILY_COUNTED_STEPS]   = { FAMILY_COUNTED_STEPS, NAN, 0 },
};

/* One stage: its columns. */
typedef struct stage {
    size_t key[N_TERMS];    /* by term: its column; N_TERMS: none */
    size_t column[N_TERMS]; /* by place: its column */
    double scale[N_TERMS];  /* by place: seconds per unit so far */
    size_t n;               /* columns */
    double factor[N_TERMS]; /* by column */
    double mu[N_TERMS];     /* by column: strength of the ridge that holds it near 1 */
} stage;

typedef struct solving {
    const shrink_rows    *rows;
    const shrink_options *options;
    shrink_sums           sums;  /* sums of the rows in use */
    double               *share; /* by row: its weight within its group */
    robust_work           work;  /* memory of the last stage */
    bool                  used[N_TERMS];
    term_family           family[N_TERMS];
    double                scale[N_TERMS]; /* seconds per unit so far */
    double    pinned[N_TERMS]; /* coefficients at their bounds (term_bounds); NAN: free */
    double   *rest;            /* by row: seconds without pinned terms; NULL: none pinned */
    lm_error *err;
} solving;

static size_t family_key(const solving *s, size_t term)
{
    return s->family[term];
}

static size_t slot_key(const solving *s, size_t term)
{
    (void)s;
    return term_slot(term);
}

static size_t term_key(const solving *s, size_t term)
{
    (void)s;
    return term;
}

/* Makes the columns of a stage: a number for each key in use. */
static void stage_new(const solving *s, size_t (*key_of)(const solving *, size_t), stage *out)
{
    size_t column[N_TERMS];

    *out = (stage){ 0 };
    for (size_t t = 0; t < N_TERMS; t++)
        column[t] = out->key[t] = N_TERMS;
    for (size_t t = 0; t < N_TERMS; t++)
        if (s->used[t]) {
            const size_t k = key_of(s, t);

            if (column[k] == N_TERMS)
                column[k] = out->n++;
            out->key[t] = column[k];
        }
    for (size_t p = 0; p < s->rows->n_terms; p++) {
        out->column[p] = out->key[s->rows->term[p]];
        out->scale[p]  = s->scale[s->rows->term[p]];
    }
}

static lm_status stage_solve(solving *s, stage *st)
{
    const robust_problem r = { .a      = s->rows->relative,
                               .rows   = s->rows->n,
                               .places = s->rows->n_terms,
                               .n      = st->n,
                               .column = st->column,
                               .scale  = st->scale,
                               .b      = s->rest,
                               .share  = s->share,
                               .gram   = s->rest ? NULL : s->sums.gram,
                               .h      = s->rest ? NULL : s->sums.h,
                               .mu     = st->mu,
                               .near   = 1,
                               .huber  = s->options->huber,
                               .rounds = s->options->rounds };

    return robust_solve(&r, st->factor, &s->work, s->err);
}

/* Scales families to columns of about 1, because they differ by decades. Families with a common
 * column have one scale. */
static void scale_families(solving *s)
{
    double largest[N_TERM_FAMILIES] = { 0 };

    for (size_t t = 0; t < N_TERMS; t++) {
        double *of = &largest[s->family[t]];

        *of = fmax(*of, s->sums.largest[term_family_of(t)]);
    }
    for (size_t t = 0; t < N_TERMS; t++)
        s->scale[t] = largest[s->family[t]] > 0 ? 1 / largest[s->family[t]] : 0;
}

/* Guessed price of a family from other families; NAN: these are unknown, too. */
static double family_guess(const double *family, const bool *known, term_family f)
{
    for (int hops = 0; hops < N_TERM_FAMILIES && !known[f]; hops++) {
        const term_family other = stand_in[f].other;

        if (isnan(stand_in[f].times))
            return NAN;
        if (known[other])
            return stand_in[f].times * family[other];
        f = other;
    }
    return known[f] ? family[f] : NAN;
}

/* Coefficients of families after a stage with the columns of `st`; those of the others are
 * guesses. */
static void take_families(solving *s, const stage *st)
{
    double family[N_TERM_FAMILIES];
    bool   known[N_TERM_FAMILIES] = { false };

    for (size_t t = 0; t < N_TERMS; t++)
        if (st->key[t] < N_TERMS) {
            known[s->family[t]]  = true;
            family[s->family[t]] = s->scale[t] * st->factor[st->key[t]];
        }
    for (size_t t = 0; t < N_TERMS; t++)
        s->scale[t] = family_guess(family, known, s->family[t]);
}

/* For each column: how well the rows determine its factor, and the factor's variance in units of
 * the residuals'. Columns at their bound get 1 and NAN. */
static lm_status stage_judge(const solving *s, const stage *st, double mu, double *known,
                             double *variance)
{
    double   *inverse = malloc((st->n * st->n + 1) * sizeof *inverse);
    size_t   *use     = malloc((st->n + 1) * sizeof *use);
    size_t    n       = 0;
    lm_status status  = LM_OK;

    if (!inverse || !use)
        status = no_memory(s->err);
    for (size_t j = 0; j < st->n && !status; j++) {
        known[j]    = 1;
        variance[j] = NAN;
        if (st->factor[j] > 0)
            use[n++] = j;
    }
    if (!status && n) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                inverse[i * n + j] = s->work.gram[use[i] * st->n + use[j]];
        if (blas.LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, inverse,
                                     (lapack_int)n) ||
            blas.LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, inverse, (lapack_int)n))
            n = 0; /* equal columns: undetermined */
        for (size_t i = 0; i < n; i++) {
            variance[use[i]] = inverse[i * n + i];
            known[use[i]]    = fmax(0, 1 - mu * inverse[i * n + i]);
        }
    }
    free(inverse);
    free(use);
    return status;
}

/* A refining stage: factors on the present coefficients. */
static lm_status refine(solving *s, size_t (*key_of)(const solving *, size_t), shrink_fit *out)
{
    const double mu = s->options->mu;
    double       known[N_TERMS], variance[N_TERMS];
    stage        st;
    lm_status    status;

    stage_new(s, key_of, &st);
    for (size_t j = 0; j < st.n; j++) {
        st.factor[j] = 1;
        st.mu[j]     = mu;
    }
    if (!(status = stage_solve(s, &st)) && !(status = stage_judge(s, &st, mu, known, variance)))
        for (size_t t = 0; t < N_TERMS; t++) {
            const size_t j = st.key[t];

            if (j == N_TERMS)
                continue;
            out->spread[t] = sqrt(variance[j]) * s->scale[t];
            s->scale[t] *= st.factor[j];
            out->at_bound[t] |= st.factor[j] == 0;
            out->known[t] = 1 - (1 - out->known[t]) * (1 - known[j]);
        }
    out->weighted_rss = 0;
    for (size_t i = 0; i < s->rows->n && !status; i++) {
        const double r = s->work.fit[i] - (s->rest ? s->rest[i] : 1);

        out->weighted_rss += s->work.weight[i] * r * r;
    }
    return status;
}

/* The terms of a slot take its coefficient in all passes. */
static void spread_slots(solving *s, shrink_fit *out)
{
    double known[N_TERM_SLOTS] = { 0 }, factor[N_TERM_SLOTS];
    bool   seen[N_TERM_SLOTS]  = { false };

    for (size_t t = 0; t < N_TERMS; t++)
        if (s->used[t]) {
            seen[term_slot(t)]   = true;
            factor[term_slot(t)] = s->scale[t];
            known[term_slot(t)]  = out->known[t];
        }
    for (size_t t = 0; t < N_TERMS; t++)
        if (!s->used[t] && seen[term_slot(t)]) {
            s->scale[t]   = factor[term_slot(t)];
            out->known[t] = known[term_slot(t)];
        }
}

/* Names the families. Depthwise and grouped convolutions are held together if both were measured.
 * If only one was, the other is guessed, because their reuse is similar. */
static void name_families(solving *s)
{
    bool grouped = false;

    for (size_t t = 0; t < N_TERMS; t++)
        grouped |= s->used[t] && term_family_of(t) == FAMILY_GROUPED;
    for (size_t t = 0; t < N_TERMS; t++) {
        const term_family own = term_family_of(t);

        s->family[t] = own == FAMILY_DEPTHWISE && grouped && s->used[t] ? FAMILY_GROUPED : own;
    }
}

static lm_status take_rows(solving *s, size_t without)
{
    const size_t n = s->rows->n;
    lm_status    status;

    s->share = malloc((n + 1) * sizeof *s->share);
    if (!s->share)
        return no_memory(s->err);
    if ((status = shrink_rows_share(s->rows, without, s->share, s->err)) ||
        (status = shrink_rows_sum(s->rows, without, s->share, &s->sums, s->err)))
        return status;
    return s->sums.n ? LM_OK : lm_error_set(s->err, LM_E_ARG, "no rows to fit");
}

/* Solves independent families first, then all, with guesses for the rest. */
static lm_status solve_families(solving *s)
{
    bool      all[N_TERMS];
    stage     st;
    lm_status status;

    memcpy(all, s->used, sizeof all);
    for (size_t t = 0; t < N_TERMS; t++)
        s->used[t] &= stand_in[s->family[t]].weight == 0;
    scale_families(s);
    stage_new(s, family_key, &st);
    if (!(status = stage_solve(s, &st)))
        take_families(s, &st);
    memcpy(s->used, all, sizeof all);
    if (status)
        return status;
    stage_new(s, family_key, &st);
    for (size_t t = 0; t < N_TERMS; t++)
        if (st.key[t] < N_TERMS) {
            st.mu[st.key[t]]     = s->options->mu * stand_in[s->family[t]].weight;
            st.factor[st.key[t]] = 1;
        }
    if (!(status = stage_solve(s, &st)))
        take_families(s, &st);
    return status;
}

/* Selects the free terms, and the remaining seconds of each row. */
static lm_status free_terms(solving *s)
{
    const shrink_rows *r   = s->rows;
    bool               any = false;

    memset(s->used, 0, sizeof s->used);
    for (size_t p = 0; p < r->n_terms; p++) {
        s->used[r->term[p]] = s->sums.used[p] && isnan(s->pinned[r->term[p]]);
        any |= !isnan(s->pinned[r->term[p]]);
    }
    name_families(s);
    if (!any)
        return LM_OK;
    if (!s->rest && !(s->rest = malloc((r->n + 1) * sizeof *s->rest)))
        return no_memory(s->err);
    for (size_t i = 0; i < r->n; i++) {
        s->rest[i] = 1;
        for (size_t p = 0; p < r->n_terms; p++)
            if (!isnan(s->pinned[r->term[p]]))
                s->rest[i] -= r->relative[i * r->n_terms + p] * s->pinned[r->term[p]];
    }
    return LM_OK;
}

/* One fit of the free terms. */
static lm_status solve_free(solving *s, shrink_fit *out)
{
    lm_status status = free_terms(s);

    memset(out, 0, sizeof *out);
    for (size_t t = 0; t < N_TERMS; t++) {
        out->n_used += s->used[t];
        out->spread[t] = NAN;
    }
    if (!status)
        status = solve_families(s);
    if (!status && !(status = refine(s, slot_key, out))) {
        spread_slots(s, out);
        if (!s->options->slots_only)
            status = refine(s, term_key, out);
    }
    return status;
}

/* Pins terms that exceed their bounds at the bound; false: there are no more. */
static bool pin(solving *s)
{
    bool more = false;

    for (size_t p = 0; p < s->rows->n_terms; p++) {
        const size_t t    = s->rows->term[p];
        const double kept = term_bounds_keep(&s->rows->bounds, t, s->scale[t]);

        if (isnan(s->pinned[t]) && s->sums.used[p] && kept != s->scale[t]) {
            s->pinned[t] = kept;
            more         = true;
        }
    }
    return more;
}

lm_status shrink_solve(const shrink_rows *rows, size_t without, const shrink_options *options,
                       shrink_fit *out, lm_error *err)
{
    solving   s = { .rows = rows, .options = options, .err = err };
    double    spare;
    lm_status status = take_rows(&s, without);

    memset(out, 0, sizeof *out);
    for (size_t t = 0; t < N_TERMS; t++)
        s.pinned[t] = NAN;
    /* each round pins at least one term, and few have bounds */
    while (!status && !(status = solve_free(&s, out)) && pin(&s))
        ;
    spare = (double)s.sums.n - (double)out->n_used;
    for (size_t t = 0; t < N_TERMS && !status; t++) {
        const bool held = !isnan(s.pinned[t]);

        out->coefficient[t] = held ? s.pinned[t] : term_bounds_keep(&rows->bounds, t, s.scale[t]);
        out->spread[t] *= spare > 0 ? sqrt(out->weighted_rss / spare) : NAN;
        if (held)
            out->known[t] = 0;
    }
    out->rows = s.sums.n;
    free(s.rest);
    free(s.share);
    robust_work_free(&s.work);
    shrink_sums_free(&s.sums);
    return status;
}

double shrink_seconds(const shrink_fit *f, const term_vector *terms)
{
    double seconds = 0;

    for (size_t k = 0; k < terms->n; k++)
        seconds += f->coefficient[terms->item[k].term] * terms->item[k].value;
    return seconds;
}
