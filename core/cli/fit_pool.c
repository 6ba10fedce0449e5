/* layermeter fit: learned models of single layers, and several files. */
#include "cli/cmd_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/singles.h"
#include "machine/machine.h"

/* ---- learned models ---- */

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

/* Counts that no row varies: those that a type of layer does not have are 0. */
static bool is_constant(const layerwise_range *f)
{
    return f->sort == LAYERWISE_COUNT && !(f->low < f->high) && f->low != 0;
}

/* One line, by task; watts are of the same rows. */
static void print_constant(const char *path, const layerwise_model *m)
{
    size_t tasks = 0;

    for (size_t i = 0; i < m->n_tasks; i++) {
        const layerwise_task *t = &m->task[i];
        size_t                n = 0;

        for (size_t k = 0; k < t->n_features && t->target == LAYERWISE_SECONDS; k++) {
            if (!is_constant(&t->feature[k]))
                continue;
            if (!tasks)
                fprintf(stderr,
                        "layermeter: %s: %s: the same in all rows, which tells nothing of them:",
                        path, m->kind->name);
            tasks += !n;
            fprintf(stderr, "%s %s", n++ ? "," : tasks > 1 ? ";" : "", t->feature[k].name);
        }
        if (n)
            fprintf(stderr, " of '%s'", t->name);
    }
    if (tasks)
        fputc('\n', stderr);
}

static void print_left_out(const char *path, const layerwise_data *d)
{
    for (size_t i = 0; i < d->n_lots; i++)
        if (d->lot[i].n < d->kind->fewest)
            fprintf(stderr,
                    "layermeter: %s: %s learns nothing of '%s': %zu times, it takes %zu or more\n",
                    path, d->kind->name, d->lot[i].task, d->lot[i].n, d->kind->fewest);
}

/* A model with too few times is not learned: `left_out` has the reason. */
static lm_status fit_one(learned_models *l, size_t i, const layerwise_source *from, size_t n,
                         calibration *const *cal, lm_error *left_out, lm_error *err)
{
    const char    *path = n > 1 ? "all files" : from->obs->path;
    layerwise_data d;
    lm_status      status = layerwise_gather(l->kind[i], from, n, &d, err);

    if (status)
        return status;
    status = pool_teach(&d, l->setting[i], cal, n, &l->model[i], err);
    if (l->model[i]) {
        print_left_out(path, &d);
        print_tasks(path, l->model[i]);
        print_constant(path, l->model[i]);
        if (!status && l->worth)
            status = layerwise_importance(l->model[i], &d, 1, fit_table_add_worth, l->worth, err);
    } else {
        lm_error_prefix(err, "%s", path);
        if (status == LM_E_ARG && !pool_teaches(&d)) {
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

/* ---- several files ---- */

/* Checks that a list of the command line is as long as that of files. */
static lm_status check_list(const char *option, const option_texts *list, size_t n, lm_error *err)
{
    return list->n == n ? LM_OK
                        : lm_error_set(err, LM_E_ARG,
                                       "%s: %zu for %zu files: each needs one, in their order",
                                       option, list->n, n);
}

static void fill(const pool *p, const residual_trees *found, const learned_models *l, field_rows *t)
{
    for (size_t i = 0; i < p->n; i++)
        fit_table_machine(t, p->machine[i].on->name, p->machine[i].cal->layers);
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        if (found[c].judged)
            fit_table_residual(t, c, &found[c]);
    for (size_t i = 0; i < l->n; i++)
        if (l->model[i])
            fit_table_learned(t, l->model[i]);
}

lm_status fit_pool(const options *o, const fit_options *a, learned_models *learned,
                   workloads *loads, field_rows *t, lm_error *err)
{
    const bool     alone                  = a->residual == RESIDUAL_OFF;
    const size_t   n                      = (size_t)o->n_arguments;
    pool          *p                      = calloc(1, sizeof *p);
    device_list   *list                   = NULL;
    residual_trees found[N_LAYER_CLASSES] = { { .rows = 0 } };
    lm_status      status = p ? devices_open(a->devices, &list, err) : no_memory(err);

    if (!status)
        status = check_list("-o", &a->outputs, n, err);
    if (!status && a->device.n)
        status = check_list("--device", &a->device, n, err);
    if (!status)
        status =
            pool_read(p, &(word_list){ o->argument, n }, &a->device, a->where, loads, list, err);
    if (!status && !alone)
        status = pool_learn(p, found, err);
    if (!status) {
        layerwise_source from[VALIDATE_DEVICES];
        calibration     *cal[VALIDATE_DEVICES];

        pool_sources(p, from, cal);
        status = learned_models_fit(learned, from, n, cal, err);
    }
    for (size_t i = 0; !status && i < p->n; i++)
        status = machine_save(p->machine[i].cal, a->outputs.at[i], err);
    for (size_t i = 0; !status && i < p->n; i++)
        print_flagged(p->machine[i].obs, &p->machine[i].p);
    if (!status) {
        if (!alone)
            print_residuals("all files", p->machine[0].cal->layers, found);
        fill(p, found, learned, t);
    }
    if (p)
        pool_free(p);
    devices_free(list);
    free(p);
    return status;
}
