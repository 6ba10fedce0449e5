/* Turns PALEO's layers into ours: channels first, padding in numbers, activations as layers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "formats/paleo/model.h"
#include "formats/paleo/paleo.h"
#include "network/build.h"
#include "base/graph.h"

/* The layers of ours that a layer of PALEO became. */
typedef struct emitted {
    size_t  layer; /* the last of them, by number in the builder */
    int64_t height, width, channels;
    bool    flat; /* N, channels: no image */
} emitted;

typedef struct emission {
    const paleo_model     *model;
    const registry        *reg;
    const network_choices *choices;
    net_builder           *builder;
    emitted               *done;    /* by layer of the model */
    bool                   strided; /* some padding fits only this size of the image */
    lm_error              *err;
} emission;

/* Adds a layer of ours after `from`, with the name of l and `end`. */
static size_t put(emission *e, const paleo_layer *l, const char *end, const char *type, size_t from)
{
    char   name[600];
    size_t layer;

    snprintf(name, sizeof name, "%s%s%s", l->name, *end ? "." : "", end);
    layer = build_layer(e->builder, name, type);
    build_input(e->builder, layer, (net_edge){ from, 0 });
    return layer;
}

static void put_pair(emission *e, size_t layer, const char *key, const int64_t pair[2])
{
    if (pair[0] == pair[1])
        build_key(e->builder, layer, key, "%lld", (long long)pair[0]);
    else
        build_key(e->builder, layer, key, "%lld, %lld", (long long)pair[0], (long long)pair[1]);
}

/* ---- windows ---- */

/* Padding of one axis, and its output. SAME is TensorFlow's rule: ceil(in / stride) windows;
 * padding is the part beyond the image, its odd pixel after it (documentation of tf.nn, "Notes on
 * padding"). */
static bool lay_windows(emission *e, const paleo_layer *l, int axis, int64_t in, int64_t pad[2],
                        int64_t *out)
{
    const int64_t window = l->window[axis], stride = l->stride[axis];
    int64_t       beyond;

    pad[0] = pad[1] = l->padding == PALEO_GIVEN ? l->pad[axis] : 0;
    if (l->padding == PALEO_SAME) {
        *out   = (in - 1) / stride + 1;
        beyond = (*out - 1) * stride + window - in;
        pad[0] = beyond > 0 ? beyond / 2 : 0;
        pad[1] = beyond > 0 ? beyond - beyond / 2 : 0;
        e->strided |= stride > 1 && window > 1;
        return true;
    }
    *out = (in + 2 * pad[0] - window) / stride + 1;
    return in + 2 * pad[0] >= window;
}

/* Our windows pad both sides alike. An uneven rest becomes a layer before. */
static lm_status pad_input(emission *e, const paleo_layer *l, const emitted *in, int64_t padding[2],
                           emitted *out)
{
    const int64_t size[2]   = { in->height, in->width };
    int64_t       before[2] = { 0 }, after[2] = { 0 }, made[2];

    for (int i = 0; i < 2; i++) {
        int64_t pad[2];

        if (!lay_windows(e, l, i, size[i], pad, &made[i]))
            return paleo_fail(e->model, l, e->err, LM_E_SHAPE,
                              "a window of %lld over %lld pixels of the input",
                              (long long)l->window[i], (long long)size[i]);
        padding[i] = pad[0] == pad[1] ? pad[0] : 0;
        before[i]  = pad[0] - padding[i];
        after[i]   = pad[1] - padding[i];
    }
    *out        = *in;
    out->height = made[0];
    out->width  = made[1];
    if (before[0] + after[0] + before[1] + after[1] == 0)
        return LM_OK;
    out->layer = put(e, l, "pad", "pad", in->layer);
    build_key(e->builder, out->layer, "before", "%lld, %lld", (long long)before[0],
              (long long)before[1]);
    build_key(e->builder, out->layer, "after", "%lld, %lld", (long long)after[0],
              (long long)after[1]);
    return LM_OK;
}

static lm_status needs_image(emission *e, const paleo_layer *l, const emitted *in)
{
    return in->flat ? paleo_fail(e->model, l, e->err, LM_E_SHAPE,
                                 "'%s' takes an image, its parent makes none", l->type)
                    : LM_OK;
}

/* ---- types ---- */

static void put_activation(emission *e, const paleo_layer *l, emitted *out)
{
    if (l->activation)
        out->layer = put(e, l, l->activation, l->activation, out->layer);
}

/* PALEO always counts a bias. After TF-Slim's normalizer_fn there is none, but PALEO ignores that
 * key. */
static lm_status put_convolution(emission *e, const paleo_layer *l, const emitted *in, emitted *out)
{
    int64_t   padding[2];
    lm_status status = needs_image(e, l, in);

    if (!status && l->in && l->in != in->channels)
        status = paleo_fail(e->model, l, e->err, LM_E_SHAPE,
                            "the filter takes %lld channels, its parent makes %lld",
                            (long long)l->in, (long long)in->channels);
    if (!status)
        status = pad_input(e, l, in, padding, out);
    if (status)
        return status;
    out->layer    = put(e, l, "", "conv2d", out->layer);
    out->channels = l->out;
    build_key(e->builder, out->layer, "filters", "%lld", (long long)l->out);
    put_pair(e, out->layer, "kernel", l->window);
    if (l->stride[0] != 1 || l->stride[1] != 1)
        put_pair(e, out->layer, "stride", l->stride);
    if (padding[0] || padding[1])
        put_pair(e, out->layer, "padding", padding);
    if (l->batch_norm) {
        build_key(e->builder, out->layer, "bias", "no");
        out->layer = put(e, l, "batch_norm", "batch_norm", out->layer);
    }
    put_activation(e, l, out);
    return LM_OK;
}

static lm_status put_pool(emission *e, const paleo_layer *l, const emitted *in, emitted *out)
{
    int64_t   padding[2];
    lm_status status = needs_image(e, l, in);

    if (!status)
        status = pad_input(e, l, in, padding, out);
    if (status)
        return status;
    out->layer = put(e, l, "", l->kind == PALEO_MAX_POOL ? "max_pool2d" : "avg_pool2d", out->layer);
    put_pair(e, out->layer, "kernel", l->window);
    put_pair(e, out->layer, "stride", l->stride);
    if (padding[0] || padding[1])
        put_pair(e, out->layer, "padding", padding);
    return LM_OK;
}

static void put_flatten(emission *e, const paleo_layer *l, emitted *out)
{
    if (out->flat)
        return;
    out->layer    = put(e, l, "flatten", "flatten", out->layer);
    out->channels = out->height * out->width * out->channels;
    out->flat     = true;
}

static lm_status put_product(emission *e, const paleo_layer *l, const emitted *in, emitted *out)
{
    *out = *in;
    put_flatten(e, l, out);
    out->layer    = put(e, l, "", "linear", out->layer);
    out->channels = l->out;
    build_key(e->builder, out->layer, "features", "%lld", (long long)l->out);
    put_activation(e, l, out);
    return LM_OK;
}

/* PALEO's output has no height and width: they must be one pixel by then. */
static lm_status put_softmax(emission *e, const paleo_layer *l, const emitted *in, emitted *out)
{
    if (!in->flat && (in->height > 1 || in->width > 1))
        return paleo_fail(
            e->model, l, e->err, LM_E_SHAPE,
            "one class a sample, but its parent makes an image of %lld by %lld pixels",
            (long long)in->height, (long long)in->width);
    if (l->out && l->out != in->channels)
        return paleo_fail(e->model, l, e->err, LM_E_SHAPE, "%lld classes, its parent makes %lld",
                          (long long)l->out, (long long)in->channels);
    *out = *in;
    put_flatten(e, l, out);
    out->layer = put(e, l, "", "softmax", out->layer);
    return LM_OK;
}

static lm_status put_dropout(emission *e, const paleo_layer *l, const emitted *in, emitted *out)
{
    *out       = *in;
    out->layer = put(e, l, "", "dropout", in->layer);
    build_key(e->builder, out->layer, "p", "%.12g", 1 - l->keep);
    return LM_OK;
}

/* From N, H, W, C to N, C, H, W. */
static lm_status put_concatenate(emission *e, const paleo_layer *l, emitted *out)
{
    static const int axis[] = { 0, 2, 3, 1 };
    const emitted   *first  = &e->done[l->parent[0]];
    int64_t         *size[] = { NULL, &out->height, &out->width, &out->channels };

    if (l->dim == 0 || (first->flat && l->dim != 1))
        return paleo_fail(e->model, l, e->err, LM_E_SHAPE, "no concatenation over dimension %lld",
                          (long long)l->dim);
    *out       = *first;
    out->layer = put(e, l, "", "concat", first->layer);
    build_key(e->builder, out->layer, "axis", "%d", first->flat ? 1 : axis[l->dim]);
    for (size_t i = 1; i < l->n_parents; i++) {
        const emitted *in     = &e->done[l->parent[i]];
        const int64_t  more[] = { 0, in->height, in->width, in->channels };
        const int64_t  d      = first->flat ? 3 : l->dim;

        build_input(e->builder, out->layer, (net_edge){ in->layer, 0 });
        *size[d] += more[d];
    }
    return LM_OK;
}

static lm_status put_sum(emission *e, const paleo_layer *l, emitted *out)
{
    if (l->n_parents < 2)
        return paleo_fail(e->model, l, e->err, LM_E_SHAPE, "two parents or more are needed");
    *out       = e->done[l->parent[0]];
    out->layer = put(e, l, "", "add", out->layer);
    for (size_t i = 1; i < l->n_parents; i++)
        build_input(e->builder, out->layer, (net_edge){ e->done[l->parent[i]].layer, 0 });
    return LM_OK;
}

static void put_input(emission *e, const paleo_layer *l, emitted *out)
{
    *out =
        (emitted){ build_layer(e->builder, l->name, "input"), l->height, l->width, l->out, false };
    build_key(e->builder, out->layer, "shape", "%lldx%lldx%lld", (long long)l->out,
              (long long)l->height, (long long)l->width);
}

/* The choice of --treat or --ignore for l's type: a layer type, or NULL to pass the input on. */
static lm_status choose(const emission *e, const paleo_layer *l, const char **treat)
{
    const network_choices *c = e->choices;
    const registry_entry  *entry;
    const size_t           n = strlen(l->type);
    lm_status              status;

    for (size_t i = c ? c->n_treat : 0; i-- > 0;) {
        if (strncmp(c->treat[i], l->type, n) || c->treat[i][n] != '=')
            continue;
        status = registry_need(e->reg, c->treat[i] + n + 1, &entry, e->err);
        *treat = status ? NULL : entry->type.name;
        if (status)
            lm_error_prefix(e->err, "--treat %.80s", c->treat[i]);
        return status;
    }
    for (size_t i = 0; c && i < c->n_ignore; i++)
        if (!strcmp(c->ignore[i], l->type))
            return LM_OK;
    return paleo_fail(e->model, l, e->err, LM_E_UNSUPPORTED,
                      "no layer type for '%.40s', which PALEO would count as nothing; choose one "
                      "(--treat %.40s=TYPE) or pass the input on (--ignore %.40s)",
                      l->type, l->type, l->type);
}

/* As large as its first input, for want of better knowledge. */
static lm_status put_other(emission *e, const paleo_layer *l, emitted *out)
{
    const char *treat  = NULL;
    lm_status   status = choose(e, l, &treat);

    if (status)
        return status;
    *out = e->done[l->parent[0]];
    if (treat)
        out->layer = put(e, l, "", treat, out->layer);
    for (size_t i = 1; treat && i < l->n_parents; i++)
        build_input(e->builder, out->layer, (net_edge){ e->done[l->parent[i]].layer, 0 });
    build_note(e->builder,
               treat ? "%.60s of type %.40s treated as %s" : "%.60s of type %.40s ignored", l->name,
               l->type, treat);
    return LM_OK;
}

static lm_status emit_layer(emission *e, size_t i)
{
    const paleo_layer *l = &e->model->layer[i];
    const bool         many =
        l->kind == PALEO_CONCATENATE || l->kind == PALEO_ELEMENTWISE || l->kind == PALEO_OTHER;
    emitted       *out = &e->done[i];
    const emitted *in;

    if (l->kind == PALEO_INPUT ? l->n_parents > 0
                               : l->n_parents == 0 || (l->n_parents > 1 && !many))
        return paleo_fail(e->model, l, e->err, LM_E_SHAPE, "%s%s for '%s', %zu given",
                          l->kind == PALEO_INPUT ? "no parents" : "one parent",
                          many ? " or more" : "", l->type, l->n_parents);
    if (l->kind == PALEO_INPUT) {
        put_input(e, l, out);
        return LM_OK;
    }
    in = &e->done[l->parent[0]];
    switch (l->kind) {
    case PALEO_CONVOLUTION: return put_convolution(e, l, in, out);
    case PALEO_MAX_POOL:
    case PALEO_AVG_POOL: return put_pool(e, l, in, out);
    case PALEO_DROPOUT: return put_dropout(e, l, in, out);
    case PALEO_CONCATENATE: return put_concatenate(e, l, out);
    case PALEO_ELEMENTWISE: return put_sum(e, l, out);
    case PALEO_SOFTMAX: return put_softmax(e, l, in, out);
    case PALEO_INNER_PRODUCT: return put_product(e, l, in, out);
    case PALEO_INPUT:
    case PALEO_OTHER: break;
    }
    return put_other(e, l, out);
}

/* ---- the network ---- */

static size_t parent(const void *of, size_t at, size_t k)
{
    const paleo_layer *l = &((const paleo_model *)of)->layer[at];

    return k < l->n_parents ? l->parent[k] : GRAPH_END;
}

/* Parents first: SAME padding depends on their size. */
static lm_status order_layers(const paleo_model *m, arena *a, size_t **out, lm_error *err)
{
    size_t    cycle = 0;
    lm_status status;

    if (!(*out = arena_array(a, m->n_layers + 1, sizeof **out)))
        return no_memory(err);
    status = graph_order(&(graph){ m->n_layers, parent, m }, *out, &cycle);
    if (status == LM_E_SYNTAX)
        return paleo_fail(m, &m->layer[cycle], err, status, "is its own parent, through a cycle");
    return status ? no_memory(err) : LM_OK;
}

static lm_status emit_all(emission *e, arena *a)
{
    const paleo_model *m      = e->model;
    size_t            *order  = NULL;
    bool               fed    = false;
    lm_status          status = order_layers(m, a, &order, e->err);

    e->done = arena_array(a, m->n_layers + 1, sizeof *e->done);
    if (!status && !e->done)
        status = no_memory(e->err);
    for (size_t i = 0; i < m->n_layers && !status; i++) {
        fed |= m->layer[order[i]].kind == PALEO_INPUT;
        status = emit_layer(e, order[i]);
    }
    if (!status && !fed)
        status = lm_error_set(e->err, LM_E_SHAPE, "%s: no layer of type Input", m->path);
    if (m->parallel)
        build_note(e->builder,
                   "all parts of the model-parallel block '%.60s' are counted, on one device",
                   m->parallel);
    if (e->strided)
        build_note(e->builder,
                   "SAME padding is that of the file's input: other sizes of the input may "
                   "need another");
    return status;
}

/* "nets/alex_v2.json" -> "alex_v2" */
static void name_of(const char *path, char *buffer, size_t size)
{
    const char  *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n    = strlen(name);
    const size_t kept = n > 5 && !strcmp(name + n - 5, ".json") ? n - 5 : n;

    snprintf(buffer, size, "%.*s", (int)(kept < size ? kept : size - 1), name);
}

lm_status paleo_load(const char *path, const registry *reg, const network_choices *choices,
                     network **out, lm_error *err)
{
    lm_error    ignored;
    paleo_model model = { NULL, NULL, 0, NULL };
    arena      *a     = arena_new();
    emission  e = { .model = &model, .reg = reg, .choices = choices, .err = err ? err : &ignored };
    char      name[100];
    lm_status status;

    name_of(path, name, sizeof name);
    e.builder = build_new(path, name);
    status    = a && e.builder ? paleo_read(path, a, &model, e.err) : no_memory(e.err);
    if (!status)
        status = emit_all(&e, a);
    if (!status) {
        status    = build_finish(e.builder, out, e.err);
        e.builder = NULL;
    }
    build_free(e.builder);
    arena_free(a);
    return status;
}
