/* Shrunk fits. */
#include "fit/shrink.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nnls.h"
#include "base/no_memory.h"

const shrink_options shrink_default = { .mu = 0.02, .huber = 0.15, .alike = 0.5, .rounds = 5 };

const shrink_options shrink_counted = {
    .mu = 1, .huber = 0.25, .alike = 0.05, .rounds = 8, .slots_only = true
};

/* What a family is held near as long as its rows say little of it, and what it costs where no row
 * has it: another one's coefficient, so many times (`weight`: of the ridge that holds it there; 0:
 * its rows alone decide).
 *
 * Grouped arithmetic reuses little, and vectors instead of matrix units compute it. The last
 * three correct what the others miss. In few networks they are a percent of the time, and what is
 * found there may be anything; in the next network they can be most of it. So they begin as a few
 * bytes of traffic each: an element of a function two of f32's, a plane a cache line, a FLOP of a
 * pooling window one of its elements. Pooling is let go sooner: networks do it twenty times dearer
 * than that, or for nothing. */
static const struct {
    term_family other;
    double      times, weight;
} stand_in[N_TERM_FAMILIES] = {
    [FAMILY_DENSE]           = { FAMILY_DENSE, NAN, 0 },
    [FAMILY_GROUPED]         = { FAMILY_DENSE, 4, 0 },
    [FAMILY_WEIGHTS]         = { FAMILY_TRAFFIC, 1, 0 },
    [FAMILY_TRAFFIC]         = { FAMILY_TRAFFIC, NAN, 0 },
    [FAMILY_LAUNCHES]        = { FAMILY_LAUNCHES, NAN, 0 },
    [FAMILY_PLANES]          = { FAMILY_TRAFFIC, 64, 1 },
    [FAMILY_POOL]            = { FAMILY_TRAFFIC, 4, 0.2 },
    [FAMILY_ELEMENTS]        = { FAMILY_TRAFFIC, 8, 1 },
    [FAMILY_COUNTED_FLOPS]   = { FAMILY_COUNTED_FLOPS, NAN, 0 },
    [FAMILY_COUNTED_OUTPUTS] = { FAMILY_COUNTED_OUTPUTS, NAN, 0 },
    [FAMILY_COUNTED_WEIGHTS] = { FAMILY_COUNTED_WEIGHTS, NAN, 0 },
    [FAMILY_COUNTED_STEPS]   = { FAMILY_COUNTED_STEPS, NAN, 0 },
};

/* One stage: its columns, and the rows in them. */
typedef struct stage {
    size_t  key[N_TERMS];    /* column of each term; N_TERMS: none */
    size_t  n;               /* columns */
    double *a;               /* rows x n: relative times by the coefficients so far */
    double  factor[N_TERMS]; /* by column */
    double  mu[N_TERMS];     /* by column: how firmly it is held near 1 */
    double *gram, *h;        /* of the last round */
} stage;

typedef struct solving {
    const shrink_row    **row; /* those that take part */
    size_t                n;
    const shrink_options *options;
    double               *weight; /* by row: of this round */
    double               *summed; /* by row: the weight with which it is in the sums */
    double               *fit;    /* by row: what the stage makes of it, 1 being as measured */
    double               *share;  /* by row: what it counts beside others of its group */
    bool                  used[N_TERMS];
    double                scale[N_TERMS]; /* seconds per unit so far */
    shrink_sums           sums;           /* of the rows that take part; n = 0: none */
    lm_error             *err;
} solving;

static size_t family_key(size_t term)
{
    return term_family_of(term);
}

static size_t term_key(size_t term)
{
    return term;
}

static void stage_free(stage *st)
{
    free(st->a);
    free(st->gram);
    free(st->h);
}

/* Numbers the keys that are in use, and adds up the rows by them. */
static lm_status stage_new(const solving *s, size_t (*key_of)(size_t), stage *out)
{
    size_t column[N_TERMS];

    *out = (stage){ 0 };
    for (size_t t = 0; t < N_TERMS; t++)
        column[t] = out->key[t] = N_TERMS;
    for (size_t t = 0; t < N_TERMS; t++)
        if (s->used[t]) {
            const size_t k = key_of(t);

            if (column[k] == N_TERMS)
                column[k] = out->n++;
            out->key[t] = column[k];
        }
    out->a    = calloc(s->n * out->n + 1, sizeof *out->a);
    out->gram = malloc((out->n * out->n + 1) * sizeof *out->gram);
    out->h    = malloc((out->n + 1) * sizeof *out->h);
    if (!out->a || !out->gram || !out->h)
        return no_memory(s->err);
    for (size_t i = 0; i < s->n; i++) {
        const shrink_row *r = s->row[i];

        for (size_t k = 0; k < r->terms.n; k++) {
            const term_item *item = &r->terms.item[k];

            if (out->key[item->term] < N_TERMS)
                out->a[i * out->n + out->key[item->term]] +=
                    item->value * s->scale[item->term] / r->seconds;
        }
    }
    return LM_OK;
}

/* Normal equations of the weighted rows, with the ridge towards factors of 1. From one round to the
 * next most rows keep their weight, and with it their share in the sums. */
static void stage_equations(const solving *s, stage *st)
{
    const size_t n = st->n;

    for (size_t i = 0; i < s->n; i++) {
        const double *a = st->a + i * n;
        const double  w = s->weight[i] - s->summed[i];

        if (w == 0)
            continue;
        s->summed[i] = s->weight[i];
        for (size_t j = 0; j < n; j++) {
            double      *to = st->gram + j * n;
            const double wa = w * a[j];

            if (wa == 0)
                continue;
            st->h[j] += wa;
            for (size_t k = 0; k <= j; k++)
                to[k] += wa * a[k];
        }
    }
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < j; k++)
            st->gram[k * n + j] = st->gram[j * n + k];
}

/* Of each row, what the factors make of it. */
static void stage_fit(const solving *s, const stage *st)
{
    memset(s->fit, 0, s->n * sizeof *s->fit);
    if (st->n)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)s->n, (int)st->n, 1, st->a, (int)st->n,
                    st->factor, 1, 0, s->fit, 1);
}

/* What the sums over terms say of the stage's columns. */
static void stage_take_sums(const solving *s, stage *st)
{
    const shrink_sums *of = &s->sums;

    for (size_t t = 0; t < N_TERMS; t++) {
        const size_t a = st->key[t];

        if (a == N_TERMS)
            continue;
        st->h[a] += s->scale[t] * of->h[of->at[t]];
        for (size_t u = 0; u < N_TERMS; u++) {
            const size_t b = st->key[u];
            const size_t i = of->at[t], j = of->at[u];

            if (b <= a)
                st->gram[a * st->n + b] +=
                    s->scale[t] * s->scale[u] * of->gram[i > j ? i * of->n + j : j * of->n + i];
        }
    }
}

/* The ridge, and the rows with their first weights where their sums are known. */
static void stage_begin(const solving *s, stage *st)
{
    memset(st->gram, 0, st->n * st->n * sizeof *st->gram);
    memset(s->summed, 0, s->n * sizeof *s->summed);
    for (size_t j = 0; j < st->n; j++)
        st->gram[j * st->n + j] = st->h[j] = st->mu[j];
    if (!s->sums.n)
        return;
    memcpy(s->summed, s->share, s->n * sizeof *s->summed);
    stage_take_sums(s, st);
}

static lm_status stage_solve(solving *s, stage *st)
{
    lm_status status = LM_OK;

    memcpy(s->weight, s->share, s->n * sizeof *s->weight);
    stage_begin(s, st);
    for (int round = 0; round <= s->options->rounds && !status; round++) {
        stage_equations(s, st);
        if ((status = nnls_solve(st->gram, st->h, st->n, st->factor, s->err)))
            break;
        stage_fit(s, st);
        for (size_t i = 0; i < s->n; i++) {
            const double r = fabs(s->fit[i] - 1);

            s->weight[i] = s->share[i] * (r <= s->options->huber ? 1 : s->options->huber / r);
        }
    }
    return status;
}

/* Families differ by decades: columns of about 1 first. */
static void scale_families(solving *s)
{
    double largest[N_TERM_FAMILIES] = { 0 };

    for (size_t i = 0; i < s->n; i++) {
        double sum[N_TERM_FAMILIES] = { 0 };

        for (size_t k = 0; k < s->row[i]->terms.n; k++)
            sum[term_family_of(s->row[i]->terms.item[k].term)] += s->row[i]->terms.item[k].value;
        for (size_t f = 0; f < N_TERM_FAMILIES; f++)
            largest[f] = fmax(largest[f], sum[f] / s->row[i]->seconds);
    }
    for (size_t t = 0; t < N_TERMS; t++)
        s->scale[t] = largest[term_family_of(t)] > 0 ? 1 / largest[term_family_of(t)] : 0;
}

/* What a family costs as long as only others are known. NAN: these are not known either. */
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

/* Coefficients of families after a stage that had `st`'s columns; the others' are guessed. */
static void take_families(solving *s, const stage *st)
{
    double family[N_TERM_FAMILIES];
    bool   known[N_TERM_FAMILIES] = { false };

    for (size_t t = 0; t < N_TERMS; t++)
        if (st->key[t] < N_TERMS) {
            known[term_family_of(t)]  = true;
            family[term_family_of(t)] = s->scale[t] * st->factor[st->key[t]];
        }
    for (size_t t = 0; t < N_TERMS; t++)
        s->scale[t] = family_guess(family, known, term_family_of(t));
}

/* Of each column: how far the rows fix its factor, and the factor's variance in units of the
 * residuals'. Columns at their bound: 1 and NAN. */
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
                inverse[i * n + j] = st->gram[use[i] * st->n + use[j]];
        if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, inverse, (lapack_int)n) ||
            LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, inverse, (lapack_int)n))
            n = 0; /* columns that are the same: nothing is said of them */
        for (size_t i = 0; i < n; i++) {
            variance[use[i]] = inverse[i * n + i];
            known[use[i]]    = fmax(0, 1 - mu * inverse[i * n + i]);
        }
    }
    free(inverse);
    free(use);
    return status;
}

/* One of the stages that refine: factors on what there is. */
static lm_status refine(solving *s, size_t (*key_of)(size_t), shrink_fit *out)
{
    const double mu = s->options->mu;
    double       known[N_TERMS], variance[N_TERMS];
    stage        st;
    lm_status    status = stage_new(s, key_of, &st);

    for (size_t j = 0; j < st.n; j++) {
        st.factor[j] = 1;
        st.mu[j]     = mu;
    }
    if (!status && !(status = stage_solve(s, &st)) &&
        !(status = stage_judge(s, &st, mu, known, variance)))
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
    for (size_t i = 0; i < s->n && !status; i++) {
        const double r = s->fit[i] - 1;

        out->weighted_rss += s->weight[i] * r * r;
    }
    stage_free(&st);
    return status;
}

/* A slot's terms of all passes have what the slot was found to be. */
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

/* What each row counts beside others of its group. */
static lm_status share_groups(const shrink_row *const *row, size_t n, double alike, double *share,
                              lm_error *err)
{
    size_t  n_groups = 0;
    size_t *count;

    for (size_t i = 0; i < n; i++)
        n_groups = row[i]->group >= n_groups ? row[i]->group + 1 : n_groups;
    count = calloc(n_groups + 1, sizeof *count);
    if (!count)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        count[row[i]->group]++;
    for (size_t i = 0; i < n; i++)
        share[i] = 1 / (1 + ((double)count[row[i]->group] - 1) * alike);
    free(count);
    return LM_OK;
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

static void sums_add(shrink_sums *s, const shrink_row *r, double weight)
{
    for (size_t k = 0; k < r->terms.n; k++) {
        const size_t i = s->at[r->terms.item[k].term];
        const double v = weight * (r->terms.item[k].value / r->seconds);

        s->h[i] += v;
        for (size_t l = 0; l < r->terms.n; l++) {
            const size_t j = s->at[r->terms.item[l].term];

            if (j <= i)
                s->gram[i * s->n + j] += v * (r->terms.item[l].value / r->seconds);
        }
    }
}

/* Can all of it be added up? */
static bool row_finite(const shrink_row *r)
{
    bool finite = r->seconds > 0 && isfinite(r->seconds);

    for (size_t k = 0; k < r->terms.n; k++)
        finite &= isfinite(r->terms.item[k].value) != 0;
    return finite;
}

/* Has each group one fold? */
static bool groups_whole(const shrink_row *row, size_t n, lm_error *err, lm_status *status)
{
    size_t  n_groups = 0;
    size_t *fold;
    bool    whole = true;

    for (size_t i = 0; i < n; i++)
        n_groups = row[i].group >= n_groups ? row[i].group + 1 : n_groups;
    if (!(fold = malloc((n_groups + 1) * sizeof *fold))) {
        *status = no_memory(err);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        fold[row[i].group] = row[i].fold;
    for (size_t i = 0; i < n; i++)
        whole &= fold[row[i].group] == row[i].fold && row_finite(&row[i]);
    free(fold);
    return whole;
}

static lm_status sums_room(shrink_sums *s, lm_error *err)
{
    s->gram = calloc(s->n * s->n + 1, sizeof *s->gram);
    s->h    = calloc(s->n + 1, sizeof *s->h);
    return s->gram && s->h ? LM_OK : no_memory(err);
}

lm_status shrink_sums_new(const shrink_row *row, size_t n, const shrink_options *options,
                          shrink_sums *out, lm_error *err)
{
    double            *share  = malloc((n + 1) * sizeof *share);
    const shrink_row **all    = calloc(n + 1, sizeof *all);
    lm_status          status = LM_OK;

    *out = (shrink_sums){ .n = 0 };
    for (size_t t = 0; t < N_TERMS; t++)
        out->at[t] = N_TERMS;
    if (!share || !all)
        status = no_memory(err);
    if (!status)
        out->whole = groups_whole(row, n, err, &status);
    for (size_t i = 0; i < n && out->whole; i++) {
        all[i] = &row[i];
        for (size_t k = 0; k < row[i].terms.n; k++)
            if (out->at[row[i].terms.item[k].term] == N_TERMS)
                out->at[row[i].terms.item[k].term] = out->n++;
    }
    if (!status)
        status = sums_room(out, err);
    if (!status && out->whole)
        status = share_groups(all, n, options->alike, share, err);
    for (size_t i = 0; i < n && out->whole && !status; i++)
        sums_add(out, &row[i], share[i]);
    free(share);
    free(all);
    if (status)
        shrink_sums_free(out);
    return status;
}

void shrink_sums_free(shrink_sums *s)
{
    free(s->gram);
    free(s->h);
    s->gram = s->h = NULL;
    s->n           = 0;
}

/* Those of the rows that take part: without the others, which are fewer. */
static lm_status take_sums(solving *s, const shrink_row *row, size_t n, size_t without,
                           const shrink_sums *all)
{
    double            *share  = malloc((n + 1) * sizeof *share);
    const shrink_row **left   = calloc(n + 1, sizeof *left);
    size_t             n_left = 0;
    lm_status          status;

    s->sums = *all;
    status  = sums_room(&s->sums, s->err);
    if (!status && (!share || !left))
        status = no_memory(s->err);
    for (size_t i = 0; i < n && !status; i++)
        if (row[i].fold == without)
            left[n_left++] = &row[i];
    if (!status)
        status = share_groups(left, n_left, s->options->alike, share, s->err);
    if (!status) {
        memcpy(s->sums.gram, all->gram, all->n * all->n * sizeof *all->gram);
        memcpy(s->sums.h, all->h, all->n * sizeof *all->h);
    }
    for (size_t i = 0; i < n_left && !status; i++)
        sums_add(&s->sums, left[i], -share[i]);
    free(share);
    free(left);
    return status;
}

static lm_status take_rows(solving *s, const shrink_row *row, size_t n, size_t without)
{
    s->row    = malloc((n + 1) * sizeof *s->row);
    s->weight = malloc((n + 1) * sizeof *s->weight);
    s->share  = malloc((n + 1) * sizeof *s->share);
    s->summed = malloc((n + 1) * sizeof *s->summed);
    s->fit    = malloc((n + 1) * sizeof *s->fit);
    if (!s->row || !s->weight || !s->share || !s->summed || !s->fit)
        return no_memory(s->err);
    for (size_t i = 0; i < n; i++) {
        if (row[i].fold == without)
            continue;
        if (!(row[i].seconds > 0 && isfinite(row[i].seconds)))
            return lm_error_set(s->err, LM_E_ARG, "row %zu: time is not above 0", i);
        for (size_t k = 0; k < row[i].terms.n; k++) {
            if (!isfinite(row[i].terms.item[k].value))
                return lm_error_set(s->err, LM_E_ARG, "row %zu: a term is not finite", i);
            s->used[row[i].terms.item[k].term] = true;
        }
        s->row[s->n++] = &row[i];
    }
    return s->n ? share_groups(s->row, s->n, s->options->alike, s->share, s->err)
                : lm_error_set(s->err, LM_E_ARG, "no rows to fit");
}

/* Families that stand on their own first; then all of them, the rest beginning from their guesses.
 */
static lm_status solve_families(solving *s)
{
    bool      all[N_TERMS];
    stage     st;
    lm_status status;

    memcpy(all, s->used, sizeof all);
    for (size_t t = 0; t < N_TERMS; t++)
        s->used[t] &= stand_in[term_family_of(t)].weight == 0;
    scale_families(s);
    if (!(status = stage_new(s, family_key, &st)) && !(status = stage_solve(s, &st)))
        take_families(s, &st);
    stage_free(&st);
    memcpy(s->used, all, sizeof all);
    if (status)
        return status;
    if (!(status = stage_new(s, family_key, &st))) {
        for (size_t t = 0; t < N_TERMS; t++)
            if (st.key[t] < N_TERMS) {
                st.mu[st.key[t]]     = s->options->mu * stand_in[term_family_of(t)].weight;
                st.factor[st.key[t]] = 1;
            }
        if (!(status = stage_solve(s, &st)))
            take_families(s, &st);
    }
    stage_free(&st);
    return status;
}

lm_status shrink_solve(const shrink_row *row, size_t n, size_t without,
                       const shrink_options *options, const shrink_sums *sums, shrink_fit *out,
                       lm_error *err)
{
    solving   s = { .options = options, .err = err };
    double    spare;
    lm_status status = take_rows(&s, row, n, without);

    memset(out, 0, sizeof *out);
    if (!status && sums && sums->whole)
        status = take_sums(&s, row, n, without, sums);
    if (status)
        goto out;
    for (size_t t = 0; t < N_TERMS; t++) {
        out->n_used += s.used[t];
        out->spread[t] = NAN;
    }
    status = solve_families(&s);
    if (!status && !(status = refine(&s, term_slot, out))) {
        spread_slots(&s, out);
        if (!options->slots_only)
            status = refine(&s, term_key, out);
    }
    spare = (double)s.n - (double)out->n_used;
    for (size_t t = 0; t < N_TERMS && !status; t++) {
        out->coefficient[t] = s.scale[t];
        out->spread[t] *= spare > 0 ? sqrt(out->weighted_rss / spare) : NAN;
    }
    out->rows = s.n;
out:
    free(s.row);
    free(s.weight);
    free(s.share);
    free(s.summed);
    free(s.fit);
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
