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

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/place.h"
#include "layers/tried.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define ROOT     "layermeter_plugin_v" TEXT(LM_ABI_MAJOR)

/* Does `symbol` belong to the object itself, not to a dependency? Names do not show it: an open
 * object keeps its first name. */
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

/* ---- what there is to load ---- */

typedef struct found {
    const char *path;
    int         rank;
    bool        own; /* part of this program */
} found;

typedef struct search {
    found *file;
    size_t n, room;
    arena *texts;
    char   installed[PATH_MAX], real[PATH_MAX]; /* folder of plugins; real: without links */
} search;

/* Is the file a plugin of this program, in its installed folder? */
static bool came_with_us(const search *s, const char *folder, const char *name)
{
    static const char own[]  = "|" LAYERMETER_PLUGINS "|";
    static const char head[] = "layermeter-";
    char              real[PATH_MAX], word[64];
    const size_t      n = strlen(name);

    if (!s->real[0] || strncmp(name, head, sizeof head - 1) || n < sizeof head + 3 || n > 60)
        return false;
    snprintf(word, sizeof word, "|%.*s|", (int)(n - (sizeof head - 1) - 3), name + sizeof head - 1);
    return strstr(own, word) && realpath(folder, real) && !strcmp(real, s->real);
}

static lm_status find(search *s, const char *folder, const char *name, int rank, lm_error *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name) >= (int)sizeof path)
        return lm_error_set(err, LM_E_ARG, "%s: path is too long", folder);
    if (!array_grow(&s->file, s->n, &s->room, sizeof *s->file))
        return no_memory(err);
    s->file[s->n] = (found){ .path = arena_text(s->texts, path, strlen(path)),
                             .rank = rank,
                             .own  = *folder && came_with_us(s, folder, name) };
    return s->file[s->n++].path ? LM_OK : no_memory(err);
}

static int is_object(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);

    return n > 3 && entry->d_name[0] != '.' && !strcmp(entry->d_name + n - 3, ".so");
}

static lm_status find_in(search *s, const char *folder, int rank, bool must_exist, lm_error *err)
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
        if (!status)
            status = find(s, folder, entry[i]->d_name, rank, err);
        free(entry[i]);
    }
    free(entry);
    return status;
}

static lm_status find_all(search *s, const char *const *files, size_t n_files, lm_error *err)
{
    const char *env  = getenv("LAYERMETER_PLUGIN_PATH");
    int         rank = 0;
    lm_status   status =
        place_installed(LAYERMETER_PLUGIN_DIR, s->installed, sizeof s->installed, err);

    if (!status && !realpath(s->installed, s->real))
        s->real[0] = '\0';
    for (size_t i = 0; i < n_files && !status; i++)
        status = find(s, "", files[i], rank, err);
    if (env && *env && !status) {
        char *copy = strdup(env), *save = NULL;

        if (!copy)
            return no_memory(err);
        for (char *f = strtok_r(copy, ":", &save); f && !status; f = strtok_r(NULL, ":", &save))
            status = find_in(s, f, ++rank, true, err);
        free(copy);
    }
    return status ? status : find_in(s, s->installed, ++rank, false, err);
}

/* ---- trying and loading ---- */

static lm_status try_strangers(const search *s, const trial_limits *limits, lm_error *err)
{
    const char **path   = arena_array(s->texts, s->n + 1, sizeof *path);
    size_t       n      = 0;
    lm_status    status = path ? LM_OK : no_memory(err);

    for (size_t i = 0; i < s->n && !status; i++)
        if (!s->file[i].own)
            path[n++] = s->file[i].path;
    return status || !n ? status : plugins_try(path, n, limits, err);
}

static lm_status open_every(registry *reg, const char *const *files, size_t n_files,
                            const trial_limits *limits, lm_error *err)
{
    search    s      = { .texts = arena_new() };
    lm_status status = s.texts ? find_all(&s, files, n_files, err) : no_memory(err);

    if (!status)
        status = try_strangers(&s, limits, err);
    for (size_t i = 0; i < s.n && !status; i++)
        status = loader_open_file(reg, s.file[i].path, s.file[i].rank, err);
    if (!status && !registry_count(reg))
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "no layer types: no plugins in %s; set LAYERMETER_PLUGIN_PATH",
                              s.installed);
    free(s.file);
    arena_free(s.texts);
    return status;
}

/* Limits of a trial before loading. */
#define TRIAL_LIMITS                            \
    {                                           \
        .seconds = 5, .bytes = (int64_t)1 << 30 \
    }
#define TRIAL_CASES 4

lm_status loader_open_all(registry *reg, const char *const *files, size_t n_files, lm_error *err)
{
    static const trial_limits limits = { TRIAL_LIMITS, TRIAL_CASES };

    return open_every(reg, files, n_files, &limits, err);
}

lm_status loader_open_loadable(registry *reg, const char *const *files, size_t n_files,
                               const guard_limits *of, lm_error *err)
{
    const trial_limits limits = { *of, 0 };

    return open_every(reg, files, n_files, &limits, err);
}
