/* Predicted and measured times, point by point. */
#include "fit/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"
#include "fit/collectives.h"
#include "fit/composed_points.h"
#include "fit/exposed/exposed.h"
#include "fit/fit.h"
#include "fit/layer_watts.h"
#include "fit/power_rows.h"
#include "fit/shared.h"
#include "fit/singles.h"

/* ---- predictions ---- */

/* Seconds by one form, from fits to these points. */
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
        collectives_by_model(p, cal->collectives, b, seconds);
    else if (!status)
        status = collectives_left_out(p, by, b, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        out[i].part[PHASE_SYNC] = seconds[i];
    free(seconds);
    return status;
}

/* The comparison. */
typedef struct comparing {
    const points        *p;
    const char          *model;
    const formula_model *knows;
    const split         *by;
    const calibration   *cal;
    const double *const *left_out; /* by form, for each point; NULL: not available */
    bool                 measured[N_TIMES];
    comparison          *out;
} comparing;

/* Are predictions of left-out points available? */
static bool told_of(const comparing *c, size_t form_at)
{
    return form_at < n_forms && !c->cal && c->left_out && c->left_out[form_at];
}

/* Seconds by one part of the model, for all points that measured it. */
static lm_status predict_part(void *context, size_t at, lm_error *err)
{
    const comparing    *c        = context;
    const phase         which    = (phase)at;
    const calibration  *cal      = c->cal;
    const size_t        form_at  = form_find(c->model, which);
    const sync_baseline baseline = sync_baseline_parse(c->model);

    if (!cal && !c->measured[which])
        return LM_OK;
    if (which == PHASE_SYNC && !told_of(c, form_at) &&
        (form_at < n_forms ? !cal || calibration_asks(cal, c->model) : baseline < N_SYNC_BASELINES))
        return predict_sync(c->p, form_at < n_forms ? N_SYNC_BASELINES : baseline, c->by, cal,
                            c->out, err);
    if (form_at == n_forms)
        return LM_OK;
    if (!cal && !told_of(c, form_at))
        return predict_fitted(c->p, form_at, c->by, c->out, err);
    for (size_t i = 0; i < c->p->n_points; i++) {
        const point *pt = &c->p->point[i];

        c->out[i].part[which] =
            cal ? calibration_seconds(cal, form_at, point_load(pt, which)) *
                      shared_times(cal, c->model, which, shared_devices(pt->row))
                : c->left_out[form_at][i];
    }
    return LM_OK;
}

/* Memory for predictions of all phases and points, set to NAN. */
static double *nothing_said(const points *p)
{
    double *said = malloc((p->n_points * N_PHASES + 1) * sizeof *said);

    for (size_t i = 0; said && i < p->n_points * N_PHASES; i++)
        said[i] = NAN;
    return said;
}

/* Predicts single layers by their own prices, if there are any. */
static lm_status predict_singles(const comparing *c, double *seconds, lm_error *err)
{
    const bool learned = c->knows->residual;

    if (c->cal)
        return c->cal->layers ? singles_by_model(c->p, c->cal->layers, learned, seconds, err)
                              : LM_OK;
    return singles_left_out(c->p, c->by, learned, seconds, err);
}

/* Predicts networks by single layers of another file, if one is given. */
static lm_status predict_composed(const comparing *c, double *seconds, lm_error *err)
{
    const calibration  *cal    = c->cal;
    struct layer_model *layers = cal ? cal->composed ? cal->layers : NULL : c->p->layers;

    return layers ? composed_left_out(c->p, layers, c->by, cal ? cal->composed : NULL, seconds, err)
                  : LM_OK;
}

/* Coefficients of networks predict a network better than those of layers, unless the layers are
 * corrected by networks. */
static lm_status predict_by_layers(const comparing *c, lm_error *err)
{
    double   *seconds = nothing_said(c->p), *composed = nothing_said(c->p);
    lm_status status = seconds && composed ? predict_singles(c, seconds, err) : no_memory(err);

    if (!status)
        status = predict_composed(c, composed, err);
    for (size_t i = 0; i < c->p->n_points && !status; i++)
        for (phase f = 0; f < N_PHASES; f++) {
            const double single = seconds[i * N_PHASES + f], sum = composed[i * N_PHASES + f];
            double      *to = &c->out[i].part[f];

            if (!isnan(sum))
                *to = sum;
            else if (!isnan(single) && (c->p->point[i].shape || isnan(*to))) {
                *to = single;
                c->out[i].summed |= c->p->point[i].row->kind == OBS_NETWORK;
            }
        }
    free(seconds);
    free(composed);
    return status;
}

/* Predicts power by the power model of a machine file. */
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

static lm_status predict_watts(const comparing *c, lm_error *err)
{
    const points *p      = c->p;
    double       *watts  = nothing_said(p);
    lm_status     status = LM_OK;

    if (!watts)
        return no_memory(err);
    if (!c->cal) {
        status = layer_watts_left_out(p, c->by, c->knows->residual, watts, err);
        if (!status && p->layers)
            status = composed_watts_left_out(p, p->layers, c->by, watts, err);
    } else if (!(status = watts_by_machine(p, c->cal, watts, err)) && c->knows->residual) {
        status = layer_watts_by_machine(p, c->cal, watts, err);
    }
    for (size_t i = 0; i < p->n_points && !status; i++)
        for (phase f = 0; f < N_PHASES; f++)
            if (!isnan(watts[i * N_PHASES + f]))
                c->out[i].watts[f] = watts[i * N_PHASES + f];
    free(watts);
    return status;
}

/* NAN: no repetitions of inference tell it. */
static double repeats_spread(const point *pt)
{
    return pt->inference ? spread_of_inference(pt->inference) : (double)NAN;
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
    to[PHASE_P95]           = isnan(to[PHASE_INFERENCE]) || isnan(repeats_spread(pt))
                                  ? (double)NAN
                                  : pt->inference->p95_seconds;
    to[PHASE_EXPOSED]       = pt->beside[PHASE_SYNC];
    to[PHASE_OVERLAPPED]    = pt->beside[PHASE_STEP];
    to[PHASE_GRAD_ONE] = to[PHASE_STEP_MANY] = NAN; /* they equal other times */
    for (phase q = 0; q < N_TIMES; q++)
        out->watts[q] = out->measured_watts[q] = NAN;
    for (phase f = 0; f < N_PHASES; f++)
        if (pt->watts[f] > 0 && pt->row->ranks < 2)
            out->measured_watts[f] = pt->watts[f];
}

/* Seconds of a step, predicted as it was measured: whole or as a sum of parts. If the model lacks
 * that, the other way. */
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
        form_find(model, PHASE_UPDATE) < n_forms || formula_model_of(model)->prices;
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
    to[PHASE_P95]                            = NAN; /* see predict_p95() */
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

/* ---- steps in buckets ---- */

/* Models that do not separate the all-reduce from the update hide none of it. */
static bool hides(const comparing *c, const calibration *cal, const point *pt)
{
    return form_find(c->model, PHASE_SYNC) < n_forms &&
           !isnan(step_passes_of(cal, c->model, &pt->load).backward);
}

/* Predicts all points with buckets, or those left out in a turn. */
static lm_status predict_buckets(const comparing *c, const calibration *cal, const fold_turn *t,
                                 lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < c->p->n_points && !status; i++) {
        const point *pt = &c->p->point[i];
        exposed_step s;

        if (!point_in_buckets(pt) || (t && !fold_out(t, i)) || !hides(c, cal, pt) ||
            (status = exposed_predict(c->p, cal, c->model, pt, NAN, &s, err)))
            continue;
        /* if time counts from the rank's own last gradient, it includes the wait for the slowest
         * rank */
        c->out[i].predicted[PHASE_EXPOSED] = s.times.exposed + (pt->row->waits ? s.times.wait : 0);
        c->out[i].predicted[PHASE_OVERLAPPED] = s.times.step;
    }
    return status;
}

/* Is there anything to predict? */
static bool any_buckets(const points *p, const fold_turn *t)
{
    for (size_t i = 0; i < p->n_points; i++)
        if (point_in_buckets(&p->point[i]) && (!t || fold_out(t, i)))
            return true;
    return false;
}

static lm_status predict_buckets_of_fold(void *context, const fold_turn *t, lm_error *err)
{
    const comparing *c   = context;
    calibration     *cal = NULL;
    points           rest;
    lm_status        status;

    if (!any_buckets(c->p, t))
        return LM_OK;
    if ((status = points_staying(c->p, t, &rest, err)))
        return status;
    status = fit_model(&rest, c->model, &cal, err);
    free(rest.point);
    if (!status)
        status = predict_buckets(c, cal, t, err);
    calibration_free(cal);
    return status;
}

/* Seconds of the step, and those from the end of a rank's backward pass to the last sum, including
 * the wait for the slowest rank. */
static lm_status predict_overlapped(comparing *c, lm_error *err)
{
    const folds f = split_folds(c->by, c->p);

    if (form_find(c->model, PHASE_SYNC) == n_forms || !any_buckets(c->p, NULL))
        return LM_OK;
    return c->cal ? predict_buckets(c, c->cal, NULL, err)
                  : folds_leave_out(&f, predict_buckets_of_fold, c, err);
}

/* ---- 95th percentiles ---- */

/* The median of the spreads of points outside a fold; n_folds: of all. NAN: too few. */
static double spread_without(const comparing *c, size_t fold, double *room)
{
    size_t n = 0;

    for (size_t i = 0; i < c->p->n_points; i++) {
        const double spread = repeats_spread(&c->p->point[i]);

        if (!isnan(spread) && (fold >= c->by->n_folds || c->by->fold[i] != fold))
            room[n++] = spread;
    }
    return n >= SPREAD_LEAST ? stats_quantile(room, n, 0.5) : (double)NAN;
}

static void predict_p95_of(const comparing *c, double sigma, size_t fold)
{
    for (size_t i = 0; i < c->p->n_points; i++) {
        const point *pt = &c->p->point[i];

        if (pt->inference && (fold >= c->by->n_folds || c->by->fold[i] == fold))
            c->out[i].predicted[PHASE_P95] =
                spread_p95_of(sigma, pt->inference->repeats, c->out[i].predicted[PHASE_INFERENCE]);
    }
}

/* The predicted latency, and how much repetitions of other networks spread. */
static lm_status predict_p95(const comparing *c, lm_error *err)
{
    double *room = malloc((c->p->n_points + 1) * sizeof *room);

    if (!room)
        return no_memory(err);
    if (c->cal)
        predict_p95_of(c, c->cal->latency.rows ? c->cal->latency.sigma : (double)NAN, SIZE_MAX);
    for (size_t f = 0; f < c->by->n_folds && !c->cal; f++)
        predict_p95_of(c, spread_without(c, f, room), f);
    free(room);
    return LM_OK;
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
    for (size_t i = 0; i < p->n_points; i++) {
        out[i].summed = false;
        for (phase k = 0; k < N_TIMES; k++)
            out[i].part[k] = NAN;
    }
    status = parallel_for(N_TIMES, predict_part, w, err);
    if (!status && singles && w->knows->prices)
        status = predict_by_layers(w, err);
    for (size_t i = 0; i < p->n_points && !status; i++) {
        compare_measured(&p->point[i], &out[i]);
        predict(&p->point[i], model, out[i].part, out[i].predicted);
        for (phase q = 0; q < N_TIMES; q++)
            out[i].low[q] = out[i].high[q] = NAN;
    }
    if (!status && p->wants_power && w->knows->prices)
        status = predict_watts(w, err);
    if (!status)
        status = predict_overlapped(w, err);
    if (!status)
        status = predict_p95(w, err);
    for (size_t i = 0; i < p->n_points && !status && known; i++)
        if (!out[i].summed) /* intervals of layers say nothing of their sum */
            compare_state_bounds(p, known, i, &out[i]);
    return status;
}

lm_status compare_points(const points *p, const char *model, const split *by,
                         const calibration *cal, comparison *out, lm_error *err)
{
    comparing w = {
        .p = p, .model = model, .knows = formula_model_of(model), .by = by, .cal = cal, .out = out
    };

    return compare(&w, true, err);
}

lm_status compare_networks(const points *p, const char *model, const split *by_network,
                           const double *const *left_out, comparison *out, lm_error *err)
{
    comparing w = { .p        = p,
                    .model    = model,
                    .knows    = formula_model_of(model),
                    .by       = by_network,
                    .left_out = left_out,
                    .out      = out };
    bool      layers, alike;

    compare_of_layers(p, &layers, &alike);
    return compare(&w, !alike, err);
}

judgement validate_judge(const points *p, const comparison *c, phase q, const split *by,
                         size_t fold)
{
    double   *predicted = calloc(p->n_points + 1, sizeof *predicted);
    double   *measured  = calloc(p->n_points + 1, sizeof *measured);
    double   *width     = calloc(p->n_points + 1, sizeof *width);
    size_t    n = 0, n_stated = 0, inside = 0;
    double    score = 0;
    judgement j;

    for (size_t i = 0; predicted && measured && width && i < p->n_points; i++) {
        const comparison *at = &c[i];

        if ((fold != SPLIT_ALWAYS && by->fold[i] != fold) || isnan(at->predicted[q]) ||
            isnan(at->measured[q]))
            continue;
        predicted[n]  = at->predicted[q];
        measured[n++] = at->measured[q];
        if (isnan(at->low[q]) || isnan(at->high[q]))
            continue;
        inside += at->measured[q] >= at->low[q] && at->measured[q] <= at->high[q];
        width[n_stated++] = (at->high[q] - at->low[q]) / at->predicted[q];
        score += interval_score(at->low[q], at->high[q], at->measured[q]);
    }
    j = (judgement){ .errors   = stats_compare(predicted, measured, n),
                     .n_stated = n_stated,
                     .coverage = n_stated ? (double)inside / (double)n_stated : NAN,
                     .width    = n_stated ? stats_quantile(width, n_stated, 0.5) : NAN,
                     .score    = n_stated ? score / (double)n_stated : NAN };
    free_all(predicted, measured, width);
    return j;
}

bool validate_tells(const points *p, phase q)
{
    for (size_t i = 0; q == PHASE_UPDATE && i < p->n_points; i++)
        if (p->point[i].row->ranks > 1)
            return true;
    return q != PHASE_UPDATE;
}
