/* Judges models on observations. */
#include "assemble/validation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/beside.h"
#include "base/no_memory.h"
#include "machine/machine.h"
#include "models/step_model.h"
#include "observe/launches.h"
#include "observe/variants.h"

/* ---- what is judged on ---- */

static lm_status open_files(const validation_question *q, validation *v, lm_error *err)
{
    lm_status status = observations_load(q->paths.at[0], &v->obs, err);

    if (!status && q->machine)
        status = machine_load(q->machine, &v->cal, err);
    for (size_t m = 0; m < q->models.n && v->cal && !status; m++)
        if (formula_model_of(q->models.at[m])->residual)
            status = calibration_check_residuals(v->cal, err);
    if (!status && q->layers)
        status = fit_layers_load(q->layers, v->obs, &v->p, &v->layers, err);
    return status;
}

static bool all_know_clocks(const word_list *models)
{
    size_t n = 0;

    while (n < models->n && step_model_knows_clocks(models->at[n]))
        n++;
    return n == models->n;
}

/* Fits with rows left out must not mix element types and settings either. */
static lm_status choose(const validation_question *q, points *p, lm_error *err)
{
    const char *path   = q->paths.at[0];
    lm_status   status = q->where ? points_where(p, q->where, err) : LM_OK;

    if (!status && q->algorithm)
        status = points_choose_algorithm(p, q->algorithm, err);
    if (status)
        lm_error_prefix(err, "%s", path);
    else if (!q->machine)
        status = all_know_clocks(&q->models) ? points_check_but_clocks(p, path, err)
                                             : points_check_variants(p, path, err);
    return status;
}

/* Makes folds and groups. For random folds errors are grouped by networks, because parts have no
 * meaning. */
static lm_status split_points(const validation_question *q, validation *v, lm_error *err)
{
    const split_rule *rule       = &q->rule;
    const bool        by_network = rule->kind == SPLIT_KFOLD || rule->kind == SPLIT_NONE;
    const lm_status   status     = split_new(&v->p, rule, &v->by, err);

    if (!status)
        return split_new(&v->p, by_network ? &(split_rule){ .kind = SPLIT_NETWORK } : rule,
                         &v->groups, err);
    lm_error_prefix(err, "%s", q->paths.at[0]);
    return status;
}

static lm_status open_points(const validation_question *q, workloads *loads, validation *v,
                             const device **on, lm_error *err)
{
    lm_status status;

    if ((status = points_from(v->obs, loads, &v->p, err)) || (status = choose(q, &v->p, err)) ||
        (status = split_points(q, v, err)))
        return status;
    if (q->devices.n && ((status = devices_open(q->sheets, &v->sheets, err)) ||
                         (status = devices_find(v->sheets, q->devices.at[0], on, err))))
        return status;
    v->chosen = true;
    return LM_OK;
}

/* ---- models ---- */

/* Memory for the next model's predictions. */
static lm_status judged_new(validation *v, const char *model, const char *features, size_t n_points,
                            comparison **out, lm_error *err)
{
    const size_t at   = v->all.n;
    char        *name = v->name[at];

    if (at == JUDGED_MAX)
        return lm_error_set(err, LM_E_ARG, "more than %d models", JUDGED_MAX);
    snprintf(name, sizeof v->name[0], "%s%s%s", model, features ? " " : "",
             features ? features : "");
    if (!(*out = calloc(n_points + 1, sizeof **out)))
        return no_memory(err);
    v->model[at] = (judged){ name, *out };
    v->all.n++;
    return LM_OK;
}

static lm_status judge_model(const validation_question *q, const device *on, const char *model,
                             const char *set, validation *v, lm_error *err)
{
    const size_t   at   = v->all.n;
    lm_error       why  = { LM_OK, "" };
    const compared with = { .obs     = v->obs,
                            .p       = &v->p,
                            .by      = &v->by,
                            .cal     = v->cal,
                            .machine = q->machine,
                            .on      = on,
                            .devices = q->sheets,
                            .learn   = q->learn,
                            .untold  = &why };
    comparison    *out;
    lm_status      status = judged_new(v, model, set, v->p.n_points, &out, err);

    v->p.features = set;
    if (!status && !(status = step_model_comparing(model)->compare(model, &with, out, err)))
        v->untold[at] = why;
    return status;
}

/* Judges each model with each set of features. */
static lm_status judge_models(const validation_question *q, const device *on, validation *v,
                              lm_error *err)
{
    const size_t n_sets = q->features.n ? q->features.n : 1;
    lm_status    status = LM_OK;

    v->all           = (judging){ &v->p, &v->by, &v->groups, v->model, 0, q->power };
    v->p.layers      = v->layers ? v->layers->layers : NULL;
    v->p.wants_power = q->power;
    for (size_t i = 0; i < q->models.n * n_sets && !status; i++)
        status = judge_model(q, on, q->models.at[i / n_sets],
                             q->features.n ? q->features.at[i % n_sets] : NULL, v, err);
    return status;
}

static lm_status judge_launches(const validation_question *q, validation *v, lm_error *err)
{
    const split_rule      parts    = { .kind = SPLIT_KFOLD, .k = 10, .seed = q->rule.seed };
    const bool            chosen   = q->rule_told || v->cal;
    const launch_question question = { v->obs, chosen ? &q->rule : &parts, v->cal, q->models.at,
                                       q->models.n };

    return launch_errors_of(&question, &v->launches, err);
}

/* ---- machines left out ---- */

/* Predictions of one model for all machines. */
static lm_status judge_carried(const validation_question *q, const char *model, validation *v,
                               lm_error *err)
{
    const devices_left_out *d    = &v->devices;
    const layerwise_kind   *kind = layerwise_find(model);
    double                  setting[LAYERWISE_SETTINGS];
    comparison             *out;
    lm_status               status = judged_new(v, model, NULL, d->all.n_points, &out, err);

    if (status)
        return status;
    if (!kind) {
        memcpy(out, d->at, d->all.n_points * sizeof *out);
        return LM_OK;
    }
    if ((status = layerwise_settings(kind, q->learn, setting, err)))
        return status;
    return devices_leave_out_learned(d, kind, setting, out, err);
}

static lm_status judge_machines(const validation_question *q, workloads *loads, validation *v,
                                lm_error *err)
{
    devices_left_out *d     = &v->devices;
    bool              carry = false;
    lm_status         status;

    v->what = VALIDATED_MODELS;
    v->all  = (judging){ &d->all, &d->by, &d->by, v->model, 0, false };
    for (size_t m = 0; m < q->models.n; m++)
        carry |= !layerwise_find(q->models.at[m]);
    if (!(status = devices_open(q->sheets, &v->sheets, err)))
        status = devices_leave_out(q->paths.at, q->devices.at, q->devices.n, q->where, carry,
                                   v->sheets, loads, d, err);
    for (size_t m = 0; m < q->models.n && !status; m++)
        status = judge_carried(q, q->models.at[m], v, err);
    return status;
}

/* ---- the whole ---- */

bool validation_without_fit(const validation *v, const validation_question *q)
{
    return v->chosen && q->rule.kind != SPLIT_NONE &&
           (!v->by.n_folds || v->by.points[0] == v->p.n_points);
}

lm_status validation_of(const validation_question *q, workloads *loads, validation *out,
                        lm_error *err)
{
    const device *on = NULL;
    lm_status     status;

    if (q->rule.kind == SPLIT_DEVICE)
        return judge_machines(q, loads, out, err);
    if ((status = open_files(q, out, err)))
        return status;
    if (launches_only(out->obs)) {
        out->what = VALIDATED_LAUNCHES;
        return judge_launches(q, out, err);
    }
    if ((status = open_points(q, loads, out, &on, err)))
        return status;
    out->what = q->clocks ? VALIDATED_CLOCKS : VALIDATED_MODELS;
    return q->clocks ? clock_answers_of(&out->p, out->cal, q->paths.at[0], &out->clocks, err)
                     : judge_models(q, on, out, err);
}

void validation_free(validation *v)
{
    for (size_t m = 0; m < JUDGED_MAX; m++)
        free(v->model[m].at);
    launch_errors_free(&v->launches);
    clock_answers_free(&v->clocks);
    devices_left_out_free(&v->devices);
    calibration_free(v->cal);
    calibration_free(v->layers);
    devices_free(v->sheets);
    split_free(&v->groups);
    split_free(&v->by);
    points_free(&v->p);
    observations_free(v->obs);
}
