/* [networks] of a sweep: whole networks. */
#include <string.h>

#include "base/text.h"
#include "network/bind.h"
#include "sweep/sweep_spread.h"

static const sweep_key keys[] = {
    { "networks", KEY_WORD, SWEEP_AT(networks), 0, 0 },
    { "batch", KEY_LIST, SWEEP_AT(batch), 1, 1e9 },
    { "image", KEY_LIST, SWEEP_AT(image), 1, 1e6 },
    SWEEP_SPREAD_KEYS(1),
    { "optimizer", KEY_WORD, SWEEP_AT(optimizers), 0, 0 },
    { "bucket", KEY_WORD, SWEEP_AT(buckets), 0, 0 },
    { "progress", KEY_WORD, SWEEP_AT(progress), 0, 0 },
    SWEEP_VARIANT_KEYS,
    SWEEP_FILTER_KEYS,
    { NULL, KEY_WORD, 0, 0, 0 },
};

/* The input shape of a network at an image size (0: the file's own), as text in the arena. */
static lm_status input_shape(sweep_loading *l, const char *name, int64_t image, lm_dtype dtype,
                             const char **out)
{
    const bind_options options = { .batch = 1, .dtype = dtype, .image = image };
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    lm_status          status;

    status = network_open(name, l->reg, NULL, &net, l->err);
    if (!status)
        status = bind_network(net, l->reg, &options, &bound, l->err);
    if (!status) {
        const char *input = bound->n_data == 1 ? bound->input : ""; /* of several: the file's */

        *out = arena_text(l->s->arena, input, strlen(input));
        if (!*out)
            status = sweep_no_memory(l);
    }
    bound_network_free(bound);
    network_free(net);
    return status;
}

/* All of one network, in one variant. Of several images those are left out that are too small for
 * it, unless none remains. */
static lm_status visit_network(sweep_loading *l, const sweep_values *v, sweep_point *p,
                               sweep_visitor each, void *context)
{
    int64_t           zero = 0, one = 1;
    const number_list image = number_list_or(v->image, &zero),
                      batch = number_list_or(v->batch, &one);
    lm_status status        = LM_OK;
    size_t    fits          = 0;

    for (size_t k = 0; k < image.n; k++) {
        status = input_shape(l, p->row.name, image.value[k], p->row.dtype, &p->row.input);
        if (status == LM_E_SHAPE && (fits || k + 1 < image.n)) {
            l->s->n_filtered += batch.n;
            continue;
        }
        fits++;
        for (size_t b = 0; b < batch.n && !status; b++) {
            p->row.batch = batch.value[b];
            status       = each(l, v, p, context);
        }
        if (status)
            return status;
    }
    return LM_OK;
}

lm_status sweep_visit_networks(sweep_loading *l, const ini_section *s, const sweep_values *v,
                               sweep_visitor each, void *context)
{
    char           *name[64], *copy;
    size_t          n;
    sweep_variants  variants;
    sweep_point     p      = { .row = sweep_row() };
    lm_status       status = LM_OK;
    const ini_pair *where  = ini_get(s, "networks");

    if (!where) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'networks =' is missing");
        return sweep_fail_at(l, s->line, status, s->name);
    }
    if ((status = sweep_variants_read(l, s, v, &variants)))
        return status;
    copy = arena_text(l->s->arena, v->networks, strlen(v->networks));
    if (!copy)
        return sweep_no_memory(l);
    n = text_split(copy, ',', name, 64);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < variants.n; k++) {
            p.row.name = name[i];
            status     = sweep_variant(l, &variants, k, &p);
            if (!status)
                status = visit_network(l, v, &p, each, context);
            if (status)
                return sweep_fail_at(l, where->line, status, "networks");
        }
    return LM_OK;
}

static lm_status add_network(sweep_loading *l, const sweep_values *v, const sweep_point *point,
                             void *context)
{
    sweep_point p = *point;
    sweep_work  work;
    lm_status   status;

    p.row.kind      = OBS_NETWORK;
    p.row.algorithm = "default";
    status          = workloads_counts(l->loads, p.row.name, p.row.input, p.row.dtype, p.row.batch,
                                       &p.counts, l->err);
    work            = sweep_work_of_counts(&p.counts);
    for (size_t i = 0; i < sweep_spreads(v) && !status; i++) {
        const bool fits = sweep_spread(l, v, i, 1, &p);

        if (!fits || !sweep_wanted(l, v, &work))
            l->s->n_filtered++;
        else
            status = sweep_steps_add(l, context, &p);
    }
    return status;
}

lm_status sweep_take_networks(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    sweep_steps steps;
    lm_status   status = sweep_read(l, s, keys, v);

    if (!status)
        status = sweep_steps_read(l, s, v, &steps);
    return status ? status : sweep_visit_networks(l, s, v, add_network, &steps);
}
