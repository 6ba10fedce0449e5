/* Errors of models on single kernels and streams. */
#include "judge/launches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/no_memory.h"
#include "counts/kernel_class.h"
#include "counts/layer_class.h"
#include "fit/launch_models.h"
#include "fit/singles.h"

/* One time: measured, and predicted by each model. */
typedef struct timed {
    size_t      group;
    const char *phase;
    double      measured;
} timed;

typedef struct launch_judging {
    const launch_question *q;
    timed                 *time;
    double                *predicted; /* predictions of each time by model 0, then by model 1 ... */
    size_t                 n;
    const char           **group;
    size_t                 n_groups;
    names                  index;
    arena                 *arena;
} launch_judging;

static lm_status need_group(launch_judging *j, const char *name, size_t *out, lm_error *err)
{
    const char **more;

    *out = names_find(&j->index, name);
    if (*out != NAMES_NONE)
        return LM_OK;
    more = realloc(j->group, (j->n_groups + 1) * sizeof *more);
    if (!more)
        return no_memory(err);
    j->group          = more;
    more[j->n_groups] = arena_text(j->arena, name, strlen(name));
    if (!more[j->n_groups] || !names_add(&j->index, more[j->n_groups], j->n_groups))
        return no_memory(err);
    *out = j->n_groups++;
    return LM_OK;
}

/* "map/add": the kind, and its library's name if that tells more. */
static lm_status launch_group(launch_judging *j, const timed_kernel *k, const observation *row,
                              size_t *out, lm_error *err)
{
    const size_t class = launch_class_of(&k->kernel);
    const bool tagged  = kernel_class_of(k->kernel.op)->tagged;
    char       name[160];

    if (*row->group)
        return need_group(j, row->group, out, err);
    snprintf(name, sizeof name, "%s%s%.80s",
             class == N_LAYER_CLASSES ? row->name : layer_classes[class]->name,
             tagged && *k->tag ? "/" : "", tagged ? k->tag : "");
    return need_group(j, name, out, err);
}

static lm_status add_launches(launch_judging *j, const launches *l, const launch_folds *by,
                              lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < l->n && !status; i++) {
        j->time[i] = (timed){ 0, kernel_pass_name(l->launch[i].kernel.pass), l->launch[i].seconds };
        status     = launch_group(j, &l->launch[i], l->row[i], &j->time[i].group, err);
    }
    for (size_t m = 0; m < j->q->n_models && !status; m++)
        status = launches_predict(l, formula_model_of(j->q->model[m]), by,
                                  j->q->given ? j->q->given->operators : NULL,
                                  j->predicted + m * j->n, err);
    return status;
}

/* Rows of one file stand together, as a rule. */
static lm_status add_streams(launch_judging *j, size_t at, const layer_model *m, lm_error *err)
{
    const observations *obs    = j->q->obs;
    const char         *path   = "";
    kernel_stream       s      = { 0 };
    layer_asker         by     = layer_asker_of(m);
    lm_status           status = LM_OK;

    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        const observation *row = &obs->row[i];

        if (row->kind != OBS_STREAM || row->skipped)
            continue;
        if (strcmp(row->name, path)) {
            kernel_stream_free(&s);
            path   = row->name;
            status = kernel_stream_load(path, &s, err);
        }
        if (!status)
            status = need_group(j, *row->group ? row->group : row->name, &j->time[at].group, err);
        j->time[at].phase    = phase_name(row->phase);
        j->time[at].measured = row->seconds;
        for (size_t k = 0; k < j->q->n_models && !status; k++) {
            const formula_model *model = formula_model_of(j->q->model[k]);
            double              *to    = &j->predicted[k * j->n + at];

            *to = NAN;
            if (m && model->launches == LAUNCHES_BY_PRICES)
                status = kernel_stream_seconds(&s, &by, model->residual, row->phase, to, err);
        }
        at++;
    }
    layer_asker_free(&by);
    kernel_stream_free(&s);
    return status;
}

/* Errors of a group (n_groups: of all groups) and a phase. */
static void add_row(const launch_judging *j, size_t group, const char *phase_text, size_t model,
                    double *room, launch_errors *out)
{
    double *measured = room, *predicted = room + j->n;
    size_t  n = 0;

    for (size_t i = 0; i < j->n; i++) {
        const double p = j->predicted[model * j->n + i];

        if ((group == j->n_groups || j->time[i].group == group) &&
            !strcmp(j->time[i].phase, phase_text) && !isnan(p)) {
            measured[n]    = j->time[i].measured;
            predicted[n++] = p;
        }
    }
    if (n)
        out->row[out->n++] = (error_row){ .group    = group == j->n_groups ? NULL : j->group[group],
                                          .phase    = phase_text,
                                          .model    = j->q->model[model],
                                          .of       = stats_compare(predicted, measured, n),
                                          .seconds  = true,
                                          .coverage = NAN, /* no intervals of launches yet */
                                          .width    = NAN,
                                          .score    = NAN };
}

static lm_status fill(const launch_judging *j, launch_errors *out, lm_error *err)
{
    static const char *const order[] = { "forward",  "grad_input", "grad_weight",
                                         "backward", "step",       "inference" };
    const size_t             phases  = sizeof order / sizeof order[0];
    double                  *room    = malloc((2 * j->n + 1) * sizeof *room);

    out->row = calloc((j->n_groups + 1) * phases * j->q->n_models + 1, sizeof *out->row);
    if (!room || !out->row) {
        free(room);
        return no_memory(err);
    }
    for (size_t g = 0; g <= j->n_groups; g++)
        for (size_t p = 0; p < phases; p++)
            for (size_t m = 0; m < j->q->n_models; m++)
                add_row(j, g, order[p], m, room, out);
    free(room);
    return LM_OK;
}

static size_t count_streams(const observations *obs)
{
    size_t n = 0;

    for (size_t i = 0; i < obs->n_rows; i++)
        n += obs->row[i].kind == OBS_STREAM && !obs->row[i].skipped;
    return n;
}

/* Predicts streams by a fit to all kernels, with its residual if that is asked for. */
static lm_status learn_own(const launch_question *q, const launches *l, layer_model *m,
                           lm_error *err)
{
    residual_trees residuals[N_LAYER_CLASSES];

    for (size_t i = 0; i < q->n_models; i++)
        if (formula_model_of(q->model[i])->residual)
            return launch_learn(l->launch, NULL, l->n, l->multiprocessors, m, residuals, err);
    return LM_OK;
}

lm_status launch_errors_of(const launch_question *q, launch_errors *out, lm_error *err)
{
    launch_judging     j       = { .q = q, .arena = arena_new() };
    launches           l       = { 0 };
    launch_folds       by      = { 0 };
    layer_model        own     = { .learned = NULL };
    const layer_model *m       = q->given ? q->given->operators : NULL;
    const size_t       streams = count_streams(q->obs);
    lm_status          status  = j.arena ? launches_from(q->obs, &l, err) : no_memory(err);

    if (!status && q->given && !m)
        status = lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: the machine file has no coefficients of single kernels: fit some", q->obs->path);
    j.n         = l.n + streams;
    j.time      = calloc(j.n + 1, sizeof *j.time);
    j.predicted = calloc(j.n * q->n_models + 1, sizeof *j.predicted);
    if (!status && (!j.time || !j.predicted))
        status = no_memory(err);
    if (!status)
        status = launch_folds_new(&l, q->rule, &by, err);
    if (!status)
        status = add_launches(&j, &l, &by, err);
    if (!status && streams && !m && l.n &&
        !(status = launch_fit(l.launch, NULL, l.n, l.multiprocessors, &own, err))) {
        status = learn_own(q, &l, &own, err);
        m      = &own;
    }
    if (!status && streams)
        status = add_streams(&j, l.n, m, err);
    if (!status)
        status = fill(&j, out, err);
    launch_folds_free(&by);
    layer_model_free(&own);
    launches_free(&l);
    free_all(j.group, j.time, j.predicted);
    names_free(&j.index);
    out->texts = j.arena;
    return status;
}

void launch_errors_free(launch_errors *e)
{
    free(e->row);
    arena_free(e->texts);
    *e = (launch_errors){ 0 };
}
