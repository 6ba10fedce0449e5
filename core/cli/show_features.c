/* layermeter show --features: what another model takes in place of counts, a row a layer. */
#include <string.h>

#include "base/text.h"
#include "baselines/paleo.h"
#include "baselines/prenet.h"
#include "cli/commands.h"
#include "network/metrics.h"

/* The printed table has what all kinds share; CSV and JSON have everything. */
static bool prenet_shown(prenet_feature i, format f)
{
    return f != FORMAT_TABLE || i == PRENET_BATCHSIZE || i == PRENET_FLOPS ||
           i == PRENET_MEMORY_TOTAL;
}

static void prenet_columns(table *t, format f)
{
    table_column(t, "kind", "kind", 0);
    for (int i = 0; i < N_PRENET_FEATURES; i++)
        if (prenet_shown((prenet_feature)i, f))
            table_column(t, prenet_feature_name((prenet_feature)i),
                         prenet_feature_name((prenet_feature)i), 0);
}

static void prenet_cells(table *t, format f, const bound_network *net, size_t layer)
{
    const prenet_features features = prenet_of_layer(&net->layer[layer], true);

    table_text(t, features.kind == PRENET_NONE ? "" : prenet_kind_name(features.kind));
    for (int i = 0; i < N_PRENET_FEATURES; i++)
        if (prenet_shown((prenet_feature)i, f))
            table_real(t, features.value[i]);
}

static void paleo_columns(table *t, format f)
{
    (void)f;
    table_column(t, "params", "parameters", 0);
    table_column(t, "flops_forward", "FLOPs fwd", 0);
    table_column(t, "bytes_forward", "bytes fwd", 0);
    table_column(t, "flops_backward", "FLOPs bwd", 0);
    table_column(t, "bytes_backward", "bytes bwd", 0);
}

static void paleo_cells(table *t, format f, const bound_network *net, size_t layer)
{
    const paleo_counts c        = paleo_of_layer(net, layer);
    const paleo_work   backward = paleo_backward(&c);

    (void)f;
    table_real(t, c.params);
    table_real(t, c.pass[LM_FORWARD].flops);
    table_real(t, c.pass[LM_FORWARD].bytes);
    table_real(t, backward.flops);
    table_real(t, backward.bytes);
}

static const struct {
    const char *name;
    void (*columns)(table *t, format f);
    void (*cells)(table *t, format f, const bound_network *net, size_t layer);
} models[] = {
    { "prenet", prenet_columns, prenet_cells },
    { "paleo", paleo_columns, paleo_cells },
};

#define N_MODELS (sizeof models / sizeof models[0])

static size_t find(const char *name)
{
    size_t m = 0;

    while (m < N_MODELS && strcmp(models[m].name, name) != 0)
        m++;
    return m;
}

bool features_known(const char *name)
{
    return find(name) < N_MODELS;
}

static size_t list_layers(size_t m, const bound_network *net, const char *block, format f, table *t)
{
    size_t n = 0;

    table_column(t, "layer", "layer", 0);
    table_column(t, "type", "type", 0);
    models[m].columns(t, f);
    for (size_t l = 0; l < net->n_layers; l++) {
        const bound_layer *layer = &net->layer[l];

        if (block && !metrics_in_block(layer->decl->name, block))
            continue;
        n++;
        table_text(t, layer->decl->name);
        table_text(t, layer->decl->type);
        models[m].cells(t, f, net, l);
    }
    return n;
}

lm_status show_features(const char *name, const bound_network *net, const char *block, format f,
                        lm_error *err)
{
    table    *t      = table_new();
    lm_status status = LM_OK;

    if (!list_layers(find(name), net, block, f, t))
        status = lm_error_set(err, LM_E_NOTFOUND, "%s: no layer '%s' and none under it",
                              net->net->path, block);
    if (!status && f == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        json_text(&j, "network", net->net->name);
        json_text(&j, "file", net->net->path);
        json_text(&j, "input", net->input);
        json_count(&j, "batch", (uint64_t)net->options.batch);
        json_text(&j, "dtype", text_dtype_name(net->options.dtype));
        json_text(&j, "features", name);
        table_json(t, &j, "layers");
        json_close(&j, '}');
    } else if (!status) {
        status = table_print(t, f, stdout, err);
    }
    table_free(t);
    return status;
}
