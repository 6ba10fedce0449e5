/* Where the program's own files are. */
#include "base/place.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

lm_status place_installed(const char *relative, char *out, size_t size, lm_error *err)
{
    char    self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0)
        return lm_error_set(err, LM_E_IO, "/proc/self/exe cannot be read: where is this program?");
    self[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');

        if (slash)
            *slash = '\0';
    }
    if (snprintf(out, size, "%s/%s", self, relative) >= (int)size)
        return lm_error_set(err, LM_E_ARG, "%s: path is too long", self);
    return LM_OK;
}
