/* What several commands share. */
#include "cli/commands.h"

#include <limits.h>

#include "layers/loader.h"

lm_status open_registry(const options *o, registry **out, lm_error *err)
{
    registry *reg    = NULL;
    lm_status status = registry_new(&reg, err);

    if (!status)
        status = loader_open_all(reg, o->plugin, (size_t)o->n_plugins, err);
    if (status) {
        registry_free(reg);
        return status;
    }
    *out = reg;
    return LM_OK;
}

lm_status open_network(const char *name, network **out, lm_error *err)
{
    char      path[PATH_MAX];
    lm_status status = network_find(name, path, sizeof path, err);

    return status ? status : network_load(path, out, err);
}
