/* Pairs of linear layers in networks without marks. */
#include "onnx/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

#define NONE ((size_t)-1)

typedef struct marking {
    network *net;
    size_t  *reads; /* by layer: number of readers of its outputs */
    bool    *tied;  /* by layer: does it share parameters? */
} marking;

/* Is it elementwise with one input? */
static bool is_elementwise(const net_layer *l)
{
    static const char *const types[] = { "relu",    "relu6",    "leaky_relu", "gelu",
                                         "silu",    "sigmoid",  "tanh",       "elu",
                                         "dropout", "identity", "scale",      "square" };
    const size_t             n       = sizeof types / sizeof *types;

    return l->n_inputs == 1 && text_place(l->type, types, n) < n;
}

static bool is_free(const marking *m, size_t i)
{
    const net_layer *l = &m->net->layer[i];

    return !strcmp(l->type, "linear") && l->n_inputs == 1 && l->way == LM_WHOLE && !m->tied[i];
}

/* Goes back over elementwise layers to the first other layer; NONE: one of them has several
 * readers. */
static size_t skip_elementwise(const marking *m, size_t i)
{
    while (m->reads[i] == 1 && is_elementwise(&m->net->layer[i]))
        i = m->net->layer[i].input[0].layer;
    return m->reads[i] == 1 ? i : NONE;
}

static size_t linear_before(const marking *m, size_t i)
{
    const size_t at = skip_elementwise(m, i);

    return at != NONE && is_free(m, at) ? at : NONE;
}

/* Marks layer i as rows if columns precede it: one layer, or two as factors of a gate. */
static void mark_before(const marking *m, size_t i)
{
    net_layer *all = m->net->layer;
    size_t     at  = skip_elementwise(m, all[i].input[0].layer), first, second;

    if (at == NONE)
        return;
    first = second = at;
    if (!strcmp(all[at].type, "multiply") && all[at].n_inputs == 2) {
        first  = all[at].input[0].layer;
        second = all[at].input[1].layer;
    }
    first  = linear_before(m, first);
    second = linear_before(m, second);
    if (first == NONE || second == NONE)
        return;
    all[first].way = all[second].way = LM_COLUMNS;
    all[i].way                       = LM_ROWS;
}

lm_status pairs_mark(network *net, lm_error *err)
{
    const size_t n    = net->n_layers;
    marking      m    = { .net   = net,
                          .reads = calloc(n + 1, sizeof *m.reads),
                          .tied  = calloc(n + 1, sizeof *m.tied) };
    const bool   room = m.reads && m.tied;

    for (size_t i = 0; i < n && room; i++) {
        for (size_t k = 0; k < net->layer[i].n_inputs; k++)
            m.reads[net->layer[i].input[k].layer]++;
        if (net->layer[i].shares)
            m.tied[i] = m.tied[net->layer[i].shares - net->layer] = true;
    }
    for (size_t i = 0; i < n && room; i++)
        if (is_free(&m, i))
            mark_before(&m, i);
    free(m.reads);
    free(m.tied);
    return room ? LM_OK : no_memory(err);
}
