/* Parts of a predicted step. */
#include "models/explanation.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"

lm_status explanation_add(explanation *e, const share *s, lm_error *err)
{
    if (e->n_shares == e->room) {
        const size_t room = e->room ? 2 * e->room : 256;
        share       *more = realloc(e->share, room * sizeof *more);

        if (!more)
            return no_memory(err);
        e->share = more;
        e->room  = room;
    }
    e->share[e->n_shares++] = *s;
    return LM_OK;
}

lm_status explanation_add_whole(explanation *e, phase part, const char *kernels, const char *name,
                                double seconds, term_bound bound, certainty standing, lm_error *err)
{
    const share s = { .layer       = NO_LAYER,
                      .part        = part,
                      .kernels     = kernels,
                      .regressor   = name,
                      .unit        = "s",
                      .count       = seconds,
                      .coefficient = 1,
                      .seconds     = seconds,
                      .bound       = bound,
                      .standing    = standing };

    return seconds > 0 ? explanation_add(e, &s, err) : LM_OK;
}

const char *explanation_keep(explanation *e, const char *text)
{
    return arena_text(e->arena, text, strlen(text));
}

lm_status explanation_name_layers(explanation *e, const bound_network *net, lm_error *err)
{
    e->n_layers = net->n_layers;
    e->layer    = arena_alloc(e->arena, (net->n_layers + 1) * sizeof *e->layer);
    for (size_t i = 0; e->layer && i < net->n_layers; i++) {
        e->layer[i] = (explained_layer){ explanation_keep(e, net->layer[i].decl->name),
                                         explanation_keep(e, net->layer[i].entry->type.name) };
        if (!e->layer[i].name || !e->layer[i].type)
            return no_memory(err);
    }
    return e->layer ? LM_OK : no_memory(err);
}

double explanation_seconds(const explanation *e, phase part)
{
    double sum = 0;

    for (size_t i = 0; i < e->n_shares; i++)
        sum += e->share[i].part == part ? e->share[i].seconds : 0;
    return sum;
}
