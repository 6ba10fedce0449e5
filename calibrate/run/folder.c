/* Files of a run. */
#include "run/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

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
            return lm_error_set(
                err, LM_E_IO,
                "%s: exists already, and is not of a run into this folder: --force replaces it, another -o keeps it",
                path[i]);
    }
    return LM_OK;
}

lm_status run_folder_machine(const run_folder *f, const char *of, char out[PATH_MAX], lm_error *err)
{
    char   name[NAME_MAX] = "machine";
    size_t n              = strlen(name);

    for (const char *word = of; *word; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        const char  *equals = memchr(word, '=', length);
        const char  *value  = equals ? equals + 1 : word;

        for (name[n++] = '-'; value < word + length && n + 6 < sizeof name; value++)
            name[n++] = isalnum((unsigned char)*value) || *value == '.' ? *value : '_';
        word += length;
        if (n + 6 >= sizeof name)
            return lm_error_set(err, LM_E_ARG, "'%.60s...' is too long for the name of a file", of);
    }
    strcpy(name + n, ".ini");
    n = strlen(f->machine) - strlen("machine.ini");
    if (snprintf(out, PATH_MAX, "%.*s%s", (int)n, f->machine, name) >= PATH_MAX)
        return lm_error_set(err, LM_E_ARG, "%.60s...: path is too long", f->machine);
    return LM_OK;
}

static lm_status clear_one(const char *path, lm_error *err)
{
    return unlink(path) && errno != ENOENT
               ? lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno))
               : LM_OK;
}

/* Does the report name this file, as a word of its own? */
static bool is_named(const char *report, const char *file)
{
    const size_t n = strlen(file);

    for (const char *at = strstr(report, file); at; at = strstr(at + n, file))
        if ((at == report || isspace((unsigned char)at[-1])) &&
            (!at[n] || isspace((unsigned char)at[n]) || at[n] == ':'))
            return true;
    return false;
}

/* Removes the files of run_folder_machine() that the last run's report names. Other files belong to
 * the user. */
static lm_status clear_machines(const run_folder *f, const char *report, lm_error *err)
{
    const int      n = (int)(strlen(f->machine) - strlen("machine.ini"));
    char           path[PATH_MAX];
    DIR           *folder;
    struct dirent *entry;
    lm_status      status = LM_OK;

    snprintf(path, sizeof path, "%.*s", n, f->machine);
    folder = opendir(path);
    while (folder && !status && (entry = readdir(folder))) {
        const size_t length = strlen(entry->d_name);

        if (strncmp(entry->d_name, "machine-", 8) != 0 || length < 4 ||
            strcmp(entry->d_name + length - 4, ".ini") != 0 || !is_named(report, entry->d_name))
            continue;
        if (snprintf(path, sizeof path, "%.*s%s", n, f->machine, entry->d_name) < PATH_MAX)
            status = clear_one(path, err);
    }
    if (folder)
        closedir(folder);
    return status;
}

lm_status run_folder_clear(const run_folder *f, lm_error *err)
{
    const char *const path[] = { f->machine, f->report, f->report_json };
    lm_status         status = LM_OK;
    char             *report = NULL;
    size_t            size;
    lm_error          unread;

    if (!f->whole)
        return LM_OK;
    if (!file_read_text(f->report, &report, &size, &unread))
        status = clear_machines(f, report, err);
    for (size_t i = 0; i < sizeof path / sizeof path[0] && !status; i++)
        status = clear_one(path[i], err);
    free(report);
    return status;
}
