/* [layers] of a sweep that names networks: every distinct operation of these, by itself. */
#include <string.h>

#include "base/no_memory.h"
#include "network/operations.h"
#include "observe/points.h"
#include "sweep/sweep_points.h"

static const ini_key keys[] = {
    SWEEP_KEY("networks", networks, &type_names),
    SWEEP_BATCH_KEY,
    SWEEP_IMAGE_KEY,
    SWEEP_KEY("chain", chained, &type_yes),
    SWEEP_KEY("optimizer", steps.optimizers, &type_optimizers),
    SWEEP_KEY("phases", steps.phases, &type_phases),
    SWEEP_VARIANT_KEYS,
    SWEEP_FILTER_KEYS,
    SWEEP_END,
};

/* A section, and networks as they are bound for a variant. */
typedef struct catalogue {
    sweep_loading *l;
    sweep_values  *v;
    sweep_point    p;     /* its variant */
    sweep_steps    steps; /* training, or evaluation mode */
    operation_list list;
} catalogue;

/* At batch 2, as operations_add() asks for. */
static lm_status add_network(catalogue *c, const char *name, int64_t image)
{
    const bind_options options = {
        .batch = 2, .dtype = c->p.row.dtype, .image = image, .evaluation = c->steps.phases.inference
    };
    network       *net    = NULL;
    bound_network *bound  = NULL;
    lm_status      status = network_open(name, c->l->reg, NULL, &net, c->l->err);

    if (!status)
        status = bind_network(net, c->l->reg, &options, &bound, c->l->err);
    if (!status)
        status = operations_add(&c->list, bound, NULL, c->v->chained, c->l->err);
    bound_network_free(bound);
    network_free(net);
    return status;
}

static lm_status add_networks(catalogue *c)
{
    const int64_t    zero   = 0;
    const count_list image  = sweep_list_or(c->v->image, &zero);
    lm_status        status = LM_OK;

    for (size_t i = 0; i < c->v->networks.n * image.n && !status; i++)
        status = add_network(c, c->v->networks.at[i / image.n], image.at[i % image.n]);
    c->l->s->n_filtered += c->list.n_apart;
    return status;
}

static lm_status add_point(catalogue *c, const net_operation *o, int64_t batch)
{
    arena         *a     = c->l->s->arena;
    sweep_point    p     = c->p;
    network       *net   = NULL;
    bound_network *bound = NULL;
    sweep_work     work;
    lm_status      status;

    p.row.kind     = OBS_LAYER;
    p.row.on       = c->l->limits.on;
    p.row.batch    = batch;
    p.row.name     = arena_text(a, o->type, strlen(o->type));
    p.row.geometry = arena_text(a, o->geometry, strlen(o->geometry));
    p.row.input    = arena_text(a, o->input, strlen(o->input));
    if (!p.row.name || !p.row.geometry || !p.row.input)
        return no_memory(c->l->err);
    if (!(status = row_bind_layer(&p.row, c->l->reg, &net, &bound, c->l->err)))
        status = metrics_of_network(bound, NULL, &p.counts, c->l->err);
    bound_network_free(bound);
    network_free(net);
    if (status)
        return status;
    work = sweep_work_of_counts(&p.counts);
    if (sweep_wanted(c->l, c->v, &work))
        return sweep_steps_add(c->l, &c->steps, &p);
    c->l->s->n_filtered++;
    return LM_OK;
}

/* All operations in one variant and mode: evaluation drops some. */
static lm_status add_mode(catalogue *c, bool inference)
{
    const sweep_steps *all   = &c->v->steps;
    const int64_t      one   = 1;
    const count_list   batch = sweep_list_or(c->v->batch, &one);
    lm_status          status;

    if (!(inference ? all->phases.inference : all->phases.training))
        return LM_OK;
    c->steps        = *all;
    c->steps.phases = (struct sweep_phases){ !inference, inference };
    status          = add_networks(c);
    for (size_t i = 0; i < c->list.n * batch.n && !status; i++)
        status = add_point(c, &c->list.of[i / batch.n], batch.at[i % batch.n]);
    operations_free(&c->list);
    return status;
}

lm_status sweep_take_operations(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    sweep_variants variants;
    catalogue      c      = { .l = l, .v = v, .p = { .row = sweep_row() } };
    lm_status      status = sweep_read(l, s, keys, v);

    if (!status)
        status = sweep_variants_read(l, s, v, &variants);
    if (status)
        return status;
    for (size_t k = 0; k < 2 * variants.n && !status; k++)
        if (!(status = sweep_variant(l, &variants, k / 2, &c.p)))
            status = add_mode(&c, k % 2);
    return status ? sweep_fail_at(l, ini_get(s, "networks")->line, status, "networks") : LM_OK;
}
