/* Distinct operations of networks. */
#include "network/operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "layers/schema.h"
#include "network/metrics.h"

enum { TEXT = 600 };

static bool is_source(const bound_layer *l)
{
    return (l->entry->type.flags & LM_SOURCE) != 0;
}

/* "filters=64 kernel=3"; false: a row of observations cannot express it. */
static bool print_geometry(const bound_layer *l, char out[TEXT])
{
    const lm_layer_type *type = &l->entry->type;
    size_t               used = 0;

    *out = '\0';
    for (uint32_t i = 0; i < type->n_params && used < TEXT; i++) {
        const lm_param p = schema_param(type, i);
        char           value[256];

        if (schema_is_fallback(&p, &l->param[i]))
            continue;
        schema_print(&p, &l->param[i], value, sizeof value);
        if (!*value || strpbrk(value, " ;"))
            return false;
        used +=
            (size_t)snprintf(out + used, TEXT - used, "%s%s=%s", used ? " " : "", p.name, value);
    }
    return used < TEXT;
}

/* "64x56x56, 128:i64" */
static bool print_input(const bound_layer *l, const bind_options *o, char out[TEXT])
{
    size_t used = 0;

    *out = '\0';
    for (uint32_t k = 0; k < l->n_inputs && used < TEXT; k++) {
        const lm_tensor *t = &l->input[k];

        if (t->rank < 2 || t->dim[0] != o->batch)
            return false;
        for (uint32_t d = 1; d < t->rank && used < TEXT; d++)
            used += (size_t)snprintf(out + used, TEXT - used, "%s%lld",
                                     d > 1 ? "x"
                                     : k   ? ", "
                                           : "",
                                     (long long)t->dim[d]);
        if (t->dtype != o->dtype && used < TEXT)
            used += (size_t)snprintf(out + used, TEXT - used, ":%s", text_dtype_name(t->dtype));
    }
    return l->n_inputs && used < TEXT;
}

/* Is it a function: one input, one elementwise kernel, no weights? */
static bool is_function(const bound_layer *l)
{
    return l->n_inputs == 1 && l->n_kernels[LM_FORWARD] == 1 &&
           l->kernels[LM_FORWARD]->op == LM_OP_MAP && !l->n_weights && !l->n_shared;
}

/* The function that is the only reader of layer `at`; NULL: none. */
static const bound_layer *function_behind(const bound_network *net, size_t at)
{
    const bound_layer *only = NULL;
    size_t             n    = 0;

    for (size_t i = at + 1; i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++)
            if (net->layer[i].decl->input[k].layer == at) {
                only = &net->layer[i];
                n++;
            }
    return n == 1 && is_function(only) && !is_function(&net->layer[at]) ? only : NULL;
}

/* Does it form a chain with the layer before it? */
static bool in_chain(const bound_network *net, const bound_layer *l)
{
    const size_t before = l->decl->n_inputs ? l->decl->input[0].layer : net->n_layers;

    return before < net->n_layers && !is_source(&net->layer[before]) &&
           net->layer[before].n_kernels[LM_FORWARD] && function_behind(net, before) == l;
}

/* Prints a layer with the function behind it, if any; false: a row of observations cannot express
 * it. */
static bool print_operation(const bound_layer *l, const bound_layer *function,
                            const bind_options *o, char type[120], char geometry[2 * TEXT],
                            char input[TEXT])
{
    char first[TEXT], second[TEXT] = "";

    snprintf(type, 120, "%s%s%s", l->entry->type.name, function ? "; " : "",
             function ? function->entry->type.name : "");
    if (!print_geometry(l, first) || (function && !print_geometry(function, second)))
        return false;
    snprintf(geometry, (size_t)2 * TEXT, "%s%s%s", first, *second ? "; " : "", second);
    return print_input(l, o, input);
}

static lm_status add(operation_list *list, const bound_layer *l, const bound_layer *function,
                     const bind_options *o, lm_error *err)
{
    char   type[120], geometry[2 * TEXT], input[TEXT], key[3 * TEXT + 160];
    char  *kept;
    size_t at;

    if (!print_operation(l, function, o, type, geometry, input)) {
        if (!list->n_apart++)
            list->apart = l;
        return LM_OK;
    }
    snprintf(key, sizeof key, "%s|%s|%s", type, geometry, input);
    if ((at = names_find(&list->by_text, key)) != NAMES_NONE) {
        list->of[at].count++;
        return LM_OK;
    }
    if (!array_grow(&list->of, list->n, &list->room, sizeof *list->of) ||
        !(kept = arena_text(list->arena, key, strlen(key))) ||
        !names_add(&list->by_text, kept, list->n))
        return no_memory(err);
    list->of[list->n] =
        (net_operation){ .type     = arena_text(list->arena, type, strlen(type)),
                         .geometry = arena_text(list->arena, geometry, strlen(geometry)),
                         .input    = arena_text(list->arena, input, strlen(input)),
                         .layer    = l,
                         .count    = 1 };
    return list->of[list->n].type && list->of[list->n].geometry && list->of[list->n++].input
               ? LM_OK
               : no_memory(err);
}

lm_status operations_add(operation_list *list, const bound_network *net, const char *block,
                         bool chained, lm_error *err)
{
    lm_status status = LM_OK;
    size_t    found  = 0;

    if (!list->arena && !(list->arena = arena_new()))
        return no_memory(err);
    for (size_t i = 0; i < net->n_layers && !status; i++) {
        const bound_layer *l = &net->layer[i];

        if (is_source(l) || (block && !metrics_in_block(l->decl->name, block)))
            continue;
        found++;
        if (l->counted && !l->lowered)
            status = lm_error_set(
                err, LM_E_UNSUPPORTED,
                "%s: layer '%s': no backend can run a layer of type '%s', so a catalogue cannot have it",
                net->net->path, l->decl->name, l->decl->type);
        else if (l->n_kernels[LM_FORWARD] && (!chained || !in_chain(net, l)))
            status = add(list, l, chained ? function_behind(net, i) : NULL, &net->options, err);
    }
    return status || found ? status
                           : lm_error_set(err, LM_E_NOTFOUND, "%s: no layer '%s' and none under it",
                                          net->net->path, block ? block : "");
}

void operations_free(operation_list *list)
{
    names_free(&list->by_text);
    arena_free(list->arena);
    free(list->of);
    *list = (operation_list){ .n = 0 };
}
