/* layermeter memory: what a training step needs on one device, and the largest batch that fits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "network/memory.h"
#include "network/metrics.h"
#include "report/table.h"

enum {
    BATCH,
    OPTIMIZER,
    DTYPE,
    MIXED,
    NODES,
    BUCKETS,
    FORWARD_ONLY,
    KEEP_GRADIENTS,
    INPLACE,
    RECOMPUTE,
    MEMORY,
    OVERHEAD,
    IMAGE,
    INPUT,
    LAYERS,
    BLOCK,
    FORMAT,
    TREAT,
    IGNORE,
    SET
};

static const option_spec specs[] = {
    [BATCH]        = { "batch", "LIST", "1", "samples per device: 8 or 1,2,4 or 1..64*2" },
    [OPTIMIZER]    = { "optimizer", "NAME", "momentum", "sgd, momentum, adam or adafactor" },
    [DTYPE]        = { "dtype", "TYPE", "f32", "element type of everything: f32 f16 bf16 f64" },
    [MIXED]        = { "mixed", "TYPE", NULL, "mixed precision: f32 with autocast to f16 or bf16" },
    [NODES]        = { "nodes", "N", "1", "nodes, one device each" },
    [BUCKETS]      = { "buckets", "KIND", "copy",
                       "gradients on their way to other nodes: copy, view or a size" },
    [FORWARD_ONLY] = { "forward-only", NULL, NULL, "inference: no backward, no optimizer" },
    [KEEP_GRADIENTS] = { "keep-gradients", NULL, NULL, "gradients are set to zero, not freed" },
    [INPLACE]   = { "inplace", NULL, NULL, "elementwise layers overwrite what nobody reads again" },
    [RECOMPUTE] = { "recompute", "PREFIXES", NULL,
                    "segments computed again in backward: layer1.0,layer1.1 or blocks" },
    [MEMORY]    = { "memory", "SIZE", NULL, "of the device (24GB, 80GiB): find the largest batch" },
    [OVERHEAD]  = { "framework-overhead", "BYTES", "0", "to add: context, allocator, libraries" },
    [IMAGE]     = OPTION_IMAGE,
    [INPUT]     = OPTION_INPUT,
    [LAYERS]    = { "layers", NULL, NULL, "list the layers, at one batch" },
    [BLOCK]     = { "block", "PREFIX", NULL,
                    "of --layers, those under this name (layer1, layer1.0, ...)" },
    [FORMAT] = { "format", "FORMAT", "table", "table, csv or json; sizes in bytes but in tables" },
    [TREAT]  = OPTION_TREAT,
    [IGNORE] = OPTION_IGNORE,
    [SET]    = OPTION_SET,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "The columns are what is live at the peak, the moment of the step when most is; 'at' names it: the\n"
    "first layer and pass to reach it. 'kept' is what backward finds when it begins (activations, each\n"
    "tensor once, and saved: masks, indices, statistics).\n"
    "\n"
    "A tensor lives from the pass that makes it to the last one that reads it; gradients of weights\n"
    "from their layer's backward to the update (--keep-gradients: always, as with gradient accumulation\n"
    "or zero_grad(set_to_none=False)). No layer overwrites its input but for --inplace, as torch's\n"
    "inplace=True and 'out += x': a layer that works element by element writes over its first input where\n"
    "neither backward nor a later layer reads that. It lowers the peak; what is kept stays the same.\n"
    "Not counted: the device's context, the allocator's rounding and gaps, scratch of cuDNN and BLAS,\n"
    "temporaries of the optimizer, class numbers that are no input of the network, and tensors that a script\n"
    "holds longer than the step needs them: measure the difference once, give it as --framework-overhead.\n"
    "\n"
    "Mixed precision is autocast as torch.cuda.amp has it (after Micikevicius et al. 2018): weights,\n"
    "gradients and optimizer state in f32; matrix products and convolutions, and what follows them, in 16\n"
    "bit; softmax, losses, layer_norm and group_norm in f32; 16-bit copies of the weights of products from\n"
    "their first use to their layer's backward, of inputs that come in f32 for as long as they are kept.\n"
    "Within a layer everything has one type.\n"
    "\n"
    "Optimizer state is none for sgd, one value a weight for momentum, two for adam, row and column sums for\n"
    "adafactor (Shazeer & Stern 2018; vectors in full). With several nodes all gradients are copied to\n"
    "buckets as torch's DistributedDataParallel does, whatever the size of one; view:\n"
    "gradient_as_bucket_view; a size: one buffer, as Horovod's.\n"
    "\n"
    "A segment to recompute (Chen et al. 2016, as torch.utils.checkpoint without reentry) keeps its inputs\n"
    "only; 'blocks' are the uses of blocks at the top of the network's file. Where nobody else keeps a\n"
    "segment's input, recomputing can need more.\n";

static const char examples[] =
    "  layermeter memory resnet50 --batch 1..64*2\n"
    "  layermeter memory resnet50 --memory 24GB --optimizer adam --mixed f16\n"
    "  layermeter memory densenet121 --batch 32 --recompute blocks\n"
    "  layermeter memory vgg16 --batch 8 --layers --format csv\n";

/* Columns of the points. */
static const struct {
    memory_part which;
    const char *key, *title;
} parts[] = {
    { MEMORY_WEIGHTS, "weights_bytes", "weights" },
    { MEMORY_FROZEN, "frozen_bytes", "frozen" },
    { MEMORY_COPIES, "weights_16bit_bytes", "16-bit weights" },
    { MEMORY_GRADIENTS, "gradients_bytes", "gradients" },
    { MEMORY_BUCKETS, "buckets_bytes", "buckets" },
    { MEMORY_OPTIMIZER, "optimizer_bytes", "optimizer" },
    { MEMORY_INPUTS, "inputs_bytes", "inputs" },
    { MEMORY_ACTIVATIONS, "activations_bytes", "activations" },
    { MEMORY_SAVED, "saved_bytes", "saved" },
    { MEMORY_BACKWARD, "activation_gradients_bytes", "act. gradients" },
    { MEMORY_WORKSPACE, "workspace_bytes", "workspace" },
    { MEMORY_OVERHEAD, "overhead_bytes", "overhead" },
};

#define N_PARTS (sizeof parts / sizeof parts[0])

/* What is asked. */
typedef struct question {
    const options *o;
    network       *net;
    registry      *reg;
    bind_options   bind;
    memory_options memory;
    uint64_t       room; /* of the device; 0: not given */
    int64_t       *batch;
    size_t         n_batch;
    format         format;
} question;

/* What is found. */
typedef struct answer {
    memory_use      *point; /* one for each batch */
    memory_of_layer *layer; /* of the only batch; NULL: not listed */
    int64_t          largest;
    memory_use       at_largest, beyond; /* one sample more */
} answer;

/* Sizes are bytes for programs, MB for people, who are told so above the table. */
static void size_column(table *t, const char *key, const char *title)
{
    table_column(t, key, title, 1);
}

static void size_cell(const question *q, table *t, uint64_t bytes)
{
    if (q->format == FORMAT_TABLE)
        table_real(t, 1e-6 * (double)bytes);
    else
        table_count(t, bytes);
}

/* Tables for people leave out what there is none of. */
static bool shown(const question *q, const answer *a, memory_part which)
{
    bool any = q->format != FORMAT_TABLE;

    for (size_t i = 0; i < q->n_batch; i++)
        any |= a->point[i].part[which] != 0;
    return any;
}

static void point_rows(const question *q, const answer *a, table *t)
{
    const char *set = q->format == FORMAT_CSV ? q->net->set : NULL; /* the others say it once */

    table_column(t, "batch", "batch", 0);
    for (size_t p = 0; p < N_PARTS; p++)
        if (shown(q, a, parts[p].which))
            size_column(t, parts[p].key, parts[p].title);
    size_column(t, "peak_bytes", "peak");
    table_column(t, "at_layer", "at", 0);
    table_column(t, "at_pass", "pass", 0);
    size_column(t, "kept_bytes", "kept");
    if (q->memory.recompute)
        table_column(t, "recompute_flops", "recompute [FLOP]", 0);
    if (q->room)
        table_column(t, "fits", "fits", 0);
    if (set)
        table_column(t, "set", "set", 0);
    for (size_t i = 0; i < q->n_batch; i++) {
        const memory_use *u = &a->point[i];

        table_count(t, (uint64_t)q->batch[i]);
        for (size_t p = 0; p < N_PARTS; p++)
            if (shown(q, a, parts[p].which))
                size_cell(q, t, u->part[parts[p].which]);
        size_cell(q, t, u->peak);
        table_text(t, u->layer);
        table_text(t, timeline_pass_name(u->pass));
        size_cell(q, t, u->kept);
        if (q->memory.recompute)
            table_count(t, u->recompute_flops);
        if (q->room)
            table_text(t, u->peak <= q->room ? "yes" : "no");
        if (set)
            table_text(t, set);
    }
}

static void layer_rows(const question *q, const answer *a, table *t)
{
    const char *block = q->o->value[BLOCK];

    table_column(t, "layer", "layer", 0);
    table_column(t, "type", "type", 0);
    size_column(t, "weights_bytes", "weights");
    size_column(t, "kept_bytes", "kept");
    size_column(t, "saved_bytes", "saved");
    size_column(t, "live_forward_bytes", "live in forward");
    size_column(t, "live_backward_bytes", "in backward");
    for (size_t l = 0; l < q->net->n_layers; l++) {
        const memory_of_layer *m = &a->layer[l];

        if (block && !metrics_in_block(q->net->layer[l].name, block))
            continue;
        table_text(t, q->net->layer[l].name);
        table_text(t, q->net->layer[l].type);
        size_cell(q, t, m->weights);
        size_cell(q, t, m->kept);
        size_cell(q, t, m->saved);
        size_cell(q, t, m->live_forward);
        size_cell(q, t, m->live_backward);
    }
}

static void print_fit(const question *q, const answer *a, FILE *out)
{
    const double room = 1e-9 * (double)q->room;

    if (!a->largest)
        fprintf(out, "does not fit at batch 1: short by %.6g GB of %.6g GB\n",
                1e-9 * (double)(a->beyond.peak - q->room), 1e-9 * (double)a->beyond.peak);
    else if (a->largest == MEMORY_BATCH_MAX)
        fprintf(out, "2^40 samples and more fit %.6g GB\n", room);
    else
        fprintf(out, "largest batch that fits %.6g GB: %lld (%.6g GB; %lld would need %.6g GB)\n",
                room, (long long)a->largest, 1e-9 * (double)a->at_largest.peak,
                (long long)a->largest + 1, 1e-9 * (double)a->beyond.peak);
}

static void print_json(const question *q, const answer *a, const table *points, const table *layers)
{
    const options *o = q->o;
    json           j = { .out = stdout };

    json_open(&j, NULL, '{');
    json_text(&j, "network", q->net->name);
    json_text(&j, "file", q->net->path);
    json_text(&j, "set", q->net->set);
    json_text(&j, "optimizer", o->value[OPTIMIZER]);
    json_text(&j, "dtype", o->value[DTYPE]);
    json_text(&j, "mixed", o->value[MIXED]);
    json_count(&j, "nodes", (uint64_t)q->memory.nodes);
    json_text(&j, "buckets", o->value[BUCKETS]);
    json_bool(&j, "forward_only", q->memory.forward_only);
    json_bool(&j, "keep_gradients", q->memory.keep_gradients);
    json_bool(&j, "inplace", q->memory.inplace);
    json_text(&j, "recompute", q->memory.recompute);
    if (q->room) {
        json_count(&j, "memory_bytes", q->room);
        json_count(&j, "largest_batch", (uint64_t)a->largest);
        json_count(&j, "short_bytes", a->largest ? 0 : a->beyond.peak - q->room);
    }
    table_json(points, &j, "points");
    if (a->layer)
        table_json(layers, &j, "layers");
    json_close(&j, '}');
}

static void print_caption(const question *q)
{
    const options *o     = q->o;
    const bool     mixed = q->memory.mixed != 0;

    printf("%s%s%s, %s%s%s, %s: what is live at the peak, in MB\n", q->net->name,
           q->net->set ? " with " : "", q->net->set ? q->net->set : "", o->value[DTYPE],
           mixed ? " with autocast to " : "", mixed ? o->value[MIXED] : "",
           q->memory.forward_only ? "forward only" : o->value[OPTIMIZER]);
}

static lm_status print_answer(const question *q, const answer *a, lm_error *err)
{
    table    *points = table_new(), *layers = table_new();
    FILE     *words  = q->format == FORMAT_TABLE ? stdout : stderr;
    lm_status status = LM_OK;

    point_rows(q, a, points);
    if (a->layer)
        layer_rows(q, a, layers);
    if (q->format == FORMAT_JSON) {
        print_json(q, a, points, layers);
        print_note(q->net, stderr);
        goto out;
    }
    if (a->layer)
        status = table_print(layers, q->format, stdout, err);
    if (a->layer && q->format == FORMAT_TABLE)
        putchar('\n');
    if (!status && q->format == FORMAT_TABLE)
        print_caption(q);
    if (!status && (!a->layer || q->format == FORMAT_TABLE))
        status = table_print(points, q->format, stdout, err);
    if (!status && q->room)
        print_fit(q, a, words);
    print_note(q->net, words);
out:
    table_free(points);
    table_free(layers);
    return status;
}

static lm_status measure(const question *q, int64_t batch, memory_use *out, memory_of_layer *layer,
                         lm_error *err)
{
    bind_options at = q->bind;

    at.batch = batch;
    return memory_of_step(q->net, q->reg, &at, &q->memory, out, layer, err);
}

static lm_status find_largest(question *q, answer *a, lm_error *err)
{
    lm_status status =
        memory_largest_batch(q->net, q->reg, &q->bind, &q->memory, q->room, &a->largest, err);

    if (!status && a->largest)
        status = measure(q, a->largest, &a->at_largest, NULL, err);
    if (!status && a->largest < MEMORY_BATCH_MAX)
        status = measure(q, a->largest + 1, &a->beyond, NULL, err);
    if (!status && !q->o->given[BATCH] && a->largest)
        q->batch[0] = a->largest;
    return status;
}

static lm_status check_block(const question *q, lm_error *err)
{
    const char *block = q->o->value[BLOCK];

    for (size_t l = 0; block && l < q->net->n_layers; l++)
        if (metrics_in_block(q->net->layer[l].name, block))
            return LM_OK;
    return block ? lm_error_set(err, LM_E_NOTFOUND, "%s: no layer '%s' and none under it",
                                q->net->path, block)
                 : LM_OK;
}

static lm_status find_answer(question *q, answer *a, lm_error *err)
{
    const options *o      = q->o;
    lm_status      status = check_block(q, err);

    if (!status && q->room)
        status = find_largest(q, a, err);
    a->point = calloc(q->n_batch, sizeof *a->point);
    if (o->value[LAYERS])
        a->layer = calloc(q->net->n_layers + 1, sizeof *a->layer);
    if (!a->point || (!a->layer && o->value[LAYERS]))
        return no_memory(err);
    for (size_t i = 0; i < q->n_batch && !status; i++)
        status = measure(q, q->batch[i], &a->point[i], a->layer, err);
    return status;
}

static lm_status parse_buckets(const options *o, memory_options *out, lm_error *err)
{
    const char *word = o->value[BUCKETS];
    int64_t     bytes;

    if (o->given[BUCKETS] && !o->given[NODES])
        return lm_error_set(err, LM_E_ARG, "one node has none: give --nodes too");
    if (!strcmp(word, "view"))
        out->buckets = BUCKETS_VIEW;
    if (!strcmp(word, "view") || !strcmp(word, "copy"))
        return LM_OK;
    if (text_bytes(word, &bytes, err))
        return lm_error_set(err, LM_E_ARG, "expected copy, view or a size, found '%.40s'", word);
    out->buckets      = BUCKETS_FIXED;
    out->bucket_bytes = (uint64_t)bytes;
    return LM_OK;
}

/* What stands in words on the command line; NULL or the option that is wrong. */
static const char *parse_words(question *q, lm_error *err)
{
    const options *o = q->o;
    int64_t        bytes;

    q->memory.forward_only   = o->value[FORWARD_ONLY] != NULL;
    q->memory.keep_gradients = o->value[KEEP_GRADIENTS] != NULL;
    q->memory.inplace        = o->value[INPLACE] != NULL;
    q->memory.recompute      = o->value[RECOMPUTE];
    q->bind.input            = o->value[INPUT];
    if (format_parse(o->value[FORMAT], &q->format, err))
        return "";
    if (optimizer_parse(o->value[OPTIMIZER], &q->memory.optimizer, err))
        return "--optimizer";
    if (text_dtype(o->value[DTYPE], &q->bind.dtype, err))
        return "--dtype";
    if (o->value[MIXED] &&
        (text_dtype(o->value[MIXED], &q->memory.mixed, err) ||
         (q->memory.mixed != LM_F16 && q->memory.mixed != LM_BF16 &&
          lm_error_set(err, LM_E_ARG, "expected f16 or bf16, found '%.40s'", o->value[MIXED]))))
        return "--mixed";
    if (q->memory.mixed && q->bind.dtype != LM_F32) {
        lm_error_set(err, LM_E_ARG, "the weights are f32 then: leave out --dtype");
        return "--mixed";
    }
    if (o->value[MEMORY]) {
        if (text_bytes(o->value[MEMORY], &bytes, err))
            return "--memory";
        if (!bytes) {
            lm_error_set(err, LM_E_ARG, "a device without memory runs nothing: give its size");
            return "--memory";
        }
        q->room = (uint64_t)bytes;
    }
    if (o->value[BLOCK] && !o->value[LAYERS]) {
        lm_error_set(err, LM_E_ARG, "it is for the list of layers: give --layers too");
        return "--block";
    }
    if (text_bytes(o->value[OVERHEAD], &bytes, err))
        return "--framework-overhead";
    q->memory.overhead = (uint64_t)bytes;
    return parse_buckets(o, &q->memory, err) ? "--buckets" : NULL;
}

static bool parse(question *q, int *code)
{
    const options *o     = q->o;
    lm_error       err   = { 0 };
    const char    *wrong = parse_words(q, &err);

    if (wrong) {
        *code = report_misuse(wrong, &err);
        return false;
    }
    if (!option_list(o, BATCH, &q->batch, &q->n_batch, code) ||
        !option_count(o, NODES, &q->memory.nodes, code) ||
        (o->value[IMAGE] && !option_count(o, IMAGE, &q->bind.image, code)))
        return false;
    if (q->n_batch > 1 && o->value[LAYERS]) {
        lm_error_set(&err, LM_E_ARG, "layers are listed at one batch");
        *code = report_misuse("--layers", &err);
        return false;
    }
    return true;
}

static int run(const options *o)
{
    static const network_options at = { TREAT, IGNORE, SET };

    lm_error err  = { 0 };
    question q    = { .o = o };
    answer   a    = { 0 };
    int      code = EXIT_DONE;

    if (parse(&q, &code) &&
        (open_registry(o, &q.reg, &err) || open_network(o, &at, q.reg, &q.net, &err) ||
         find_answer(&q, &a, &err) || print_answer(&q, &a, &err)))
        code = report_failure(&err);
    free(a.point);
    free(a.layer);
    free(q.batch);
    network_free(q.net);
    registry_free(q.reg);
    return code;
}

const command cmd_memory = {
    .name          = "memory",
    .arguments     = "NETWORK",
    .doc           = "Memory of a training step, and the largest batch that fits",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
