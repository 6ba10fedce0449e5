/* Learned models of single layers on the command line. */
#include "cli/learned_models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define SEED 1

static lm_status add_name(const char *name, learned_models *out, lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(name);

    if (!kind) {
        char all[200];

        return lm_error_set(err, LM_E_NOTFOUND, "expected some of %s; found '%.40s'",
                            layerwise_names(", ", all, sizeof all), name);
    }
    for (size_t i = 0; i < out->n; i++)
        if (out->kind[i] == kind)
            return lm_error_set(err, LM_E_ARG, "%s is there twice", name);
    out->kind[out->n++] = kind;
    return LM_OK;
}

lm_status learned_models_parse(const options *o, const option_texts *list,
                               const char *const *settings, learned_models *out, lm_error *err)
{
    lm_error why;

    *out = (learned_models){ .n = 0 };
    for (size_t i = 0; i < list->n; i++)
        if (add_name(list->at[i], out, &why))
            return misused(o, list, err, "%s", why.text);
    for (size_t i = 0; i < out->n; i++)
        if (layerwise_settings(out->kind[i], *settings, out->setting[i], &why))
            return misused(o, settings, err, "%s", why.text);
    return LM_OK;
}

static void print_tasks(const char *path, const layerwise_model *m)
{
    for (size_t i = 0; i < m->n_tasks; i++) {
        const layerwise_judgement *j = &m->task[i].judged;
        char                       name[LAYERWISE_TASK_TEXT];

        if (j->held)
            fprintf(stderr,
                    "layermeter: %s: %s: %s: %.1f %% off on %zu of %zu times that were set apart\n",
                    path, m->kind->name, layerwise_task_text(m->kind, &m->task[i], name),
                    100 * j->mape, j->held, j->held + j->seen);
        else
            fprintf(stderr,
                    "layermeter: %s: %s: %s: how far off is not known, nothing could be set apart: "
                    "measure more shapes\n",
                    path, m->kind->name, layerwise_task_text(m->kind, &m->task[i], name));
    }
}

static void print_left_out(const char *path, const layerwise_data *d)
{
    for (size_t i = 0; i < d->n_lots; i++)
        if (d->lot[i].n < d->kind->fewest)
            fprintf(stderr,
                    "layermeter: %s: %s learns nothing of '%s': %zu times, it takes %zu or more\n",
                    path, d->kind->name, d->lot[i].task, d->lot[i].n, d->kind->fewest);
}

/* To be written beside each machine file, of which the first owns it and others have their own. */
static lm_status keep(layerwise_model *m, calibration *const *cal, size_t n, lm_error *err)
{
    const char *name   = m->kind->name;
    lm_status   status = calibration_learned_add(cal[0], name, &layerwise_kept, m, err);

    for (size_t i = 1; i < n && !status; i++) {
        void *copy = NULL;

        if (!(status = kept_copy(&layerwise_kept, name, m, &copy, err)))
            status = calibration_learned_add(cal[i], name, &layerwise_kept, copy, err);
    }
    return status;
}

static bool enough(const layerwise_data *d)
{
    for (size_t i = 0; i < d->n_lots; i++)
        if (d->lot[i].n >= d->kind->fewest)
            return true;
    return false;
}

/* One of which there are too few times is none: `left_out` says why. */
static lm_status fit_one(learned_models *l, size_t i, const layerwise_source *from, size_t n,
                         calibration *const *cal, lm_error *left_out, lm_error *err)
{
    const char      *path = n > 1 ? "all files" : from->obs->path;
    layerwise_data   d;
    layerwise_model *m      = NULL;
    lm_status        status = layerwise_gather(l->kind[i], from, n, &d, err);

    if (status)
        return status;
    status = layerwise_learn(&d, l->setting[i], SEED, NULL, NULL, &m, err);
    if (!status) {
        print_left_out(path, &d);
        print_tasks(path, m);
        status      = keep(m, cal, n, err);
        l->model[i] = status ? NULL : m;
    } else {
        lm_error_prefix(err, "%s", path);
        if (status == LM_E_ARG && !enough(&d)) {
            *left_out = *err;
            status    = LM_OK;
        }
    }
    layerwise_data_free(&d);
    return status;
}

lm_status learned_models_fit(learned_models *l, const layerwise_source *from, size_t n,
                             calibration *const *cal, lm_error *err)
{
    lm_error  left_out[LEARNED_MOST] = { { .code = LM_OK } };
    size_t    learned                = 0;
    lm_status status                 = LM_OK;

    for (size_t i = 0; i < l->n && !status; i++) {
        status = fit_one(l, i, from, n, cal, &left_out[i], err);
        learned += l->model[i] != NULL;
    }
    if (status || !l->n)
        return status;
    if (!learned) {
        *err = left_out[0];
        return left_out[0].code;
    }
    for (size_t i = 0; i < l->n; i++)
        if (left_out[i].code)
            fprintf(stderr, "layermeter: %s: left out\n", left_out[i].text);
    return LM_OK;
}

static void add_task(table *t, const layerwise_kind *kind, const layerwise_task *task)
{
    char name[LAYERWISE_NAME + 8], by_what[40];

    snprintf(name, sizeof name, "%s%s", task->name,
             task->target == LAYERWISE_WATTS ? ", watts" : "");
    table_text(t, kind->name);
    table_text(t, name);
    table_count(t, task->judged.seen + task->judged.held);
    table_text(t, kind->learner->name /* coefficients, rank */
                      ? kind->learner->name(task->learned, by_what, sizeof by_what)
                      : "");
    table_text(t, "");
    for (int i = 0; i < 5; i++) /* condition, R2, RMSE, NRMSE, MAPE */
        table_real(t, NAN);
    table_real(t, 100 * task->judged.mape);
}

void learned_models_rows(const learned_models *l, table *t)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; l->model[i] && k < l->model[i]->n_tasks; k++)
            add_task(t, l->kind[i], &l->model[i]->task[k]);
}

lm_status learned_models_device(const char *name, const char *told, const char *own,
                                device_list **list, const device **out, lm_error *err)
{
    lm_error  ignored;
    lm_status status = LM_OK;

    *out = NULL;
    if (!name && !told)
        return LM_OK;
    if (!*list && (status = devices_open(own, list, err)))
        return status;
    if (name)
        return devices_find(*list, name, out, err);
    if (devices_find(*list, told, out, &ignored))
        *out = NULL;
    return LM_OK;
}
