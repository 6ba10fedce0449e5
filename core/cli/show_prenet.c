/* layermeter show --features prenet: a row a layer. */
#include "base/text.h"
#include "cli/commands.h"
#include "fit/prenet.h"
#include "network/metrics.h"

/* The printed table has what all kinds share; CSV and JSON have everything. */
static bool shown(prenet_feature i, format f)
{
    return f != FORMAT_TABLE || i == PRENET_BATCHSIZE || i == PRENET_FLOPS ||
           i == PRENET_MEMORY_TOTAL;
}

static size_t list_layers(const bound_network *net, const char *block, format f, table *t)
{
    size_t n = 0;

    table_column(t, "layer", "layer", 0);
    table_column(t, "type", "type", 0);
    table_column(t, "kind", "kind", 0);
    for (int i = 0; i < N_PRENET_FEATURES; i++)
        if (shown((prenet_feature)i, f))
            table_column(t, prenet_feature_name((prenet_feature)i),
                         prenet_feature_name((prenet_feature)i), 0);
    for (size_t l = 0; l < net->n_layers; l++) {
        const bound_layer    *layer    = &net->layer[l];
        const prenet_features features = prenet_of_layer(layer, true);

        if (block && !metrics_in_block(layer->decl->name, block))
            continue;
        n++;
        table_text(t, layer->decl->name);
        table_text(t, layer->decl->type);
        table_text(t, features.kind == PRENET_NONE ? "" : prenet_kind_name(features.kind));
        for (int i = 0; i < N_PRENET_FEATURES; i++)
            if (shown((prenet_feature)i, f))
                table_real(t, features.value[i]);
    }
    return n;
}

lm_status show_prenet(const bound_network *net, const char *block, format f, lm_error *err)
{
    table    *t      = table_new();
    lm_status status = LM_OK;

    if (!list_layers(net, block, f, t))
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
        json_text(&j, "features", "prenet");
        table_json(t, &j, "layers");
        json_close(&j, '}');
    } else if (!status) {
        status = table_print(t, f, stdout, err);
    }
    table_free(t);
    return status;
}
