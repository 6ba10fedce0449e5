/* Learned models of single layers: rows by task. */
#include "layerwise/layerwise_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

void layerwise_data_free(layerwise_data *d)
{
    for (size_t i = 0; i < d->n_lots; i++) {
        free_all(d->lot[i].x, d->lot[i].y, d->lot[i].group, d->lot[i].when, d->lot[i].from,
                 d->lot[i].on);
    }
    free(d->lot);
    *d = (layerwise_data){ .kind = d->kind };
}

static layerwise_lot *lot_of(layerwise_data *d, const char *task, layerwise_target target,
                             const layerwise_features *f)
{
    layerwise_lot *more;

    for (size_t i = 0; i < d->n_lots; i++)
        if (d->lot[i].target == target && !strcmp(d->lot[i].task, task))
            return &d->lot[i];
    if (!(more = realloc(d->lot, (d->n_lots + 1) * sizeof *more)))
        return NULL;
    d->lot = more;
    more   = &d->lot[d->n_lots++];
    *more  = (layerwise_lot){ .target = target, .n_features = f->n };
    strcpy(more->task, task);
    for (size_t k = 0; k < f->n; k++) {
        strcpy(more->feature[k].name, f->of[k].name);
        more->feature[k].sort = f->of[k].sort;
    }
    return more;
}

static bool grow(layerwise_lot *l)
{
    const size_t   room  = l->room ? 2 * l->room : 64;
    double        *x     = realloc(l->x, room * l->n_features * sizeof *x);
    double        *y     = x ? realloc(l->y, room * sizeof *y) : NULL;
    uint64_t      *group = y ? realloc(l->group, room * sizeof *group) : NULL;
    phase         *when  = group ? realloc(l->when, room * sizeof *when) : NULL;
    size_t        *from  = when ? realloc(l->from, room * sizeof *from) : NULL;
    const device **on    = from ? realloc(l->on, room * sizeof *on) : NULL;

    l->x     = x ? x : l->x;
    l->y     = y ? y : l->y;
    l->group = group ? group : l->group;
    l->when  = when ? when : l->when;
    l->from  = from ? from : l->from;
    l->on    = on ? on : l->on;
    l->room  = on ? room : l->room;
    return on != NULL;
}

bool layerwise_of_device(layerwise_sort s)
{
    return s == LAYERWISE_DEVICE || s == LAYERWISE_OVER;
}

static lm_status check_known(const layerwise_features *f, lm_error *err)
{
    for (size_t k = 0; k < f->n; k++)
        if (!layerwise_of_device(f->of[k].sort) && !isfinite(f->of[k].value))
            return lm_error_set(err, LM_E_ARG, "%s is not known of this layer", f->of[k].name);
    return LM_OK;
}

lm_status layerwise_data_add(layerwise_data *d, const layerwise_case *c, layerwise_target target,
                             double value, uint64_t group, size_t from, lm_error *err)
{
    char               task[LAYERWISE_NAME];
    layerwise_features f = { .n = 0 };
    layerwise_lot     *l;
    lm_status          status;

    if (!d->kind->task(c, task))
        return LM_OK;
    d->kind->features(c, &f);
    if ((status = check_known(&f, err)))
        return status;
    l = lot_of(d, task, target, &f);
    if (!l || (l->n == l->room && !grow(l)))
        return no_memory(err);
    assert(l->n_features == f.n);
    for (size_t k = 0; k < f.n; k++)
        l->x[l->n * f.n + k] = f.of[k].value;
    l->y[l->n]      = value;
    l->group[l->n]  = group;
    l->when[l->n]   = c->phase;
    l->on[l->n]     = c->on;
    l->from[l->n++] = from;
    return LM_OK;
}
