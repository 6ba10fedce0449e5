/* A block of a network as a network of its own. */
#include "network/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/bind.h"
#include "network/metrics.h"

#define NONE ((size_t)-1)

const char *network_part_at(const char *name)
{
    const char *last = NULL;

    while ((name = strstr(name, NETWORK_PART)))
        last = name++;
    return last;
}

/* A network while it is cut. */
typedef struct cutting {
    network             *net;
    const bound_network *whole; /* at batch 2, so that a batch is told from dimensions of 1 */
    net_layer           *layer; /* index in the part: its data first, then its layers */
    net_edge            *from;  /* of each data input of the part, its edge in the whole */
    size_t              *place; /* of each layer of the whole, its index in the part; NONE:
                                 * outside */
    size_t               n_data;
    lm_error            *err;
} cutting;

/* A data input with the shape of the edge in the whole. */
static lm_status add_data(cutting *c, net_edge from)
{
    const bound_layer *source     = &c->whole->layer[from.layer];
    const lm_tensor   *t          = &source->output[from.output];
    net_pair          *pair       = arena_array(c->net->arena, 2, sizeof *pair);
    char               shape[128] = "", name[24], *kept;
    size_t             used       = 0;

    if (t->rank < 2 || t->dim[0] != c->whole->options.batch)
        return lm_error_set(c->err, LM_E_SHAPE,
                            "it takes '%s', which is no sample of a batch: it cannot be cut out",
                            source->decl->name);
    for (uint32_t i = 1; i < t->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", i > 1 ? "x" : "",
                                 (long long)t->dim[i]);
    snprintf(name, sizeof name, "data%zu", c->n_data);
    kept = arena_text(c->net->arena, name, strlen(name));
    if (!pair || !kept || !(pair[0].value = arena_text(c->net->arena, shape, used)))
        return no_memory(c->err);
    pair[0].key          = "shape";
    pair[1]              = (net_pair){ .key = "dtype", .value = text_dtype_name(t->dtype) };
    c->layer[c->n_data]  = (net_layer){ .name    = kept,
                                        .type    = "input",
                                        .pair    = pair,
                                        .n_pairs = t->dtype == c->whole->options.dtype ? 1 : 2 };
    c->from[c->n_data++] = from;
    return LM_OK;
}

static size_t data_of(const cutting *c, net_edge from)
{
    size_t i = 0;

    while (i < c->n_data && (c->from[i].layer != from.layer || c->from[i].output != from.output))
        i++;
    return i;
}

/* Tensors that the block takes from outside become data inputs. */
static lm_status find_data(cutting *c)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < c->net->n_layers; i++)
        for (size_t k = 0; c->place[i] != NONE && k < c->net->layer[i].n_inputs && !status; k++) {
            const net_edge from = c->net->layer[i].input[k];

            if (c->place[from.layer] == NONE && data_of(c, from) == c->n_data)
                status = add_data(c, from);
        }
    return status;
}

static lm_status move_layer(cutting *c, size_t at)
{
    const net_layer *old   = &c->net->layer[at];
    net_edge        *input = arena_array(c->net->arena, old->n_inputs + 1, sizeof *input);
    net_layer       *l     = &c->layer[c->n_data + c->place[at]];
    size_t           owner = old->shares ? c->place[old->shares - c->net->layer] : NONE;

    if (!input)
        return no_memory(c->err);
    for (size_t k = 0; k < old->n_inputs; k++) {
        const net_edge from = old->input[k];

        input[k] = c->place[from.layer] == NONE
                       ? (net_edge){ data_of(c, from), 0 }
                       : (net_edge){ c->n_data + c->place[from.layer], from.output };
    }
    *l        = *old;
    l->input  = input;
    l->shares = owner == NONE ? NULL : &c->layer[c->n_data + owner];
    return LM_OK;
}

static lm_status cut(cutting *c, const char *block)
{
    network  *net = c->net;
    size_t    n = 0, edges = 0;
    lm_status status = LM_OK;

    for (size_t i = 0; i < net->n_layers; i++) {
        const bool in = metrics_in_block(net->layer[i].name, block);

        c->place[i] = in ? n++ : NONE;
        edges += in ? net->layer[i].n_inputs : 0;
    }
    if (!n)
        return lm_error_set(c->err, LM_E_NOTFOUND, "there is no such layer, and none under it");
    c->from  = arena_array(net->arena, edges + 1, sizeof *c->from);
    c->layer = arena_array(net->arena, n + edges, sizeof *c->layer);
    if (!c->from || !c->layer)
        return no_memory(c->err);
    status = find_data(c);
    for (size_t i = 0; i < net->n_layers && !status; i++)
        if (c->place[i] != NONE)
            status = move_layer(c, i);
    if (status)
        return status;
    net->layer    = c->layer;
    net->n_layers = n + c->n_data;
    return LM_OK;
}

/* The part has the block's name; published counts of the whole do not apply. */
static lm_status rename_part(network *net, const char *block, lm_error *err)
{
    const size_t n    = strlen(net->name) + strlen(NETWORK_PART) + strlen(block) + 1;
    char        *name = arena_alloc(net->arena, n);

    if (!name)
        return no_memory(err);
    snprintf(name, n, "%s" NETWORK_PART "%s", net->name, block);
    net->name             = name;
    net->source           = NULL;
    net->published_params = net->published_macs = 0;
    net->part                                   = true;
    return LM_OK;
}

lm_status network_cut(network *net, const char *block, int64_t image, const registry *reg,
                      lm_error *err)
{
    const bind_options options = { .batch = 2, .dtype = LM_F32, .image = image };
    bound_network     *whole   = NULL;
    cutting            c       = { .net = net, .err = err };
    lm_status          status  = bind_network(net, reg, &options, &whole, err);

    if (status)
        return status;
    c.whole = whole;
    if (!(c.place = malloc((net->n_layers + 1) * sizeof *c.place)))
        status = no_memory(err);
    if (!status && (status = cut(&c, block)))
        lm_error_prefix(err, "%s: block '%.80s'", net->path, block);
    free(c.place);
    bound_network_free(whole);
    return status ? status : rename_part(net, block, err);
}
