/* Reads PALEO's JSON into plain structs. Blocks and parents are resolved as in its paleo/graph.py. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "formats/paleo/keys.h"

#define BYTES_MAX   (4 << 20) /* of a file; the largest known file has 47 kB */
#define LAYERS_MAX  20000
#define PARENTS_MAX 200000 /* of all layers */
#define SPLITS_MAX  1024
#define BLOCKS_MAX  2048
#define NAME_BYTES  512

/* A layer in the file, and its place. */
typedef struct place {
    json_t     *json, *block; /* block NULL: the top */
    const char *block_name;
    int64_t     split, n_splits; /* 0 of 0 outside model-parallel blocks */
} place;

typedef struct reading {
    paleo_model *model;
    place       *place; /* by layer */
    size_t       layer_room, place_room, n_parents;
    const char  *text, *cursor; /* of the file; line of the last name */
    int          line;          /* of the cursor */
    names        by_name;       /* layers as PALEO names them */
    names        blocks;        /* by name: index into `head` */
    names        splits;        /* "block/layer" in a model-parallel block: number of parts */
    json_t      *head[BLOCKS_MAX];
    size_t       n_blocks;
    arena       *arena;
    lm_error    *err;
} reading;

/* Line of a name, by its next occurrence as a key; 0: not found. jansson gives no lines of values. */
static int find_line(reading *r, const char *name)
{
    const size_t n = strlen(name);

    for (const char *c = r->cursor; (c = strstr(c, name)); c++) {
        const char *after = c + n + 1;

        if (c == r->text || c[-1] != '"' || c[n] != '"')
            continue;
        after += strspn(after, " \t\r\n");
        if (*after != ':')
            continue;
        for (const char *p = r->cursor; p < c; p++)
            r->line += *p == '\n';
        r->cursor = c;
        return r->line;
    }
    return 0;
}

/* ---- blocks ---- */

static lm_status not_a_network(reading *r, const char *what)
{
    return lm_error_set(r->err, LM_E_SYNTAX, "%s: no network of PALEO's: %s", r->model->path, what);
}

static lm_status add_layer(reading *r, const char *name, int line, const place *at)
{
    paleo_model *m = r->model;
    paleo_layer *layers;
    place       *places;

    if (m->n_layers == LAYERS_MAX)
        return lm_error_set(r->err, LM_E_SYNTAX, "%s: more than %d layers", m->path, LAYERS_MAX);
    name   = arena_text(r->arena, name, strlen(name));
    layers = arena_grow(r->arena, m->layer, m->n_layers, &r->layer_room, sizeof *layers);
    places = arena_grow(r->arena, r->place, m->n_layers, &r->place_room, sizeof *places);
    if (!name || !layers || !places)
        return no_memory(r->err);
    m->layer              = layers;
    r->place              = places;
    m->layer[m->n_layers] = (paleo_layer){ .name = name, .line = line };
    r->place[m->n_layers] = *at;
    if (!json_is_object(at->json))
        return paleo_fail(m, &m->layer[m->n_layers], r->err, LM_E_SYNTAX, "expected an object");
    if (names_find(&r->by_name, name) != NAMES_NONE)
        return paleo_fail(m, &m->layer[m->n_layers], r->err, LM_E_SYNTAX, "the name is taken");
    return names_add(&r->by_name, name, m->n_layers++) ? LM_OK : no_memory(r->err);
}

/* "block/layer", with "@0" after it for parts; false if it is too long. */
static bool full_name(char name[NAME_BYTES], const char *block, const char *layer, int64_t split,
                      bool is_split)
{
    const int n = is_split
                      ? snprintf(name, NAME_BYTES, "%s/%s@%lld", block, layer, (long long)split)
                      : snprintf(name, NAME_BYTES, "%s/%s", block, layer);

    return n < NAME_BYTES;
}

/* The layers of a block, once. In a model-parallel block their names are kept, to find the parts. */
static lm_status add_part(reading *r, const char *name, json_t *layers, const place *of)
{
    const size_t n = json_object_size(layers);
    char         full[NAME_BYTES];
    const char  *sub;
    json_t      *value;
    lm_status    status;

    json_object_foreach(layers, sub, value)
    {
        const size_t first = r->model->n_layers;
        const int    line  = of->split ? r->model->layer[first - n].line : find_line(r, sub);
        place        at    = *of;
        char        *base;

        at.json = value;
        if (!full_name(full, name, sub, of->split, of->n_splits > 0))
            return not_a_network(r, "a layer's name of more than 511 bytes");
        if ((status = add_layer(r, full, line, &at)))
            return status;
        full_name(full, name, sub, 0, false);
        base = of->n_splits && !of->split ? arena_text(r->arena, full, strlen(full)) : NULL;
        if (of->n_splits && !of->split &&
            (!base || !names_set(&r->splits, base, (size_t)of->n_splits)))
            return no_memory(r->err);
    }
    return LM_OK;
}

/* Once, or once for each part of a model-parallel block: PALEO has a device for each part. */
static lm_status add_block(reading *r, const char *name, json_t *block, bool parallel)
{
    json_t   *layers = json_object_get(block, "layers"), *splits = json_object_get(block, "splits");
    int64_t   n      = parallel && json_is_integer(splits) ? json_integer_value(splits) : 1;
    char     *kept   = arena_text(r->arena, name, strlen(name));
    lm_status status = LM_OK;

    find_line(r, name);
    if (!kept)
        return no_memory(r->err);
    if (!json_is_object(layers))
        return lm_error_set(r->err, LM_E_SYNTAX, "%s: block '%.100s' has no 'layers'",
                            r->model->path, name);
    if ((parallel && splits && !json_is_integer(splits)) || n < 1 || n > SPLITS_MAX)
        return lm_error_set(r->err, LM_E_ARG, "%s: block '%.100s': 'splits': expected 1 to %d",
                            r->model->path, name, SPLITS_MAX);
    if (r->n_blocks == BLOCKS_MAX)
        return lm_error_set(r->err, LM_E_SYNTAX, "%s: more than %d blocks", r->model->path,
                            BLOCKS_MAX);
    r->head[r->n_blocks] = block;
    if (!names_add(&r->blocks, kept, r->n_blocks++))
        return no_memory(r->err);
    if (parallel)
        r->model->parallel = kept;
    for (int64_t s = 0; s < n && !status; s++)
        status = add_part(r, kept, layers, &(place){ NULL, block, kept, s, parallel ? n : 0 });
    return status;
}

static lm_status list_layers(reading *r, json_t *root)
{
    json_t     *layers = json_object_get(root, "layers");
    const char *name;
    json_t     *value;
    lm_status   status = LM_OK;

    if (!json_is_object(layers) || !json_object_size(layers))
        return not_a_network(r, "there is no object 'layers'");
    json_object_foreach(layers, name, value)
    {
        const char *type     = json_string_value(json_object_get(value, "type"));
        const bool  parallel = type && !strcmp(type, "ModelParallel");
        const place at       = { .json = value };

        if (parallel || (type && !strcmp(type, "Block")))
            status = add_block(r, name, value, parallel);
        else
            status = strlen(name) < NAME_BYTES
                         ? add_layer(r, name, find_line(r, name), &at)
                         : not_a_network(r, "a layer's name of more than 511 bytes");
        if (status)
            return status;
    }
    return LM_OK;
}

/* ---- parents ---- */

/* The parents of one layer, during the search. */
typedef struct parents {
    size_t *index;
    size_t  n, room;
} parents;

static lm_status add_parent(reading *r, paleo_layer *l, const char *name, parents *out)
{
    const size_t at = names_find(&r->by_name, name);
    size_t      *more;

    if (at == NAMES_NONE)
        return paleo_fail(r->model, l, r->err, LM_E_NOTFOUND, "there is no parent '%.100s'", name);
    if (r->n_parents++ == PARENTS_MAX)
        return lm_error_set(r->err, LM_E_SYNTAX, "%s: more than %d parents", r->model->path,
                            PARENTS_MAX);
    more = arena_grow(r->arena, out->index, out->n, &out->room, sizeof *more);
    if (!more)
        return no_memory(r->err);
    more[out->n++] = at;
    out->index     = more;
    return LM_OK;
}

/* A block's name stands for its endpoint. */
static void behind_block(const reading *r, char name[NAME_BYTES])
{
    const size_t at = names_find(&r->blocks, name);
    const char  *endpoint =
        at == NAMES_NONE ? NULL : json_string_value(json_object_get(r->head[at], "endpoint"));
    const size_t n = strlen(name);

    if (endpoint)
        snprintf(name + n, NAME_BYTES - n, "/%s", endpoint);
}

/* Does `name` end in `end`? Then it is cut off. */
static bool cut_end(char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    if (n < m || strcmp(name + n - m, end))
        return false;
    name[n - m] = '\0';
    return true;
}

/* "name@all": that layer in every part of a model-parallel block; "name@self": in the same part. */
static lm_status find_parents(reading *r, paleo_layer *l, const place *at, const char *given,
                              parents *out)
{
    char      base[NAME_BYTES], part[NAME_BYTES + 32];
    bool      all, self;
    size_t    n;
    lm_status status = LM_OK;

    snprintf(base, sizeof base, "%s", given);
    all  = cut_end(base, "@all");
    self = !all && cut_end(base, "@self");
    n    = names_find(&r->splits, base);
    if ((all || self) && (n == NAMES_NONE || (self && !at->n_splits)))
        return paleo_fail(r->model, l, r->err, LM_E_NOTFOUND,
                          "parent '%.100s': there is no such layer in a model-parallel block",
                          given);
    behind_block(r, base);
    if (!all && !self)
        return add_parent(r, l, base, out);
    for (int64_t s = all ? 0 : at->split; s < (all ? (int64_t)n : at->split + 1) && !status; s++) {
        snprintf(part, sizeof part, "%s@%lld", base, (long long)s);
        status = add_parent(r, l, part, out);
    }
    return status;
}

static lm_status read_parents(reading *r, paleo_layer *l, const place *at)
{
    json_t       *list = json_object_get(at->json, "parents");
    const json_t *value;
    bool          inner = at->block != NULL;
    parents       found = { NULL, 0, 0 };
    char          name[NAME_BYTES];
    size_t        i;
    lm_status     status = LM_OK;

    if (json_is_array(list) && !json_array_size(list) && inner) {
        list  = json_object_get(at->block, "parents"); /* those of the block */
        inner = false;
    }
    if (!json_is_array(list))
        return paleo_fail(r->model, l, r->err, LM_E_SYNTAX, "'parents': expected a list of names");
    json_array_foreach(list, i, value)
    {
        const char *given = json_string_value(value);

        if (!given)
            return paleo_fail(r->model, l, r->err, LM_E_SYNTAX,
                              "'parents': expected a list of names");
        if (inner ? !full_name(name, at->block_name, given, 0, false)
                  : snprintf(name, sizeof name, "%s", given) >= NAME_BYTES)
            return paleo_fail(r->model, l, r->err, LM_E_NOTFOUND, "there is no parent '%.100s'",
                              given);
        if ((status = find_parents(r, l, at, name, &found)))
            return status;
    }
    l->parent    = found.index;
    l->n_parents = found.n;
    return LM_OK;
}

/* ---- the file ---- */

/* jansson quotes the unexpected text, with line breaks. */
static lm_status not_json(reading *r, const json_error_t *e)
{
    char text[JSON_ERROR_TEXT_LENGTH];

    snprintf(text, sizeof text, "%s", e->text);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return lm_error_set(r->err, LM_E_SYNTAX, "%s:%d: %s", r->model->path, e->line, text);
}

static lm_status read_layer(reading *r, paleo_layer *l, const place *at)
{
    const char *type = json_string_value(json_object_get(at->json, "type"));

    if (!type)
        return paleo_fail(r->model, l, r->err, LM_E_SYNTAX, "no 'type'");
    l->type = arena_text(r->arena, type, strlen(type));
    return l->type ? paleo_read_layer(r->model, l, at->json, at->n_splits, r->err)
                   : no_memory(r->err);
}

static lm_status read_root(reading *r, json_t *root)
{
    lm_status status = list_layers(r, root);

    for (size_t i = 0; i < r->model->n_layers && !status; i++)
        status = read_layer(r, &r->model->layer[i], &r->place[i]);
    for (size_t i = 0; i < r->model->n_layers && !status; i++)
        status = read_parents(r, &r->model->layer[i], &r->place[i]);
    return status;
}

lm_status paleo_read(const char *path, arena *a, paleo_model *out, lm_error *err)
{
    paleo_model  model = { .path = path };
    reading      r     = { .model = &model, .arena = a, .err = err, .line = 1 };
    char        *text  = NULL;
    json_t      *root  = NULL;
    size_t       size;
    json_error_t error;
    lm_status    status = file_read_text(path, &text, &size, err);

    if (status)
        return status;
    r.text = r.cursor = text;
    if (size > BYTES_MAX)
        status = not_a_network(&r, "more than 4 MiB");
    else if (!(root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error)))
        status = not_json(&r, &error);
    else
        status = read_root(&r, root);
    json_decref(root);
    free(text);
    names_free(&r.by_name);
    names_free(&r.blocks);
    names_free(&r.splits);
    if (!status)
        *out = model;
    return status;
}
