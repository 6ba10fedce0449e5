/* layermeter show: exact counts of a network, per layer and in total. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "layerwise/prenet.h"
#include "models/paleo.h"
#include "models/step_model.h"
#include "network/metrics.h"
#include "network/operations.h"
#include "report/table.h"

typedef struct show_options {
    bind_options    bind;
    network_options network;
    const char     *block, *features;
    bool            totals, unique;
    format          format;
} show_options;

#define AT(member) OPTION_AT(show_options, member)

static const option_row option_rows[] = {
    { "batch", AT(bind.batch), &type_whole, "N", "1", HELP_WHAT, "samples per device", .least = 1,
      .outside = "must be 1 or more" },
    { "image", AT(bind.image), &type_whole, "PIXELS", .least = 1, .outside = "must be 1 or more" },
    { "input", AT(bind.input) },
    { "dtype", AT(bind.dtype) },
    { "mixed", AT(bind.mixed), &type_dtype, "TYPE", NULL, HELP_HOW,
      "mixed precision: f32 with autocast to f16 or bf16, whose casts are counted",
      .excludes = "dtype", .refusal = "has f32 weights: leave out --dtype" },
    { "block", AT(block) },
    { "features", AT(features), &type_text, "NAME", NULL, HELP_WHAT,
      "what another model takes instead of counts: prenet or paleo", .excludes = "totals",
      .refusal = "features are of layers and have no totals" },
    { "totals", AT(totals), &type_flag, NULL, NULL, HELP_OUTPUT, "only the totals" },
    { "unique", AT(unique), &type_flag, NULL, NULL, HELP_OUTPUT,
      "each distinct operation once, and how often it occurs", .excludes = "totals",
      .refusal = "operations have no totals: leave one out" },
    { "format", AT(format) },
    OPTION_GROUP(show_options, network, network_option_rows),
    { .name = NULL },
};

static const char details[] =
    "FLOPs count 2 for each multiply-accumulate (MAC) of convolutions, linear layers and products of\n"
    "activations (attention), as published tables do. Bias, norm, activation, pooling and loss stand\n"
    "under 'other'. 'layers' are executed layers as frameworks' modules count them; add, concat and\n"
    "flatten are listed but not counted. The backward pass leaves out what does not happen: the first\n"
    "layer has no input gradient.\n"
    "\n"
    "--features prenet prints the inputs of PreNeT's models (ICPE 2025) in training, layer by layer:\n"
    "operations and memory (in elements) by its own published formulas. --features paleo prints the\n"
    "arithmetic and traffic that PALEO (ICLR 2017) counts: each convolution as one product, with zeros\n"
    "around and between pixels; nothing for layers that it does not know.\n"
    "\n"
    "--unique prints the catalogue that a sweep measures ([layers] networks = ...): a type with its keys\n"
    "and input, as observations name them, and the counts of one call.\n";

static const char examples[] = "  layermeter show resnet50\n"
                               "  layermeter show resnet50 --image 128 --batch 32 --block layer3\n"
                               "  layermeter show my/net.ini --format json\n";

/* ---- features of other models ---- */

/* The printed table has the features of all kinds; CSV and JSON have all features. */
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

static bool features_known(const char *name)
{
    return find(name) < N_MODELS;
}

static size_t list_features(size_t m, const bound_network *net, const char *block, format f,
                            table *t)
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

static lm_status show_features(const char *name, const bound_network *net, const char *block,
                               format f, lm_error *err)
{
    table    *t      = table_new();
    lm_status status = LM_OK;

    if (!list_features(find(name), net, block, f, t))
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

/* ---- counts ---- */

/* The counts, in the order of all outputs. */
static const struct {
    const char *key, *title;
    size_t      offset;
    const char *brief; /* head of its column in the printed table; NULL: no column there */
} counts[] = {
    { "params", "parameters", offsetof(net_metrics, params), "parameters" },
    { "param_tensors", "parameter tensors", offsetof(net_metrics, param_tensors), NULL },
    { "macs_conv", "MACs of convolutions, forward", offsetof(net_metrics, macs_conv), NULL },
    { "macs_linear", "MACs of linear layers, forward", offsetof(net_metrics, macs_linear), NULL },
    { "macs_matmul", "MACs of products of activations, forward", offsetof(net_metrics, macs_matmul),
      NULL },
    { "flops_forward", "FLOPs forward (2 x MACs)", offsetof(net_metrics, flops_forward),
      "FLOPs fwd" },
    { "flops_backward", "FLOPs backward (2 x MACs)", offsetof(net_metrics, flops_backward),
      "FLOPs bwd" },
    { "flops_grad_input", "  of input gradients", offsetof(net_metrics, flops_grad_input), NULL },
    { "flops_grad_weight", "  of weight gradients", offsetof(net_metrics, flops_grad_weight),
      NULL },
    { "other_flops_forward", "other FLOPs forward", offsetof(net_metrics, other_flops_forward),
      "other fwd" },
    { "other_flops_backward", "other FLOPs backward", offsetof(net_metrics, other_flops_backward),
      NULL },
    { "conv_inputs", "inputs of convolutions, elements", offsetof(net_metrics, conv_inputs), NULL },
    { "conv_outputs", "outputs of convolutions, elements", offsetof(net_metrics, conv_outputs),
      NULL },
    { "linear_inputs", "inputs of linear layers, elements", offsetof(net_metrics, linear_inputs),
      NULL },
    { "linear_outputs", "outputs of linear layers, elements", offsetof(net_metrics, linear_outputs),
      NULL },
    { "layers", "layers", offsetof(net_metrics, layers), NULL },
    { "activation_bytes", "activations (outputs of layers), bytes",
      offsetof(net_metrics, activation_bytes), "activations [B]" },
    { "param_bytes", "parameters, bytes", offsetof(net_metrics, param_bytes), NULL },
    { "read_bytes", "compulsory reads, all passes, bytes", offsetof(net_metrics, read_bytes),
      NULL },
    { "written_bytes", "compulsory writes, all passes, bytes", offsetof(net_metrics, written_bytes),
      NULL },
    { "layers_not_lowered", "layers that nothing can run",
      offsetof(net_metrics, layers_not_lowered), NULL },
};

#define N_COUNTS (sizeof counts / sizeof counts[0])

static uint64_t count_of(const net_metrics *m, size_t i)
{
    uint64_t value;

    memcpy(&value, (const char *)m + counts[i].offset, sizeof value);
    return value;
}

static void print_shape(const lm_tensor *t, char *buffer, size_t size)
{
    size_t n = 0;

    snprintf(buffer, size, "%s", t->rank ? "" : "scalar");
    for (uint32_t d = 0; d < t->rank && n < size; d++)
        n += (size_t)snprintf(buffer + n, size - n, "%s%lld", d ? "x" : "", (long long)t->dim[d]);
}

static void count_columns(format f, table *t)
{
    for (size_t i = 0; i < N_COUNTS; i++)
        if (f != FORMAT_TABLE || counts[i].brief)
            table_column(t, counts[i].key, counts[i].brief ? counts[i].brief : counts[i].title, 0);
}

static lm_status count_cells(const bound_layer *layer, format f, table *t, lm_error *err)
{
    net_metrics     m;
    const lm_status status = metrics_of_layer(layer, &m, err);

    for (size_t i = 0; i < N_COUNTS && !status; i++)
        if (f != FORMAT_TABLE || counts[i].brief)
            table_count(t, count_of(&m, i));
    return status;
}

/* A row for each operation. */
static lm_status list_operations(const bound_network *net, const char *block, format f, table *t,
                                 lm_error *err)
{
    operation_list list   = { .n = 0 };
    lm_status      status = operations_add(&list, net, block, false, err);

    table_column(t, "operation", "operation", 0);
    table_column(t, "geometry", "geometry", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "count", "count", 0);
    count_columns(f, t);
    for (size_t i = 0; i < list.n && !status; i++) {
        table_text(t, list.of[i].type);
        table_text(t, list.of[i].geometry);
        table_text(t, list.of[i].input);
        table_count(t, list.of[i].count);
        status = count_cells(list.of[i].layer, f, t, err);
    }
    if (!status && list.n_apart)
        note(
            "%s: %llu layers are no operations by themselves: what they take is no sample of a batch%s",
            net->net->path, (unsigned long long)list.n_apart,
            net->options.batch == 1 ? " (--batch 2 tells a batch from a dimension of 1)" : "");
    operations_free(&list);
    return status;
}

/* A row for each layer: a few columns for people, all counts for programs. */
static lm_status list_layers(const bound_network *net, const char *block, format f, table *t,
                             lm_error *err)
{
    table_column(t, "layer", "layer", 0);
    table_column(t, "type", "type", 0);
    table_column(t, "output", "output", 0);
    count_columns(f, t);
    if (f == FORMAT_CSV && net->net->set)
        table_column(t, "set", "set", 0);
    for (size_t l = 0; l < net->n_layers; l++) {
        const bound_layer *layer = &net->layer[l];
        char               shape[160];
        lm_status          status;

        if (block && !metrics_in_block(layer->decl->name, block))
            continue;
        print_shape(&layer->output[0], shape, sizeof shape);
        table_text(t, layer->decl->name);
        table_text(t, layer->decl->type);
        table_text(t, shape);
        if ((status = count_cells(layer, f, t, err)))
            return status;
        if (f == FORMAT_CSV && net->net->set)
            table_text(t, net->net->set);
    }
    return LM_OK;
}

/* The totals as the one row of a CSV. */
static void total_row(const bound_network *net, const net_metrics *m, table *t)
{
    for (size_t i = 0; i < N_COUNTS; i++)
        table_column(t, counts[i].key, counts[i].title, 0);
    if (net->net->set)
        table_column(t, "set", "set", 0);
    for (size_t i = 0; i < N_COUNTS; i++)
        table_count(t, count_of(m, i));
    if (net->net->set)
        table_text(t, net->net->set);
}

static void print_total_text(const bound_network *net, const char *block, const net_metrics *m)
{
    char number[40], si[32], types[TYPES_TEXT];

    printf("%s%s%s: input %s, batch %lld, %s%s%s\n", net->net->name, block ? " / " : "",
           block ? block : "", net->input, (long long)net->options.batch,
           types_print(net->options.dtype, net->options.mixed, types),
           net->net->set ? ", with " : "", net->net->set ? net->net->set : "");
    for (size_t i = 0; i < N_COUNTS; i++)
        if (i + 1 < N_COUNTS || m->layers_not_lowered)
            printf("  %-40s %20s  %s\n", counts[i].title,
                   text_grouped(count_of(m, i), number, sizeof number),
                   count_of(m, i) >= 1000 ? text_si((double)count_of(m, i), si, sizeof si) : "");
}

/* Compares the published counts in the file with ours, at the published input. */
static void print_published(const bound_network *net, const show_options *a, const net_metrics *m)
{
    const network *n    = net->net;
    const bool     same = !a->bind.image && !a->bind.input && !a->block;
    const uint64_t macs =
        (m->macs_conv + m->macs_linear + m->macs_matmul) / (uint64_t)net->options.batch;
    char number[40];

    if (!same || (!n->published_params && !n->published_macs))
        return;
    if (n->published_params)
        printf("  published parameters: %s, %s\n",
               text_grouped(n->published_params, number, sizeof number),
               n->published_params == m->params ? "the same" : "NOT the same");
    if (n->published_macs)
        printf("  published MACs per sample: %s, %s\n",
               text_grouped(n->published_macs, number, sizeof number),
               n->published_macs == macs ? "the same" : "NOT the same");
    if (n->source)
        printf("  source: %s\n", n->source);
}

static void print_json(const bound_network *net, const char *block, const net_metrics *m,
                       const char *rows, const table *layers)
{
    json j = { .out = stdout };

    json_open(&j, NULL, '{');
    json_text(&j, "network", net->net->name);
    json_text(&j, "file", net->net->path);
    json_text(&j, "note", net->net->note);
    json_text(&j, "set", net->net->set);
    json_text(&j, "block", block);
    json_text(&j, "input", net->input);
    json_count(&j, "batch", (uint64_t)net->options.batch);
    json_text(&j, "dtype", text_dtype_name(net->options.dtype));
    if (net->options.mixed)
        json_text(&j, "mixed", text_dtype_name(net->options.mixed));
    json_open(&j, "total", '{');
    for (size_t i = 0; i < N_COUNTS; i++)
        json_count(&j, counts[i].key, count_of(m, i));
    json_close(&j, '}');
    if (layers)
        table_json(layers, &j, rows);
    json_close(&j, '}');
}

static lm_status print_counts(const bound_network *net, const show_options *a, lm_error *err)
{
    const char  *block  = a->block;
    const bool   totals = a->totals;
    const format f      = a->format;
    table       *t      = totals && f != FORMAT_CSV ? NULL : table_new();
    net_metrics  m;
    lm_status    status = metrics_of_network(net, block, &m, err);

    if (!status && t && !totals)
        status =
            a->unique ? list_operations(net, block, f, t, err) : list_layers(net, block, f, t, err);
    if (!status && t && totals)
        total_row(net, &m, t);
    if (!status && f == FORMAT_JSON) {
        print_json(net, block, &m, a->unique ? "operations" : "layers", t);
    } else if (!status) {
        if (t)
            status = table_print(t, f, stdout, err);
        if (!status && f == FORMAT_CSV)
            print_note(net->net, stderr);
        if (!status && f == FORMAT_TABLE) {
            if (t)
                putchar('\n');
            print_total_text(net, block, &m);
            print_published(net, a, &m);
            print_note(net->net, stdout);
        }
    }
    table_free(t);
    return status;
}

static lm_status check(options *o, lm_error *err)
{
    const show_options *a = o->filled;

    return !a->features || features_known(a->features)
               ? LM_OK
               : misused(o, &a->features, err, "expected prenet or paleo, found '%.40s'",
                         a->features);
}

static lm_status run(const options *o, lm_error *err)
{
    const show_options *a       = o->filled;
    lm_library         *library = NULL;
    lm_network         *net     = NULL;
    bound_network      *bound   = NULL;
    lm_status           status;

    if (!(status = open_library(o, &library, err)) &&
        !(status = open_network(o, &a->network, library, &net, err)) &&
        !(status = bind_network(net->net, library->reg, &a->bind, &bound, err)))
        status = a->features ? show_features(a->features, bound, a->block, a->format, err)
                             : print_counts(bound, a, err);
    bound_network_free(bound);
    lm_network_close(net);
    lm_library_close(library);
    return status;
}

const command cmd_show =
    COMMAND("show", "NETWORK", "Count FLOPs, parameters, layers and activations of a network",
            show_options, 1, 1, check, run);
