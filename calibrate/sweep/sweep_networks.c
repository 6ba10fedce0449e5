/* [networks] of a sweep: whole networks. */
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/bind.h"
#include "network/part.h"
#include "observe/points.h"
#include "sweep/sweep_spread.h"

#define ALL_BLOCKS "all" /* the outermost ones, of alike ones the first */

static const ini_key keys[] = {
    SWEEP_KEY("networks", networks, &type_names),
    SWEEP_KEY("blocks", blocks, &type_names),
    SWEEP_BATCH_KEY,
    SWEEP_IMAGE_KEY,
    SWEEP_SPREAD_KEYS(1),
    SWEEP_KEY("optimizer", steps.optimizers, &type_optimizers),
    SWEEP_KEY("update", setting[SETTING_UPDATE], &type_names),
    SWEEP_KEY("bucket", steps.buckets, &type_buckets),
    SWEEP_KEY("progress", steps.progress, &type_progress),
    SWEEP_KEY("phases", steps.phases, &type_phases),
    SWEEP_VARIANT_KEYS,
    SWEEP_FILTER_KEYS,
    SWEEP_END,
};

/* Opens a network, or a block as it is in the whole at an image size. */
static lm_status open_at(sweep_loading *l, const char *name, int64_t image, network **out)
{
    const char *part = network_part_at(name);
    char       *whole;
    lm_status   status;

    if (!part || !image)
        return network_open(name, l->reg, NULL, out, l->err);
    if (!(whole = arena_text(l->s->arena, name, (size_t)(part - name))))
        return no_memory(l->err);
    if (!(status = network_open(whole, l->reg, NULL, out, l->err)) &&
        (status = network_cut(*out, part + strlen(NETWORK_PART), image, l->reg, l->err))) {
        network_free(*out);
        *out = NULL;
    }
    return status;
}

/* The input shape of a network at an image size (0: the file's own), as text in the arena. For a
 * block, it is the image size of the whole network. */
static lm_status input_shape(sweep_loading *l, const char *name, int64_t image, lm_dtype dtype,
                             const char **out)
{
    const bool     part   = network_part_at(name) != NULL;
    network       *net    = NULL;
    bound_network *bound  = NULL;
    lm_status      status = open_at(l, name, image, &net);

    if (!status)
        status = bind_network(
            net, l->reg, &(bind_options){ .batch = 1, .dtype = dtype, .image = part ? 0 : image },
            &bound, l->err);
    if (!status && part && image && bound->n_data > 1)
        status = lm_error_set(l->err, LM_E_ARG,
                              "%s takes several inputs, whose shapes an observation cannot say: "
                              "leave 'image' out",
                              name);
    if (!status) {
        const char *input = bound->n_data == 1 ? bound->input : ""; /* of several: the file's */

        *out = arena_text(l->s->arena, input, strlen(input));
        if (!*out)
            status = no_memory(l->err);
    }
    bound_network_free(bound);
    network_free(net);
    return status;
}

/* Names of the measured parts of a network: itself, the listed blocks, or all outermost blocks. */
typedef struct parts {
    char **name; /* in the arena */
    size_t n, room;
} parts;

static lm_status add_part(sweep_loading *l, parts *p, const char *whole, const char *block)
{
    const size_t size = strlen(whole) + strlen(NETWORK_PART) + strlen(block) + 1;
    char       **more = arena_grow(l->s->arena, p->name, p->n, &p->room, sizeof *more);
    char        *name = arena_alloc(l->s->arena, size);

    if (!more || !name)
        return no_memory(l->err);
    snprintf(name, size, "%s%s%s", whole, *block ? NETWORK_PART : "", block);
    p->name      = more;
    more[p->n++] = name;
    return LM_OK;
}

static lm_status add_all_parts(sweep_loading *l, parts *p, const char *name)
{
    const char *last = NULL;
    network    *net;
    lm_status   status = network_open(name, l->reg, NULL, &net, l->err);

    if (status)
        return status;
    for (size_t i = 0; i < net->n_layers && !status; i++) {
        const char *block = net->layer[i].block;

        if (block && (!last || strcmp(last, block) != 0))
            status = add_part(l, p, name, block);
        last = block;
    }
    network_free(net);
    return status || p->n
               ? status
               : lm_error_set(l->err, LM_E_NOTFOUND,
                              "%s: no [block ...] in its file: list its blocks by name", name);
}

static bool takes_all(const sweep_values *v)
{
    return v->blocks.n == 1 && !strcmp(v->blocks.at[0], ALL_BLOCKS);
}

static lm_status parts_of(sweep_loading *l, const sweep_values *v, const char *name, parts *out)
{
    lm_status status = LM_OK;

    *out = (parts){ NULL, 0, 0 };
    if (!v->blocks.n)
        return add_part(l, out, name, "");
    if (takes_all(v))
        return add_all_parts(l, out, name);
    for (size_t i = 0; i < v->blocks.n && !status; i++)
        status = add_part(l, out, name, v->blocks.at[i]);
    return status;
}

/* Visits all points of one network in one variant. Images that are too small are left out, unless
 * no other remains. With `all`, blocks that cannot be cut out are left out. */
static lm_status visit_network(sweep_loading *l, const sweep_values *v, sweep_point *p,
                               sweep_visitor each, void *context)
{
    const int64_t    zero = 0, one = 1;
    const count_list image = sweep_list_or(v->image, &zero), batch = sweep_list_or(v->batch, &one);
    lm_status        status = LM_OK;
    size_t           fits   = 0;

    for (size_t k = 0; k < image.n; k++) {
        status = input_shape(l, p->row.name, image.at[k], p->row.dtype, &p->row.input);
        if (status == LM_E_SHAPE && (fits || k + 1 < image.n || takes_all(v))) {
            l->s->n_filtered += batch.n;
            continue;
        }
        fits++;
        for (size_t b = 0; b < batch.n && !status; b++) {
            p->row.batch = batch.at[b];
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
    sweep_variants  variants;
    sweep_point     p      = { .row = sweep_row() };
    lm_status       status = LM_OK;
    const ini_pair *where  = ini_get(s, "networks");

    p.row.on = l->limits.on;
    if (!where) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'networks =' is missing");
        return sweep_fail_at(l, s->line, status, s->name);
    }
    if ((status = sweep_variants_read(l, s, v, &variants)))
        return status;
    for (size_t i = 0; i < v->networks.n; i++) {
        parts of;

        status = parts_of(l, v, v->networks.at[i], &of);
        for (size_t k = 0; k < of.n * variants.n && !status; k++) {
            p.row.name = of.name[k / variants.n];
            status     = sweep_variant(l, &variants, k % variants.n, &p);
            if (!status)
                status = visit_network(l, v, &p, each, context);
        }
        if (status)
            return sweep_fail_at(l, where->line, status, "networks");
    }
    return LM_OK;
}

/* Is there an equal block already? Models could not tell the two apart. */
static bool has_alike(const sweep_loading *l, const sweep_point *p)
{
    for (size_t i = 0; i < l->s->n_points; i++) {
        const sweep_point *q = &l->s->point[i];

        if (q->row.kind == OBS_NETWORK && network_part_at(q->row.name) &&
            q->row.batch == p->row.batch && q->row.dtype == p->row.dtype &&
            !strcmp(q->row.input, p->row.input) && !strcmp(q->row.settings, p->row.settings) &&
            strcmp(q->row.name, p->row.name) != 0 &&
            !memcmp(&q->counts, &p->counts, sizeof p->counts))
            return true;
    }
    return false;
}

static lm_status add_network(sweep_loading *l, const sweep_values *v, const sweep_point *at,
                             void *context)
{
    const workload_name of = row_workload(&at->row, false);
    sweep_point         p  = *at;
    sweep_work          work;
    lm_status           status;

    p.row.kind      = OBS_NETWORK;
    p.row.algorithm = "default";
    status          = workloads_counts(l->loads, &of, p.row.batch, &p.counts, l->err);
    work            = sweep_work_of_counts(&p.counts);
    if (!status && takes_all(v) && has_alike(l, &p))
        return LM_OK;
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
    lm_status status = sweep_read(l, s, keys, v);

    return status ? status : sweep_visit_networks(l, s, v, add_network, &v->steps);
}
