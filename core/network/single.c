/* Networks of one layer or a short chain. */
#include "network/single.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "layers/schema.h"
#include "network/build.h"

enum { INPUTS_MAX = 16, CHAIN_MAX = 8 };

/* "3x224x224" or "128:i64" */
static lm_status add_input(net_builder *b, char *text, size_t layer, size_t at, lm_error *err)
{
    char     *dtype = strchr(text, ':');
    int64_t   dim[LM_MAX_RANK];
    size_t    rank, data;
    int32_t   known;
    char      name[32];
    lm_status status;

    if (dtype) {
        *dtype++ = '\0';
        dtype    = text_trim(dtype);
        if ((status = text_dtype(dtype, &known, err)))
            return status;
    }
    text = text_trim(text);
    if ((status = text_shape(text, dim, LM_MAX_RANK - 1, &rank, err)))
        return status;
    snprintf(name, sizeof name, "input%zu", at);
    data = build_layer(b, name, "input");
    build_key(b, data, "shape", "%s", text);
    if (dtype)
        build_key(b, data, "dtype", "%s", dtype);
    build_input(b, layer, (net_edge){ data, 0 });
    return LM_OK;
}

static lm_status add_inputs(net_builder *b, const char *input, size_t layer, lm_error *err)
{
    char     *copy = strdup(input), *part[INPUTS_MAX + 1];
    size_t    n    = copy ? text_split(copy, ',', part, INPUTS_MAX + 1) : 0;
    lm_status status;

    if (!copy)
        return no_memory(err);
    status = n > INPUTS_MAX ? lm_error_set(err, LM_E_ARG, "more than %d", INPUTS_MAX) : LM_OK;
    for (size_t i = 0; i < n && !status; i++)
        status = add_input(b, part[i], layer, i, err);
    free(copy);
    if (status)
        lm_error_prefix(err, "input");
    return status;
}

/* "filters=64". The builder keeps the type's pointer to the key's name. */
static lm_status add_key(net_builder *b, char *word, const lm_layer_type *type, size_t layer,
                         uint64_t *given, lm_error *err)
{
    char    *equals = strchr(word, '=');
    uint32_t at;

    if (!equals || equals == word || !equals[1])
        return lm_error_set(err, LM_E_SYNTAX, "geometry: expected KEY=VALUE, found '%.60s'", word);
    *equals = '\0';
    at      = schema_find(type, word);
    if (at == type->n_params)
        return lm_error_set(err, LM_E_NOTFOUND, "geometry: '%s' has no key '%.60s'", type->name,
                            word);
    if (at < 64 && *given >> at & 1)
        return lm_error_set(err, LM_E_SYNTAX, "geometry: '%s' is given twice", word);
    *given |= at < 64 ? UINT64_C(1) << at : 0;
    build_key(b, layer, schema_param(type, at).name, "%s", equals + 1);
    return LM_OK;
}

static lm_status add_keys(net_builder *b, const char *geometry, const lm_layer_type *type,
                          size_t layer, lm_error *err)
{
    char     *copy = strdup(geometry), *next = copy, *word;
    uint64_t  given  = 0;
    lm_status status = copy ? LM_OK : no_memory(err);

    while (!status && (word = strtok_r(next, " ", &next)))
        status = add_key(b, word, type, layer, &given, err);
    free(copy);
    return status;
}

/* A layer of the chain: the first reads `input`, any other the one before it. */
static lm_status add_layer(net_builder *b, const char *type, const char *geometry,
                           const char *input, const registry *reg, size_t at, size_t *layer,
                           lm_error *err)
{
    const size_t          before = *layer;
    const registry_entry *entry;
    char                  name[88];
    lm_status             status = registry_need(reg, type, &entry, err);

    if (status)
        return status;
    snprintf(name, sizeof name, at ? "%.60s%zu" : "%.60s", type, at);
    *layer = build_layer(b, name, entry->type.name);
    if (at)
        build_input(b, *layer, (net_edge){ before, 0 });
    else if (!*input)
        status = lm_error_set(err, LM_E_SYNTAX, "input: a layer needs its shape");
    else
        status = add_inputs(b, input, *layer, err);
    return status ? status : add_keys(b, geometry, &entry->type, *layer, err);
}

static lm_status single_network(const char *type, const char *geometry, const char *input,
                                const registry *reg, network **out, lm_error *err)
{
    net_builder *b     = build_new("single layer", type);
    char        *types = strdup(type), *keys = strdup(geometry);
    char        *name[CHAIN_MAX + 1], *key[CHAIN_MAX + 1];
    size_t       layer = 0, n = 0, n_keys = 0;
    lm_status    status = b && types && keys ? LM_OK : no_memory(err);

    if (!status) {
        n      = text_split(types, ';', name, CHAIN_MAX + 1);
        n_keys = text_split(keys, ';', key, CHAIN_MAX + 1);
        if (n > CHAIN_MAX)
            status = lm_error_set(err, LM_E_ARG, "more than %d layers", CHAIN_MAX);
        else if (n_keys > n)
            status = lm_error_set(err, LM_E_SYNTAX,
                                  "geometry: of more layers than there are: '%.60s'", key[n]);
    }
    for (size_t i = 0; i < n && !status; i++)
        status = add_layer(b, name[i], i < n_keys ? key[i] : "", input, reg, i, &layer, err);
    free(types);
    free(keys);
    if (status) {
        build_free(b);
        return status;
    }
    return build_finish(b, out, err);
}

lm_status single_bind(const char *type, const char *geometry, const char *input, int64_t batch,
                      lm_dtype dtype, const registry *reg, network **net, bound_network **out,
                      lm_error *err)
{
    const bind_options as = { .batch = batch, .dtype = dtype };

    return single_bind_as(type, geometry, input, &as, reg, net, out, err);
}

lm_status single_bind_as(const char *type, const char *geometry, const char *input,
                         const bind_options *as, const registry *reg, network **net,
                         bound_network **out, lm_error *err)
{
    bind_options options = *as;
    network     *made    = NULL;
    lm_status    status  = single_network(type, geometry, input, reg, &made, err);

    options.input_gradient = true;
    if (!status)
        status = bind_network(made, reg, &options, out, err);
    if (status) {
        network_free(made);
        return status;
    }
    *net = made;
    return LM_OK;
}
