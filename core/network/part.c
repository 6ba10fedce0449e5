/* A block of a network as a network of its own, and a network with adapters. */
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

/* State of cutting a block out of a network. */
typedef struct cutting {
    network             *net;
    const bound_network *whole; /* at batch 2: distinguishes the batch from dimensions of 1 */
    net_layer           *layer; /* index in the part: its data first, then its layers */
    net_edge            *from;  /* by data input of the part: its edge in the whole */
    size_t              *place; /* by layer of the whole: its index in the part; NONE: outside */
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

    if (t->rank < 2 || t->dim[0] != c->whole->options.batch)
        return lm_error_set(c->err, LM_E_SHAPE,
                            "it takes '%s', which is no sample of a batch: it cannot be cut out",
                            source->decl->name);
    for (uint32_t i = 1; i < t->rank; i++)
        text_add(shape, sizeof shape, "%s%lld", i > 1 ? "x" : "", (long long)t->dim[i]);
    snprintf(name, sizeof name, "data%zu", c->n_data);
    kept = arena_text(c->net->arena, name, strlen(name));
    if (!pair || !kept || !(pair[0].value = arena_text(c->net->arena, shape, strlen(shape))))
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

/* ---- adapters ---- */

#define ADAPTER_LAYERS 4 /* A, B, scale, add */
#define ADAPTER_NAMES  16

typedef struct adapting {
    network    *net;
    net_layer  *layer; /* layers of the result */
    size_t     *place; /* by old layer: its substitute as an input of others */
    size_t     *own;   /* by old layer: its new index */
    size_t      n;
    const char *rank;
    char       *name[ADAPTER_NAMES];
    size_t      n_names;
    bool        blocks; /* the network has blocks */
    lm_error   *err;
} adapting;

static lm_status read_adapters(adapting *a, const char *words)
{
    char     *text = arena_text(a->net->arena, words, strlen(words)), *names; /* holds the keys */
    int64_t   rank = 0;
    lm_status status;

    if (!text)
        return no_memory(a->err);
    if ((names = strchr(text, '+')))
        *names++ = '\0';
    if ((status = text_int(text, &rank, a->err)) || rank < 1 || rank > 1000000)
        return lm_error_set(a->err, LM_E_ARG,
                            NETWORK_LORA
                            ": expected a rank from 1 to 1000000, then +NAME of layers, "
                            "found '%.60s'",
                            words);
    a->rank    = text;
    a->n_names = names ? text_split(names, '+', a->name, ADAPTER_NAMES) : 0;
    return LM_OK;
}

static bool is_adapted(const adapting *a, const net_layer *l)
{
    const char *dot  = strrchr(l->name, '.');
    const char *last = dot ? dot + 1 : l->name;

    if (strcmp(l->type, "linear") != 0 || (a->blocks && !l->block))
        return false;
    for (size_t i = 0; i < a->n_names; i++)
        if (!strcmp(last, a->name[i]))
            return true;
    return !a->n_names;
}

static const char *features_of(const net_layer *l)
{
    for (size_t i = 0; i < l->n_pairs; i++)
        if (!strcmp(l->pair[i].key, "features"))
            return l->pair[i].value;
    return NULL;
}

/* A layer of the adapter beside `l`. */
static net_layer *add_layer(adapting *a, const net_layer *l, const char *end, const char *type,
                            size_t n_pairs, size_t n_inputs)
{
    const size_t size = strlen(l->name) + strlen(end) + 2;
    char        *name = arena_alloc(a->net->arena, size);
    net_pair    *pair = arena_array(a->net->arena, n_pairs + 1, sizeof *pair);
    net_edge    *in   = arena_array(a->net->arena, n_inputs + 1, sizeof *in);
    net_layer   *made = &a->layer[a->n++];

    if (!name || !pair || !in)
        return NULL;
    snprintf(name, size, "%s.%s", l->name, end);
    *made = (net_layer){ .name      = name,
                         .type      = type,
                         .pair      = pair,
                         .n_pairs   = n_pairs,
                         .input     = in,
                         .n_inputs  = n_inputs,
                         .line      = l->line,
                         .block     = l->block,
                         .used_line = l->used_line };
    return made;
}

static net_layer *add_linear(adapting *a, const net_layer *l, const char *end, const char *features,
                             net_edge from, lm_way way)
{
    net_layer *made = add_layer(a, l, end, "linear", 2, 1);

    if (made) {
        net_pair *pair = (net_pair *)(uintptr_t)made->pair;

        pair[0] = (net_pair){ .key = "features", .value = features, .line = l->line };
        pair[1] = (net_pair){ .key = "bias", .value = "no", .line = l->line };
        *(net_edge *)(uintptr_t)made->input = from;
        made->way                           = way;
    }
    return made;
}

/* Adds the adapter of the last layer. */
static lm_status adapt_layer(adapting *a)
{
    const size_t     at = a->n - 1;
    const net_layer *l  = &a->layer[at];
    const lm_way     in = l->way == LM_ROWS ? LM_ROWS : LM_WHOLE;
    net_layer       *scale, *add;

    if (!add_linear(a, l, "lora_A", a->rank, l->input[0], in) ||
        !add_linear(a, l, "lora_B", features_of(l), (net_edge){ at + 1, 0 },
                    l->way == LM_ROWS ? LM_WHOLE : l->way) ||
        !(scale = add_layer(a, l, "lora_scale", "scale", 0, 1)) ||
        !(add = add_layer(a, l, "lora_add", "add", 0, 2)))
        return no_memory(a->err);
    ((net_edge *)(uintptr_t)scale->input)[0] = (net_edge){ at + 2, 0 };
    ((net_edge *)(uintptr_t)add->input)[0]   = (net_edge){ at, 0 };
    ((net_edge *)(uintptr_t)add->input)[1]   = (net_edge){ at + 3, 0 };
    return LM_OK;
}

static lm_status copy_layer(adapting *a, const net_layer *old)
{
    net_edge *input = arena_array(a->net->arena, old->n_inputs + 1, sizeof *input);

    if (!input)
        return no_memory(a->err);
    for (size_t k = 0; k < old->n_inputs; k++)
        input[k] = (net_edge){ a->place[old->input[k].layer], old->input[k].output };
    a->layer[a->n]        = *old;
    a->layer[a->n].input  = input;
    a->layer[a->n].frozen = true;
    a->n++;
    return LM_OK;
}

static lm_status adapt_all(adapting *a)
{
    const network *net    = a->net;
    size_t         n      = 0;
    lm_status      status = LM_OK;

    for (size_t i = 0; i < net->n_layers; i++)
        a->blocks |= net->layer[i].block != NULL;
    for (size_t i = 0; i < net->n_layers; i++)
        n += is_adapted(a, &net->layer[i]) && features_of(&net->layer[i]);
    if (!n)
        return lm_error_set(a->err, LM_E_NOTFOUND,
                            NETWORK_LORA "=%s: no linear layer of its takes an adapter", a->rank);
    a->layer = arena_array(net->arena, net->n_layers + ADAPTER_LAYERS * n, sizeof *a->layer);
    a->place = arena_array(net->arena, net->n_layers + 1, sizeof *a->place);
    a->own   = arena_array(net->arena, net->n_layers + 1, sizeof *a->own);
    if (!a->layer || !a->place || !a->own)
        return no_memory(a->err);
    for (size_t i = 0; i < net->n_layers && !status; i++) {
        a->place[i] = a->own[i] = a->n;
        status                  = copy_layer(a, &net->layer[i]);
        if (status || !is_adapted(a, &net->layer[i]) || !features_of(&net->layer[i]))
            continue;
        status      = adapt_layer(a);
        a->place[i] = a->n - 1;
    }
    for (size_t i = 0; i < net->n_layers && !status; i++)
        if (net->layer[i].shares)
            a->layer[a->own[i]].shares = &a->layer[a->own[net->layer[i].shares - net->layer]];
    return status;
}

/* Notes the adapters among the settings. Published counts do not apply to them. */
static lm_status note_adapters(network *net, const char *words, lm_error *err)
{
    const size_t n   = (net->set ? strlen(net->set) : 0) + strlen(words) + 8;
    char        *set = arena_alloc(net->arena, n);

    if (!set || !(net->lora = arena_text(net->arena, words, strlen(words))))
        return no_memory(err);
    snprintf(set, n, "%s%s" NETWORK_LORA "=%s", net->set ? net->set : "", net->set ? " " : "",
             words);
    net->set              = set;
    net->published_params = net->published_macs = 0;
    return LM_OK;
}

lm_status network_adapt(network *net, const char *words, lm_error *err)
{
    adapting  a      = { .net = net, .err = err };
    lm_status status = read_adapters(&a, words);

    if (!status)
        status = adapt_all(&a);
    if (status) {
        lm_error_prefix(err, "%s", net->path);
        return status;
    }
    net->layer    = a.layer;
    net->n_layers = a.n;
    return note_adapters(net, words, err);
}
