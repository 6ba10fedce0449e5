/* Dimensions of a network that a layout divides. */
#include "program/facts.h"

#include <string.h>

#include "layers/schema.h"
#include "network/metrics.h"

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Value of an integer key; 0: the layer has none. */
static int64_t key_of(const bound_layer *l, const char *name)
{
    const uint32_t at = schema_find(&l->entry->type, name);

    return at < l->entry->type.n_params ? l->param[at].u.i[0] : 0;
}

layout_facts layout_facts_of(const bound_network *net)
{
    layout_facts f      = { .tokens = metrics_tokens(net), .copies = net->options.evaluation };
    const char  *before = NULL;

    for (size_t i = 0; i < net->n_layers; i++) {
        const bound_layer *l     = &net->layer[i];
        const char        *block = l->decl->block;

        if (l->decl->way == LM_HEADS) {
            f.heads    = greatest_divisor(f.heads, key_of(l, "heads"));
            f.kv_heads = greatest_divisor(f.kv_heads, key_of(l, "kv_heads"));
        }
        f.experts = greatest_divisor(f.experts, key_of(l, "experts"));
        f.blocks += block && (!before || strcmp(block, before) != 0);
        before = block ? block : before;
    }
    return f;
}
