/* Least squares over points. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "fit/repeats.h"
#include "fit/variants.h"

/* Central share of measured / predicted that an interval is to hold. */
#define COVERAGE 0.90

static lm_status no_memory(lm_error *err)
{
    return lm_error_set(err, LM_E_NOMEM, "out of memory");
}

/* Rows of one group: regressors, times, weights. */
static lm_status factor_group(const points *p, form_data *d, size_t first, size_t n, lm_error *err)
{
    const form *f       = &forms[d->form];
    double     *a       = malloc(n * f->n_features * sizeof *a);
    double     *weight  = malloc(n * sizeof *weight);
    lsq_block  *block   = malloc(sizeof *block);
    lsq_problem problem = {
        .a = a, .b = d->seconds + first, .weight = weight, .rows = n, .columns = f->n_features
    };
    lm_status status = a && weight && block ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        const point *pt = &p->point[d->point[first + i]];

        for (size_t k = 0; k < f->n_features; k++)
            a[i * f->n_features + k] = feature_value(f->feature[k], &pt->load);
        weight[i] = f->relative ? 1 / d->seconds[first + i] : 1;
    }
    if (!status)
        status = lsq_factor(&problem, block, err);
    free(a);
    free(weight);
    if (status)
        free(block);
    else
        d->block[p->point[d->point[first]].group] = block;
    return status;
}

lm_status form_data_new(const points *p, size_t form_at, form_data *out, lm_error *err)
{
    form_data d      = { .form = form_at, .n_groups = p->n_groups };
    size_t   *first  = calloc(p->n_groups + 1, sizeof *first);
    size_t   *next   = calloc(p->n_groups + 1, sizeof *next);
    lm_status status = LM_OK;

    d.point   = malloc((p->n_points + 1) * sizeof *d.point);
    d.seconds = malloc((p->n_points + 1) * sizeof *d.seconds);
    d.block   = calloc(p->n_groups + 1, sizeof(lsq_block *));
    if (!first || !next || !d.point || !d.seconds || !d.block) {
        status = no_memory(err);
        goto out;
    }
    /* counting sort by group */
    for (size_t i = 0; i < p->n_points; i++)
        if (!isnan(point_seconds(&p->point[i], forms[form_at].part)))
            first[p->point[i].group + 1]++;
    for (size_t g = 0; g < p->n_groups; g++) {
        first[g + 1] += first[g];
        next[g] = first[g];
    }
    for (size_t i = 0; i < p->n_points; i++) {
        const double seconds = point_seconds(&p->point[i], forms[form_at].part);
        size_t       at;

        if (isnan(seconds))
            continue;
        at            = next[p->point[i].group]++;
        d.point[at]   = i;
        d.seconds[at] = seconds;
    }
    d.n_rows = first[p->n_groups];
    for (size_t g = 0; g < p->n_groups && !status; g++)
        if (first[g + 1] > first[g])
            status = factor_group(p, &d, first[g], first[g + 1] - first[g], err);
out:
    free(first);
    free(next);
    if (status)
        form_data_free(&d);
    else
        *out = d;
    return status;
}

void form_data_free(form_data *d)
{
    for (size_t g = 0; d->block && g < d->n_groups; g++)
        free(d->block[g]);
    free(d->block);
    free(d->point);
    free(d->seconds);
    *d = (form_data){ 0 };
}

lm_status form_data_fit(const form_data *d, size_t without, lsq_solution *out, lm_error *err)
{
    const lsq_block **use = calloc(d->n_groups + 1, sizeof *use);
    lm_status         status;

    if (!use)
        return no_memory(err);
    for (size_t g = 0; g < d->n_groups; g++)
        use[g] = g == without ? NULL : d->block[g];
    status = lsq_solve(use, d->n_groups, forms[d->form].non_negative, out, err);
    free(use);
    return status;
}

double form_seconds(size_t form_at, const lsq_solution *s, const workload *load)
{
    double seconds = 0;

    for (size_t k = 0; k < forms[form_at].n_features; k++)
        seconds += s->x[k] * feature_value(forms[form_at].feature[k], load);
    return seconds;
}

lm_status form_data_held_out(const form_data *d, const points *p, double *predicted, lm_error *err)
{
    lsq_solution s;
    bool         known = false;
    size_t       group = NAMES_NONE;

    for (size_t i = 0; i < d->n_rows; i++) {
        const point *pt = &p->point[d->point[i]];

        if (pt->group == p->collectives) {
            predicted[i] = NAN;
            continue;
        }
        if (pt->group != group) {
            const lm_status status = form_data_fit(d, pt->group, &s, err);

            if (status && status != LM_E_ARG)
                return status;
            group = pt->group;
            known = !status;
        }
        predicted[i] = known ? form_seconds(d->form, &s, &pt->load) : NAN;
    }
    return LM_OK;
}

/* Quantiles of measured / predicted over rows whose group was left out. The level is raised a
 * little for small samples (split conformal prediction, Vovk et al. 2005): with n ratios, (1 + 1/n)
 * times. */
static lm_status judge_held_out(const form_data *d, const points *p, fitted *out, lm_error *err)
{
    double   *predicted = malloc((d->n_rows + 1) * sizeof *predicted);
    double   *ratio     = malloc((d->n_rows + 1) * sizeof *ratio);
    double    sum       = 0;
    size_t    n         = 0;
    lm_status status =
        predicted && ratio ? form_data_held_out(d, p, predicted, err) : no_memory(err);

    out->held_out_mape = out->ratio_low = out->ratio_high = NAN;
    out->held_out_groups                                  = 0;
    for (size_t i = 0; i < d->n_rows && !status; i++) {
        if (isnan(predicted[i]))
            continue;
        out->held_out_groups +=
            n == 0 || p->point[d->point[i]].group != p->point[d->point[i - 1]].group;
        sum += fabs(predicted[i] - d->seconds[i]) / d->seconds[i];
        /* a prediction of nothing, or less, has no ratio: as far off as it can be */
        ratio[n++] = predicted[i] > 0 ? d->seconds[i] / predicted[i] : HUGE_VAL;
    }
    if (!status && n && out->held_out_groups > 1) {
        const double tail = (1 - fmin(1, COVERAGE * (1 + 1 / (double)n))) / 2;

        out->held_out_mape = sum / (double)n;
        out->ratio_low     = fmin(1, stats_quantile(ratio, n, tail));
        out->ratio_high    = fmax(1, stats_quantile(ratio, n, 1 - tail));
    } else {
        out->held_out_groups = 0;
    }
    free(predicted);
    free(ratio);
    return status;
}

static lm_status fit_form(const points *p, size_t form_at, fitted *out, lm_error *err)
{
    const form  *f = &forms[form_at];
    form_data    d;
    lsq_solution s;
    double      *predicted;
    lm_status    status = form_data_new(p, form_at, &d, err);

    if (status)
        return status;
    if (d.n_rows < f->n_features || d.n_rows == 0) {
        form_data_free(&d);
        return LM_OK;
    }
    if ((status = form_data_fit(&d, NAMES_NONE, &s, err)))
        goto out;
    predicted = malloc(d.n_rows * sizeof *predicted);
    if (!predicted) {
        status = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < d.n_rows; i++)
        predicted[i] = form_seconds(form_at, &s, &p->point[d.point[i]].load);
    *out = (fitted){ .present   = true,
                     .rows      = d.n_rows,
                     .rank      = s.rank,
                     .condition = s.condition,
                     .errors    = stats_compare(predicted, d.seconds, d.n_rows) };
    free(predicted);
    for (size_t k = 0; k < f->n_features; k++) {
        coefficient *c = &out->coefficient[k];

        *c = (coefficient){ s.x[k],    s.standard_error[k], HUGE_VAL,
                            -HUGE_VAL, s.determined[k],     s.at_bound[k] };
        for (size_t i = 0; i < d.n_rows; i++) {
            const double value = feature_value(f->feature[k], &p->point[d.point[i]].load);

            c->low  = fmin(c->low, value);
            c->high = fmax(c->high, value);
        }
    }
    status = judge_held_out(&d, p, out, err);
out:
    form_data_free(&d);
    return status;
}

static lm_status note_origin(const observations *obs, const points *p, calibration *cal,
                             lm_error *err)
{
    char text[160] = "";

    for (size_t i = 0; i < obs->n_provenance; i++)
        if (!calibration_note(cal, obs->provenance[i].key, obs->provenance[i].value))
            return no_memory(err);
    for (size_t g = 0; g < p->n_groups; g++) {
        const size_t n = strlen(text);

        snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", p->group[g]);
    }
    if (!calibration_note(cal, "fitted_to", text))
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++) {
        const observation *row = p->point[i].row;

        if (row->kind == OBS_NETWORK)
            cal->dtype = row->dtype;
        if (row->kind == OBS_COLLECTIVE && isnan(point_seconds(&p->point[i], PART_SYNC)))
            continue; /* by an algorithm that is not fitted */
        cal->max_ranks = row->ranks > cal->max_ranks ? row->ranks : cal->max_ranks;
        cal->max_hosts = row->hosts > cal->max_hosts ? row->hosts : cal->max_hosts;
    }
    return LM_OK;
}

/* What the networks were run with: the same for all of them. */
static lm_status note_variant(const points *p, calibration *cal, lm_error *err)
{
    variants    all;
    lm_status   status = variants_of(p, &all, err);
    const char *behind;

    if (status)
        return status;
    behind = all.n ? strchr(all.text[0], ' ') : NULL; /* the element type has a place of its own */
    if (behind && !calibration_note(cal, "settings", behind + 1))
        status = no_memory(err);
    variants_free(&all);
    return status;
}

/* How much the same thing differs when it is measured again: no model is better than that. */
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

lm_status fit_all(const observations *obs, const points *p, calibration **out, lm_error *err)
{
    calibration *cal    = calloc(1, sizeof *cal);
    lm_status    status = cal ? points_check_variants(p, obs->path, err) : no_memory(err);
    bool         any    = false;

    if (!status)
        status = note_origin(obs, p, cal, err);
    if (!status)
        status = note_variant(p, cal, err);
    if (!status)
        status = note_noise(obs, cal, err);
    for (size_t f = 0; f < n_forms && !status; f++) {
        status = fit_form(p, f, &cal->fitted[f], err);
        any |= cal->fitted[f].present;
        if (status)
            lm_error_prefix(err, "%s: %s.%s", obs->path, forms[f].model, part_name(forms[f].part));
    }
    if (!status && !any)
        status =
            lm_error_set(err, LM_E_ARG,
                         "%s: too few rows: no formula has as many observations as coefficients; "
                         "measure more networks, batches or images",
                         obs->path);
    if (status) {
        calibration_free(cal);
        return status;
    }
    *out = cal;
    return LM_OK;
}
