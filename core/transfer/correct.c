/* Correction of a model by a few measurements of a device. */
#include "transfer/correct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/singles.h"
#include "solve/factors.h"
#include "transfer/layers.h"
#include "transfer/refit.h"
#include "transfer/transfer.h"

double correct_seconds(const correct_row *row, const correct_factors *f)
{
    double sum = row->fixed;

    for (int r = 0; r < N_CORRECT; r++)
        sum += f->of[r] * row->part[r];
    return sum;
}

lm_status correct_fit(const correct_row *row, size_t n, const fold_turn *t, correct_factors *out,
                      lm_error *err)
{
    factors_rows    all;
    correct_factors f      = { .rows = 0 };
    lm_status       status = factors_rows_new(N_CORRECT, n, &all, err);

    for (int r = 0; r < N_CORRECT; r++)
        f.of[r] = 1;
    for (size_t i = 0; i < n && !status; i++)
        if (!t || fold_in(t, i))
            factors_rows_add(&all, row[i].part, row[i].fixed, row[i].seconds);
    f.rows = all.rows;
    if (!status && !(status = factors_rows_fit(&all, NULL, FACTORS_HUBER, f.of, err)))
        *out = f;
    factors_rows_free(&all);
    return status;
}

/* ---- rows ---- */

/* The times that factors correct, if a form of terms predicts them. */
static bool told(size_t form_at, phase *out)
{
    static const bool corrected[N_TIMES] = { [PHASE_FORWARD]   = true,
                                             [PHASE_BACKWARD]  = true,
                                             [PHASE_UPDATE]    = true,
                                             [PHASE_INFERENCE] = true,
                                             [PHASE_STEP]      = true };

    *out = forms[form_at].part;
    return form_carried(form_at) && !forms[form_at].n_features && corrected[*out];
}

bool correct_split(const calibration *cal, size_t form_at, const point *pt,
                   double by_factor[N_CORRECT])
{
    term_item         room[N_TERMS];
    const phase       part  = forms[form_at].part;
    const workload   *load  = point_load(pt, part);
    const term_vector terms = form_terms(&forms[form_at], load, &cal->fitted[form_at].knots, room);
    double            sum   = 0;

    for (size_t k = 0; k < terms.n; k++) {
        const size_t term    = terms.item[k].term;
        const double price   = laid_factors_price(&cal->by_steps, load->tokens, part, term,
                                                  cal->fitted[form_at].term[term].value),
                     seconds = price * terms.item[k].value;

        by_factor[form_resource(term)] += seconds;
        sum += seconds;
    }
    return sum > 0;
}

/* Adds times of networks, predicted by forms of terms. */
static void add_network(const calibration *cal, const points *p, size_t at, correct_row *row,
                        size_t *n)
{
    const point *pt = &p->point[at];

    for (size_t f = 0; f < n_forms; f++) {
        correct_row r = { .group = pt->group, .point = at, .batch = pt->row->batch };

        if (!cal->fitted[f].present || !told(f, &r.of))
            continue;
        r.seconds = point_seconds(pt, forms[f].part);
        if (r.seconds > 0 && correct_split(cal, f, pt, r.part))
            row[(*n)++] = r;
    }
}

/* Adds times of a single layer. Each is a group unless its row has one. */
static lm_status add_layer(layer_asker *by, const points *p, size_t at, correct_row *row, size_t *n,
                           lm_error *err)
{
    const point *pt = &p->point[at];

    for (size_t i = 0; i < N_SINGLES_PHASES; i++) {
        correct_row r = { .group   = *pt->row->group ? pt->group : p->n_groups + at,
                          .point   = at,
                          .batch   = pt->row->batch,
                          .of      = singles_phases[i],
                          .seconds = point_seconds(pt, singles_phases[i]) };
        layer_run   run;
        lm_status   status;

        if (!(r.seconds > 0))
            continue;
        run    = singles_run(pt, singles_phases[i], by->m->multiprocessors);
        status = layer_model_split(by, pt->shape, &run, transfer_layers_factor, r.part, err);
        if (status == LM_OK)
            row[(*n)++] = r;
        else if (status != LM_E_NOTFOUND)
            return status;
    }
    return LM_OK;
}

lm_status correct_rows(const calibration *cal, const points *p, correct_row **out, size_t *n,
                       lm_error *err)
{
    correct_row *row    = malloc((p->n_points * (n_forms + N_SINGLES_PHASES) + 1) * sizeof *row);
    size_t       used   = 0;
    layer_asker  by     = layer_asker_of(cal->layers);
    lm_status    status = row ? LM_OK : no_memory(err);

    for (size_t i = 0; i < p->n_points && !status; i++)
        if (p->point[i].shape && cal->layers)
            status = add_layer(&by, p, i, row, &used, err);
        else
            add_network(cal, p, i, row, &used);
    layer_asker_free(&by);
    if (!status && !used)
        status =
            lm_error_set(err, LM_E_ARG, "none of its times has coefficients on these machines");
    if (status) {
        free(row);
        return status;
    }
    *out = row;
    *n   = used;
    return LM_OK;
}

/* ---- what leaving out shows ---- */

size_t correct_groups(const correct_row *row, size_t n)
{
    size_t groups = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (row[k].group != row[i].group)
            k++;
        groups += k == i;
    }
    return groups;
}

/* Predicts rows by corrections from other groups. */
typedef struct leaving {
    const correct_row *row;
    size_t             n;
    double            *seconds;
} leaving;

static lm_status tell_group(void *context, const fold_turn *t, lm_error *err)
{
    const leaving  *l = context;
    correct_factors f;
    const lm_status status = correct_fit(l->row, l->n, t, &f, err);

    for (size_t i = 0; i < l->n && !status; i++)
        if (fold_out(t, i))
            l->seconds[i] = correct_seconds(&l->row[i], &f);
    return status;
}

lm_status correct_left_out(const correct_row *row, size_t n, double *seconds, lm_error *err)
{
    leaving   l      = { row, n, seconds };
    size_t   *group  = malloc((n + 1) * sizeof *group);
    folds     by     = { .of = group, .rows = n };
    lm_status status = group ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && group; i++) {
        group[i] = row[i].group;
        by.n     = group[i] >= by.n ? group[i] + 1 : by.n;
    }
    if (!status)
        status = folds_leave_out(&by, tell_group, &l, err);
    free(group);
    return status;
}

void correct_judge(const correct_row *row, size_t n, const double *seconds, correct_errors *e)
{
    correct_factors none = { .rows = 0 };

    for (size_t r = 0; r < N_CORRECT; r++)
        none.of[r] = 1;
    e->mape = e->mape_before = 0;
    for (size_t i = 0; i < n; i++) {
        e->mape += fabs(seconds[i] / row[i].seconds - 1) / (double)n;
        e->mape_before += fabs(correct_seconds(&row[i], &none) / row[i].seconds - 1) / (double)n;
    }
}

static lm_status state_interval(const correct_row *row, size_t n, const double *seconds, phase of,
                                const interval *own, interval *out, lm_error *err)
{
    interval  i    = interval_unknown;
    residual *r    = malloc((n + 1) * sizeof *r);
    size_t    used = 0;
    lm_status status;

    if (!r)
        return no_memory(err);
    for (size_t k = 0; k < n; k++) {
        if (row[k].of != of)
            continue;
        r[used++] = (residual){ .ratio = seconds[k] > 0 ? row[k].seconds / seconds[k] : HUGE_VAL,
                                .group = row[k].group };
        i.range[SCOPE_SECONDS].low  = fmin(i.range[SCOPE_SECONDS].low, row[k].seconds);
        i.range[SCOPE_SECONDS].high = fmax(i.range[SCOPE_SECONDS].high, row[k].seconds);
        if (row[k].batch > 0) {
            i.range[SCOPE_BATCH].low  = fmin(i.range[SCOPE_BATCH].low, (double)row[k].batch);
            i.range[SCOPE_BATCH].high = fmax(i.range[SCOPE_BATCH].high, (double)row[k].batch);
        }
    }
    status       = interval_bounds(r, used, &i, err);
    i.per_octave = INTERVAL_PER_OCTAVE;
    if (!status && interval_known(&i)) {
        if (!interval_enough(i.groups)) { /* few may agree by chance */
            i.low  = fmin(i.low, own->low);
            i.high = fmax(i.high, own->high);
        }
        *out = i;
    }
    free(r);
    return status;
}

/* Corrects coefficients. Coefficients of networks between nodes belong to no resource. */
static void correct_prices(calibration *cal, const correct_factors *f)
{
    phase of;

    for (size_t i = 0; i < n_forms; i++)
        for (size_t t = 0; cal->fitted[i].present && told(i, &of) && t < N_TERMS; t++) {
            cal->fitted[i].term[t].value *= f->of[form_resource(t)];
            cal->fitted[i].term[t].standard_error *= f->of[form_resource(t)];
        }
    cal->by_steps.start *= f->of[RESOURCE_HOST];
}

void correct_apply(calibration *cal, const correct_factors *f, bool apart)
{
    for (int r = 0; r < N_RESOURCES && apart; r++)
        cal->by_steps.others[r] *= f->of[r];
    if (!apart)
        correct_prices(cal, f);
    for (size_t k = 0; cal->layers && k < N_LAYER_CLASSES; k++)
        for (size_t j = 0; j < cal->layers->of[k].columns.n; j++) {
            column *c = &cal->layers->of[k].columns.column[j];

            c->price *= f->of[transfer_layers_factor(c)];
        }
}

/* Have networks of tokens prices of their own, and are there none among the rows? */
static bool kept_apart(const calibration *cal, const points *p)
{
    for (size_t i = 0; p && i < p->n_points; i++)
        if (p->point[i].load.tokens)
            return false;
    return p && cal->by_steps.known && cal->by_steps.tokens;
}

lm_status correct_calibration(calibration *cal, const points *p, correct_row *row, size_t n,
                              const intervals *own, correct_factors *f, correct_errors *errors,
                              lm_error *err)
{
    double      *seconds = malloc((n + 1) * sizeof *seconds);
    const bool   apart   = kept_apart(cal, p);
    refit_choice anew    = { .n = 0 };
    lm_status    status  = seconds ? correct_fit(row, n, NULL, f, err) : no_memory(err);

    *errors = (correct_errors){ NAN, NAN, correct_groups(row, n) };
    if (!status && errors->groups > 1)
        status = correct_left_out(row, n, seconds, err);
    if (!status && errors->groups > 1 && p && !apart)
        status = refit_choose(p, row, n, seconds, &anew, err);
    for (phase q = 0; q < N_TIMES && errors->groups > 1 && !status; q++)
        status = state_interval(row, n, seconds, q, &own->of[q], &cal->intervals[0].of[q], err);
    if (!status && errors->groups > 1)
        correct_judge(row, n, seconds, errors);
    if (!status)
        correct_apply(cal, f, apart);
    if (!status)
        status = refit_take(cal, p, &anew, err);
    free(seconds);
    return status;
}
