/* Networks by name: where their files are, and who reads them. */
#include "network/network.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/place.h"
#include "layers/registry.h"
#include "network/onnx/onnx.h"

/* How files are read, by suffix. */
typedef struct file_format {
    const char *suffix;
    lm_status (*read)(const char *path, const registry *reg, const network_choices *choices,
                      network **out, lm_error *err);
} file_format;

static lm_status read_ini(const char *path, const registry *reg, const network_choices *choices,
                          network **out, lm_error *err)
{
    (void)reg;
    if (choices && choices->n_treat + choices->n_ignore)
        return lm_error_set(err, LM_E_ARG,
                            "%s: --treat and --ignore are for files of other formats", path);
    return network_load(path, choices, out, err);
}

static const file_format formats[] = {
    { ".ini", read_ini },
    { ".onnx", onnx_load },
};

/* NULL if the name has no known suffix. */
static const file_format *format_of(const char *name)
{
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const size_t m = strlen(formats[i].suffix);

        if (n > m && !strcmp(name + n - m, formats[i].suffix))
            return &formats[i];
    }
    return NULL;
}

static bool try_path(const char *folder, const char *name, char *path, size_t size)
{
    return snprintf(path, size, "%s/%s.ini", folder, name) < (int)size && !access(path, R_OK);
}

lm_status network_find(const char *name, char *path, size_t size, lm_error *err)
{
    const char *env = getenv("LAYERMETER_MODEL_PATH");
    char        folder[PATH_MAX];
    lm_status   status;

    if (strchr(name, '/') || format_of(name)) {
        if (snprintf(path, size, "%s", name) >= (int)size)
            return lm_error_set(err, LM_E_ARG, "%s: path is too long", name);
        return LM_OK;
    }
    if (env && *env) {
        char *copy = strdup(env), *save = NULL;
        bool  found = false;

        if (!copy)
            return lm_error_set(err, LM_E_NOMEM, "out of memory");
        for (char *f = strtok_r(copy, ":", &save); f && !found; f = strtok_r(NULL, ":", &save))
            found = try_path(f, name, path, size);
        free(copy);
        if (found)
            return LM_OK;
    }
    status = place_installed(LAYERMETER_MODEL_DIR, folder, sizeof folder, err);
    if (status || try_path(folder, name, path, size))
        return status;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "no network '%s' in %s%s%s; name a shipped one or give a path to an .ini file", name,
        env ? env : "", env ? " or " : "", folder);
}

lm_status network_open(const char *name, const registry *reg, const network_choices *choices,
                       network **out, lm_error *err)
{
    char               path[PATH_MAX];
    const file_format *format;
    lm_status          status = network_find(name, path, sizeof path, err);

    if (status)
        return status;
    format = format_of(path);
    if (format && format->read != read_ini && choices && choices->n_set)
        return lm_error_set(err, LM_E_ARG, "%s: --set is for [arguments] of .ini files", path);
    return (format ? format : &formats[0])->read(path, reg, choices, out, err);
}

bool network_source_type(const char *type)
{
    return !strcmp(type, "input") || !strcmp(type, "parameter") || !strcmp(type, "constant");
}

void network_free(network *net)
{
    if (net)
        arena_free(net->arena);
}
