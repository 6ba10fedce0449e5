/* PALEO's JSON to plain structs. Keys and defaults are those of its paleo/graph.py. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "network/paleo/model.h"

#define BYTES_MAX   (4 << 20) /* of a file; the largest known has 47 kB */
#define LAYERS_MAX  20000
#define PARENTS_MAX 200000 /* of all layers */
#define SPLITS_MAX  1024
#define BLOCKS_MAX  2048
#define NAME_BYTES  512
#define NUMBER_MAX  1000000000

/* A layer as it stands in the file, and where. */
typedef struct place {
    const json_t *json, *block; /* block NULL: the top */
    const char   *block_name;
    int64_t       split, n_splits; /* 0 of 0 but in a model-parallel block */
} place;

typedef struct reading {
    paleo_model *model;
    place       *place; /* by layer */
    size_t       layer_room, place_room, n_parents;
    const char  *text, *cursor; /* of the file; where the last name was found */
    int          line;          /* of the cursor */
    names        by_name;       /* layers as PALEO names them */
    names        blocks;        /* by name: index into `head` */
    names        splits;        /* "block/layer" in a model-parallel block: how many there are */
    json_t      *head[BLOCKS_MAX];
    size_t       n_blocks;
    arena       *arena;
    lm_error    *err;
} reading;

lm_status paleo_fail(const paleo_model *m, const paleo_layer *l, lm_error *err, lm_status code,
                     const char *fmt, ...)
{
    char    text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (l->line)
        return lm_error_set(err, code, "%s:%d: layer '%.100s': %s", m->path, l->line, l->name,
                            text);
    return lm_error_set(err, code, "%s: layer '%.100s': %s", m->path, l->name, text);
}

static lm_status no_memory(reading *r)
{
    return lm_error_set(r->err, LM_E_NOMEM, "%s: out of memory", r->model->path);
}

/* jansson tells no lines of values: the name's next place as a key, as written, or 0. */
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

/* ---- values -------------------------------------------------------------------------------------
 */

/* A key of a layer, for messages. */
typedef struct key_of {
    reading     *r;
    paleo_layer *l;
    const char  *key;
} key_of;

static lm_status wrong(const key_of *k, const char *expected)
{
    return paleo_fail(k->r->model, k->l, k->r->err, LM_E_ARG, "'%s': expected %s", k->key,
                      expected);
}

static lm_status read_number(const key_of *k, const json_t *value, int64_t least, int64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > NUMBER_MAX)
        return wrong(k, "whole numbers of at most 10^9");
    *out = json_integer_value(value);
    return LM_OK;
}

static lm_status read_numbers(const key_of *k, const json_t *value, size_t n, int64_t least,
                              int64_t *out)
{
    lm_status status = LM_OK;

    if (!json_is_array(value) || json_array_size(value) != n)
        return paleo_fail(k->r->model, k->l, k->r->err, LM_E_ARG, "'%s': expected a list of %zu",
                          k->key, n);
    for (size_t i = 0; i < n && !status; i++)
        status = read_number(k, json_array_get(value, i), least, &out[i]);
    return status;
}

/* [1, height, width, 1] */
static lm_status read_window(const key_of *k, const json_t *value, int64_t out[2])
{
    int64_t   all[4];
    lm_status status = read_numbers(k, value, 4, 1, all);

    if (!status && (all[0] != 1 || all[3] != 1))
        return wrong(k, "[1, height, width, 1]");
    if (!status)
        memcpy(out, &all[1], 2 * sizeof *out);
    return status;
}

static lm_status read_padding(const key_of *k, const json_t *value)
{
    const char *word = json_string_value(value);

    if (word && !strcmp(word, "VALID"))
        k->l->padding = PALEO_VALID;
    else if (word && !strcmp(word, "SAME"))
        k->l->padding = PALEO_SAME;
    else if (json_is_array(value) && k->l->kind == PALEO_CONVOLUTION)
        k->l->padding = PALEO_GIVEN;
    else
        return wrong(k, "\"VALID\" or \"SAME\"");
    return k->l->padding == PALEO_GIVEN ? read_numbers(k, value, 2, 0, k->l->pad) : LM_OK;
}

static lm_status read_tensor(const key_of *k, const json_t *value)
{
    int64_t   all[4];
    lm_status status = read_numbers(k, value, 4, 1, all);

    if (status)
        return status;
    k->l->height = all[1];
    k->l->width  = all[2];
    k->l->out    = all[3];
    return LM_OK;
}

/* Input channels of -1 are those of the input. */
static lm_status read_filter(const key_of *k, const json_t *value)
{
    int64_t   all[4];
    lm_status status = read_numbers(k, value, 4, -1, all);

    if (status)
        return status;
    if (all[0] < 1 || all[1] < 1 || !all[2] || all[3] < 1)
        return wrong(k, "[height, width, input channels or -1, output channels]");
    k->l->window[0] = all[0];
    k->l->window[1] = all[1];
    k->l->in        = all[2] < 0 ? 0 : all[2];
    k->l->out       = all[3];
    return LM_OK;
}

static lm_status read_activation(const key_of *k, const json_t *value)
{
    static const char *const known[] = { "relu", "relu6", "elu", "tanh", "sigmoid", "softplus" };
    const char              *word    = json_string_value(value);

    k->l->activation = NULL;
    if (json_is_null(value))
        return LM_OK;
    for (size_t i = 0; word && i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(word, known[i]))
            k->l->activation = known[i];
    return k->l->activation
               ? LM_OK
               : wrong(k, "null, \"relu\", \"relu6\", \"elu\", \"tanh\", \"sigmoid\" or "
                          "\"softplus\"");
}

static lm_status read_normalizer(const key_of *k, const json_t *value)
{
    const char *word = json_string_value(value);

    k->l->batch_norm = word && !strcmp(word, "batch_norm");
    return json_is_null(value) || k->l->batch_norm ? LM_OK : wrong(k, "null or \"batch_norm\"");
}

static lm_status read_keep(const key_of *k, const json_t *value)
{
    k->l->keep = json_number_value(value);
    return json_is_number(value) && k->l->keep > 0 && k->l->keep <= 1
               ? LM_OK
               : wrong(k, "a number above 0, at most 1");
}

static lm_status read_dim(const key_of *k, const json_t *value)
{
    lm_status status = read_number(k, value, -4, &k->l->dim);

    if (!status && k->l->dim > 3)
        return wrong(k, "a dimension, -4 to 3");
    if (k->l->dim < 0)
        k->l->dim += 4;
    return status;
}

static lm_status read_classes(const key_of *k, const json_t *value)
{
    return json_is_null(value) ? LM_OK : read_number(k, value, 1, &k->l->out);
}

static lm_status read_outputs(const key_of *k, const json_t *value)
{
    return read_number(k, value, 1, &k->l->out);
}

static lm_status read_stride(const key_of *k, const json_t *value)
{
    return read_window(k, value, k->l->stride);
}

static lm_status read_ksize(const key_of *k, const json_t *value)
{
    return read_window(k, value, k->l->window);
}

/* PALEO counts a bias for each output channel whatever stands here: anything else would be wrong.
 */
static lm_status read_bias(const key_of *k, const json_t *value)
{
    int64_t   n      = 0;
    lm_status status = read_numbers(k, value, 1, 1, &n);

    if (!status && n != k->l->out)
        return wrong(k, "a list of one number, the output channels");
    return status;
}

/* Of a layer by itself; in a model-parallel block those of the block. */
static lm_status read_splits(const key_of *k, const json_t *value)
{
    int64_t   n      = 1;
    lm_status status = json_is_null(value) ? LM_OK : read_number(k, value, 1, &n);

    if (!status && k->l->out / n < 1)
        return wrong(k, "no more parts than output channels");
    k->l->out /= n;
    return status;
}

/* ---- layers -------------------------------------------------------------------------------------
 */

typedef struct key {
    const char *name;
    bool        needed;
    lm_status (*read)(const key_of *k, const json_t *value);
} key;

static const key input_keys[]       = { { "tensor", true, read_tensor }, { 0 } };
static const key convolution_keys[] = {
    { "filter", true, read_filter },
    { "strides", true, read_stride },
    { "padding", true, read_padding },
    { "activation_fn", false, read_activation },
    { "normalizer_fn", false, read_normalizer },
    { "bias", false, read_bias },
    { "splits", false, read_splits },
    { 0 },
};
static const key pool_keys[] = {
    { "ksize", true, read_ksize },
    { "strides", true, read_stride },
    { "padding", true, read_padding },
    { 0 },
};
static const key dropout_keys[]     = { { "dropout_keep_prob", true, read_keep }, { 0 } };
static const key concatenate_keys[] = { { "dim", true, read_dim }, { 0 } };
static const key softmax_keys[]     = { { "num_classes", false, read_classes }, { 0 } };
static const key product_keys[]     = {
        { "num_outputs", true, read_outputs },
        { "activation_fn", false, read_activation },
        { 0 },
};
static const key no_keys[] = { { 0 } };

static const struct {
    const char *type;
    const key  *keys;
} kinds[] = {
    [PALEO_INPUT]         = { "Input", input_keys },
    [PALEO_CONVOLUTION]   = { "Convolution", convolution_keys },
    [PALEO_MAX_POOL]      = { "Pooling", pool_keys },
    [PALEO_AVG_POOL]      = { "AvgPool", pool_keys },
    [PALEO_DROPOUT]       = { "Dropout", dropout_keys },
    [PALEO_CONCATENATE]   = { "Concatenate", concatenate_keys },
    [PALEO_ELEMENTWISE]   = { "Elementwise", no_keys },
    [PALEO_SOFTMAX]       = { "Softmax", softmax_keys },
    [PALEO_INNER_PRODUCT] = { "InnerProduct", product_keys },
};

static lm_status check_keys(reading *r, paleo_layer *l, const json_t *object, const key *keys)
{
    const char *name;
    json_t     *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const key *k = keys;

        while (k->name && strcmp(k->name, name))
            k++;
        if (!k->name && strcmp(name, "type") && strcmp(name, "parents"))
            return paleo_fail(r->model, l, r->err, LM_E_NOTFOUND,
                              "'%s' has no key '%.60s': PALEO would not look at it", l->type, name);
    }
    return LM_OK;
}

static lm_status read_keys(reading *r, paleo_layer *l, const place *at)
{
    const key *keys   = kinds[l->kind].keys;
    lm_status  status = check_keys(r, l, at->json, keys);

    for (const key *k = keys; k->name && !status; k++) {
        const json_t *value = json_object_get(at->json, k->name);
        const key_of  of    = { r, l, k->name };

        if (at->n_splits && !strcmp(k->name, "splits"))
            continue; /* the block's are what counts */
        if (value)
            status = k->read(&of, value);
        else if (k->needed)
            status =
                paleo_fail(r->model, l, r->err, LM_E_ARG, "'%s' needs a '%s'", l->type, k->name);
    }
    return status;
}

static lm_status read_layer(reading *r, paleo_layer *l, const place *at)
{
    const char *type = json_string_value(json_object_get(at->json, "type"));
    lm_status   status;

    if (!type)
        return paleo_fail(r->model, l, r->err, LM_E_SYNTAX, "no 'type'");
    l->type = arena_text(r->arena, type, strlen(type));
    if (!l->type)
        return no_memory(r);
    l->kind = PALEO_OTHER;
    for (size_t i = 0; i < PALEO_OTHER; i++)
        if (!strcmp(type, kinds[i].type))
            l->kind = (paleo_kind)i;
    if (l->kind == PALEO_CONVOLUTION)
        l->activation = "relu"; /* where the key is missing */
    if (l->kind == PALEO_OTHER)
        return LM_OK;
    status = read_keys(r, l, at);
    if (!status && l->kind == PALEO_CONVOLUTION && at->n_splits)
        l->out /= at->n_splits;
    return status || l->kind != PALEO_CONVOLUTION || l->out
               ? status
               : paleo_fail(r->model, l, r->err, LM_E_ARG, "more parts than output channels");
}

/* ---- blocks -------------------------------------------------------------------------------------
 */

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
        return no_memory(r);
    m->layer              = layers;
    r->place              = places;
    m->layer[m->n_layers] = (paleo_layer){ .name = name, .line = line };
    r->place[m->n_layers] = *at;
    if (!json_is_object(at->json))
        return paleo_fail(m, &m->layer[m->n_layers], r->err, LM_E_SYNTAX, "expected an object");
    if (names_find(&r->by_name, name) != NAMES_NONE)
        return paleo_fail(m, &m->layer[m->n_layers], r->err, LM_E_SYNTAX, "the name is taken");
    return names_add(&r->by_name, name, m->n_layers++) ? LM_OK : no_memory(r);
}

/* "block/layer", and "@0" behind it where there are parts; false if it is too long. */
static bool full_name(char name[NAME_BYTES], const char *block, const char *layer, int64_t split,
                      bool is_split)
{
    const int n = is_split
                      ? snprintf(name, NAME_BYTES, "%s/%s@%lld", block, layer, (long long)split)
                      : snprintf(name, NAME_BYTES, "%s/%s", block, layer);

    return n < NAME_BYTES;
}

/* A block's layers, once. In a model-parallel block the names are kept, to find the parts by. */
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
            return no_memory(r);
    }
    return LM_OK;
}

/* Once, or as often as a model-parallel block is split: PALEO has a device for each part. */
static lm_status add_block(reading *r, const char *name, json_t *block, bool parallel)
{
    json_t   *layers = json_object_get(block, "layers"), *splits = json_object_get(block, "splits");
    int64_t   n      = parallel && json_is_integer(splits) ? json_integer_value(splits) : 1;
    char     *kept   = arena_text(r->arena, name, strlen(name));
    lm_status status = LM_OK;

    find_line(r, name);
    if (!kept)
        return no_memory(r);
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
        return no_memory(r);
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

/* ---- parents ------------------------------------------------------------------------------------
 */

/* The parents of one layer while they are being found. */
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
        return no_memory(r);
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

/* Is `end` what `name` ends in? Cuts it off then. */
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

/* ---- the file -----------------------------------------------------------------------------------
 */

/* jansson quotes what it did not expect, line breaks and all. */
static lm_status not_json(reading *r, const json_error_t *e)
{
    char text[JSON_ERROR_TEXT_LENGTH];

    snprintf(text, sizeof text, "%s", e->text);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return lm_error_set(r->err, LM_E_SYNTAX, "%s:%d: %s", r->model->path, e->line, text);
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
