/* The keys of PALEO's layers; their names and defaults are those of its paleo/graph.py. */
#include "formats/paleo/keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 1000000000

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

/* ---- values ---- */

/* A key of a layer, for messages. */
typedef struct key_of {
    const paleo_model *m;
    paleo_layer       *l;
    const char        *key;
    lm_error          *err;
} key_of;

static lm_status wrong(const key_of *k, const char *expected)
{
    return paleo_fail(k->m, k->l, k->err, LM_E_ARG, "'%s': expected %s", k->key, expected);
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
        return paleo_fail(k->m, k->l, k->err, LM_E_ARG, "'%s': expected a list of %zu", k->key, n);
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

/* Input channels of -1: those of the input. */
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

/* PALEO counts a bias for each output channel, whatever the key says. Another value would be
 * wrong. */
static lm_status read_bias(const key_of *k, const json_t *value)
{
    int64_t   n      = 0;
    lm_status status = read_numbers(k, value, 1, 1, &n);

    if (!status && n != k->l->out)
        return wrong(k, "a list of one number, the output channels");
    return status;
}

/* Splits of a single layer, or of a model-parallel block. */
static lm_status read_splits(const key_of *k, const json_t *value)
{
    int64_t   n      = 1;
    lm_status status = json_is_null(value) ? LM_OK : read_number(k, value, 1, &n);

    if (!status && k->l->out / n < 1)
        return wrong(k, "no more parts than output channels");
    k->l->out /= n;
    return status;
}

/* ---- layers ---- */

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

static lm_status check_keys(const paleo_model *m, const paleo_layer *l, json_t *json,
                            const key *keys, lm_error *err)
{
    const char *name;
    json_t     *value;

    json_object_foreach(json, name, value)
    {
        const key *k = keys;

        while (k->name && strcmp(k->name, name))
            k++;
        if (!k->name && strcmp(name, "type") && strcmp(name, "parents"))
            return paleo_fail(m, l, err, LM_E_NOTFOUND,
                              "'%s' has no key '%.60s': PALEO would not look at it", l->type, name);
    }
    return LM_OK;
}

static lm_status read_keys(const paleo_model *m, paleo_layer *l, json_t *json, int64_t n_parts,
                           lm_error *err)
{
    const key *keys   = kinds[l->kind].keys;
    lm_status  status = check_keys(m, l, json, keys, err);

    for (const key *k = keys; k->name && !status; k++) {
        const json_t *value = json_object_get(json, k->name);
        const key_of  of    = { m, l, k->name, err };

        if (n_parts && !strcmp(k->name, "splits"))
            continue; /* those of the block count */
        if (value)
            status = k->read(&of, value);
        else if (k->needed)
            status = paleo_fail(m, l, err, LM_E_ARG, "'%s' needs a '%s'", l->type, k->name);
    }
    return status;
}

lm_status paleo_read_layer(const paleo_model *m, paleo_layer *l, json_t *json, int64_t n_parts,
                           lm_error *err)
{
    lm_status status;

    l->kind = PALEO_OTHER;
    for (size_t i = 0; i < PALEO_OTHER; i++)
        if (!strcmp(l->type, kinds[i].type))
            l->kind = (paleo_kind)i;
    if (l->kind == PALEO_OTHER)
        return LM_OK;
    if (l->kind == PALEO_CONVOLUTION)
        l->activation = "relu"; /* where the key is missing */
    status = read_keys(m, l, json, n_parts, err);
    if (status || l->kind != PALEO_CONVOLUTION || !n_parts)
        return status;
    l->out /= n_parts;
    return l->out ? LM_OK : paleo_fail(m, l, err, LM_E_ARG, "more parts than output channels");
}
