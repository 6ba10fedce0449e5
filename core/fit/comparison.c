/* Predicted and measured times, point by point. */
#include "fit/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"
#include "fit/collectives.h"
#include "fit/composed_points.h"
#include "fit/layer_watts.h"
#include "fit/overlap_points.h"
#include "fit/power_rows.h"
#include "fit/shared.h"
#include "fit/singles.h"

/* ---- predictions --------------------------------------------------------------------------------
 */

/* Seconds by one form, from fits to the points themselves. */
static lm_status predict_fitted(const points *p, size_t form_at, const split *by, comparison *out,
                                lm_error *err)
{
    const phase which = forms[form_at].part;
    form_data   d;
    double     *rows;
    lm_status   status = form_data_new(p, form_at, by, &d, err);

    if (status)
        return status;
    rows   = malloc((d.n_rows + 1) * sizeof *rows);
    status = rows ? form_data_predict(&d, p, rows, err) : no_memory(err);
    for (size_t i = 0; i < d.n_rows && !status; i++)
        out[d.point[i]].part[which] = rows[i];
    free(rows);
    form_data_free(&d);
    return status;
}

/* All-reduces, by the model or by a baseline's formula. */
static lm_status predict_sync(const points *p, sync_baseline b, const split *by,
                              const calibration *cal, comparison *out, lm_error *err)
{
    double   *seconds = malloc((p->n_points + 1) * sizeof *seconds);
    lm_status status  = seconds ? LM_OK : no_memory(err);

    if (!status && cal)
        collectives_by_model(p, cal->collectives, NULL, b, seconds);
    else if (!status)
        status = collectives_left_out(p, by, b, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        out[i].part[PHASE_SYNC] = seconds[i];
    free(seconds);
    return status;
}

/* What is compared. */
typedef struct comparing {
    const points        *p;
    const char          *model;
    const split         *by;
    const calibration   *cal;
    const double *const *left_out; /* by form, of points; NULL: not at hand */
    bool                 measured[N_TIMES];
    comparison          *out;
} comparing;

/* Seconds by one part of the model: of fits, for all points that have it measured. */
static lm_status predict_part(void *context, size_t at, lm_error *err)
{
    const comparing    *c        = context;
    const phase         which    = (phase)at;
    const calibration  *cal      = c->cal;
    const size_t        form_at  = form_find(c->model, which);
    const sync_baseline baseline = sync_baseline_parse(c->model);

    if (!cal && !c->measured[which])
        return LM_OK;
    if (which == PHASE_SYNC &&
        (form_at < n_forms ? !cal || calibration_asks(cal, c->model) : baseline < N_SYNC_BASELINES))
        return predict_sync(c->p, form_at < n_forms ? N_SYNC_BASELINES : baseline, c->by, cal,
                            c->out, err);
    if (form_at == n_forms)
        return LM_OK;
    if (!cal && !(c->left_out && c->left_out[form_at]))
        return predict_fitted(c->p, form_at, c->by, c->out, err);
    for (size_t i = 0; i < c->p->n_points; i++) {
        const point *pt = &c->p->point[i];

        c->out[i].part[which] =
            cal ? calibration_seconds(cal, form_at, &pt->load) *
                      shared_times(cal, c->model, which, shared_devices(pt->row))
                : c->left_out[form_at][i];
    }
    return LM_OK;
}

/* The default model prices single layers by what they are, where it can. */
static lm_status predict_singles(const points *p, const char *model, const split *by,
                                 const calibration *cal, comparison *out, lm_error *err)
{
    const bool   learned = !strcmp(model, MODEL_RESIDUAL);
    const size_t n       = p->n_points * N_PHASES;
    double      *seconds = NULL;
    lm_status    status  = LM_OK;

    if ((!learned && strcmp(model, model_at(0)) != 0) || (cal && !cal->layers))
        return LM_OK;
    seconds = malloc((n + 1) * sizeof *seconds);
    if (!seconds)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        seconds[i] = NAN;
    status = cal ? singles_by_model(p, cal->layers, learned, seconds, err)
                 : singles_left_out(p, by, learned, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        for (phase f = 0; f < N_PHASES; f++)
            /* a network's own coefficients know more of it than its layers' */
            if (!isnan(seconds[i * N_PHASES + f]) && (p->point[i].shape || isnan(out[i].part[f])))
                out[i].part[f] = seconds[i * N_PHASES + f];
    free(seconds);
    return status;
}

/* By the power model of a machine file. */
static lm_status watts_by_machine(const points *p, const calibration *cal, double *watts,
                                  lm_error *err)
{
    power_rows r;
    lm_status  status;

    if (!cal->power)
        return LM_OK;
    if ((status = power_rows_from(p, cal, NAN, &r, err)))
        return status;
    for (size_t i = 0; i < r.n; i++)
        watts[r.at[i].point * N_PHASES + r.at[i].phase] =
            power_usual(cal->power, &r.row[i].load).watts;
    power_rows_free(&r);
    return LM_OK;
}

/* Powers of the default model; `learned` with what that leaves over. */
static lm_status predict_watts(const points *p, const char *model, const split *by,
                               const calibration *cal, comparison *out, lm_error *err)
{
    const bool learned = !strcmp(model, MODEL_RESIDUAL);
    double    *watts;
    lm_status  status;

    if (!learned && strcmp(model, model_at(0)) != 0)
        return LM_OK;
    if (!(watts = malloc((p->n_points * N_PHASES + 1) * sizeof *watts)))
        return no_memory(err);
    for (size_t i = 0; i < p->n_points * N_PHASES; i++)
        watts[i] = NAN;
    status = cal ? watts_by_machine(p, cal, watts, err)
                 : layer_watts_left_out(p, by, learned, watts, err);
    if (!status && cal && learned)
        status = layer_watts_by_machine(p, cal, watts, err);
    if (!status && p->layers && !cal)
        status = composed_watts_left_out(p, p->layers, by, watts, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        for (phase f = 0; f < N_PHASES; f++)
            if (!isnan(watts[i * N_PHASES + f]))
                out[i].watts[f] = watts[i * N_PHASES + f];
    free(watts);
    return status;
}

/* Networks by single layers that were measured elsewhere, where they are at hand. */
static lm_status predict_composed(const points *p, const char *model, const split *by,
                                  const calibration *cal, comparison *out, lm_error *err)
{
    struct layer_model *layers = cal ? cal->composed ? cal->layers : NULL : p->layers;
    double             *seconds;
    lm_status           status;

    if (!layers || (strcmp(model, MODEL_RESIDUAL) != 0 && strcmp(model, model_at(0)) != 0))
        return LM_OK;
    if (!(seconds = malloc((p->n_points * N_PHASES + 1) * sizeof *seconds)))
        return no_memory(err);
    for (size_t i = 0; i < p->n_points * N_PHASES; i++)
        seconds[i] = NAN;
    status = composed_left_out(p, layers, by, cal ? cal->composed : NULL, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        for (phase f = 0; f < N_PHASES; f++)
            if (!isnan(seconds[i * N_PHASES + f]))
                out[i].part[f] = seconds[i * N_PHASES + f];
    free(seconds);
    return status;
}

void compare_measured(const point *pt, comparison *out)
{
    double      *to     = out->measured;
    const bool   many   = pt->row->ranks > 1;
    const double update = point_seconds(pt, PHASE_UPDATE);
    const double grad   = many ? point_seconds(pt, PHASE_GRAD) : update;

    to[PHASE_FORWARD]       = point_seconds(pt, PHASE_FORWARD);
    to[PHASE_BACKWARD]      = point_seconds(pt, PHASE_BACKWARD);
    to[PHASE_UPDATE]        = update;
    to[PHASE_SYNC]          = point_seconds(pt, PHASE_SYNC);
    to[PHASE_GRAD]          = grad;
    to[PHASE_BACKWARD_GRAD] = to[PHASE_BACKWARD] + grad;
    to[PHASE_INFERENCE]     = point_seconds(pt, PHASE_INFERENCE);
    to[PHASE_GRAD_INPUT]    = point_seconds(pt, PHASE_GRAD_INPUT);
    to[PHASE_GRAD_WEIGHT]   = point_seconds(pt, PHASE_GRAD_WEIGHT);
    to[PHASE_STEP]          = pt->row->kind != OBS_COLLECTIVE && !isnan(pt->seconds[PHASE_STEP])
                                  ? pt->seconds[PHASE_STEP]
                                  : to[PHASE_FORWARD] + to[PHASE_BACKWARD_GRAD];
    to[PHASE_EXPOSED]       = pt->beside[PHASE_SYNC];
    to[PHASE_OVERLAPPED]    = pt->beside[PHASE_STEP];
    to[PHASE_GRAD_ONE] = to[PHASE_STEP_MANY] = NAN; /* the same as others, by another name */
    for (phase q = 0; q < N_TIMES; q++)
        out->watts[q] = out->measured_watts[q] = NAN;
    for (phase f = 0; f < N_PHASES; f++)
        if (pt->watts[f] > 0 && pt->row->ranks < 2)
            out->measured_watts[f] = pt->watts[f];
}

/* A step as it was measured, as a whole or part by part, if the model can; else the other way. */
static double step_seconds(const point *pt, double whole, double sum)
{
    const bool as_whole = !isnan(point_seconds(pt, PHASE_STEP));

    if (pt->row->ranks > 1)
        return sum;
    return isnan(as_whole ? whole : sum) ? (as_whole ? sum : whole) : as_whole ? whole : sum;
}

static void predict(const point *pt, const char *model, const double parts[N_TIMES],
                    double to[N_TIMES])
{
    const bool many = pt->row->ranks > 1;
    const bool has_update =
        form_find(model, PHASE_UPDATE) < n_forms || !strcmp(model, MODEL_RESIDUAL);
    double *grad = &to[PHASE_GRAD];

    to[PHASE_FORWARD]       = parts[PHASE_FORWARD];
    to[PHASE_BACKWARD]      = parts[PHASE_BACKWARD];
    to[PHASE_UPDATE]        = has_update ? parts[PHASE_UPDATE] : many ? NAN : parts[PHASE_GRAD_ONE];
    to[PHASE_SYNC]          = parts[PHASE_SYNC];
    *grad                   = !many        ? to[PHASE_UPDATE]
                              : has_update ? parts[PHASE_UPDATE] + parts[PHASE_SYNC]
                                           : parts[PHASE_GRAD];
    to[PHASE_BACKWARD_GRAD] = many && form_find(model, PHASE_BACKWARD_GRAD) < n_forms
                                  ? parts[PHASE_BACKWARD_GRAD]
                                  : to[PHASE_BACKWARD] + *grad;
    to[PHASE_INFERENCE]     = parts[PHASE_INFERENCE];
    to[PHASE_GRAD_INPUT]    = parts[PHASE_GRAD_INPUT];
    to[PHASE_GRAD_WEIGHT]   = parts[PHASE_GRAD_WEIGHT];
    to[PHASE_EXPOSED] = to[PHASE_OVERLAPPED] = NAN; /* see predict_overlapped() */
    to[PHASE_GRAD_ONE] = to[PHASE_STEP_MANY] = NAN;
    to[PHASE_STEP] =
        step_seconds(pt, parts[PHASE_STEP], to[PHASE_FORWARD] + to[PHASE_BACKWARD] + *grad);
}

void compare_of_layers(const points *p, bool *layers, bool *alike)
{
    *layers = *alike = false;
    for (size_t i = 0; i < p->n_points && !*layers; i++) {
        *layers = p->point[i].row->kind == OBS_LAYER;
        *alike  = *layers && !*p->point[i].row->group;
    }
}

void compare_state_bounds(const points *p, const intervals *known, size_t i, comparison *c)
{
    const observation   *row   = p->point[i].row;
    const interval_place place = { .batch = row->batch, .ranks = row->ranks };

    for (phase q = 0; q < N_TIMES; q++)
        intervals_at(known, q, c->predicted, &place, &c->low[q], &c->high[q]);
}

/* Steps in buckets. */
static lm_status predict_overlapped(const points *p, const char *model, const split *by,
                                    const calibration *cal, comparison *out, lm_error *err)
{
    overlapped_point *found = malloc((p->n_points + 1) * sizeof *found);
    lm_status status = found ? overlap_points(p, model, by, cal, found, err) : no_memory(err);

    for (size_t i = 0; i < p->n_points && !status; i++) {
        out[i].predicted[PHASE_EXPOSED]    = found[i].exposed;
        out[i].predicted[PHASE_OVERLAPPED] = found[i].step;
    }
    free(found);
    return status;
}

static lm_status compare(comparing *w, bool singles, lm_error *err)
{
    const points      *p     = w->p;
    const char        *model = w->model;
    const calibration *cal   = w->cal;
    comparison        *out   = w->out;
    const intervals   *known = cal && model_known(model) ? calibration_intervals(cal, model) : NULL;
    lm_status          status;

    points_measured(p, w->measured);
    for (size_t i = 0; i < p->n_points; i++)
        for (phase k = 0; k < N_TIMES; k++)
            out[i].part[k] = NAN;
    status = parallel_for(N_TIMES, predict_part, w, err);
    if (!status && singles)
        status = predict_singles(p, model, w->by, cal, out, err);
    if (!status && singles)
        status = predict_composed(p, model, w->by, cal, out, err);
    for (size_t i = 0; i < p->n_points && !status; i++) {
        compare_measured(&p->point[i], &out[i]);
        predict(&p->point[i], model, out[i].part, out[i].predicted);
        for (phase q = 0; q < N_TIMES; q++)
            out[i].low[q] = out[i].high[q] = NAN;
    }
    if (!status && p->wants_power)
        status = predict_watts(p, model, w->by, cal, out, err);
    if (!status)
        status = predict_overlapped(p, model, w->by, cal, out, err);
    for (size_t i = 0; i < p->n_points && !status && known; i++)
        compare_state_bounds(p, known, i, &out[i]);
    return status;
}

lm_status compare_points(const points *p, const char *model, const split *by,
                         const calibration *cal, comparison *out, lm_error *err)
{
    comparing w = { .p = p, .model = model, .by = by, .cal = cal, .out = out };

    return compare(&w, true, err);
}

lm_status compare_networks(const points *p, const char *model, const split *by_network,
                           const double *const *left_out, comparison *out, lm_error *err)
{
    comparing w = { .p = p, .model = model, .by = by_network, .left_out = left_out, .out = out };
    bool      layers, alike;

    compare_of_layers(p, &layers, &alike);
    return compare(&w, !alike, err);
}
