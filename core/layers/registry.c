/* Layer types by name. The registry calls no plugin code before it has accepted the plugin. */
#include "layers/registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "layers/schema.h"

struct registry {
    registry_entry             **entry; /* by name */
    size_t                       n, room;
    void                       **object; /* from dlopen() */
    size_t                       n_objects, object_room;
    arena                       *arena; /* entries and copies of names */
    const struct network_format *formats;
};

/* An error-free record of 1.0 is at least this long. */
#define TYPE_SIZE_1_0   offsetof(lm_layer_type, extension) + sizeof(void *)
#define PLUGIN_SIZE_1_0 sizeof(lm_plugin)
#define PARAM_SIZE_1_0  offsetof(lm_param, unit)

/* Limits of counts in a descriptor; larger ones are errors. */
#define MOST_TYPES  4096
#define MOST_PARAMS 256

lm_status registry_new(registry **out, lm_error *err)
{
    registry *reg = calloc(1, sizeof *reg);

    if (reg && !(reg->arena = arena_new())) {
        free(reg);
        reg = NULL;
    }
    if (!reg)
        return no_memory(err);
    *out = reg;
    return LM_OK;
}

void registry_free(registry *reg)
{
    if (!reg)
        return;
    for (size_t i = 0; i < reg->n_objects; i++)
        dlclose(reg->object[i]);
    free(reg->object);
    free(reg->entry);
    arena_free(reg->arena);
    free(reg);
}

/* Index of `name`, or its place in the order. */
static size_t place(const registry *reg, const char *name)
{
    size_t low = 0, high = reg->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (strcmp(reg->entry[middle]->type.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const registry_entry *registry_find(const registry *reg, const char *name)
{
    const size_t i = place(reg, name);

    return i < reg->n && !strcmp(reg->entry[i]->type.name, name) ? reg->entry[i] : NULL;
}

size_t registry_count(const registry *reg)
{
    return reg->n;
}

const registry_entry *registry_at(const registry *reg, size_t i)
{
    return reg->entry[i];
}

const char *registry_suggest(const registry *reg, const char *name)
{
    const char *best     = NULL;
    size_t      distance = TEXT_NEAR;

    for (size_t i = 0; i < reg->n; i++)
        if (text_nearer(name, reg->entry[i]->type.name, &distance))
            best = reg->entry[i]->type.name;
    return best;
}

lm_status registry_need(const registry *reg, const char *name, const registry_entry **out,
                        lm_error *err)
{
    const char *near;

    *out = registry_find(reg, name);
    if (*out)
        return LM_OK;
    near = registry_suggest(reg, name);
    return lm_error_set(err, LM_E_NOTFOUND, "unknown layer type '%s'%s%s%s", name,
                        near ? " (did you mean '" : "; 'layermeter layers' lists them",
                        near ? near : "", near ? "'?)" : "");
}

lm_status registry_keep(registry *reg, void *object, lm_error *err)
{
    if (!array_grow(&reg->object, reg->n_objects, &reg->object_room, sizeof *reg->object))
        return no_memory(err);
    reg->object[reg->n_objects++] = object;
    return LM_OK;
}

/* Checks a descriptor and copies it into one of this host's size. */
static lm_status accept_type(const lm_layer_type *own, lm_layer_type *copy, lm_error *err)
{
    memset(copy, 0, sizeof *copy);
    if (!own || own->size < TYPE_SIZE_1_0)
        return lm_error_set(err, LM_E_ABI, "a layer type's descriptor is shorter than in ABI 1.0");
    memcpy(copy, own, own->size < sizeof *copy ? own->size : sizeof *copy);
    copy->size = sizeof *copy;
    if (!copy->infer || !copy->cost)
        return lm_error_set(err, LM_E_ARG, "type '%.60s': infer and cost are required",
                            copy->name ? copy->name : "(null)");
    if (copy->n_params && (!copy->params || copy->param_size < PARAM_SIZE_1_0))
        return lm_error_set(err, LM_E_ABI,
                            "type '%.60s': parameter records are shorter than in ABI 1.0",
                            copy->name ? copy->name : "(null)");
    if (copy->n_params > MOST_PARAMS)
        return lm_error_set(err, LM_E_ARG, "type '%.60s': says it has %u parameters, more than %d",
                            copy->name ? copy->name : "(null)", copy->n_params, MOST_PARAMS);
    if (copy->n_outputs < 1 || copy->n_outputs > LM_MAX_RANK ||
        (copy->max_inputs && copy->max_inputs < copy->min_inputs))
        return lm_error_set(err, LM_E_ARG, "type '%.60s': bad number of inputs or outputs",
                            copy->name ? copy->name : "(null)");
    if (!copy->doc)
        copy->doc = "";
    return schema_check(copy, err);
}

/* Parses the defaults once, because networks use types repeatedly. */
static lm_status parse_defaults(const registry *reg, registry_entry *e, lm_error *err)
{
    lm_value *value = arena_array(reg->arena, e->type.n_params + 1, sizeof *value);
    lm_status status;

    if (!value)
        return no_memory(err);
    e->fallback = value;
    for (uint32_t i = 0; i < e->type.n_params; i++) {
        const lm_param p = schema_param(&e->type, i);

        if (p.fallback && (status = schema_parse(&p, p.fallback, &value[i], err)))
            return status;
    }
    return LM_OK;
}

static lm_status accept_plugin(const registry *reg, const lm_plugin *plugin, const char *origin,
                               int rank, registry_entry **entry, lm_error *err)
{
    lm_status status;

    for (uint32_t i = 0; i < plugin->n_types; i++) {
        const registry_entry *there;
        registry_entry       *e = arena_alloc(reg->arena, sizeof *e);

        if (!e)
            return no_memory(err);
        if ((status = accept_type(plugin->types[i], &e->type, err)) ||
            (status = parse_defaults(reg, e, err)))
            return status;
        e->own            = plugin->types[i];
        e->origin         = arena_text(reg->arena, origin, strlen(origin));
        e->plugin_name    = plugin->name ? plugin->name : "";
        e->plugin_version = plugin->version ? plugin->version : "";
        e->plugin_license = plugin->license ? plugin->license : "";
        e->rank           = rank;
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(entry[j]->type.name, e->type.name))
                return lm_error_set(err, LM_E_ARG, "type '%s' is in it twice", e->type.name);
        there = registry_find(reg, e->type.name);
        if (there && there->rank == rank)
            return lm_error_set(err, LM_E_ARG, "type '%s' comes from %s already", e->type.name,
                                there->origin);
        entry[i] = e;
    }
    return LM_OK;
}

lm_status registry_add(registry *reg, const lm_plugin *plugin, const char *origin, int rank,
                       lm_error *err)
{
    registry_entry **entry  = NULL;
    lm_status        status = LM_OK;

    if (plugin->size < PLUGIN_SIZE_1_0) {
        status =
            lm_error_set(err, LM_E_ABI, "%s: plugin descriptor is shorter than in ABI 1.0", origin);
        goto out;
    }
    if (plugin->abi_minor > LM_ABI_MINOR) {
        status =
            lm_error_set(err, LM_E_ABI, "%s: built for plugin ABI %d.%u, this host offers %d.%d",
                         origin, LM_ABI_MAJOR, plugin->abi_minor, LM_ABI_MAJOR, LM_ABI_MINOR);
        goto out;
    }
    if (!plugin->n_types || !plugin->types) {
        status = lm_error_set(err, LM_E_ARG, "%s: holds no layer types", origin);
        goto out;
    }
    if (plugin->n_types > MOST_TYPES) {
        status = lm_error_set(err, LM_E_ARG, "%s: says it holds %u layer types, more than %d",
                              origin, plugin->n_types, MOST_TYPES);
        goto out;
    }
    entry = calloc(plugin->n_types, sizeof(registry_entry *));
    if (!entry) {
        status = no_memory(err);
        goto out;
    }
    status = accept_plugin(reg, plugin, origin, rank, entry, err);
    if (status) {
        lm_error_prefix(err, "%s", origin);
        goto out;
    }
    while (reg->n + plugin->n_types > reg->room)
        if (!array_grow(&reg->entry, reg->room, &reg->room, sizeof(registry_entry *))) {
            status = no_memory(err);
            goto out;
        }
    for (uint32_t i = 0; i < plugin->n_types; i++) {
        const size_t at = place(reg, entry[i]->type.name);

        if (at < reg->n && !strcmp(reg->entry[at]->type.name, entry[i]->type.name)) {
            if (rank < reg->entry[at]->rank)
                reg->entry[at] = entry[i];
            continue;
        }
        memmove(reg->entry + at + 1, reg->entry + at, (reg->n - at) * sizeof(registry_entry *));
        reg->entry[at] = entry[i];
        reg->n++;
    }
out:
    free(entry);
    return status;
}

void registry_set_formats(registry *reg, const struct network_format *formats)
{
    reg->formats = formats;
}

const struct network_format *registry_formats(const registry *reg)
{
    return reg->formats;
}
