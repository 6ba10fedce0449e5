/* Machine files that are installed with the program. */
#include "machine/shipped.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/ini.h"
#include "base/no_memory.h"
#include "base/place.h"
#include "base/text.h"
#include "device/device.h"
#include "machine/sections.h"

#define FOLDER LAYERMETER_CONFIG_DIR "/machines"

static const char *value_of(const ini_section *s, const char *name)
{
    const ini_pair *p = s ? ini_get(s, name) : NULL;

    return p ? p->value : NULL;
}

static char *copy(arena *a, const char *text)
{
    return arena_text(a, text ? text : "", text ? strlen(text) : 0);
}

static lm_status read_heads(shipped_list *list, shipped_machine *m, const ini_document *doc,
                            lm_error *err)
{
    const ini_section *head = ini_find(doc, SECTION_MACHINE), *from = ini_find(doc, "provenance");
    const char        *named = value_of(from, "device"), *dtype = value_of(head, "dtype");
    lm_status          status;

    if (!named)
        return ini_fail(doc, err, from ? from->line : 1, LM_E_SYNTAX,
                        "a shipped machine file says its 'device'");
    m->dtype       = LM_F32;
    m->transferred = value_of(head, "transferred") != NULL;
    m->measured    = !m->transferred || value_of(from, "corrected_by") != NULL;
    m->host        = ini_find(doc, "host") != NULL;
    m->device      = copy(list->arena, named);
    m->path        = copy(list->arena, doc->path);
    m->settings    = copy(list->arena, value_of(from, "settings"));
    m->source      = copy(list->arena, value_of(from, "source"));
    if (!m->device || !m->path || !m->settings || !m->source)
        return no_memory(err);
    if (dtype && (status = text_dtype(dtype, &m->dtype, err))) {
        lm_error_prefix(err, "%s:%d", doc->path, head->line);
        return status;
    }
    m->product = settings_rate_dtype(m->settings, m->dtype);
    return LM_OK;
}

static lm_status add(shipped_list *list, const char *path, size_t *room, lm_error *err)
{
    ini_document *doc = NULL;
    lm_status     status;

    list->machine = arena_grow(list->arena, list->machine, list->n, room, sizeof *list->machine);
    if (!list->machine)
        return no_memory(err);
    if ((status = ini_load(path, &doc, err)))
        return status;
    list->machine[list->n] = (shipped_machine){ .device = NULL };
    if (!(status = read_heads(list, &list->machine[list->n], doc, err)))
        list->n++;
    ini_free(doc);
    return status;
}

static bool is_machine(const char *file)
{
    const size_t n = strlen(file);

    return n > 4 && *file != '.' && !strcmp(file + n - 4, ".ini");
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const shipped_machine *)a)->path, ((const shipped_machine *)b)->path);
}

static lm_status read_folder(shipped_list *list, const char *folder, lm_error *err)
{
    DIR      *dir    = opendir(folder);
    size_t    room   = 0;
    lm_status status = LM_OK;

    for (struct dirent *entry; dir && !status && (entry = readdir(dir));) {
        char path[PATH_MAX];

        if (is_machine(entry->d_name) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            status = add(list, path, &room, err);
    }
    if (dir)
        closedir(dir);
    if (list->n)
        qsort(list->machine, list->n, sizeof *list->machine, by_path);
    return status;
}

lm_status shipped_open(shipped_list **out, lm_error *err)
{
    shipped_list *list = calloc(1, sizeof *list);
    char          folder[PATH_MAX];
    lm_status     status = list && (list->arena = arena_new()) ? LM_OK : no_memory(err);

    if (!status && !(status = place_installed(FOLDER, folder, sizeof folder, err)))
        status = read_folder(list, folder, err);
    if (status) {
        shipped_free(list);
        return status;
    }
    *out = list;
    return LM_OK;
}

void shipped_free(shipped_list *list)
{
    if (!list)
        return;
    arena_free(list->arena);
    free(list);
}

const shipped_machine *shipped_find(const shipped_list *list, const char *name, lm_dtype dtype)
{
    const shipped_machine *usual = NULL;

    for (size_t i = 0; i < list->n; i++) {
        const shipped_machine *m = &list->machine[i];

        if (!device_same_name(m->device, name))
            continue;
        if (dtype && dtype_of_rate(m->product, dtype))
            return m;
        if (m->product == DTYPE_TF32)
            continue;
        if (!usual || (lm_dtype_bytes(m->product) < lm_dtype_bytes(usual->product)))
            usual = m;
    }
    return usual;
}

const shipped_machine *shipped_host(const shipped_list *list, lm_dtype product)
{
    const shipped_machine *any = NULL;

    for (size_t i = 0; i < list->n; i++) {
        const shipped_machine *m = &list->machine[i];

        if (!m->host || !m->measured)
            continue;
        if (dtype_of_rate(m->product, LM_F16) == dtype_of_rate(product, LM_F16))
            return m;
        if (!any)
            any = m;
    }
    return any;
}
