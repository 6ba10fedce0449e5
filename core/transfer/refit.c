/* Phases fitted to a device's own measurements. */
#include "transfer/refit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "fit/fit.h"

/* The row of a point and a phase; n: none. */
static size_t find_row(const correct_row *row, size_t n, size_t at, phase of)
{
    size_t k = 0;

    while (k < n && (row[k].point != at || row[k].of != of))
        k++;
    return k;
}

/* Seconds of the form's rows by fits without their networks; others stay NAN. */
static lm_status own_seconds(const points *p, const form_data *d, const correct_row *row, size_t n,
                             double *out, lm_error *err)
{
    double   *by_row = malloc((d->n_rows + 1) * sizeof *by_row);
    lm_status status = by_row ? form_data_predict(d, p, by_row, err) : no_memory(err);

    for (size_t i = 0; i < d->n_rows && !status; i++) {
        const size_t k = find_row(row, n, d->point[i], forms[d->form].part);

        if (k < n)
            out[k] = by_row[i];
    }
    free(by_row);
    return status;
}

/* Errors of a phase by the correction and by the own fit. */
static void judge(const correct_row *row, size_t n, phase of, const double *seconds,
                  const double *own, double error[2])
{
    error[0] = error[1] = 0;
    for (size_t k = 0; k < n; k++)
        if (row[k].of == of) {
            error[0] += fabs(seconds[k] / row[k].seconds - 1);
            error[1] += fabs(own[k] / row[k].seconds - 1); /* NAN: not told, so not better */
        }
}

static size_t groups_of(const correct_row *row, size_t n, phase of)
{
    size_t groups = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (row[k].of != of || row[k].group != row[i].group)
            if (++k > i)
                break;
        groups += row[i].of == of && k == i;
    }
    return groups;
}

static lm_status choose(const points *p, const split *by, size_t form_at, const correct_row *row,
                        size_t n, double *seconds, double *own, bool *taken, lm_error *err)
{
    const phase of = forms[form_at].part;
    double      error[2];
    form_data   d;
    lm_status   status;

    *taken = false;
    if (forms[form_at].n_features || !form_carried(form_at) ||
        !interval_enough(groups_of(row, n, of)))
        return LM_OK;
    if ((status = form_data_new(p, form_at, by, &d, err)))
        return status;
    for (size_t k = 0; k < n; k++)
        own[k] = NAN;
    status = own_seconds(p, &d, row, n, own, err);
    form_data_free(&d);
    if (status)
        return status;
    judge(row, n, of, seconds, own, error);
    *taken = error[1] < error[0];
    for (size_t k = 0; k < n && *taken; k++)
        if (row[k].of == of)
            seconds[k] = own[k];
    return LM_OK;
}

lm_status refit_choose(const points *p, const correct_row *row, size_t n, double *seconds,
                       refit_choice *out, lm_error *err)
{
    double   *own    = malloc((n + 1) * sizeof *own);
    split     by     = { .n_folds = 0 };
    lm_status status = own ? split_new(p, &(split_rule){ .kind = SPLIT_NETWORK }, &by, err)
                           : no_memory(err);

    *out = (refit_choice){ .n = 0 };
    for (size_t f = 0; f < n_forms && !status; f++) {
        status = choose(p, &by, f, row, n, seconds, own, &out->taken[f], err);
        out->n += out->taken[f];
    }
    split_free(&by);
    free(own);
    return status;
}

lm_status refit_take(calibration *cal, const points *p, const refit_choice *chosen, lm_error *err)
{
    calibration *own      = NULL;
    char         text[80] = "";
    lm_status    status   = chosen->n ? fit_model(p, DEFAULT_MODEL, &own, err) : LM_OK;

    for (size_t f = 0; f < n_forms && own; f++) {
        if (!chosen->taken[f] || !own->fitted[f].present)
            continue;
        for (size_t t = 0; t < N_TERMS; t++)
            if (!isnan(own->fitted[f].term[t].value))
                cal->fitted[f].term[t] = own->fitted[f].term[t];
        text_add(text, sizeof text, "%s%s", *text ? " " : "", phase_name(forms[f].part));
    }
    for (size_t i = 0; *text && i < p->n_points; i++)
        if (p->point[i].load.tokens)
            cal->by_steps = laid_factors_none;
    calibration_free(own);
    return status || !*text || calibration_note(cal, "fitted_anew", text) ? status : no_memory(err);
}
