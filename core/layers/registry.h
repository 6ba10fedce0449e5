/** Layer types by name. */
#ifndef LAYERS_REGISTRY_H
#define LAYERS_REGISTRY_H

#include <layermeter/error.h>
#include <layermeter/plugin.h>

typedef struct registry registry;
struct network_format;

/** A registered type and where it came from. */
typedef struct registry_entry {
    lm_layer_type type; /**< a copy in this host's size; members that an older plugin lacks are 0 */
    const lm_layer_type *own;      /**< the plugin's own descriptor, passed to its callbacks */
    const lm_value      *fallback; /**< parsed defaults, by parameter; kind 0: required */
    const char          *origin;   /**< file of the plugin, or the name the caller gave */
    const char          *plugin_name, *plugin_version, *plugin_license;
    int                  rank; /**< position of its folder in the search path; the lower one wins */
} registry_entry;

lm_status registry_new(registry **out, lm_error *err);
/** Also closes the objects that the loader opened. NULL is fine. */
void registry_free(registry *reg);

/**
 * Adds all types of a plugin, or none, without a call into the plugin. The plugin must outlive
 * `reg`. A type of the same name and a lower rank hides the new one. The same rank is an error.
 *
 * @param origin file or name for messages
 * @return LM_E_ABI for a descriptor this host cannot use, LM_E_ARG for a malformed one; the text
 * names `origin`
 */
lm_status registry_add(registry *reg, const lm_plugin *plugin, const char *origin, int rank,
                       lm_error *err);

/** NULL if there is none. */
const registry_entry *registry_find(const registry *reg, const char *name);
/** LM_E_NOTFOUND, with the nearest known name, if there is none. */
lm_status registry_need(const registry *reg, const char *name, const registry_entry **out,
                        lm_error *err);
/** In name order. */
size_t                registry_count(const registry *reg);
const registry_entry *registry_at(const registry *reg, size_t i);
/** The known name nearest to a misspelt one; NULL if none is near. */
const char *registry_suggest(const registry *reg, const char *name);
/** Sets the formats of networks beside .ini (network.h); NULL: none. They must outlive `reg`. */
void registry_set_formats(registry *reg, const struct network_format *formats);
const struct network_format *registry_formats(const registry *reg);
/** Takes ownership of an open object (dlopen); it is closed with the registry. */
lm_status registry_keep(registry *reg, void *object, lm_error *err);

#endif
