/* Learned models that a fit teaches. */
#include "assemble/taught.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define SEED 1

static lm_status add_name(const char *name, taught_models *out, lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(name);

    if (!kind) {
        char all[200];

        return lm_error_set(err, LM_E_NOTFOUND, "expected some of %s; found '%.40s'",
                            layerwise_names(", ", all, sizeof all), name);
    }
    for (size_t i = 0; i < out->n; i++)
        if (out->of[i].kind == kind)
            return lm_error_set(err, LM_E_ARG, "%s is there twice", name);
    if (out->n == TAUGHT_MOST)
        return lm_error_set(err, LM_E_ARG, "more than %d models", TAUGHT_MOST);
    out->of[out->n++].kind = kind;
    return LM_OK;
}

lm_status taught_models_named(const word_list *list, taught_models *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < list->n && !status; i++)
        status = add_name(list->at[i], out, err);
    return status;
}

lm_status taught_models_set(taught_models *t, const char *settings, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < t->n && !status; i++)
        status = layerwise_settings(t->of[i].kind, settings, t->of[i].setting, err);
    return status;
}

/* Stores a model for each machine file. The first file owns the shared model; others own copies. */
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

static lm_status count_little(taught_model *t, const layerwise_data *d, lm_error *err)
{
    t->little = calloc(d->n_lots + 1, sizeof *t->little);
    if (!t->little)
        return no_memory(err);
    for (size_t i = 0; i < d->n_lots; i++)
        if (d->lot[i].n < d->kind->fewest) {
            taught_little *little = &t->little[t->n_little++];

            memcpy(little->task, d->lot[i].task, sizeof little->task);
            little->n = d->lot[i].n;
        }
    return LM_OK;
}

static lm_status teach(taught_models *all, taught_model *t, const layerwise_data *d,
                       calibration *const *cal, size_t n, lm_error *err)
{
    layerwise_model *m      = NULL;
    lm_status        status = count_little(t, d, err);

    if (status || (status = layerwise_learn(d, t->setting, SEED, NULL, NULL, &m, err)) ||
        (status = keep(m, cal, n, err)))
        return status;
    t->model = m;
    return all->worth ? layerwise_importance(m, d, 1, all->worth, all->context, err) : LM_OK;
}

const char *taught_source(const layerwise_source *from, size_t n)
{
    return n > 1 ? "all files" : from->obs->path;
}

/* A model with too few times is not learned. */
static lm_status teach_one(taught_models *all, taught_model *t, const layerwise_source *from,
                           size_t n, calibration *const *cal, lm_error *err)
{
    layerwise_data d;
    lm_status      status = layerwise_gather(t->kind, from, n, &d, err);

    if (status)
        return status;
    status = teach(all, t, &d, cal, n, err);
    if (!t->model)
        lm_error_prefix(err, "%s", taught_source(from, n));
    if (status == LM_E_ARG && !t->model && t->n_little == d.n_lots) {
        t->left_out = *err;
        status      = LM_OK;
    }
    layerwise_data_free(&d);
    return status;
}

lm_status taught_models_teach(taught_models *t, const layerwise_source *from, size_t n,
                              calibration *const *cal, lm_error *err)
{
    size_t    learned = 0;
    lm_status status  = LM_OK;

    for (size_t i = 0; i < t->n && !status; i++) {
        status = teach_one(t, &t->of[i], from, n, cal, err);
        learned += t->of[i].model != NULL;
    }
    if (status || !t->n || learned)
        return status;
    *err = t->of[0].left_out;
    return err->code;
}

void taught_models_free(taught_models *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->of[i].little);
}
