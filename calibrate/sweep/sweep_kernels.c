/* [kernels] of a sweep: every distinct kernel of some networks, once, alone. */
#include <string.h>

#include "base/no_memory.h"
#include "network/autocast.h"
#include "network/kernels.h"
#include "sweep/sweep_points.h"

static const ini_key keys[] = {
    SWEEP_KEY("networks", networks, &type_names),
    SWEEP_BATCH_KEY,
    SWEEP_IMAGE_KEY,
    SWEEP_VARIANT_KEYS,
    SWEEP_FILTER_KEYS,
    SWEEP_KEY("limit", limit, &type_whole, 1, 1e6),
    SWEEP_END,
};

static lm_status add_kernel(sweep_loading *l, const sweep_values *v, const sweep_point *point,
                            const lm_kernel *k, int64_t *n_kernels)
{
    const lm_work    once = lm_kernel_work(k);
    const sweep_work work = { (double)once.flops, (double)once.flops,
                              (double)once.read_bytes + (double)once.written_bytes,
                              (double)once.read_bytes + (double)once.written_bytes };
    sweep_point      p    = *point;
    char             text[512];

    if (k->op == LM_OP_OPAQUE)
        return LM_OK;
    kernel_print_geometry(k, text, sizeof text);
    p.kernel       = *k;
    p.row.kind     = OBS_KERNEL;
    p.row.name     = kernel_op_name(k->op);
    p.row.pass     = k->pass;
    p.row.dtype    = k->dtype;
    p.row.input    = "";
    p.row.batch    = 0;
    p.row.geometry = arena_text(l->s->arena, text, strlen(text));
    if (!p.row.geometry)
        return no_memory(l->err);
    if (!sweep_wanted(l, v, &work) ||
        (v->limit && *n_kernels >= v->limit && !sweep_has(l, &p.row))) {
        l->s->n_filtered++;
        return LM_OK;
    }
    *n_kernels += !sweep_has(l, &p.row);
    return sweep_add(l, &p);
}

static lm_status add_kernels(sweep_loading *l, const sweep_values *v, const sweep_point *point,
                             void *n_kernels)
{
    const bind_options options = { .batch = point->row.batch,
                                   .dtype = point->row.dtype,
                                   .mixed = autocast_of_settings(point->row.settings),
                                   .on    = point->row.on,
                                   .input = point->row.input };
    sweep_point        alone   = *point;
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    kernel_list        all     = { NULL, 0, 0 };
    lm_status          status;

    if ((status = sweep_variant_of_kernel(l, &alone)))
        return status;
    status = network_open(point->row.name, l->reg, NULL, &net, l->err);
    if (!status)
        status = bind_network(net, l->reg, &options, &bound, l->err);
    if (!status && !(status = kernels_forward(bound, &all, l->err)))
        status = kernels_backward(bound, &all, l->err);
    for (size_t i = 0; i < all.n && !status; i++)
        status = add_kernel(l, v, &alone, &all.kernel[i], n_kernels);
    kernel_list_free(&all);
    bound_network_free(bound);
    network_free(net);
    return status;
}

lm_status sweep_take_kernels(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    int64_t   n_kernels = 0; /* of this section */
    lm_status status    = sweep_read(l, s, keys, v);

    return status ? status : sweep_visit_networks(l, s, v, add_kernels, &n_kernels);
}
