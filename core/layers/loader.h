/** Loads plugins from shared objects. */
#ifndef LAYERS_LOADER_H
#define LAYERS_LOADER_H

#include "layers/guarded.h"
#include "layers/registry.h"

/** Loads one file. The error names a file that is missing, no shared object, no plugin, or of
 * another ABI. `rank`: see registry_add(). */
lm_status loader_open_file(registry *reg, const char *path, int rank, lm_error *err);

/**
 * Loads the plugins of a run, in this order of precedence: `files`; the folders of
 * $LAYERMETER_PLUGIN_PATH (colon-separated); the installed folder. Within a folder it loads all
 * *.so in name order. It never searches the working directory by default. A bad file is an error,
 * so that no type goes missing silently.
 *
 * All but the plugins that came with the program are first tried in a child process, as
 * plugins_try() does, with a few uses of each type: what crashes, hangs or breaks the contract is
 * named, and is not loaded.
 */
lm_status loader_open_all(registry *reg, const char *const *files, size_t n_files, lm_error *err);

/** The same for who checks the types: those are not asked in the child, which only loads them. */
lm_status loader_open_loadable(registry *reg, const char *const *files, size_t n_files,
                               const guard_limits *of, lm_error *err);

#endif
