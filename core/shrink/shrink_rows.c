/* Rows of shrunk fits, in units of their measured times. */
#include "shrink/shrink_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"

static lm_status check_row(const shrink_row *r, size_t at, lm_error *err)
{
    if (!(r->seconds > 0 && isfinite(r->seconds)))
        return lm_error_set(err, LM_E_ARG, "row %zu: time is not above 0", at);
    for (size_t k = 0; k < r->terms.n; k++)
        if (!isfinite(r->terms.item[k].value))
            return lm_error_set(err, LM_E_ARG, "row %zu: a term is not finite", at);
    return LM_OK;
}

/* Finds the terms of all rows, and the number of folds and groups. */
static lm_status survey(const shrink_row *row, size_t n, shrink_rows *out, size_t place[N_TERMS],
                        lm_error *err)
{
    bool      used[N_TERMS] = { false };
    lm_status status        = LM_OK;

    for (size_t i = 0; i < n && !(status = check_row(&row[i], i, err)); i++) {
        for (size_t k = 0; k < row[i].terms.n; k++)
            used[row[i].terms.item[k].term] = true;
        out->n_folds  = row[i].fold >= out->n_folds ? row[i].fold + 1 : out->n_folds;
        out->n_groups = row[i].group >= out->n_groups ? row[i].group + 1 : out->n_groups;
    }
    for (size_t t = 0; t < N_TERMS; t++) {
        place[t] = out->n_terms;
        if (used[t])
            out->term[out->n_terms++] = t;
    }
    return status;
}

static void take_row(const shrink_row *row, const size_t place[N_TERMS], size_t at,
                     shrink_rows *out)
{
    double      *relative             = out->relative + at * out->n_terms;
    double       sum[N_TERM_FAMILIES] = { 0 };
    shrink_sums *of                   = &out->of[row->fold];

    out->fold[at]  = row->fold;
    out->group[at] = row->group;
    of->n++;
    for (size_t k = 0; k < row->terms.n; k++) {
        const term_item *item  = &row->terms.item[k];
        const double     value = item->value / row->seconds;

        relative[place[item->term]] += value;
        of->used[place[item->term]] = true;
        sum[term_family_of(item->term)] += value;
    }
    for (size_t f = 0; f < N_TERM_FAMILIES; f++)
        of->largest[f] = fmax(of->largest[f], sum[f]);
}

/* Has each group one fold? */
static lm_status find_whole(shrink_rows *r, lm_error *err)
{
    size_t *fold = malloc((r->n_groups + 1) * sizeof *fold);

    if (!fold)
        return no_memory(err);
    for (size_t i = 0; i < r->n; i++)
        fold[r->group[i]] = r->fold[i];
    r->whole = true;
    for (size_t i = 0; i < r->n; i++)
        r->whole &= fold[r->group[i]] == r->fold[i];
    free(fold);
    return LM_OK;
}

static lm_status sums_room(const shrink_rows *r, shrink_sums *s, lm_error *err)
{
    s->gram = calloc(r->n_terms * r->n_terms + 1, sizeof *s->gram);
    s->h    = calloc(r->n_terms + 1, sizeof *s->h);
    return s->gram && s->h ? LM_OK : no_memory(err);
}

/* Adds rows of equal weight. */
static void add_alike(const shrink_rows *r, size_t first, size_t n, double share, shrink_sums *to)
{
    const double *rows  = r->relative + first * r->n_terms;
    const int     terms = (int)r->n_terms;

    if (share == 0 || !terms)
        return;
    blas.cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, terms, (int)n, share, rows, terms, 1,
                     to->gram, terms);
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < r->n_terms; t++)
            to->h[t] += share * rows[i * r->n_terms + t];
}

/* Adds all rows to their folds, or to the single `to`. Rows of a fold and group are mostly
 * adjacent. */
static void add_rows(const shrink_rows *r, const double *share, shrink_sums *to)
{
    for (size_t first = 0, n; first < r->n; first += n) {
        const size_t fold = r->fold[first];

        for (n = 1; first + n < r->n && r->fold[first + n] == fold &&
                    r->group[first + n] == r->group[first];)
            n++;
        add_alike(r, first, n, share[first], to ? to : &r->of[fold]);
    }
}

static lm_status sum_folds(shrink_rows *r, lm_error *err)
{
    double   *share  = malloc((r->n + 1) * sizeof *share);
    lm_status status = share ? shrink_rows_share(r, r->n_folds, share, err) : no_memory(err);

    for (size_t f = 0; f < r->n_folds && !status; f++)
        if (r->of[f].n)
            status = sums_room(r, &r->of[f], err);
    if (!status)
        add_rows(r, share, NULL);
    free(share);
    return status;
}

double term_bounds_keep(const term_bounds *b, size_t term, double value)
{
    const size_t slot = term_slot(term);

    if (isnan(value)) /* unknown */
        return value;
    if (slot == SLOT_GEMM_FLOPS || slot == SLOT_ATTENTION_FLOPS)
        return fmax(value, b->least_flop);
    if (term_family_of(term) == FAMILY_LAUNCHES)
        return fmax(value, b->least_launch);
    return term_of_weights(term) ? fmin(value, b->most_byte) : value;
}

lm_status shrink_rows_new(const shrink_row *row, size_t n, double alike, shrink_rows *out,
                          lm_error *err)
{
    size_t    place[N_TERMS];
    lm_status status;

    *out = (shrink_rows){ .bounds = { 0, INFINITY, 0 }, .n = n, .alike = alike };
    if ((status = blas_load(err)) || (status = survey(row, n, out, place, err)))
        return status;
    out->relative = calloc(n * out->n_terms + 1, sizeof *out->relative);
    out->fold     = malloc((n + 1) * sizeof *out->fold);
    out->group    = malloc((n + 1) * sizeof *out->group);
    out->of       = calloc(out->n_folds + 1, sizeof *out->of);
    if (!out->relative || !out->fold || !out->group || !out->of)
        status = no_memory(err);
    for (size_t i = 0; i < n && !status; i++)
        take_row(&row[i], place, i, out);
    if (!status && !(status = find_whole(out, err)) && out->whole)
        status = sum_folds(out, err);
    if (status)
        shrink_rows_free(out);
    return status;
}

void shrink_rows_free(shrink_rows *r)
{
    for (size_t f = 0; r->of && f < r->n_folds; f++)
        shrink_sums_free(&r->of[f]);
    free_all(r->of, r->relative, r->fold, r->group);
    *r = (shrink_rows){ .n = 0 };
}

lm_status shrink_rows_share(const shrink_rows *r, size_t without, double *share, lm_error *err)
{
    size_t *count = calloc(r->n_groups + 1, sizeof *count);

    if (!count)
        return no_memory(err);
    for (size_t i = 0; i < r->n; i++)
        count[r->group[i]] += r->fold[i] != without;
    for (size_t i = 0; i < r->n; i++)
        share[i] =
            r->fold[i] == without ? 0 : 1 / (1 + ((double)count[r->group[i]] - 1) * r->alike);
    free(count);
    return LM_OK;
}

static void add_fold(const shrink_rows *r, const shrink_sums *from, shrink_sums *to)
{
    to->n += from->n;
    for (size_t f = 0; f < N_TERM_FAMILIES; f++)
        to->largest[f] = fmax(to->largest[f], from->largest[f]);
    for (size_t t = 0; t < r->n_terms; t++)
        to->used[t] |= from->used[t];
    if (!from->gram)
        return;
    for (size_t t = 0; t < r->n_terms; t++)
        to->h[t] += from->h[t];
    for (size_t k = 0; k < r->n_terms * r->n_terms; k++)
        to->gram[k] += from->gram[k];
}

lm_status shrink_rows_sum(const shrink_rows *r, size_t without, const double *share,
                          shrink_sums *out, lm_error *err)
{
    lm_status status;

    *out = (shrink_sums){ .n = 0 };
    if ((status = sums_room(r, out, err)))
        return status;
    for (size_t f = 0; f < r->n_folds; f++)
        if (f != without)
            add_fold(r, &r->of[f], out);
    if (!r->whole)
        add_rows(r, share, out);
    return LM_OK;
}

void shrink_sums_free(shrink_sums *s)
{
    free(s->gram);
    free(s->h);
    *s = (shrink_sums){ .n = 0 };
}

/* Squared distance of a column of length 1 from those before it. */
#define NEAR 1e-10

/* Products of all pairs of columns, scaled to length 1; columns of zeros stay zero. */
static void multiply(const shrink_rows *r, double *of)
{
    const size_t n = r->n_terms;
    double       length[N_TERMS];

    if (n)
        blas.cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)r->n, 1, r->relative,
                         (int)n, 0, of, (int)n);
    for (size_t i = 0; i < n; i++)
        length[i] = sqrt(of[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            if (length[i] > 0 && length[k] > 0)
                of[i * n + k] /= length[i] * length[k];
            of[k * n + i] = of[i * n + k];
        }
}

lm_status term_rank(const shrink_rows *r, size_t *out, lm_error *err)
{
    const size_t n             = r->n_terms;
    bool         used[N_TERMS] = { false };
    double      *of            = calloc(n * n + 1, sizeof *of);

    if (!of)
        return no_memory(err);
    multiply(r, of);
    for (*out = 0;; ++*out) {
        size_t  pivot = n;
        double *row;

        for (size_t i = 0; i < n; i++)
            if (!used[i] && (pivot == n || of[i * n + i] > of[pivot * n + pivot]))
                pivot = i;
        if (pivot == n || !(of[pivot * n + pivot] > NEAR))
            break;
        used[pivot] = true;
        row         = &of[pivot * n];
        for (size_t i = 0; i < n; i++) /* subtract it from the others */
            for (size_t k = 0; k < n && !used[i]; k++)
                if (!used[k])
                    of[i * n + k] -= row[i] * row[k] / row[pivot];
    }
    free(of);
    return LM_OK;
}
