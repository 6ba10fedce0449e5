/** Loads plugins from shared objects. */
#ifndef LAYERS_LOADER_H
#define LAYERS_LOADER_H

#include "layers/guarded.h"
#include "layers/registry.h"

/** Loads one file. Errors: a missing file, no shared object, no plugin, another ABI. `rank`: see
 * registry_add(). */
lm_status loader_open_file(registry *reg, const char *path, int rank, lm_error *err);

/**
 * Loads the plugins of a run, in this order of precedence: `files`; the folders of
 * $LAYERMETER_PLUGIN_PATH (colon-separated); the installed folder. Within a folder it loads all
 * *.so in name order. It never searches the working directory by default. A bad file is an error,
 * so that no type goes missing silently.
 *
 * Plugins that did not come with the program are first tried in a child process, with a few uses of
 * each type (plugins_try()). One that crashes, hangs or breaks the contract is an error and is not
 * loaded.
 */
lm_status loader_open_all(registry *reg, const char *const *files, size_t n_files, lm_error *err);

/** The same for a caller that checks the types itself: the child only loads the plugins. */
lm_status loader_open_loadable(registry *reg, const char *const *files, size_t n_files,
                               const guard_limits *of, lm_error *err);

#endif
