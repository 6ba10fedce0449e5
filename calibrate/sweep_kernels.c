/* [kernels] of a sweep: every different kernel of some networks, each once, by itself. */
#include <string.h>

#include "network/kernels.h"
#include "sweep_points.h"

static const sweep_key keys[] = {
    { "networks", KEY_WORD, SWEEP_AT(networks), 0, 0 },
    { "batch", KEY_LIST, SWEEP_AT(batch), 1, 1e9 },
    { "image", KEY_LIST, SWEEP_AT(image), 1, 1e6 },
    { "dtype", KEY_WORD, SWEEP_AT(dtype), 0, 0 },
    { "max_flops", KEY_REAL, SWEEP_AT(max_flops), 1, 1e30 },
    { "limit", KEY_NUMBER, SWEEP_AT(limit), 1, 1e6 },
    { NULL, KEY_WORD, 0, 0, 0 },
};

static lm_status add_kernel(sweep_loading *l, const sweep_values *v, const observation *row,
                            const lm_kernel *k, int64_t *n_kernels)
{
    const lm_work work = lm_kernel_work(k);
    sweep_point   p    = { .row = *row, .kernel = *k };
    char          text[512];

    if (k->op == LM_OP_OPAQUE)
        return LM_OK;
    kernel_print_geometry(k, text, sizeof text);
    p.weight       = sweep_guess_seconds(&l->s->stop, (double)work.flops, (double)work.read_bytes);
    p.row.kind     = OBS_KERNEL;
    p.row.name     = kernel_op_name(k->op);
    p.row.pass     = k->pass;
    p.row.dtype    = k->dtype;
    p.row.input    = "";
    p.row.batch    = 0;
    p.row.geometry = arena_text(l->s->arena, text, strlen(text));
    if (!p.row.geometry)
        return sweep_no_memory(l);
    if ((v->max_flops > 0 && (double)work.flops > v->max_flops) ||
        (v->limit && *n_kernels >= v->limit && !sweep_has(l, &p.row))) {
        l->s->n_filtered++;
        return LM_OK;
    }
    *n_kernels += !sweep_has(l, &p.row);
    return sweep_add(l, &p);
}

static lm_status add_kernels(sweep_loading *l, const sweep_values *v, const observation *row,
                             void *n_kernels)
{
    const bind_options options = { .batch = row->batch, .dtype = row->dtype, .input = row->input };
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    kernel_list        all     = { NULL, 0, 0 };
    lm_status          status;

    status = network_open(row->name, l->reg, NULL, &net, l->err);
    if (!status)
        status = bind_network(net, l->reg, &options, &bound, l->err);
    if (!status && !(status = kernels_forward(bound, &all, l->err)))
        status = kernels_backward(bound, &all, l->err);
    for (size_t i = 0; i < all.n && !status; i++)
        status = add_kernel(l, v, row, &all.kernel[i], n_kernels);
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
