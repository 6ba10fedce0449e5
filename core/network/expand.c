/* Orders the nodes and converts them to layers, without the ports of blocks. */
#include "network/expand.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "base/graph.h"
#include "network/unfold.h"

/* Follows ports to the layer that feeds them. Ports form no cycle once the order is known. */
static net_edge behind_ports(const unfolding *u, net_edge e)
{
    while (!u->node[e.layer].section)
        e = u->node[e.layer].input[0];
    return e;
}

static size_t node_input(const void *of, size_t at, size_t k)
{
    const node *n = &((const unfolding *)of)->node[at];

    return k < n->n_inputs ? n->input[k].layer : GRAPH_END;
}

static lm_status order_nodes(unfolding *u, size_t *order)
{
    size_t          cycle  = 0;
    const lm_status status = graph_order(&(graph){ u->n_nodes, node_input, u }, order, &cycle);

    if (status == LM_E_SYNTAX)
        ini_fail(u->doc, u->err, u->node[cycle].line, status,
                 "layer '%s' is its own input, through a cycle", u->node[cycle].name);
    else if (status)
        no_memory(u->err);
    return status;
}

static lm_status mark_outputs(unfolding *u, name_scope *top, const char *output, int line)
{
    char       *part[INPUTS_MAX];
    size_t      n;
    const char *text;
    lm_status   status;

    for (size_t i = 0; i < u->n_nodes; i++)
        for (size_t k = 0; k < u->node[i].n_inputs; k++)
            u->node[u->node[i].input[k].layer].used = true;
    if (!output) {
        u->node[top->last].used = true;
    } else {
        if ((status = block_substitute(&u->blocks, &top->env, output, line, &text)))
            return status;
        n = text_split((char *)(uintptr_t)text, ',', part, INPUTS_MAX);
        for (size_t i = 0; i < n; i++) {
            const size_t at = names_find(&u->by_name, part[i]);

            if (at == NAMES_NONE)
                return ini_fail(u->doc, u->err, line, LM_E_NOTFOUND,
                                "output: there is no layer '%s'", part[i]);
            u->node[at].used = true;
        }
    }
    for (size_t i = 0; i < u->n_nodes; i++)
        if (!u->node[i].used)
            return ini_fail(
                u->doc, u->err, u->node[i].line, LM_E_SYNTAX,
                u->node[i].section
                    ? "layer '%s' is used by no other layer: remove it or name it under "
                      "[network] output ="
                    : "block '%s' does not use all of its inputs",
                u->node[i].name);
    return LM_OK;
}

static lm_status emit_layers(unfolding *u, const size_t *order)
{
    network *net   = u->net;
    size_t  *index = malloc((u->n_nodes + 1) * sizeof *index);

    net->layer = arena_array(net->arena, u->n_nodes + 1, sizeof *net->layer);
    if (!index || !net->layer) {
        free(index);
        return no_memory(u->err);
    }
    for (size_t o = 0; o < u->n_nodes; o++) {
        node *n = &u->node[order[o]];

        if (!n->section)
            continue;
        for (size_t k = 0; k < n->n_inputs; k++) {
            net_edge e = behind_ports(u, n->input[k]);

            n->input[k] = e;
        }
        index[order[o]]             = net->n_layers;
        net->layer[net->n_layers++] = (net_layer){
            .name      = n->name,
            .type      = n->type,
            .pair      = n->pair,
            .n_pairs   = n->n_pairs,
            .input     = n->input,
            .n_inputs  = n->n_inputs,
            .line      = n->line,
            .block     = n->block,
            .used_line = n->used_line,
            .counted   = n->counted,
            .way       = n->way,
            .frozen    = n->frozen,
        };
    }
    for (size_t o = 0; o < u->n_nodes; o++) {
        node *n = &u->node[order[o]];

        for (size_t k = 0; n->section && k < n->n_inputs; k++)
            n->input[k].layer = index[n->input[k].layer];
    }
    for (size_t i = 0; i < u->n_nodes; i++)
        if (u->node[i].shares != NONE)
            net->layer[index[i]].shares = &net->layer[index[u->node[i].shares]];
    free(index);
    return LM_OK;
}

static bool is_layer(const char *section)
{
    return strcmp(section, "network") && strcmp(section, "arguments") &&
           strncmp(section, "block ", 6) && !block_slash(section);
}

static lm_status unfold_file(unfolding *u, const environment *arguments, const char *output,
                             int output_line)
{
    const ini_document *doc   = u->doc;
    const ini_section **item  = calloc(doc->n_sections + 1, sizeof *item);
    name_scope          top   = { .prefix = "", .env = *arguments, .last = NONE };
    size_t              n     = 0, last;
    size_t             *order = NULL;
    lm_status           status;

    if (!item)
        return no_memory(u->err);
    for (size_t i = 0; i < doc->n_sections; i++)
        if (is_layer(doc->section[i].name))
            item[n++] = &doc->section[i];
    status = unfold_scope(u, &top, item, n, &last);
    if (!status && last == NONE)
        status = lm_error_set(u->err, LM_E_SYNTAX, "%s: a network without layers", doc->path);
    if (!status)
        status = mark_outputs(u, &top, output, output_line);
    if (!status && !(order = malloc((u->n_nodes + 1) * sizeof *order)))
        status = no_memory(u->err);
    if (!status)
        status = order_nodes(u, order);
    if (!status)
        status = emit_layers(u, order);
    free(order);
    free(item);
    names_free(&top.local);
    return status;
}

lm_status expand_layers(const ini_document *doc, const environment *arguments, const char *output,
                        int output_line, network *net, lm_error *err)
{
    unfolding u = {
        .doc = doc, .net = net, .err = err, .blocks = { doc, net->arena, err, NULL, 0, 0 }
    };
    lm_status status = block_collect(&u.blocks);

    if (!status)
        status = unfold_file(&u, arguments, output, output_line);
    block_free(&u.blocks);
    free(u.node);
    free(u.pending);
    names_free(&u.by_name);
    names_free(&u.line_of);
    return status;
}
