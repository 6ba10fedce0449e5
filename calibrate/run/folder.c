/* Where a run's files go. */
#include "run/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat s;

    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

static bool names_folder(const char *given)
{
    const size_t n = strlen(given);

    return n < 4 || strcmp(given + n - 4, ".csv") != 0 || is_folder(given);
}

static lm_status join(const char *folder, const char *name, char out[PATH_MAX], lm_error *err)
{
    const size_t n     = strlen(folder);
    const char  *slash = n && folder[n - 1] == '/' ? "" : "/";

    if (snprintf(out, PATH_MAX, "%s%s%s", folder, slash, name) >= PATH_MAX)
        return lm_error_set(err, LM_E_ARG, "%.60s...: path is too long", folder);
    return LM_OK;
}

lm_status run_folder_name(const char *given, run_folder *out, lm_error *err)
{
    lm_status status;

    *out = (run_folder){ .whole = names_folder(given) };
    if (!out->whole) {
        if (strlen(given) >= sizeof out->observations)
            return lm_error_set(err, LM_E_ARG, "%.60s...: path is too long", given);
        strcpy(out->observations, given);
        return LM_OK;
    }
    if ((status = join(given, "observations.csv", out->observations, err)) ||
        (status = join(given, "machine.ini", out->machine, err)) ||
        (status = join(given, "report.txt", out->report, err)))
        return status;
    return join(given, "report.json", out->report_json, err);
}

lm_status run_folder_make(const char *given, const run_folder *f, lm_error *err)
{
    if (!f->whole || is_folder(given) || !mkdir(given, 0777))
        return LM_OK;
    if (errno == EEXIST || errno == ENOTDIR)
        return lm_error_set(err, LM_E_IO,
                            "%s: is a file: -o takes a folder, or a file that ends in .csv", given);
    return lm_error_set(err, LM_E_IO, "%s: %s%s", given, strerror(errno),
                        errno == ENOENT ? ": the folder above it must be there" : "");
}

lm_status run_folder_check(const run_folder *f, bool replace, lm_error *err)
{
    const char *const path[] = { f->machine, f->report, f->report_json };
    const bool        begun  = !access(f->observations, F_OK);
    struct stat       s;

    for (size_t i = 0; f->whole && i < sizeof path / sizeof path[0]; i++) {
        if (lstat(path[i], &s))
            continue;
        if (S_ISDIR(s.st_mode))
            return lm_error_set(err, LM_E_IO, "%s: is a folder: give another -o", path[i]);
        if (!begun && !replace)
            return lm_error_set(err, LM_E_IO,
                                "%s: is there already, and not of a run into this folder: --force "
                                "replaces it, another -o keeps it",
                                path[i]);
    }
    return LM_OK;
}

lm_status run_folder_clear(const run_folder *f, lm_error *err)
{
    const char *const path[] = { f->machine, f->report, f->report_json };

    for (size_t i = 0; f->whole && i < sizeof path / sizeof path[0]; i++)
        if (unlink(path[i]) && errno != ENOENT)
            return lm_error_set(err, LM_E_IO, "%s: %s", path[i], strerror(errno));
    return LM_OK;
}
