/* Exact counts of a network, printed. */
#include "report/counts_view.h"

#include <string.h>

#include "base/text.h"
#include "layerwise/prenet.h"
#include "models/paleo.h"
#include "models/step_model.h"
#include "network/metrics.h"
#include "network/operations.h"
#include "report/fields.h"
#include "report/notes.h"

/* A layer, an operation, or all of a network. */
typedef struct counts_row {
    const char     *name, *type, *set;
    char            output[160];
    net_operation   operation;
    net_metrics     m;
    prenet_features prenet;
    paleo_counts    paleo;
    paleo_work      paleo_backward;
} counts_row;

enum { LAYERS = 1, OPERATIONS = 2, EXACT = 4, PRENET = 8, PALEO = 16, SET = 32 };

/* ---- columns ---- */

/* The printed table has the features of all kinds; CSV and JSON have all features. */
static const prenet_feature brief_features[] = { PRENET_BATCHSIZE, PRENET_FLOPS,
                                                 PRENET_MEMORY_TOTAL };

#define N_BRIEF (sizeof brief_features / sizeof brief_features[0])

static const char *brief_names(const void *whole, size_t i)
{
    (void)whole;
    return i < N_BRIEF ? prenet_feature_name(brief_features[i]) : NULL;
}

static const char *prenet_names(const void *whole, size_t i)
{
    (void)whole;
    return i < N_PRENET_FEATURES ? prenet_feature_name((prenet_feature)i) : NULL;
}

REAL_OF(brief_feature, counts_row, r->prenet.value[brief_features[i]])
REAL_OF(prenet_value, counts_row, r->prenet.value[i])
TEXT_OF(prenet_kind_text, counts_row,
        r->prenet.kind == PRENET_NONE ? "" : prenet_kind_name(r->prenet.kind))

/* `full` stands among the totals; `brief` heads the column of a table: NULL: none there. */
#define COUNT(member, brief, full, yielding)                                                     \
    {                                                                                            \
#member, brief, full, FIELD_AT(counts_row, m.member), .when = EXACT, .yields = -yielding \
    }

static const field fields[] = {
    { "layer", "layer", FIELD_AT(counts_row, name), .when = LAYERS },
    { "operation", "operation", FIELD_AT(counts_row, operation.type), .when = OPERATIONS },
    { "type", "type", FIELD_AT(counts_row, type), .when = LAYERS, .yields = -4 },
    { "output", "output", FIELD_AT(counts_row, output), .when = LAYERS | EXACT, .yields = -5 },
    { "geometry", "geometry", FIELD_AT(counts_row, operation.geometry), .when = OPERATIONS,
      .yields = -3 },
    { "input", "input", FIELD_AT(counts_row, operation.input), .when = OPERATIONS, .yields = -4 },
    { "count", "count", FIELD_AT(counts_row, operation.count), .when = OPERATIONS, .yields = -1 },
    COUNT(params, "parameters", "parameters", 2),
    COUNT(param_tensors, NULL, "parameter tensors", 0),
    COUNT(macs_conv, NULL, "MACs of convolutions, forward", 0),
    COUNT(macs_linear, NULL, "MACs of linear layers, forward", 0),
    COUNT(macs_matmul, NULL, "MACs of products of activations, forward", 0),
    COUNT(flops_forward, "FLOPs fwd", "FLOPs forward (2 x MACs)", 1),
    COUNT(flops_backward, "FLOPs bwd", "FLOPs backward (2 x MACs)", 1),
    COUNT(flops_grad_input, NULL, "  of input gradients", 0),
    COUNT(flops_grad_weight, NULL, "  of weight gradients", 0),
    COUNT(other_flops_forward, "other fwd", "other FLOPs forward", 7),
    COUNT(other_flops_backward, NULL, "other FLOPs backward", 0),
    COUNT(conv_inputs, NULL, "inputs of convolutions, elements", 0),
    COUNT(conv_outputs, NULL, "outputs of convolutions, elements", 0),
    COUNT(linear_inputs, NULL, "inputs of linear layers, elements", 0),
    COUNT(linear_outputs, NULL, "outputs of linear layers, elements", 0),
    COUNT(layers, NULL, "layers", 0),
    COUNT(activation_bytes, "activations [B]", "activations (outputs of layers), bytes", 3),
    COUNT(param_bytes, NULL, "parameters, bytes", 0),
    COUNT(read_bytes, NULL, "compulsory reads, all passes, bytes", 0),
    COUNT(written_bytes, NULL, "compulsory writes, all passes, bytes", 0),
    COUNT(layers_not_lowered, NULL, "layers that nothing can run", 0),
    { "set", FIELD_AT(counts_row, set), .when = SET, .not_in = IN_JSON },
    { "kind", "kind", .text = prenet_kind_text, .when = PRENET },
    { "%s", "%s", .each = brief_names, .real = brief_feature, .when = PRENET, .not_in = IN_FILES },
    { "%s", .each = prenet_names, .real = prenet_value, .when = PRENET },
    { "params", "parameters", FIELD_AT(counts_row, paleo.params), .when = PALEO },
    { "flops_forward", "FLOPs fwd", FIELD_AT(counts_row, paleo.pass[LM_FORWARD].flops),
      .when = PALEO },
    { "bytes_forward", "bytes fwd", FIELD_AT(counts_row, paleo.pass[LM_FORWARD].bytes),
      .when = PALEO },
    { "flops_backward", "FLOPs bwd", FIELD_AT(counts_row, paleo_backward.flops), .when = PALEO },
    { "bytes_backward", "bytes bwd", FIELD_AT(counts_row, paleo_backward.bytes), .when = PALEO },
    { 0 },
};

static const struct {
    const char *name;
    unsigned    fact;
} models[] = { { "prenet", PRENET }, { "paleo", PALEO } };

/* 0: no such model. */
static unsigned fact_of(const char *model)
{
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        if (!strcmp(models[m].name, model))
            return models[m].fact;
    return 0;
}

bool counts_features_known(const char *name)
{
    return fact_of(name) != 0;
}

/* ---- rows ---- */

static void print_shape(const lm_tensor *t, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", t->rank ? "" : "scalar");
    for (uint32_t d = 0; d < t->rank; d++)
        text_add(buffer, size, "%s%lld", d ? "x" : "", (long long)t->dim[d]);
}

static lm_status add_layer(const bound_network *net, size_t l, unsigned facts, field_rows *rows,
                           lm_error *err)
{
    const bound_layer *layer = &net->layer[l];
    counts_row r = { .name = layer->decl->name, .type = layer->decl->type, .set = net->net->set };
    lm_status  status = facts & EXACT ? metrics_of_layer(layer, &r.m, err) : LM_OK;

    print_shape(&layer->output[0], r.output, sizeof r.output);
    if (facts & PRENET)
        r.prenet = prenet_of_layer(layer, true);
    if (facts & PALEO) {
        r.paleo          = paleo_of_layer(net, l);
        r.paleo_backward = paleo_backward(&r.paleo);
    }
    if (!status)
        field_row(rows, &r);
    return status;
}

static lm_status list_layers(const bound_network *net, const char *block, unsigned facts,
                             field_rows *rows, lm_error *err)
{
    lm_status status = LM_OK;
    size_t    n      = 0;

    for (size_t l = 0; l < net->n_layers && !status; l++)
        if (!block || metrics_in_block(net->layer[l].decl->name, block)) {
            status = add_layer(net, l, facts, rows, err);
            n++;
        }
    return status || n ? status
                       : lm_error_set(err, LM_E_NOTFOUND, "%s: no layer '%s' and none under it",
                                      net->net->path, block);
}

static lm_status list_operations(const bound_network *net, const char *block, field_rows *rows,
                                 lm_error *err)
{
    operation_list list   = { .n = 0 };
    lm_status      status = operations_add(&list, net, block, false, err);

    for (size_t i = 0; i < list.n && !status; i++) {
        counts_row r = { .operation = list.of[i] };

        if (!(status = metrics_of_layer(list.of[i].layer, &r.m, err)))
            field_row(rows, &r);
    }
    if (!status && list.n_apart)
        note(
            "%s: %llu layer%s: not in the catalogue, such as '%s' (%s): an input is no sample of a "
            "batch%s",
            net->net->path, (unsigned long long)list.n_apart, list.n_apart == 1 ? "" : "s",
            list.apart->decl->name, list.apart->decl->type,
            net->options.batch == 1 ? " (--batch 2 tells a batch from a dimension of 1)" : "");
    operations_free(&list);
    return status;
}

/* ---- totals ---- */

static uint64_t count_at(const counts_row *r, const field *f)
{
    return *(const uint64_t *)(const void *)((const char *)r + f->at);
}

static void print_total(const bound_network *net, const char *block, const counts_row *r, FILE *out)
{
    char number[40], si[32], types[TYPES_TEXT];

    fprintf(out, "%s%s%s: input %s, batch %lld, %s%s%s\n", net->net->name, block ? " / " : "",
            block ? block : "", net->input, (long long)net->options.batch,
            types_print(net->options.dtype, net->options.mixed, types),
            net->net->set ? ", with " : "", net->net->set ? net->net->set : "");
    for (const field *f = fields; f->key; f++) {
        const uint64_t n = f->when == EXACT ? count_at(r, f) : 0;

        if (f->when == EXACT && (n || f->at != offsetof(counts_row, m.layers_not_lowered)))
            fprintf(out, "  %-40s %20s  %s\n", f->page, text_grouped(n, number, sizeof number),
                    n >= 1000 ? text_si((double)n, si, sizeof si) : "");
    }
}

static void print_same(const char *what, uint64_t published, uint64_t ours, FILE *out)
{
    char number[40];

    if (published)
        fprintf(out, "  published %s: %s, %s\n", what,
                text_grouped(published, number, sizeof number),
                published == ours ? "the same" : "NOT the same");
}

/* Compares the published counts in the file with ours, at the published input. */
static void print_published(const bound_network *net, const net_metrics *m, FILE *out)
{
    const network *n = net->net;

    if (!n->published_params && !n->published_macs)
        return;
    print_same("parameters", n->published_params, m->params, out);
    print_same("MACs per sample", n->published_macs,
               (m->macs_conv + m->macs_linear + m->macs_matmul) / (uint64_t)net->options.batch,
               out);
    if (n->source)
        fprintf(out, "  source: %s\n", n->source);
}

static void print_json(const bound_network *net, const counts_question *q, const counts_row *total,
                       const table *rows, FILE *out)
{
    const field_view v = { .fields = fields, .in = IN_JSON, .facts = EXACT };
    json             j = { .out = out };

    json_open(&j, NULL, '{');
    json_text(&j, "network", net->net->name);
    json_text(&j, "file", net->net->path);
    if (!q->features) {
        json_text(&j, "note", net->net->note);
        json_text(&j, "set", net->net->set);
        json_text(&j, "block", q->block);
    }
    json_text(&j, "input", net->input);
    json_count(&j, "batch", (uint64_t)net->options.batch);
    json_text(&j, "dtype", text_dtype_name(net->options.dtype));
    if (q->features) {
        json_text(&j, "features", q->features);
    } else {
        if (net->options.mixed)
            json_text(&j, "mixed", text_dtype_name(net->options.mixed));
        json_open(&j, "total", '{');
        fields_json(&v, total, &j);
        json_close(&j, '}');
    }
    if (!q->totals)
        table_json(rows, &j, q->unique && !q->features ? "operations" : "layers");
    json_close(&j, '}');
}

static void print_note_of(const network *net, FILE *out)
{
    if (net->note)
        fprintf(out, "note: %s\n", net->note);
}

static lm_status print(const bound_network *net, const counts_question *q, const counts_row *total,
                       const table *rows, FILE *out, lm_error *err)
{
    lm_status status = LM_OK;

    if (q->format == FORMAT_JSON) {
        print_json(net, q, total, rows, out);
        return LM_OK;
    }
    if (!q->totals || q->format == FORMAT_CSV)
        status = table_print(rows, q->format, out, err);
    if (status || q->features)
        return status;
    if (q->format == FORMAT_CSV) {
        print_note_of(net->net, stderr);
        return LM_OK;
    }
    if (!q->totals)
        putc('\n', out);
    print_total(net, q->block, total, out);
    if (q->as_published)
        print_published(net, &total->m, out);
    print_note_of(net->net, out);
    return LM_OK;
}

lm_status counts_print(const bound_network *net, const counts_question *q, FILE *out, lm_error *err)
{
    const unsigned   of    = q->features ? fact_of(q->features) | LAYERS
                             : q->totals ? EXACT
                             : q->unique ? EXACT | OPERATIONS
                                         : EXACT | LAYERS;
    const bool       set   = net->net->set && q->format == FORMAT_CSV && !(of & OPERATIONS);
    const field_view v     = { .fields = fields,
                               .in     = field_place_of(q->format),
                               .facts  = of | (set && of & EXACT ? SET : 0) };
    field_rows       rows  = field_rows_of(&v);
    counts_row       total = { .set = net->net->set };
    lm_status status       = q->features ? LM_OK : metrics_of_network(net, q->block, &total.m, err);

    if (!status && of & OPERATIONS)
        status = list_operations(net, q->block, &rows, err);
    else if (!status && of & LAYERS)
        status = list_layers(net, q->block, of, &rows, err);
    else if (!status)
        field_row(&rows, &total);
    if (!status)
        status = print(net, q, &total, rows.t, out, err);
    table_free(rows.t);
    return status;
}
