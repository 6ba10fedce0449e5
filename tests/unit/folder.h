/** A folder of the test's own: files in it have short names, so that messages compare as they
 * stand. */
#ifndef UNIT_FOLDER_H
#define UNIT_FOLDER_H

#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Group setup: makes an empty folder and enters it. */
static inline int folder_enter(void **state)
{
    const char *base = getenv("TMPDIR");
    static char path[256];

    snprintf(path, sizeof path, "%s/layermeter-unit-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path) || chdir(path))
        return -1;
    *state = path;
    return 0;
}

/** Group teardown: removes the folder with its files. Nothing where the setup failed: the folder
 * that the test was started in is not its own. */
static inline int folder_leave(void **state)
{
    DIR *folder;

    if (!*state)
        return 0;
    folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            unlink(entry->d_name);
    if (folder)
        closedir(folder);
    return chdir("/") || rmdir(*state);
}

/** Writes n bytes into a file; returns its name. */
static inline const char *folder_bytes(const char *name, const char *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    return name;
}

static inline const char *folder_file(const char *name, const char *text)
{
    return folder_bytes(name, text, strlen(text));
}

#endif
