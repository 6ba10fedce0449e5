/* Finds the installed files. */
#define _GNU_SOURCE /* dladdr */
#include "base/place.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool library_file(char file[PATH_MAX])
{
    static const char inside = 0; /* an address in this library's code or data */
    Dl_info           here;
    const char       *name;

    if (!dladdr(&inside, &here) || !here.dli_fname)
        return false;
    name = strrchr(here.dli_fname, '/');
    return !strncmp(name ? name + 1 : here.dli_fname, "liblayermeter.so", 16) &&
           realpath(here.dli_fname, file);
}

static bool program_file(char file[PATH_MAX])
{
    const ssize_t n = readlink("/proc/self/exe", file, PATH_MAX - 1);

    if (n >= 0)
        file[n] = '\0';
    return n >= 0;
}

/* Number of names below the prefix: bin/layermeter has 2. */
static int levels(const char *folder)
{
    int n = 2;

    for (; *folder; folder++)
        n += *folder == '/';
    return n;
}

lm_status place_installed(const char *relative, char *out, size_t size, lm_error *err)
{
    char       self[PATH_MAX];
    const bool library = library_file(self);

    if (!library && !program_file(self))
        return lm_error_set(err, LM_E_IO, "/proc/self/exe cannot be read: where is this program?");
    for (int up = levels(library ? LAYERMETER_LIB_DIR : "bin"); up > 0; up--) {
        char *slash = strrchr(self, '/');

        if (slash)
            *slash = '\0';
    }
    if (snprintf(out, size, "%s/%s", self, relative) >= (int)size)
        return lm_error_set(err, LM_E_ARG, "%s: path is too long", self);
    return LM_OK;
}
