/* A network built by function calls. */
#include "network/build.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/graph.h"
#include "base/names.h"
#include "base/no_memory.h"

#define LAYERS_MAX 200000 /* as of a network file */
#define NONE       ((size_t)-1)
#define NAME_BYTES 160 /* a section's name needs room for a number behind it */

typedef struct draft {
    net_layer layer;
    size_t    pair_room, input_room;
    size_t    owner; /* owner of its parameters; NONE: itself */
    bool      wanted;
} draft;

struct net_builder {
    arena   *arena;
    network *net;
    draft   *draft; /* malloc'ed */
    size_t   n, room;
    names    by_name;
    names    last_number; /* name -> the last number put behind it */
    bool     no_memory, too_many;
    bool     outputs; /* some layers are marked as wanted */
};

net_builder *build_new(const char *path, const char *name)
{
    arena       *a   = arena_new();
    net_builder *b   = calloc(1, sizeof *b);
    network     *net = a ? arena_alloc(a, sizeof *net) : NULL;

    if (!b || !net || !(net->path = arena_text(a, path, strlen(path))) ||
        !(net->name = arena_text(a, name, strlen(name)))) {
        arena_free(a);
        free(b);
        return NULL;
    }
    net->arena = a;
    b->arena   = a;
    b->net     = net;
    return b;
}

/* Frees all that the network does not own. */
static void free_drafts(net_builder *b)
{
    names_free(&b->by_name);
    names_free(&b->last_number);
    free(b->draft);
    free(b);
}

void build_free(net_builder *b)
{
    if (!b)
        return;
    arena_free(b->arena);
    free_drafts(b);
}

static bool failed(const net_builder *b)
{
    return b->no_memory || b->too_many;
}

/* Makes a legal section name: letters, digits, '_', '-' and single dots. It is no block, no range
 * ("a.0..5") and no reserved name. */
static void make_legal(const char *name, char *out)
{
    size_t n = 0;

    for (; *name && n < NAME_BYTES - 2; name++) {
        if (isalnum((unsigned char)*name) || *name == '-')
            out[n++] = *name;
        else if (*name != '.' && *name != '/')
            out[n++] = '_';
        else if (n && out[n - 1] != '.')
            out[n++] = '.';
    }
    while (n && out[n - 1] == '.')
        n--;
    out[n] = '\0';
    if (!n || !strcmp(out, "network") || !strcmp(out, "arguments") || !strcmp(out, "none"))
        strcat(out, "_");
}

/* The name itself, or with the first free number behind it. */
static char *make_unique(net_builder *b, const char *name)
{
    char   legal[NAME_BYTES], numbered[NAME_BYTES + 24];
    size_t at, number;
    char  *kept;

    make_legal(name, legal);
    if (names_find(&b->by_name, legal) == NAMES_NONE)
        return arena_text(b->arena, legal, strlen(legal));
    at     = names_find(&b->last_number, legal);
    number = at == NAMES_NONE ? 1 : at;
    do
        snprintf(numbered, sizeof numbered, "%s_%zu", legal, ++number);
    while (names_find(&b->by_name, numbered) != NAMES_NONE);
    kept = arena_text(b->arena, legal, strlen(legal));
    if (!kept || !names_set(&b->last_number, kept, number))
        return NULL;
    return arena_text(b->arena, numbered, strlen(numbered));
}

size_t build_layer(net_builder *b, const char *name, const char *type)
{
    char *kept;

    if (failed(b))
        return 0;
    if (b->n == LAYERS_MAX) {
        b->too_many = true;
        return 0;
    }
    kept = make_unique(b, name);
    if (!kept || !array_grow(&b->draft, b->n, &b->room, sizeof *b->draft) ||
        !names_add(&b->by_name, kept, b->n)) {
        b->no_memory = true;
        return 0;
    }
    b->draft[b->n] = (draft){ .layer = { .name = kept, .type = type }, .owner = NONE };
    return b->n++;
}

static char *format(net_builder *b, const char *fmt, va_list args)
{
    char text[512];
    int  n = vsnprintf(text, sizeof text, fmt, args);

    if (n < 0)
        return NULL;
    return arena_text(b->arena, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void build_key(net_builder *b, size_t layer, const char *key, const char *fmt, ...)
{
    draft    *d;
    net_pair *more;
    char     *value;
    va_list   args;

    if (failed(b))
        return;
    d = &b->draft[layer];
    va_start(args, fmt);
    value = format(b, fmt, args);
    va_end(args);
    more = arena_grow(b->arena, d->layer.pair, d->layer.n_pairs, &d->pair_room, sizeof *more);
    if (!value || !more) {
        b->no_memory = true;
        return;
    }
    more[d->layer.n_pairs++] = (net_pair){ .key = key, .value = value };
    d->layer.pair            = more;
}

void build_input(net_builder *b, size_t layer, net_edge from)
{
    draft    *d;
    net_edge *more;

    if (failed(b))
        return;
    d    = &b->draft[layer];
    more = arena_grow(b->arena, d->layer.input, d->layer.n_inputs, &d->input_room, sizeof *more);
    if (!more) {
        b->no_memory = true;
        return;
    }
    more[d->layer.n_inputs++] = from;
    d->layer.input            = more;
}

void build_shares(net_builder *b, size_t layer, size_t owner)
{
    if (!failed(b))
        b->draft[layer].owner = owner;
}

void build_output(net_builder *b, size_t layer)
{
    if (!failed(b))
        b->draft[layer].wanted = b->outputs = true;
}

void build_note(net_builder *b, const char *fmt, ...)
{
    const char *old = b->net->note;
    char       *text, *joined;
    va_list     args;

    if (failed(b))
        return;
    va_start(args, fmt);
    text = format(b, fmt, args);
    va_end(args);
    joined = text && old ? arena_alloc(b->arena, strlen(old) + strlen(text) + 3) : text;
    if (!joined) {
        b->no_memory = true;
        return;
    }
    if (old)
        sprintf(joined, "%s; %s", old, text);
    b->net->note = joined;
}

static size_t layer_input(const void *of, size_t at, size_t k)
{
    const net_layer *l = &((const net_builder *)of)->draft[at].layer;

    return k < l->n_inputs ? l->input[k].layer : GRAPH_END;
}

static lm_status order_layers(const net_builder *b, size_t *order, lm_error *err)
{
    size_t          cycle  = 0;
    const lm_status status = graph_order(&(graph){ b->n, layer_input, b }, order, &cycle);

    if (status == LM_E_SYNTAX)
        lm_error_set(err, status, "%s: layer '%s' is its own input, through a cycle", b->net->path,
                     b->draft[cycle].layer.name);
    else if (status)
        no_memory(err);
    return status;
}

/* Inputs of a wanted layer are wanted. In backward order each layer comes before its inputs. */
static void mark_wanted(net_builder *b, const size_t *order)
{
    for (size_t o = b->n; o-- > 0;) {
        const draft *d = &b->draft[order[o]];

        for (size_t k = 0; k < d->layer.n_inputs && d->wanted; k++)
            b->draft[d->layer.input[k].layer].wanted = true;
    }
}

/* The layers in order, their inputs by place. */
static void place_layers(net_builder *b, const size_t *order, size_t *place)
{
    network *net = b->net;

    if (b->outputs)
        mark_wanted(b, order);
    for (size_t o = 0; o < b->n; o++)
        if (b->draft[order[o]].wanted || !b->outputs)
            place[order[o]] = net->n_layers++;
        else
            place[order[o]] = NONE;
    for (size_t i = 0; i < b->n; i++) {
        const draft *d     = &b->draft[i];
        net_edge    *input = (net_edge *)(uintptr_t)d->layer.input;

        if (place[i] == NONE)
            continue;
        net->layer[place[i]] = d->layer;
        if (d->owner != NONE && place[d->owner] != NONE)
            net->layer[place[i]].shares = &net->layer[place[d->owner]];
        for (size_t k = 0; k < d->layer.n_inputs; k++)
            input[k].layer = place[input[k].layer];
    }
}

lm_status build_finish(net_builder *b, network **out, lm_error *err)
{
    network  *net    = b->net;
    size_t   *order  = malloc(2 * (b->n + 1) * sizeof *order);
    lm_status status = LM_OK;

    if (b->too_many)
        status = lm_error_set(err, LM_E_SYNTAX, "%s: more than %d layers", net->path, LAYERS_MAX);
    else if (!order || b->no_memory ||
             !(net->layer = arena_array(b->arena, b->n + 1, sizeof *net->layer)))
        status = no_memory(err);
    else
        status = order_layers(b, order, err);
    if (status) {
        free(order);
        build_free(b);
        return status;
    }
    place_layers(b, order, order + b->n + 1);
    free(order);
    free_drafts(b);
    *out = net;
    return LM_OK;
}
