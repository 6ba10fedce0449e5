/** Plugins from shared objects. */
#ifndef LAYERS_LOADER_H
#define LAYERS_LOADER_H

#include "layers/registry.h"

/** Loads one file. It cannot be found, is no shared object, no plugin, or one of another ABI: an
 * error that names it and says which. `rank`: see registry_add(). */
lm_status loader_open_file(registry *reg, const char *path, int rank, lm_error *err);

/**
 * Loads the plugins of a run, in this order of precedence: `files`; the folders of
 * $LAYERMETER_PLUGIN_PATH (colon-separated); the folder installed beside the program. Within a
 * folder all
 * *.so in name order; never the working directory unless it is named. A bad file is an error: a
 * type that silently went missing would be worse.
 */
lm_status loader_open_all(registry *reg, const char *const *files, size_t n_files, lm_error *err);

#endif
