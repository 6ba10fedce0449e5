/* A network from its file: sections, published counts, and the layers in order. */
#include "network/network.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/ini.h"
#include "base/place.h"
#include "base/text.h"
#include "layers/registry.h"
#include "network/expand.h"
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
    return network_load(path, out, err);
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

static lm_status read_head(network *net, const ini_document *doc, const char **output, int *line,
                           lm_error *err)
{
    const ini_section *head   = ini_find(doc, "network");
    lm_status          status = LM_OK;

    *output = NULL;
    *line   = 0;
    if (!head)
        return lm_error_set(err, LM_E_SYNTAX, "%s: no [network] section: is this a network?",
                            doc->path);
    for (size_t i = 0; i < head->n_pairs && !status; i++) {
        const ini_pair *p = &head->pair[i];

        if (!strcmp(p->key, "name")) {
            net->name = arena_text(net->arena, p->value, strlen(p->value));
        } else if (!strcmp(p->key, "note")) {
            net->note = arena_text(net->arena, p->value, strlen(p->value));
        } else if (!strcmp(p->key, "source")) {
            net->source = arena_text(net->arena, p->value, strlen(p->value));
        } else if (!strcmp(p->key, "params")) {
            status = text_uint(p->value, &net->published_params, err);
        } else if (!strcmp(p->key, "macs")) {
            status = text_uint(p->value, &net->published_macs, err);
        } else if (!strcmp(p->key, "output")) {
            *output = p->value;
            *line   = p->line;
        } else {
            return lm_error_set(
                err, LM_E_NOTFOUND,
                "%s:%d: [network] has no key '%s' (name source params macs note output)", doc->path,
                p->line, p->key);
        }
        if (status)
            lm_error_prefix(err, "%s:%d: %s", doc->path, p->line, p->key);
    }
    if (!status && !net->name)
        return lm_error_set(err, LM_E_SYNTAX, "%s:%d: [network] needs 'name ='", doc->path,
                            head->line);
    return status;
}

lm_status network_load(const char *path, network **out, lm_error *err)
{
    ini_document *doc    = NULL;
    arena        *a      = NULL;
    network      *net    = NULL;
    const char   *output = NULL;
    int           line   = 0;
    lm_status     status = ini_load(path, &doc, err);

    if (status)
        return status;
    a   = arena_new();
    net = a ? arena_alloc(a, sizeof *net) : NULL;
    if (!net || !(net->path = arena_text(a, path, strlen(path)))) {
        arena_free(a);
        ini_free(doc);
        return lm_error_set(err, LM_E_NOMEM, "%s: out of memory", path);
    }
    net->arena = a;
    status     = read_head(net, doc, &output, &line, err);
    if (!status)
        status = expand_layers(doc, output, line, net, err);
    ini_free(doc);
    if (status) {
        network_free(net);
        return status;
    }
    *out = net;
    return LM_OK;
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
    return (format ? format : &formats[0])->read(path, reg, choices, out, err);
}

void network_free(network *net)
{
    if (net)
        arena_free(net->arena);
}
