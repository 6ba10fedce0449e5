/* Layer types that are linked in, in place of plugins. */
#include "layers/loader.h"

/* linked.inc names the plugins of this build: PLUGIN(conv). */
#define PLUGIN(name) extern const lm_plugin layermeter_plugin_##name;
#include "linked.inc"
#undef PLUGIN

#define PLUGIN(name) { #name, &layermeter_plugin_##name },
static const struct {
    const char      *name;
    const lm_plugin *plugin;
} linked[] = {
#include "linked.inc"
};

lm_status loader_open_file(registry *reg, const char *path, int rank, lm_error *err)
{
    (void)reg;
    (void)rank;
    return lm_error_set(err, LM_E_UNSUPPORTED, "%s: a page loads no plugins", path);
}

lm_status loader_open_all(registry *reg, const char *const *files, size_t n_files, lm_error *err)
{
    lm_status status = n_files ? loader_open_file(reg, files[0], 0, err) : LM_OK;

    for (size_t i = 0; i < sizeof linked / sizeof linked[0] && !status; i++)
        status = registry_add(reg, linked[i].plugin, linked[i].name, 0, err);
    return status;
}
