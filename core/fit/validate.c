/* How good each model is on observations. */
#include "fit/validate.h"

#include <math.h>
#include <stdlib.h>

static const char *const quantities[N_QUANTITIES] = { "forward",       "backward", "grad",
                                                      "backward+grad", "step",     "inference" };

const char *quantity_name(quantity q)
{
    return quantities[q];
}

/* Seconds by one form, from fits to the points themselves. */
static lm_status predict_fitted(const points *p, size_t form_at, const split *by, double *seconds,
                                lm_error *err)
{
    form_data d;
    double   *rows;
    lm_status status = form_data_new(p, form_at, by, &d, err);

    if (status)
        return status;
    rows = malloc((d.n_rows + 1) * sizeof *rows);
    status =
        rows ? form_data_predict(&d, p, rows, err) : lm_error_set(err, LM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < d.n_rows && !status; i++)
        seconds[d.point[i]] = rows[i];
    free(rows);
    form_data_free(&d);
    return status;
}

/* Seconds by one part of the model: of fits, for all points that have it measured. */
static lm_status predict_part(const points *p, const char *model, part which, const split *by,
                              const calibration *cal, double *seconds, lm_error *err)
{
    const size_t form_at = form_find(model, which);

    for (size_t i = 0; i < p->n_points; i++)
        seconds[i] = NAN;
    if (form_at == n_forms)
        return LM_OK;
    if (!cal)
        return predict_fitted(p, form_at, by, seconds, err);
    for (size_t i = 0; i < p->n_points; i++)
        seconds[i] = calibration_seconds(cal, form_at, &p->point[i].load);
    return LM_OK;
}

static void measure(const point *pt, comparison *c)
{
    const bool   many = pt->row->ranks > 1;
    const double grad = many ? point_seconds(pt, PART_GRAD_MANY) : point_seconds(pt, PART_GRAD_ONE);

    c->measured[QUANTITY_FORWARD]       = point_seconds(pt, PART_FORWARD);
    c->measured[QUANTITY_INFERENCE]     = point_seconds(pt, PART_INFERENCE);
    c->measured[QUANTITY_BACKWARD]      = point_seconds(pt, PART_BACKWARD);
    c->measured[QUANTITY_GRAD]          = grad;
    c->measured[QUANTITY_BACKWARD_GRAD] = c->measured[QUANTITY_BACKWARD] + grad;
    c->measured[QUANTITY_STEP] =
        pt->row->kind != OBS_COLLECTIVE && !isnan(pt->seconds[PHASE_STEP])
            ? pt->seconds[PHASE_STEP]
            : c->measured[QUANTITY_FORWARD] + c->measured[QUANTITY_BACKWARD_GRAD];
}

/* A step as it was measured, as a whole or part by part, if the model can; else the other way. */
static double step_seconds(const point *pt, double whole, double sum)
{
    const bool as_whole = !isnan(point_seconds(pt, PART_STEP));

    if (pt->row->ranks > 1)
        return sum;
    return isnan(as_whole ? whole : sum) ? (as_whole ? sum : whole) : as_whole ? whole : sum;
}

lm_status validate_model(const points *p, const char *model, const split *by,
                         const calibration *cal, comparison *out, lm_error *err)
{
    double   *seconds = malloc((p->n_points * N_PARTS + 1) * sizeof *seconds);
    lm_status status  = seconds ? LM_OK : lm_error_set(err, LM_E_NOMEM, "out of memory");

    for (part w = 0; w < N_PARTS && !status; w++)
        status = predict_part(p, model, w, by, cal, seconds + p->n_points * w, err);
    for (size_t i = 0; i < p->n_points && !status; i++) {
        const bool many = p->point[i].row->ranks > 1;
        double     at[N_PARTS];
        double    *to = out[i].predicted;

        for (part w = 0; w < N_PARTS; w++)
            at[w] = seconds[p->n_points * w + i];
        measure(&p->point[i], &out[i]);
        to[QUANTITY_FORWARD]  = at[PART_FORWARD];
        to[QUANTITY_BACKWARD] = at[PART_BACKWARD];
        if (form_find(model, PART_UPDATE) < n_forms)
            to[QUANTITY_GRAD] = at[PART_UPDATE] + (many ? at[PART_SYNC] : 0);
        else
            to[QUANTITY_GRAD] = many ? at[PART_GRAD_MANY] : at[PART_GRAD_ONE];
        to[QUANTITY_BACKWARD_GRAD] = many && form_find(model, PART_JOINT) < n_forms
                                         ? at[PART_JOINT]
                                         : to[QUANTITY_BACKWARD] + to[QUANTITY_GRAD];
        to[QUANTITY_STEP] =
            step_seconds(&p->point[i], at[PART_STEP],
                         to[QUANTITY_FORWARD] + to[QUANTITY_BACKWARD] + to[QUANTITY_GRAD]);
        to[QUANTITY_INFERENCE] = at[PART_INFERENCE];
    }
    free(seconds);
    return status;
}

stats_errors validate_errors(const points *p, const comparison *c, quantity q, const split *by,
                             size_t fold)
{
    double      *predicted = malloc((p->n_points + 1) * sizeof *predicted);
    double      *measured  = malloc((p->n_points + 1) * sizeof *measured);
    size_t       n         = 0;
    stats_errors e;

    for (size_t i = 0; predicted && measured && i < p->n_points; i++)
        if ((fold == SPLIT_ALWAYS || by->fold[i] == fold) && !isnan(c[i].predicted[q]) &&
            !isnan(c[i].measured[q])) {
            predicted[n]  = c[i].predicted[q];
            measured[n++] = c[i].measured[q];
        }
    e = stats_compare(predicted, measured, n);
    free(predicted);
    free(measured);
    return e;
}
