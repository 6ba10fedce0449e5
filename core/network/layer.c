/* Parameters and description of a single layer. */
#include "network/layer.h"

#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "layers/schema.h"

/* The nearest known key, for a message. */
static const char *nearest_key(const lm_layer_type *type, const char *key)
{
    for (size_t limit = 1; limit <= 2; limit++)
        for (uint32_t i = 0; i < type->n_params; i++)
            if (text_distance(key, schema_param(type, i).name, limit) <= limit)
                return schema_param(type, i).name;
    return NULL;
}

static lm_status unknown_key(const lm_layer_type *type, const char *key, lm_error *err)
{
    const char *near     = nearest_key(type, key);
    char        all[256] = "";

    if (near)
        return lm_error_set(err, LM_E_NOTFOUND, "'%s' has no key '%s' (did you mean '%s'?)",
                            type->name, key, near);
    for (uint32_t i = 0; i < type->n_params; i++)
        text_add(all, sizeof all, " %s", schema_param(type, i).name);
    return lm_error_set(err, LM_E_NOTFOUND, "'%s' has no key '%s' (its keys:%s)", type->name, key,
                        *all ? all : " none");
}

lm_status layer_params(const registry_entry *entry, const net_layer *decl, arena *a, lm_value **out,
                       int *line, lm_error *err)
{
    const lm_layer_type *type  = &entry->type;
    lm_value            *value = arena_array(a, type->n_params + 1, sizeof *value);
    lm_status            status;

    if (!value)
        return no_memory(err);
    *line = decl->line;
    for (size_t i = 0; i < decl->n_pairs; i++) {
        const net_pair *p  = &decl->pair[i];
        const uint32_t  at = schema_find(type, p->key);
        lm_param        param;

        if (at == type->n_params) {
            status = unknown_key(type, p->key, err);
        } else {
            param  = schema_param(type, at);
            status = schema_parse(&param, p->value, &value[at], err);
        }
        if (status) {
            *line = p->line;
            return status;
        }
    }
    for (uint32_t i = 0; i < type->n_params; i++) {
        lm_param param;
        char     what[96];

        if (!value[i].kind)
            value[i] = entry->fallback[i];
        if (value[i].kind)
            continue;
        param = schema_param(type, i);
        return lm_error_set(err, LM_E_ARG, "'%s' needs '%s =' (%s: %s)", type->name, param.name,
                            schema_describe(&param, what, sizeof what), param.doc ? param.doc : "");
    }
    *out = value;
    return LM_OK;
}

lm_status layer_check_inputs(const registry_entry *entry, size_t n, lm_error *err)
{
    const lm_layer_type *type = &entry->type;

    if (n >= type->min_inputs && (!type->max_inputs || n <= type->max_inputs))
        return LM_OK;
    return lm_error_set(err, LM_E_SHAPE, "'%s' takes %u%s input%s, %zu given: set 'inputs ='",
                        type->name, type->min_inputs,
                        type->max_inputs == type->min_inputs ? "" : " or more",
                        type->min_inputs == 1 && type->max_inputs == 1 ? "" : "s", n);
}

host_layer layer_view(const registry_entry *entry, const char *name, const lm_value *param,
                      const lm_tensor *input, uint32_t n_inputs, lm_dtype dtype, lm_error *err)
{
    return (host_layer){
        .layer = { .size      = sizeof(lm_layer),
                   .host      = &host_services,
                   .type      = entry->own,
                   .name      = name,
                   .param     = param,
                   .input     = input,
                   .n_params  = entry->type.n_params,
                   .n_inputs  = n_inputs,
                   .n_outputs = entry->type.n_outputs,
                   .dtype     = dtype },
        .err   = err,
    };
}

lm_status layer_explained(lm_status status, lm_error *err)
{
    if (status > 0)
        status = LM_E_SHAPE;
    if (!err->text[0])
        lm_error_set(err, status, "the plugin gives no reason");
    return status;
}

static lm_status check_outputs(const lm_tensor *output, uint32_t n, lm_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const lm_tensor *t = &output[i];

        if (t->rank > LM_MAX_RANK || !lm_dtype_bytes(t->dtype))
            return lm_error_set(err, LM_E_ABI, "the plugin gives an impossible output");
        for (uint32_t d = 0; d < t->rank; d++)
            if (t->dim[d] < 1)
                return lm_error_set(err, LM_E_SHAPE, "output dimension %u would be %lld", d,
                                    (long long)t->dim[d]);
        if (lm_bytes(t) == UINT64_MAX)
            return lm_error_set(err, LM_E_OVERFLOW, "output has more than 2^64 bytes");
    }
    return LM_OK;
}

lm_status layer_infer(const registry_entry *entry, host_layer *view, lm_tensor *output)
{
    lm_status status;

    view->err->text[0] = '\0';
    if ((status = entry->type.infer(&view->layer, output)))
        return layer_explained(status, view->err);
    view->layer.output = output;
    return check_outputs(output, entry->type.n_outputs, view->err);
}

lm_status layer_weights(const registry_entry *entry, const host_layer *view, host_sink *sink)
{
    lm_status status = LM_OK;

    sink->n_weights = 0;
    sink->status    = LM_OK;
    if (entry->type.weights)
        status = entry->type.weights(&view->layer, &sink->sink);
    if (!status)
        status = sink->status;
    return status ? layer_explained(status, view->err) : LM_OK;
}
