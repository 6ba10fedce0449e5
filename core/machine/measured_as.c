/* Machine files of one calibration, by element type. */
#include "machine/measured_as.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "machine/machine.h"

#define MIXED "mixed="

static bool is_mixed(const char *word)
{
    return !strncmp(word, MIXED, strlen(MIXED));
}

/* The next word but that of autocast; "" at the end. */
static const char *next_word(const char *at)
{
    at += strspn(at, " ");
    while (is_mixed(at)) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return at;
}

/* Are settings equal, but for autocast? */
static bool same_settings(const char *a, const char *b)
{
    for (a = next_word(a), b = next_word(b); *a || *b; a = next_word(a), b = next_word(b)) {
        const size_t n = strcspn(a, " ");

        if (n != strcspn(b, " ") || strncmp(a, b, n) != 0)
            return false;
        a += n;
        b += n;
    }
    return true;
}

/* By the first of these names that both tell. */
static bool same_device(const calibration *a, const calibration *b)
{
    static const char *const names[] = { "device", "gpu", "cpu" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *one = calibration_told(a, names[i]), *other = calibration_told(b, names[i]);

        if (one && other)
            return !strcmp(one, other);
    }
    return false;
}

static bool is_machine(const char *name)
{
    const size_t n = strlen(name);

    return *name != '.' && n > 4 && !strcmp(name + n - 4, ".ini");
}

/* How well a file answers, 0: not. */
static int suits(const char *path, const calibration *cal, lm_dtype dtype, lm_dtype mixed)
{
    calibration *other = NULL;
    lm_error     unread;
    int          how = 0;

    if (!machine_load(path, &other, &unread) && other->dtype == dtype &&
        other->mixed == mixed && same_device(cal, other))
        how = same_settings(calibration_settings(cal), calibration_settings(other)) ? 2 : 1;
    calibration_free(other);
    return how;
}

bool machine_measured_as(const char *path, const calibration *cal, lm_dtype dtype, lm_dtype mixed,
                         char out[PATH_MAX])
{
    const char    *slash  = strrchr(path, '/');
    const int      length = slash ? (int)(slash - path) + 1 : 0;
    char           at[PATH_MAX];
    struct dirent *entry;
    DIR           *folder;
    int            best = 0;

    snprintf(at, sizeof at, "%.*s", length, path);
    folder = opendir(length ? at : ".");
    while (folder && (entry = readdir(folder))) {
        int how;

        if (!is_machine(entry->d_name) || !strcmp(entry->d_name, path + length) ||
            snprintf(at, sizeof at, "%.*s%s", length, path, entry->d_name) >= (int)sizeof at ||
            (how = suits(at, cal, dtype, mixed)) < best || !how)
            continue;
        if (how > best || strcmp(at, out) < 0)
            strcpy(out, at);
        best = how;
    }
    if (folder)
        closedir(folder);
    return best > 0;
}
