/* Least squares over points. */
#include "fit/fit.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "fit/collectives.h"
#include "fit/comparison.h"
#include "fit/exposed/exposed.h"
#include "fit/power_rows.h"
#include "fit/shared.h"
#include "fit/singles.h"
#include "observe/doubts.h"
#include "observe/launches.h"
#include "observe/repeats.h"
#include "observe/variants.h"
#include "single/model.h"

/* Errors of a formula on networks that were left out. */
static void judge_held_out(const points *p, const split *networks, const comparison *c, phase which,
                           fitted *out)
{
    double sum = 0;
    size_t n = 0, groups = 0;

    for (size_t f = 0; f < networks->n_folds; f++) {
        const size_t before = n;

        for (size_t k = networks->first[f]; k < networks->first[f + 1]; k++) {
            const size_t i       = networks->point[k];
            const double seconds = point_seconds(&p->point[i], which);

            if (isnan(seconds) || isnan(c[i].part[which]))
                continue;
            sum += fabs(c[i].part[which] - seconds) / seconds;
            n++;
        }
        groups += n > before;
    }
    out->held_out_groups = groups > 1 ? groups : 0;
    out->held_out_mape   = groups > 1 ? sum / (double)n : NAN;
}

/* Predicted all-reduces of networks that were left out; all models share these. */
static lm_status leave_sync_out(const points *p, const split *networks, double **left_out,
                                lm_error *err)
{
    double   *first  = NULL;
    lm_status status = LM_OK;

    for (size_t f = 0; f < n_forms && !status; f++) {
        if (forms[f].part != PHASE_SYNC)
            continue;
        if (!(left_out[f] = malloc((p->n_points + 1) * sizeof *left_out[f])))
            return no_memory(err);
        if (first)
            memcpy(left_out[f], first, p->n_points * sizeof *first);
        else
            status = collectives_left_out(p, networks, N_SYNC_BASELINES, first = left_out[f], err);
    }
    return status;
}

/* Predictions of each model for left-out networks. */
static lm_status judge_models(const points *p, const split *networks, double **left_out,
                              calibration *cal, lm_error *err)
{
    comparison *c      = malloc((p->n_points + 1) * sizeof *c);
    lm_status   status = c ? leave_sync_out(p, networks, left_out, err) : no_memory(err);

    for (size_t m = 0; model_at(m) && !status; m++) {
        status =
            compare_networks(p, model_at(m), networks, (const double *const *)left_out, c, err);
        for (size_t f = 0; f < n_forms && !status; f++)
            if (cal->fitted[f].present && !strcmp(forms[f].model, model_at(m)))
                judge_held_out(p, networks, c, forms[f].part, &cal->fitted[f]);
        if (!status)
            status = compare_intervals(p, model_at(m), networks, c, &cal->intervals[m], err);
    }
    free(c);
    return status;
}

/* Stores the coefficients of a form in features, and the features' ranges. */
static void take_linear(const form_data *d, const points *p, const lsq_solution *s, fitted *out)
{
    const form *f = &forms[d->form];

    out->rank      = s->rank;
    out->condition = s->condition;
    for (size_t k = 0; k < f->n_features; k++) {
        coefficient *c = &out->coefficient[k];

        *c = (coefficient){ s->x[k],
                            s->standard_error[k],
                            d->known[k] ? HUGE_VAL : NAN,
                            d->known[k] ? -HUGE_VAL : NAN,
                            s->determined[k],
                            s->at_bound[k],
                            NAN };
        for (size_t i = 0; i < d->n_rows && d->known[k]; i++) {
            const double value =
                feature_value(f->feature[k], point_load(&p->point[d->point[i]], f->part));

            c->low  = fmin(c->low, value);
            c->high = fmax(c->high, value);
        }
    }
}

/* Stores the coefficients of terms. Terms without one stay unknown. */
static lm_status take_terms(const form_data *d, const form_solution *found, fitted *out,
                            lm_error *err)
{
    const shrink_fit *s = &found->terms;

    out->term = malloc(N_TERMS * sizeof *out->term);
    if (!out->term)
        return no_memory(err);
    for (size_t t = 0; t < N_TERMS; t++)
        out->term[t] = (coefficient){ .value          = s->coefficient[t],
                                      .standard_error = s->spread[t],
                                      .low            = HUGE_VAL,
                                      .high           = -HUGE_VAL,
                                      .determined     = true,
                                      .at_bound       = s->at_bound[t],
                                      .known          = s->known[t] };
    out->knots = found->knots;
    for (size_t i = 0; i < d->n_rows; i++) {
        const workload   *load = point_load(&d->points->point[d->point[i]], forms[d->form].part);
        term_item         room[N_TERMS];
        const term_vector terms = form_terms(&forms[d->form], load, &found->knots, room);

        for (size_t k = 0; k < terms.n; k++) {
            const term_item *item = &terms.item[k];
            coefficient     *c    = &out->term[item->term];

            c->low  = fmin(c->low, item->value);
            c->high = fmax(c->high, item->value);
        }
    }
    out->condition = NAN;
    return form_data_rank(d, &found->knots, &out->rank, err);
}

/* Errors of a form on its own rows, and its coefficients. */
static lm_status take_form(const form_data *d, const form_solution *found, fitted *out,
                           lm_error *err)
{
    double *predicted = malloc((d->n_rows + 1) * sizeof *predicted);

    if (!predicted)
        return no_memory(err);
    for (size_t i = 0; i < d->n_rows; i++)
        predicted[i] = form_seconds(
            d->form, found, point_load(&d->points->point[d->point[i]], forms[d->form].part));
    *out = (fitted){ .present = true,
                     .rows    = d->n_rows,
                     .errors  = stats_compare(predicted, d->seconds, d->n_rows) };
    free(predicted);
    if (!forms[d->form].n_features)
        return take_terms(d, found, out, err);
    take_linear(d, d->points, &found->linear, out);
    return LM_OK;
}

/* Predictions of a form for all points, each by a fit without the point's fold. */
static lm_status leave_out(const form_data *d, double **out, lm_error *err)
{
    const size_t n       = d->points->n_points;
    double      *by_row  = malloc((d->n_rows + 1) * sizeof *by_row);
    double      *seconds = malloc((n + 1) * sizeof *seconds);
    lm_status    status =
        by_row && seconds ? form_data_predict(d, d->points, by_row, err) : no_memory(err);

    for (size_t i = 0; i < n && !status; i++)
        seconds[i] = NAN;
    for (size_t i = 0; i < d->n_rows && !status; i++)
        seconds[d->point[i]] = by_row[i];
    free(by_row);
    if (status)
        free(seconds);
    else
        *out = seconds;
    return status;
}

/* @param left_out to be freed; unchanged where there are too few rows. NULL: not wanted */
static lm_status fit_form(const points *p, size_t form_at, const split *by, fitted *out,
                          double **left_out, lm_error *err)
{
    form_data     d;
    form_solution found;
    lm_status     status = form_data_new(p, form_at, by, &d, err);

    if (status)
        return status;
    out->rows = d.n_rows;
    if (d.n_rows >= form_rows(&forms[form_at]) &&
        !(status = form_data_fit(&d, SPLIT_ALWAYS, &found, err)) &&
        !(status = take_form(&d, &found, out, err)) && left_out)
        status = leave_out(&d, left_out, err);
    form_data_free(&d);
    return status;
}

static bool has_parts(const point *pt)
{
    const double *s = pt->seconds;

    return !isnan(s[PHASE_FORWARD] + s[PHASE_BACKWARD] + s[PHASE_UPDATE]) &&
           (pt->row->ranks < 2 || !isnan(s[PHASE_SYNC]));
}

static bool is_step_alone(const point *pt)
{
    const double *s = pt->seconds;

    return observation_of_network(pt->row) && isnan(s[PHASE_FORWARD]) && isnan(s[PHASE_BACKWARD]) &&
           !isnan(s[PHASE_STEP]);
}

size_t fit_steps_alone(const points *p)
{
    size_t alone = 0, told = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        alone += is_step_alone(&p->point[i]);
        told += observation_of_network(p->point[i].row) && has_parts(&p->point[i]);
    }
    return told ? alone : 0;
}

/* Notes a step if it was measured whole; on several ranks, with its all-reduce. Steps without other
 * times count only if all are of this kind: then formulas are fitted to them. False when memory
 * runs out. */
static bool note_step(const point *pt, bool steps_count, measured_set *to)
{
    const observation *row   = pt->row;
    const bool         parts = has_parts(pt);
    char               name[PATH_MAX];
    const measured_at  at = { name, pt->input, row->batch, row->ranks };

    /* networks that are known by counts alone are not predicted */
    if (row->kind != OBS_NETWORK || row->batch < 1 ||
        !(parts || (row->ranks < 2 && !isnan(pt->seconds[PHASE_STEP]) &&
                    (steps_count || !is_step_alone(pt)))))
        return true;
    return !network_name_key(row->name, name, sizeof name) || measured_add(to, &at);
}

static lm_status note_origin(const observations *obs, const points *p, calibration *cal,
                             lm_error *err)
{
    const bool steps_count = fit_steps_alone(p) == 0;
    char       text[160]   = "";

    for (size_t i = 0; i < obs->n_provenance; i++)
        if (!calibration_note(cal, obs->provenance[i].key, obs->provenance[i].value))
            return no_memory(err);
    for (size_t g = 0; g < p->n_groups; g++)
        text_add(text, sizeof text, "%s%s", g ? " " : "", p->group[g]);
    if (!calibration_note(cal, "fitted_to", text))
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++) {
        const observation *row = p->point[i].row;

        if (row->kind != OBS_COLLECTIVE)
            cal->dtype = row->dtype;
        if (!note_step(&p->point[i], steps_count, &cal->measured))
            return no_memory(err);
        if (row->kind == OBS_COLLECTIVE && isnan(point_seconds(&p->point[i], PHASE_SYNC)))
            continue; /* by an algorithm that is not fitted */
        cal->max_ranks = row->ranks > cal->max_ranks ? row->ranks : cal->max_ranks;
        cal->max_hosts = row->hosts > cal->max_hosts ? row->hosts : cal->max_hosts;
    }
    return LM_OK;
}

/* Notes the networks' settings, which are the same for all. */
static lm_status note_variant(const points *p, calibration *cal, lm_error *err)
{
    variants    all;
    lm_status   status = variants_of(p, &all, err);
    const char *behind;

    if (status)
        return status;
    behind = all.n ? strchr(all.of[0].text, ' ') : NULL; /* the element type has its own key */
    if (behind && !calibration_note(cal, "settings", behind + 1))
        status = no_memory(err);
    variants_free(&all);
    return status;
}

/* Spread of repeated measurements: no model can be better than that. */
static lm_status note_noise(const observations *obs, calibration *cal, lm_error *err)
{
    repeats   found;
    char      text[120];
    lm_status status = repeats_find(obs, NULL, &found, err);

    if (status || isnan(found.noise_floor))
        return status;
    snprintf(text, sizeof text, "%.2g %%, median difference of %zu repetitions",
             100 * found.noise_floor, found.n_noise);
    return calibration_note(cal, "noise_floor", text) ? LM_OK : no_memory(err);
}

/* Errors of the all-reduce model on its own rows, and of the baseline formulas. */
static lm_status judge_allreduces(const points *p, calibration *cal, lm_error *err)
{
    double      *measured  = malloc((p->n_points + 1) * sizeof *measured);
    double      *predicted = malloc((p->n_points + 1) * sizeof *predicted);
    stats_errors errors;
    size_t       n = 0;

    if (!measured || !predicted) {
        free(measured);
        free(predicted);
        return no_memory(err);
    }
    collectives_by_model(p, cal->collectives, N_SYNC_BASELINES, predicted);
    for (size_t i = 0; i < p->n_points; i++) {
        measured[n]  = point_seconds(&p->point[i], PHASE_SYNC);
        predicted[n] = predicted[i];
        n += !isnan(measured[n]) && !isnan(predicted[n]);
    }
    errors = stats_compare(predicted, measured, n);
    for (size_t f = 0; f < n_forms; f++)
        if (forms[f].part == PHASE_SYNC)
            cal->fitted[f] = (fitted){ .present       = true,
                                       .by_allreduces = true,
                                       .rows          = n,
                                       .condition     = NAN,
                                       .errors        = errors,
                                       .held_out_mape = NAN };
    free(measured);
    free(predicted);
    return LM_OK;
}

static bool has_allreduces(const calibration *cal)
{
    return collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL) != NULL;
}

static lm_status fit_collectives(const points *p, calibration *cal, lm_error *err)
{
    const lm_status status = collectives_fit(p, &cal->collectives, err);

    return status || !has_allreduces(cal) ? status : judge_allreduces(p, cal, err);
}

/* Fits to steps on several ranks. They give the slowdown of ranks that share a host and, with
 * buckets, the cost of overlap. They also give all-reduces if no single one was measured. */
static lm_status fit_exposed(const points *p, const char *model, calibration *cal, lm_error *err)
{
    collective_model *others = cal->collectives;
    lm_status         status = shared_fit(p, model, cal, err), joined;

    if (!status)
        status = exposed_fit_straggler(p, &cal->overlapping, err);
    if (status)
        return status;
    if (has_allreduces(cal))
        return exposed_fit_constants(p, model, cal, err);
    cal->collectives = NULL;
    status           = exposed_fit_allreduces(p, model, cal, err);
    joined           = collective_join(&cal->collectives, others, status ? NULL : err);
    if (status || (status = joined))
        return status;
    return has_allreduces(cal) ? judge_allreduces(p, cal, err) : LM_OK;
}

/* Prices of single kernels, where there are enough of a kind. */
static lm_status fit_operators(const observations *obs, calibration *cal, lm_error *err)
{
    launches  l;
    lm_status status = launches_from(obs, &l, err);

    if (status || !l.n) {
        if (!status)
            launches_free(&l);
        return status;
    }
    if (!(cal->operators = calloc(1, sizeof *cal->operators)))
        status = no_memory(err);
    else
        status = launch_fit(l.launch, NULL, l.n, l.multiprocessors, cal->operators, err);
    launches_free(&l);
    if (status == LM_E_ARG) { /* too few of each kind */
        layer_model_free(cal->operators);
        free(cal->operators);
        cal->operators = NULL;
        return lm_error_set(err, LM_OK, "%s", "");
    }
    return status;
}

/* Fits single layers. A file has either single layers or whole networks. */
static lm_status fit_singles(const points *p, calibration *cal, lm_error *err)
{
    layer_model found;
    lm_status   status = singles_fit(p, &found, err);

    if (status)
        return status;
    if (layer_model_rows(&found)) {
        cal->layers = malloc(sizeof *cal->layers);
        if (!cal->layers) {
            layer_model_free(&found);
            return no_memory(err);
        }
        *cal->layers = found;
    } else {
        layer_model_free(&found);
    }
    return LM_OK;
}

/* Forms to be fitted. */
typedef struct fitting {
    const observations *obs;
    const points       *p;
    const split        *by;
    calibration        *cal;
    double            **left_out;
    bool                measured[N_TIMES];
} fitting;

static lm_status fit_one(void *context, size_t form_at, lm_error *err)
{
    const fitting *w = context;
    const form    *f = &forms[form_at];
    lm_status      status;

    if (f->part == PHASE_SYNC || !w->measured[f->part])
        return LM_OK;
    status = fit_form(w->p, form_at, w->by, &w->cal->fitted[form_at], &w->left_out[form_at], err);
    if (status)
        lm_error_prefix(err, "%s: %s.%s", w->obs->path, f->model, phase_formula(f->part));
    return status;
}

static lm_status fit_forms(const observations *obs, const points *p, const split *by,
                           calibration *cal, double **left_out, bool *any, lm_error *err)
{
    fitting   w = { .obs = obs, .p = p, .by = by, .cal = cal, .left_out = left_out };
    lm_status status;

    points_measured(p, w.measured);
    status = parallel_for(n_forms, fit_one, &w, err);
    for (size_t f = 0; f < n_forms; f++)
        *any |= forms[f].part != PHASE_SYNC && cal->fitted[f].present;
    return status;
}

/* Reason why nothing could be fitted. */
static const char *what_lacks(const points *p)
{
    size_t hidden = 0, laid = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        hidden += point_in_buckets(&p->point[i]);
        laid += *p->point[i].row->layout != '\0';
    }
    if (laid && laid == p->n_points)
        return "steps under layouts correct a machine file: name it (--from), or the device "
               "(--device, or '# device: NAME'); of replicas (ga4) on two numbers of ranks they "
               "can be fitted alone";
    return hidden && hidden == p->n_points
               ? "all steps hide all-reduces behind their backward passes, and nothing tells these "
                 "passes: measure steps on one device, too"
               : "too few rows: no formula has as many observations as coefficients; measure more "
                 "networks, batches or images";
}

/* Error that ends with the cause: times that were left out, else too few times. */
static lm_status nothing_fitted(const observations *obs, const points *p, lm_error *err)
{
    char text[DOUBT_TEXT];

    for (size_t i = 0; i < p->doubts->n; i++)
        if (p->doubts->doubt[i].kind == DOUBT_MODES)
            return lm_error_set(err, LM_E_ARG, "%s:%d: %s", obs->path, p->doubts->doubt[i].line,
                                doubt_text(&p->doubts->doubt[i], text));
    return lm_error_set(err, LM_E_ARG, "%s: %s", obs->path, what_lacks(p));
}

lm_status fit_all(const observations *obs, const points *p, calibration **out, lm_error *err)
{
    calibration *cal      = calloc(1, sizeof *cal);
    double     **left_out = calloc(n_forms, sizeof *left_out);
    lm_status status = cal && left_out ? points_check_variants(p, obs->path, err) : no_memory(err);
    split     by     = { .n_folds = 0 };
    bool      any    = false;

    if (cal) {
        cal->settings  = term_settings_default;
        cal->max_ranks = cal->max_hosts = 1;
    }
    if (!status)
        status = split_new(p, &(split_rule){ .kind = SPLIT_NETWORK }, &by, err);
    if (!status)
        status = note_origin(obs, p, cal, err);
    if (!status)
        status = note_variant(p, cal, err);
    if (!status)
        status = note_noise(obs, cal, err);
    if (!status && !(status = fit_collectives(p, cal, err)))
        any |= cal->collectives != NULL;
    if (!status)
        status = fit_forms(obs, p, &by, cal, left_out, &any, err);
    if (!status && !(status = fit_exposed(p, DEFAULT_MODEL, cal, err)))
        any |= cal->collectives != NULL;
    if (!status && !(status = job_curves_fit(p, cal, err)))
        any |= cal->curves.n > 0;
    if (!status && !(status = fit_operators(obs, cal, err)))
        any |= cal->operators != NULL;
    if (!status)
        status = fit_singles(p, cal, err);
    if (!status && !any && !(cal->layers && layer_model_any(cal->layers)))
        status = nothing_fitted(obs, p, err);
    if (!status)
        status = judge_models(p, &by, left_out, cal, err);
    if (!status)
        calibration_lend(cal);
    if (!status)
        status = power_of_points(p, cal, err);
    if (!status)
        status = spread_of_all(obs, &cal->latency, err);
    split_free(&by);
    for (size_t f = 0; left_out && f < n_forms; f++)
        free(left_out[f]);
    free(left_out);
    if (status) {
        calibration_free(cal);
        return status;
    }
    *out = cal;
    return LM_OK;
}

lm_status fit_model(const points *p, const char *model, calibration **out, lm_error *err)
{
    calibration *cal = calloc(1, sizeof *cal);
    split        by  = { .n_folds = 0 };
    lm_status    status =
        cal ? split_new(p, &(split_rule){ .kind = SPLIT_NONE }, &by, err) : no_memory(err);

    if (!status) {
        cal->settings  = term_settings_default;
        cal->max_ranks = cal->max_hosts = 1;
        status                          = fit_collectives(p, cal, err);
    }
    for (size_t f = 0; f < n_forms && !status; f++)
        if (!strcmp(forms[f].model, model) && forms[f].part != PHASE_SYNC)
            status = fit_form(p, f, &by, &cal->fitted[f], NULL, err);
    if (!status)
        status = fit_exposed(p, model, cal, err);
    split_free(&by);
    if (status) {
        calibration_free(cal);
        return status;
    }
    *out = cal;
    return LM_OK;
}

lm_status fit_none(const observations *obs, const points *p, calibration **out, lm_error *err)
{
    calibration *cal = calloc(1, sizeof *cal);
    lm_status    status;

    if (!cal)
        return no_memory(err);
    cal->settings  = term_settings_default;
    cal->max_ranks = cal->max_hosts = 1;
    if ((status = note_origin(obs, p, cal, err))) {
        calibration_free(cal);
        return status;
    }
    *out = cal;
    return LM_OK;
}
