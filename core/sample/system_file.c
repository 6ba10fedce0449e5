/* Files below /proc and /sys. */
#include "sample/system_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *below_root(const char *path, char full[520])
{
    const char *root = getenv("LAYERMETER_SYSTEM_ROOT");

    snprintf(full, 520, "%.250s/%.250s", root ? root : "", path);
    return full;
}

FILE *system_open(const char *path)
{
    char full[520];

    return fopen(below_root(path, full), "r");
}

DIR *system_folder(const char *path)
{
    char full[520];

    return opendir(below_root(path, full));
}

bool system_line(const char *path, char *text, size_t size)
{
    FILE *in = system_open(path);
    bool  ok;

    if (!in)
        return false;
    ok = fgets(text, (int)size, in) != NULL;
    fclose(in);
    if (ok)
        text[strcspn(text, "\n")] = '\0';
    return ok && *text;
}

double system_number(const char *path)
{
    char   text[64], *end;
    double value;

    if (!system_line(path, text, sizeof text))
        return NAN;
    value = strtod(text, &end);
    return end > text ? value : (double)NAN;
}
