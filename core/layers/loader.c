/* Plugins from shared objects. */
#define _GNU_SOURCE /* dladdr1(), dlinfo() */
#include "layers/loader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "base/place.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define ROOT     "layermeter_plugin_v" TEXT(LM_ABI_MAJOR)

/* Is `symbol` the object's own, not one of a library it depends on? Names do not tell: an object
 * that is open already keeps the name it was opened with first. */
static bool defines(void *object, const void *symbol)
{
    struct link_map *own = NULL, *definer = NULL;
    Dl_info          info;

    return !dlinfo(object, RTLD_DI_LINKMAP, &own) &&
           dladdr1(symbol, &info, (void **)&definer, RTLD_DL_LINKMAP) && own == definer;
}

lm_status loader_open_file(registry *reg, const char *path, int rank, lm_error *err)
{
    char             full[PATH_MAX];
    void            *object;
    const lm_plugin *plugin;
    lm_status        status;

    if (access(path, R_OK))
        return lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    if (snprintf(full, sizeof full, "%s%s", strchr(path, '/') ? "" : "./", path) >=
        (int)sizeof full)
        return lm_error_set(err, LM_E_ARG, "%s: path is too long", path);
    object = dlopen(full, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char *why = dlerror();
        const char *cut = strstr(why, ": ");

        return lm_error_set(err, LM_E_ABI, "%s: not loadable: %s", path, cut ? cut + 2 : why);
    }
    plugin = dlsym(object, ROOT);
    if (!plugin || !defines(object, plugin)) {
        status = lm_error_set(err, LM_E_ABI,
                              "%s: no symbol " ROOT ": not a plugin, or of another ABI", path);
        goto out;
    }
    status = registry_add(reg, plugin, path, rank, err);
    if (!status)
        status = registry_keep(reg, object, err);
    if (!status)
        object = NULL;
out:
    if (object)
        dlclose(object);
    return status;
}

static int is_object(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);

    return n > 3 && entry->d_name[0] != '.' && !strcmp(entry->d_name + n - 3, ".so");
}

static lm_status open_folder(registry *reg, const char *folder, int rank, bool must_exist,
                             lm_error *err)
{
    struct dirent **entry;
    lm_status       status = LM_OK;
    const int       n      = scandir(folder, &entry, is_object, alphasort);

    if (n < 0 && !must_exist && errno != ENOENT)
        return lm_error_set(err, LM_E_IO, "%s: %s", folder, strerror(errno));
    if (n < 0)
        return must_exist ? lm_error_set(err, LM_E_IO, "%s: %s (in LAYERMETER_PLUGIN_PATH)", folder,
                                         strerror(errno))
                          : LM_OK;
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];

        if (!status) {
            if (snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name) >= (int)sizeof path)
                status = lm_error_set(err, LM_E_ARG, "%s: path is too long", folder);
            else
                status = loader_open_file(reg, path, rank, err);
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

lm_status loader_open_all(registry *reg, const char *const *files, size_t n_files, lm_error *err)
{
    const char *env    = getenv("LAYERMETER_PLUGIN_PATH");
    int         rank   = 0;
    lm_status   status = LM_OK;
    char        folder[PATH_MAX];

    for (size_t i = 0; i < n_files; i++)
        if ((status = loader_open_file(reg, files[i], rank, err)))
            return status;
    if (env && *env) {
        char *copy = strdup(env), *save = NULL;

        if (!copy)
            return no_memory(err);
        for (char *f = strtok_r(copy, ":", &save); f && !status; f = strtok_r(NULL, ":", &save))
            status = open_folder(reg, f, ++rank, true, err);
        free(copy);
        if (status)
            return status;
    }
    status = place_installed(LAYERMETER_PLUGIN_DIR, folder, sizeof folder, err);
    if (!status)
        status = open_folder(reg, folder, ++rank, false, err);
    if (!status && !registry_count(reg))
        status =
            lm_error_set(err, LM_E_NOTFOUND,
                         "no layer types: no plugins in %s; set LAYERMETER_PLUGIN_PATH", folder);
    return status;
}
