/* layermeter show: exact counts of a network, per layer and in total. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "network/metrics.h"
#include "report/table.h"

enum { BATCH, IMAGE, INPUT, DTYPE, BLOCK, TOTALS, FORMAT, TREAT, IGNORE, SET, FEATURES };

static const option_spec specs[] = {
    [BATCH]    = { "batch", "N", "1", "samples per device" },
    [IMAGE]    = OPTION_IMAGE,
    [INPUT]    = OPTION_INPUT,
    [DTYPE]    = { "dtype", "TYPE", "f32", "element type: f32 f16 bf16 f64" },
    [BLOCK]    = { "block", "PREFIX", NULL, "only layers under this name (layer1, layer1.0, ...)" },
    [TOTALS]   = { "totals", NULL, NULL, "only the totals" },
    [FORMAT]   = { "format", "FORMAT", "table", "table, csv or json" },
    [TREAT]    = OPTION_TREAT,
    [IGNORE]   = OPTION_IGNORE,
    [SET]      = OPTION_SET,
    [FEATURES] = { "features", "NAME", NULL,
                   "what another model takes instead of counts: prenet or paleo" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "FLOPs count 2 for each multiply-accumulate (MAC) of convolutions, linear layers and products of\n"
    "activations (attention), as published tables do; bias, norm, activation, pooling and loss stand\n"
    "under 'other'. 'layers' are executed layers as frameworks' modules count them; add, concat and\n"
    "flatten are listed but are none.\n"
    "Backward leaves out what does not happen: the first layer has no input gradient.\n"
    "--features prenet prints what the models of PreNeT (ICPE 2025) take, in training, layer by layer:\n"
    "operations and memory (in elements) by its own published formulas, which are no counts.\n"
    "--features paleo prints the arithmetic and traffic that PALEO (ICLR 2017) counts, each convolution\n"
    "as one product: with zeros around and between pixels, and nothing for layers it does not know.\n";

static const char examples[] = "  layermeter show resnet50\n"
                               "  layermeter show resnet50 --image 128 --batch 32 --block layer3\n"
                               "  layermeter show my/net.ini --format json\n";

/* What is counted, in the order of every output. */
static const struct {
    const char *key, *title;
    size_t      offset;
    const char *brief; /* head of its column in the printed table; NULL: not there */
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

/* One row a layer: a few columns for people, every count for programs. */
static lm_status list_layers(const bound_network *net, const char *block, format f, table *t,
                             lm_error *err)
{
    table_column(t, "layer", "layer", 0);
    table_column(t, "type", "type", 0);
    table_column(t, "output", "output", 0);
    for (size_t i = 0; i < N_COUNTS; i++)
        if (f != FORMAT_TABLE || counts[i].brief)
            table_column(t, counts[i].key, counts[i].brief ? counts[i].brief : counts[i].title, 0);
    if (f == FORMAT_CSV && net->net->set)
        table_column(t, "set", "set", 0);
    for (size_t l = 0; l < net->n_layers; l++) {
        const bound_layer *layer = &net->layer[l];
        net_metrics        m;
        char               shape[160];
        lm_status          status;

        if (block && !metrics_in_block(layer->decl->name, block))
            continue;
        if ((status = metrics_of_layer(layer, &m, err)))
            return status;
        print_shape(&layer->output[0], shape, sizeof shape);
        table_text(t, layer->decl->name);
        table_text(t, layer->decl->type);
        table_text(t, shape);
        for (size_t i = 0; i < N_COUNTS; i++)
            if (f != FORMAT_TABLE || counts[i].brief)
                table_count(t, count_of(&m, i));
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
    char number[40], si[32];

    printf("%s%s%s: input %s, batch %lld, %s%s%s\n", net->net->name, block ? " / " : "",
           block ? block : "", net->input, (long long)net->options.batch,
           text_dtype_name(net->options.dtype), net->net->set ? ", with " : "",
           net->net->set ? net->net->set : "");
    for (size_t i = 0; i < N_COUNTS; i++)
        if (i + 1 < N_COUNTS || m->layers_not_lowered)
            printf("  %-40s %20s  %s\n", counts[i].title,
                   text_grouped(count_of(m, i), number, sizeof number),
                   count_of(m, i) >= 1000 ? text_si((double)count_of(m, i), si, sizeof si) : "");
}

/* The file's published counts against ours, at the input they were published for. */
static void print_published(const bound_network *net, const options *o, const net_metrics *m)
{
    const network *n    = net->net;
    const bool     same = !o->given[IMAGE] && !o->given[INPUT] && !o->value[BLOCK];
    const uint64_t macs =
        (m->macs_conv + m->macs_linear + m->macs_matmul) / (uint64_t)net->options.batch;
    char a[40];

    if (!same || (!n->published_params && !n->published_macs))
        return;
    if (n->published_params)
        printf("  published parameters: %s, %s\n", text_grouped(n->published_params, a, sizeof a),
               n->published_params == m->params ? "the same" : "NOT the same");
    if (n->published_macs)
        printf("  published MACs per sample: %s, %s\n",
               text_grouped(n->published_macs, a, sizeof a),
               n->published_macs == macs ? "the same" : "NOT the same");
    if (n->source)
        printf("  source: %s\n", n->source);
}

static void print_json(const bound_network *net, const char *block, const net_metrics *m,
                       const table *layers)
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
    json_open(&j, "total", '{');
    for (size_t i = 0; i < N_COUNTS; i++)
        json_count(&j, counts[i].key, count_of(m, i));
    json_close(&j, '}');
    if (layers)
        table_json(layers, &j, "layers");
    json_close(&j, '}');
}

static lm_status print_counts(const bound_network *net, const options *o, format f, lm_error *err)
{
    const char *block  = o->value[BLOCK];
    const bool  totals = o->value[TOTALS] != NULL;
    table      *t      = totals && f != FORMAT_CSV ? NULL : table_new();
    net_metrics m;
    lm_status   status = metrics_of_network(net, block, &m, err);

    if (!status && t && !totals)
        status = list_layers(net, block, f, t, err);
    if (!status && t && totals)
        total_row(net, &m, t);
    if (!status && f == FORMAT_JSON) {
        print_json(net, block, &m, t);
    } else if (!status) {
        if (t)
            status = table_print(t, f, stdout, err);
        if (!status && f == FORMAT_CSV)
            print_note(net->net, stderr);
        if (!status && f == FORMAT_TABLE) {
            if (t)
                putchar('\n');
            print_total_text(net, block, &m);
            print_published(net, o, &m);
            print_note(net->net, stdout);
        }
    }
    table_free(t);
    return status;
}

/* Counts, or what --features names. */
static lm_status print_network(const bound_network *net, const options *o, format f, lm_error *err)
{
    if (o->value[FEATURES])
        return show_features(o->value[FEATURES], net, o->value[BLOCK], f, err);
    return print_counts(net, o, f, err);
}

static int run(const options *o)
{
    static const network_options at  = { TREAT, IGNORE, SET };
    lm_error                     err = { 0 };
    format                       f;
    bind_options                 b     = { .input = o->value[INPUT] };
    registry                    *reg   = NULL;
    network                     *net   = NULL;
    bound_network               *bound = NULL;
    int                          code  = EXIT_DONE;

    if (format_parse(o->value[FORMAT], &f, &err))
        return report_misuse("", &err);
    if (text_int(o->value[BATCH], &b.batch, &err) ||
        (b.batch < 1 && lm_error_set(&err, LM_E_ARG, "must be 1 or more")))
        return report_misuse("--batch", &err);
    if (o->value[IMAGE] && (text_int(o->value[IMAGE], &b.image, &err) ||
                            (b.image < 1 && lm_error_set(&err, LM_E_ARG, "must be 1 or more"))))
        return report_misuse("--image", &err);
    if (text_dtype(o->value[DTYPE], &b.dtype, &err))
        return report_misuse("--dtype", &err);

    if (o->value[FEATURES] && !features_known(o->value[FEATURES])) {
        lm_error_set(&err, LM_E_ARG, "expected prenet or paleo, found '%.40s'", o->value[FEATURES]);
        return report_misuse("--features", &err);
    }
    if (o->value[FEATURES] && o->value[TOTALS]) {
        lm_error_set(&err, LM_E_ARG, "features are of layers and have no totals");
        return report_misuse("--features", &err);
    }

    if (open_registry(o, &reg, &err) || open_network(o, &at, reg, &net, &err) ||
        bind_network(net, reg, &b, &bound, &err) || print_network(bound, o, f, &err))
        code = report_failure(&err);
    bound_network_free(bound);
    network_free(net);
    registry_free(reg);
    return code;
}

const command cmd_show = {
    .name          = "show",
    .arguments     = "NETWORK",
    .doc           = "Count FLOPs, parameters, layers and activations of a network",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
