/* Kernels of a point. */
#include "measure/point_kernels.h"

#include "network/autocast.h"
#include "observe/workloads.h"

bool point_is_counted(const observation *row)
{
    return row->kind == OBS_NETWORK || row->kind == OBS_LAYER;
}

bool point_evaluates(const observation *row)
{
    return point_is_counted(row) && row->phase == PHASE_INFERENCE;
}

static const char *optimizer_text(const observation *row)
{
    return *row->optimizer ? row->optimizer : optimizer_name(OPTIMIZER_MOMENTUM);
}

static bool updates_all_at_once(const settings *how)
{
    uint8_t foreach = 0, fused = 0;

    return !setting_parse(SETTING_UPDATE, "foreach", &foreach, NULL) &&
           !setting_parse(SETTING_UPDATE, "fused", &fused, NULL) &&
           (how->value[SETTING_UPDATE] == foreach || how->value[SETTING_UPDATE] == fused);
}

/* Kernels of a network, or of a layer by itself. */
static lm_status network_kernels(const registry *reg, const sweep_point *p, point_kernels *s,
                                 lm_error *err)
{
    const bind_options options = { .batch      = p->row.batch,
                                   .dtype      = p->row.dtype,
                                   .mixed      = autocast_of_settings(p->row.settings),
                                   .on         = p->row.on,
                                   .input      = *p->row.input ? p->row.input : NULL,
                                   .evaluation = point_evaluates(&p->row) };
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    lm_status          status;

    if (p->row.kind == OBS_LAYER)
        status = row_bind_layer(&p->row, reg, &net, &bound, err);
    else if (!(status = network_open(p->row.name, reg, NULL, &net, err)))
        status = bind_network(net, reg, &options, &bound, err);
    if (!status)
        status = kernels_forward(bound, &s->list[PHASE_FORWARD], err);
    if (status || options.evaluation)
        goto out;
    if (!status)
        status = kernels_backward(bound, &s->list[PHASE_BACKWARD], err);
    if (!status)
        status = optimizer_parse(optimizer_text(&p->row), &s->optimizer, err);
    if (!status)
        status = kernels_update(bound, s->optimizer, &s->list[PHASE_UPDATE], err);
    if (!status && updates_all_at_once(&p->how))
        kernels_join_maps(&s->list[PHASE_UPDATE]);
    if (!status)
        status = kernels_gradients(bound, &s->gradients, err);
out:
    bound_network_free(bound);
    network_free(net);
    return status;
}

lm_status point_kernels_make(const registry *reg, const sweep_point *p, point_kernels *out,
                             lm_error *err)
{
    if (point_is_counted(&p->row))
        return network_kernels(reg, p, out, err);
    return p->row.kind == OBS_KERNEL ? kernel_list_add(&out->list[PHASE_FORWARD], &p->kernel, err)
                                     : LM_OK;
}

void point_kernels_free(point_kernels *k)
{
    for (phase p = 0; p < N_PHASES; p++)
        kernel_list_free(&k->list[p]);
    gradient_list_free(&k->gradients);
}
