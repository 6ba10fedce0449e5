/* Sweeps by name. */
#include "sweep/find.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"

static bool ends_in_ini(const char *name)
{
    const size_t n = strlen(name);

    return n > 4 && !strcmp(name + n - 4, ".ini");
}

/* A folder is no sweep: results often lie in a folder with the sweep's name. */
static bool is_there(const char *path)
{
    struct stat s;

    return !stat(path, &s) && !S_ISDIR(s.st_mode);
}

lm_status sweep_find(const char *name, char *path, size_t size, lm_error *err)
{
    char      folder[PATH_MAX];
    lm_status status;

    /* a file that cannot be read is an error of its reader */
    if (strlen(name) >= size)
        return lm_error_set(err, LM_E_ARG, "%.40s...: path is too long", name);
    strcpy(path, name);
    if (is_there(name) || strchr(name, '/'))
        return LM_OK;
    if ((status = place_installed(LAYERMETER_CONFIG_DIR "/sweeps", folder, sizeof folder, err)))
        return status;
    if (snprintf(path, size, "%s/%s%s", folder, name, ends_in_ini(name) ? "" : ".ini") <
            (int)size &&
        !access(path, F_OK))
        return LM_OK;
    strcpy(path, name);
    return ends_in_ini(name)
               ? LM_OK
               : lm_error_set(err, LM_E_NOTFOUND,
                              "no sweep '%.60s': looked for a file of that name, and in %s", name,
                              folder);
}
