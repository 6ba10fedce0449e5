/* [layers] of a sweep: single layers with random keys and shapes. */
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "layers/schema.h"
#include "observe/points.h"
#include "sweep/draw.h"
#include "sweep/sweep_points.h"

static const ini_key keys[] = {
    SWEEP_KEY("type", type, &type_word),
    SWEEP_KEY("input", input, &type_word),
    SWEEP_KEY("batch", layer_batch, &type_word),
    SWEEP_KEY("optimizer", drawn, &type_word),
    SWEEP_KEY("activation", drawn, &type_word),
    SWEEP_KEY("count", count, &type_whole, 1, 1e5),
    SWEEP_KEY("seed", seed, &type_whole, 0, 9e18),
    SWEEP_VARIANT_KEYS,
    SWEEP_FILTER_KEYS,
    SWEEP_END,
};

/* A section during the drawing of its layers. */
typedef struct drawing {
    sweep_loading        *l;
    const ini_section    *s;
    const sweep_values   *v;
    const registry_entry *type;
    sweep_variants        variants;
    draw                  d;
    int64_t               n;            /* that were taken */
    char                  refused[300]; /* reason why the last refused layer was refused */
} drawing;

/* Keys of the section, keys of the layer type, and values that only other values refer to (_name). */
static lm_status read_keys(sweep_loading *l, const ini_section *s, sweep_values *v,
                           const registry_entry **type)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < s->n_pairs && !status; i++)
        if (ini_key_find(keys, s->pair[i].key))
            status = ini_key_read(l->s->path, &s->pair[i], keys, s->name, l->s->arena, v, l->err);
    if (status)
        return status;
    if (!v->type || !v->input || !v->layer_batch) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'%s =' is missing",
                              !v->type    ? "type (or networks)"
                              : !v->input ? "input"
                                          : "batch");
        return sweep_fail_at(l, s->line, status, s->name);
    }
    if ((status = registry_need(l->reg, v->type, type, l->err)))
        return sweep_fail_at(l, ini_get(s, "type")->line, status, "type");
    for (size_t i = 0; i < s->n_pairs; i++) {
        const char          *key = s->pair[i].key;
        const lm_layer_type *t   = &(*type)->type;

        if (key[0] == '_' || ini_key_find(keys, key) || schema_find(t, key) < t->n_params)
            continue;
        status = lm_error_set(l->err, LM_E_NOTFOUND,
                              "neither a key of [layers] nor of '%s' (a value that only other keys "
                              "refer to begins with _)",
                              t->name);
        return sweep_fail_at(l, s->pair[i].line, status, key);
    }
    return LM_OK;
}

/* The keys of the section that are drawn. */
static bool is_drawn(const char *key)
{
    return !strcmp(key, "input") || !strcmp(key, "batch") || !strcmp(key, "optimizer") ||
           !strcmp(key, "activation");
}

/* The drawn activation, chained behind the layer; NULL: none. */
static const char *activation(const drawing *w)
{
    const char *word = draw_get(&w->d, "activation");

    return word && strcmp(word, "none") != 0 ? word : NULL;
}

static lm_status check_activation(const drawing *w)
{
    const registry_entry *type;

    return activation(w) ? registry_need(w->l->reg, activation(w), &type, w->l->err) : LM_OK;
}

/* Draws every value, in the order of the file. */
static lm_status draw_all(drawing *w)
{
    draw_forget(&w->d);
    for (size_t i = 0; i < w->s->n_pairs; i++) {
        const ini_pair      *p     = &w->s->pair[i];
        const lm_layer_type *t     = &w->type->type;
        const uint32_t       at    = schema_find(t, p->key);
        const bool           input = !strcmp(p->key, "input");
        lm_status            status;

        if (!is_drawn(p->key) && ini_key_find(keys, p->key))
            continue;
        status = draw_value(&w->d, p->key, p->value,
                            input || (at < t->n_params && schema_param(t, at).kind == LM_LIST),
                            w->l->err);
        if (!status && !strcmp(p->key, "optimizer"))
            status = sweep_check_optimizer(draw_get(&w->d, p->key), w->l->err);
        if (!status && !strcmp(p->key, "activation"))
            status = check_activation(w);
        if (status)
            return sweep_fail_at(w->l, p->line, status, p->key);
    }
    return LM_OK;
}

/* "filters=64 kernel=3", in the order of the type's keys. */
static lm_status print_geometry(const drawing *w, char *buffer, size_t size, lm_error *err)
{
    const lm_layer_type *t    = &w->type->type;
    size_t               used = 0;

    buffer[0] = '\0';
    for (uint32_t i = 0; i < t->n_params; i++) {
        const char *name = schema_param(t, i).name, *text = draw_get(&w->d, name);

        if (!text)
            continue;
        if (strchr(text, ' '))
            return lm_error_set(err, LM_E_SYNTAX, "'%s' has a blank in it: '%s'", name, text);
        used +=
            (size_t)snprintf(buffer + used, size - used, "%s%s=%s", used ? " " : "", name, text);
        if (used >= size)
            return lm_error_set(err, LM_E_SYNTAX, "the layer's keys are too long");
    }
    return LM_OK;
}

/* Counts the drawn layer; LM_E_SHAPE and LM_E_ARG: there is no such layer. */
static lm_status count_layer(drawing *w, sweep_point *p, lm_error *err)
{
    char           geometry[400], type[2 * DRAW_TEXT];
    const char    *input = draw_get(&w->d, "input"), *o = draw_get(&w->d, "optimizer");
    network       *net    = NULL;
    bound_network *bound  = NULL;
    lm_status      status = text_int(draw_get(&w->d, "batch"), &p->row.batch, err);

    if (!status)
        status = print_geometry(w, geometry, sizeof geometry, err);
    snprintf(type, sizeof type, "%s%s%s", w->v->type, activation(w) ? "; " : "",
             activation(w) ? activation(w) : "");
    if (status)
        return status;
    p->row.on        = w->l->limits.on;
    p->row.name      = arena_text(w->l->s->arena, type, strlen(type));
    p->row.input     = arena_text(w->l->s->arena, input, strlen(input));
    p->row.geometry  = arena_text(w->l->s->arena, geometry, strlen(geometry));
    p->row.optimizer = o ? arena_text(w->l->s->arena, o, strlen(o)) : "";
    if (!p->row.name || !p->row.input || !p->row.geometry || !p->row.optimizer)
        return no_memory(err);
    if (!(status = row_bind_layer(&p->row, w->l->reg, &net, &bound, err)))
        status = metrics_of_network(bound, NULL, &p->counts, err);
    bound_network_free(bound);
    network_free(net);
    return status;
}

/* Adds a layer in all variants, if the first variant passes and is new. */
static lm_status add_layer(drawing *w)
{
    sweep_point p = { .row = sweep_row() };
    lm_error    err;
    lm_status   status;

    p.row.kind = OBS_LAYER;
    for (size_t i = 0; i < w->variants.n; i++) {
        sweep_work work;

        if ((status = sweep_variant(w->l, &w->variants, i, &p)))
            return status;
        status = count_layer(w, &p, &err);
        if (status == LM_E_SHAPE || status == LM_E_ARG || status == LM_E_OVERFLOW) {
            snprintf(w->refused, sizeof w->refused, "%.299s", err.text);
            return LM_OK;
        }
        if (status) {
            *w->l->err = err;
            return status;
        }
        work = sweep_work_of_counts(&p.counts);
        if (i == 0 && (!sweep_wanted(w->l, w->v, &work) || sweep_has(w->l, &p.row))) {
            snprintf(w->refused, sizeof w->refused, "%s",
                     sweep_has(w->l, &p.row) ? "it is there already" : "a filter left it out");
            return LM_OK;
        }
        if ((status = sweep_add(w->l, &p)))
            return status;
    }
    w->n++;
    return LM_OK;
}

lm_status sweep_take_layers(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    drawing   w = { .l = l, .s = s, .v = v };
    int64_t   tries;
    lm_status status;

    if (ini_get(s, "networks"))
        return sweep_take_operations(l, s, v);
    v->count = 100;
    status   = read_keys(l, s, v, &w.type);
    if (!status)
        status = sweep_variants_read(l, s, v, &w.variants);
    if (status)
        return status;
    w.d   = draw_begin((uint64_t)v->seed, s->name);
    tries = 1000 + 20 * v->count; /* a refused layer is drawn again */
    while (w.n < v->count && tries-- > 0)
        if ((status = draw_all(&w)))
            return status;
        else if ((status = add_layer(&w)))
            return sweep_fail_at(l, s->line, status, s->name);
    if (w.n == v->count)
        return LM_OK;
    status =
        lm_error_set(l->err, LM_E_ARG,
                     "only %lld of %lld layers could be drawn: widen the ranges or filters (the "
                     "last one was refused: %.200s)",
                     (long long)w.n, (long long)v->count, w.refused);
    return sweep_fail_at(l, s->line, status, s->name);
}
