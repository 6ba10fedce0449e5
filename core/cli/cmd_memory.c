/* layermeter memory: memory of a training step on one device, and the largest batch that fits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/layout_options.h"
#include "cli/session.h"
#include "network/memory.h"
#include "network/metrics.h"
#include "plan/room.h"
#include "program/facts.h"
#include "program/rank_memory.h"
#include "report/memory_fields.h"

typedef struct memory_command {
    network_options network;
    bind_options    bind;
    memory_options  memory;
    layout_choice   layout;
    int64_t         stage; /* of its pipeline, from 1; 0: the fullest */
    program_kind    program;
    decode_choice   decode;
    option_counts   batch;
    int64_t         room; /* of the device; 0: not given */
    const char     *device, *devices;
    int64_t         overhead;
    const char     *buckets, *block;
    bool            layers;
    format          format;
} memory_command;

#define AT(member)   OPTION_AT(memory_command, member)
#define OF_GRADIENTS OF_TRAINING("is for training: --phase %s keeps no gradients")

VALUE_TYPE(type_optimizer, optimizer, optimizer_parse);

static const option_row option_rows[] = {
    { "batch", AT(batch), .fallback = "1",
      .help = "samples of the device: 8, or 1,2,4, or 1..64*2" },
    { "phase", AT(program), .choices = PHASES_AND_DECODE,
      .help =
          "what to predict: a training step, a forward pass (inference), or the generation of tokens "
          "one by one (decode)" },
    OPTION_GROUP(memory_command, decode, decode_option_rows),
    { "image", AT(bind.image), NOT_OF_DECODING },
    { "input", AT(bind.input), NOT_OF_DECODING },
    { "nodes", AT(memory.nodes), &type_count, "N", "1", .help = "nodes of one device each",
      OF_GRADIENTS },
    { "memory", AT(room), .help = "memory of the device, 24GB, 80GiB: find the largest batch" },
    { "device", AT(device), .help = "take the memory from this device's datasheet",
      .excludes = "memory", .refusal = "already sets the memory: give one of the two" },
    { "devices", AT(devices) },
    { "framework-overhead", AT(overhead) },
    { "dtype", AT(bind.dtype), .help = "element type of all tensors: f32, f16, bf16, f64, fp8 (inference)" },
    { "mixed", AT(memory.mixed), &type_dtype, "TYPE", NULL, HELP_HOW,
      "mixed precision: f32 with autocast to f16, bf16 or fp8" },
    { "optimizer", AT(memory.optimizer), &type_optimizer, "NAME", "momentum", HELP_HOW,
      OPTIMIZERS_PRICED ", " OPTIMIZERS_MEASURED, OF_GRADIENTS },
    { "buckets", AT(buckets), &type_text, "KIND", "copy", HELP_HOW,
      "buckets for gradients that are sent to other nodes: copy, view or a size", .needs = "nodes",
      .refusal = "are for several nodes: give --nodes, too", OF_GRADIENTS },
    { "keep-gradients", AT(memory.keep_gradients), &type_flag, NULL, NULL, HELP_HOW,
      "gradients are set to zero, not freed", OF_GRADIENTS },
    { "inplace", AT(memory.inplace), &type_flag, NULL, NULL, HELP_HOW,
      "elementwise layers overwrite an input that no other layer reads" },
    { "recompute", AT(memory.recompute), &type_text, "PREFIXES", NULL, HELP_HOW,
      "segments recomputed in the backward pass: layer1.0,layer1.1, blocks (full), or selective",
      OF_GRADIENTS },
    { "masters", AT(memory.masters), &type_flag, NULL, NULL, HELP_HOW,
      "16-bit weights have f32 copies, which the optimizer updates; its states are f32, too" },
    { "grad-accum-dtype", AT(memory.sums), &type_dtype, "TYPE", NULL, HELP_HOW,
      "16-bit gradients are added up in this type: f32" },
    { "fused-gradients", AT(memory.fused_gradients), &type_flag, NULL, NULL, HELP_HOW,
      "matrix products add gradients to the f32 sums directly, as Megatron-LM with Transformer "
      "Engine does",
      .needs   = "grad-accum-dtype",
      .refusal = "applies only to sums in f32: give --grad-accum-dtype f32, too" },
    { "late-sums", AT(memory.late_sums), &type_flag, NULL, NULL, HELP_HOW,
      "gradients are added to the f32 sums at the end of a micro-step's backward pass, as "
      "nanotron does",
      .needs   = "grad-accum-dtype",
      .refusal = "applies only to sums in f32: give --grad-accum-dtype f32, too" },
    { "keep-gathered", AT(memory.keep_gathered), &type_flag, NULL, NULL, HELP_HOW,
      "with --sp: gathered inputs are kept for the backward pass, not gathered again",
      OF_GRADIENTS },
    OPTION_GROUP(memory_command, layout, layout_option_rows),
    { "stage", AT(stage), &type_count, "N", NULL, HELP_HOW,
      "memory of stage N of the pipeline, from 1 (default: the fullest stage)" },
    { "layers", AT(layers), &type_flag, NULL, NULL, HELP_OUTPUT, "list the layers, at one batch" },
    { "block", AT(block), .heading = HELP_OUTPUT, .needs = "layers",
      .refusal = "is for the list of layers: give --layers, too" },
    { "format", AT(format), .help = "format of the output; csv and json have sizes in bytes" },
    OPTION_GROUP(memory_command, network, network_option_rows),
    { .name = NULL },
};

static const char details[] =
    "The columns are the live bytes at the peak of the step. 'at' names the first layer and pass that\n"
    "reach the peak. 'kept' counts the bytes at the start of the backward pass: activations, each tensor\n"
    "once, and saved masks, indices and statistics.\n"
    "\n"
    "A tensor lives from the pass that makes it to the last pass that reads it. Gradients of weights live\n"
    "from the backward pass of their layer to the update (--keep-gradients: always, as with gradient\n"
    "accumulation or zero_grad(set_to_none=False)). --inplace is torch's inplace=True and 'out += x': an\n"
    "elementwise layer overwrites its first input if no later layer and no backward pass reads it. This\n"
    "lowers the peak, but not the kept bytes. With --fused-gradients a product adds a gradient to its\n"
    "sum. Transformer Engine then also keeps one tensor for each shape of weights, which it never reads.\n"
    "With --late-sums all gradients live until the backward pass ends, in addition to the buckets.\n"
    "\n"
    "Some memory is not counted: the context of the device, rounding and gaps of the allocator, scratch\n"
    "memory of cuDNN and BLAS, temporaries of the optimizer, class labels that are not an input of the\n"
    "network, and tensors that a script keeps too long. Measure the difference once and give it as\n"
    "--framework-overhead. Without it 'reserved' is what an allocator reserves at the peak: 1.01 to 1.08\n"
    "times the allocated memory, measured on 41 ranks; with --late-sums 1.06 to 1.68 times, in 156 runs.\n"
    "A step does not fit if the low end exceeds the memory. 'close' means that the high end exceeds the\n"
    "memory, or that less than 10 % of the memory is left.\n"
    "\n"
    "Mixed precision is autocast of torch.cuda.amp (Micikevicius et al. 2018). Weights, gradients and\n"
    "optimizer state are in f32. Matrix products, convolutions and the layers after them are in 16 bit;\n"
    "softmax, losses, layer_norm and group_norm are in f32. The 16-bit copy of a weight lives from its\n"
    "first use to the backward pass of its layer. The copy of an f32 input lives as long as the input is\n"
    "kept. Each layer has one type.\n"
    "\n"
    "--phase decode is the step of the last of --new-tokens, after --context tokens. 'KV cache' has the\n"
    "keys and values of all tokens, including new ones, of each layer with such a cache.\n"
    "\n"
    "Inference keeps a tensor until its last reader has run. It has no losses, auxiliary classifiers,\n"
    "dropout, gradients, optimizer states and buckets.\n"
    "\n"
    "sgd keeps no optimizer state, momentum one value for each weight, adam two. adafactor keeps sums of\n"
    "rows and columns (Shazeer & Stern 2018; vectors in full). On several nodes all gradients are copied\n"
    "to buckets, as by torch's DistributedDataParallel. --buckets view is gradient_as_bucket_view; a size\n"
    "is one buffer, as Horovod's. A segment to recompute (Chen et al. 2016; torch.utils.checkpoint\n"
    "without reentry) keeps only its inputs; 'blocks' are the uses of blocks at the top level of the\n"
    "network's file. Recomputation can need more memory if no other layer keeps a segment's input.\n";

static const char examples[] =
    "  layermeter memory resnet50 --batch 1..64*2\n"
    "  layermeter memory resnet50 --memory 24GB --optimizer adam --mixed f16\n"
    "  layermeter memory densenet121 --batch 32 --recompute blocks\n"
    "  layermeter memory llama2_7b --phase decode --context 2048 --new-tokens 256 --batch 8 --dtype f16\n"
    "  layermeter memory vgg16 --batch 8 --layers --format csv\n";

/* The question. */
typedef struct question {
    const options        *o;
    const memory_command *a;
    const network        *net;
    const registry       *reg;
    const layout         *l;       /* settled, if one is given */
    int64_t               largest; /* the largest batch that fits, if no batch is given; else 0 */
} question;

/* The answer. */
typedef struct answer {
    memory_use      *point; /* one for each batch */
    memory_of_layer *layer; /* of the only batch; NULL: not listed */
    int64_t          largest;
    memory_use       at_largest, beyond;  /* one sample more */
    int64_t         *rank;                /* of a pipeline, whose memory it is: for each batch */
    char             remedy[ROOM_REMEDY]; /* if none fits without a layout: what helps */
} answer;

static int64_t batch_at(const question *q, size_t i)
{
    return q->largest ? q->largest : q->a->batch.at[i];
}

/* Tables for people leave out empty columns. */
static unsigned facts_of(const question *q, const answer *a)
{
    unsigned facts = (q->a->memory.recompute ? MEMORY_RECOMPUTED : 0) |
                     (q->a->room ? MEMORY_LIMITED : 0) | (q->net->set ? MEMORY_SET : 0) |
                     (q->a->layout.given && q->l->pp > 1 ? MEMORY_STAGED : 0);

    for (size_t i = 0; i < q->a->batch.n; i++)
        for (size_t part = 0; part < MEMORY_N_PARTS; part++)
            facts |= a->point[i].part[part] ? 1u << part : 0;
    return facts;
}

static room_verdict verdict_of(const question *q, double peak)
{
    return room_judge(peak, (double)q->a->room, q->a->overhead > 0, room_reserved(&q->a->memory));
}

static table *points_table(const question *q, const answer *a)
{
    const field_view   v       = { .fields = memory_fields,
                                   .in     = field_place_of(q->a->format),
                                   .facts  = facts_of(q, a) };
    field_rows         rows    = field_rows_of(&v);
    const room_reserve reserve = room_reserved(&q->a->memory);

    for (size_t i = 0; i < q->a->batch.n; i++) {
        const double     peak = (double)a->point[i].peak, counted = q->a->overhead ? NAN : peak;
        const memory_row r = { .batch    = batch_at(q, i),
                               .use      = a->point[i],
                               .reserved = { round(reserve.low * counted),
                                             round(reserve.high * counted) },
                               .fits     = room_verdict_name(verdict_of(q, peak)),
                               .stage    = a->rank[i] + 1,
                               .set      = q->net->set };

        field_row(&rows, &r);
    }
    return rows.t;
}

static table *layers_table(const question *q, const answer *a)
{
    const field_view v    = { .fields = memory_layer_fields, .in = field_place_of(q->a->format) };
    field_rows       rows = field_rows_of(&v);

    for (size_t l = 0; l < q->net->n_layers; l++) {
        const memory_layer_row r = { q->net->layer[l].name, q->net->layer[l].type, a->layer[l] };

        if (!q->a->block || metrics_in_block(r.name, q->a->block))
            field_row(&rows, &r);
    }
    return rows.t;
}

static void print_fit(const question *q, const answer *a, FILE *out)
{
    const bool one = q->a->batch.n == 1 && a->largest;

    room_print(&(room_answer){ .room    = (uint64_t)q->a->room,
                               .all     = q->a->overhead > 0,
                               .reserve = room_reserved(&q->a->memory),
                               .batch   = one ? batch_at(q, 0) : 0,
                               .peak    = a->point[0].peak,
                               .largest = a->largest,
                               .at      = a->at_largest.peak,
                               .beyond  = a->beyond.peak,
                               .remedy  = a->remedy },
               out);
}

static void print_json(const question *q, const answer *a, const table *points, const table *layers)
{
    const memory_command *c = q->a;
    json                  j = { .out = stdout };
    char                  words[LAYOUT_TEXT];

    json_open(&j, NULL, '{');
    json_text(&j, "network", q->net->name);
    json_text(&j, "file", q->net->path);
    json_text(&j, "set", q->net->set);
    json_text(&j, "optimizer", c->bind.evaluation ? NULL : optimizer_name(c->memory.optimizer));
    json_text(&j, "dtype", text_dtype_name(c->bind.dtype));
    json_text(&j, "mixed", c->memory.mixed ? text_dtype_name(c->memory.mixed) : NULL);
    json_count(&j, "nodes", (uint64_t)q->a->memory.nodes);
    json_text(&j, "buckets", c->buckets);
    json_text(&j, "phase", program_kind_name(c->program));
    json_text(&j, "layout", c->layout.given ? layout_print(&c->layout.layout, words) : NULL);
    json_bool(&j, "keep_gradients", q->a->memory.keep_gradients);
    json_bool(&j, "fused_gradients", q->a->memory.fused_gradients);
    json_bool(&j, "late_sums", q->a->memory.late_sums);
    json_bool(&j, "keep_gathered", q->a->memory.keep_gathered);
    json_bool(&j, "inplace", q->a->memory.inplace);
    json_text(&j, "recompute", q->a->memory.recompute);
    if (q->a->room) {
        json_count(&j, "memory_bytes", (uint64_t)q->a->room);
        json_count(&j, "largest_batch", (uint64_t)a->largest);
        json_count(&j, "short_bytes",
                   room_short(a->largest ? 0 : (double)a->beyond.peak, (uint64_t)q->a->room,
                              q->a->overhead > 0, room_reserved(&q->a->memory)));
    }
    table_json(points, &j, "points");
    if (a->layer)
        table_json(layers, &j, "layers");
    json_close(&j, '}');
}

static void print_caption(const question *q, const answer *a)
{
    const memory_command *c     = q->a;
    const bool            mixed = c->memory.mixed != 0;

    printf(
        "%s%s%s, %s%s%s, %s: what is live at the peak, in MB\n", q->net->name,
        q->net->set ? " with " : "", q->net->set ? q->net->set : "", text_dtype_name(c->bind.dtype),
        mixed ? " with autocast to " : "", mixed ? text_dtype_name(c->memory.mixed) : "",
        c->bind.evaluation ? program_kind_name(c->program) : optimizer_name(c->memory.optimizer));
    if (c->layout.given && q->l->pp > 1 && c->batch.n == 1)
        printf("rank %lld of %lld of the pipeline%s\n", (long long)a->rank[0] + 1,
               (long long)q->l->pp, c->stage ? "" : " holds most");
}

static lm_status print_answer(const question *q, const answer *a, lm_error *err)
{
    table    *points = points_table(q, a), *layers = a->layer ? layers_table(q, a) : NULL;
    FILE     *words  = q->a->format == FORMAT_TABLE ? stdout : stderr;
    lm_status status = LM_OK;

    if (q->a->format == FORMAT_JSON) {
        print_json(q, a, points, layers);
        print_note(q->net, stderr);
        goto out;
    }
    if (a->layer)
        status = table_print(layers, q->a->format, stdout, err);
    if (a->layer && q->a->format == FORMAT_TABLE)
        putchar('\n');
    if (!status && q->a->format == FORMAT_TABLE)
        print_caption(q, a);
    if (!status && (!a->layer || q->a->format == FORMAT_TABLE))
        status = table_print(points, q->a->format, stdout, err);
    if (!status && q->a->room)
        print_fit(q, a, words);
    print_note(q->net, words);
out:
    table_free(points);
    table_free(layers);
    return status;
}

/* `l`: the question's, with the micro-batches of a step where a global batch says them. */
static rank_memory asked(const question *q, const bind_options *bind, layout *l)
{
    *l = *q->l;
    if (l->global_batch && bind->batch > 1)
        l->accumulation = (l->accumulation - 1) / bind->batch + 1;
    return (rank_memory){ .net   = q->net,
                          .reg   = q->reg,
                          .bind  = bind,
                          .how   = &q->a->memory,
                          .l     = q->a->layout.given ? l : NULL,
                          .stage = q->a->stage };
}

static lm_status measure(const question *q, int64_t batch, memory_use *out, memory_of_layer *layer,
                         int64_t *rank, lm_error *err)
{
    bind_options at = q->a->bind;
    layout       l;
    rank_memory  m;

    at.batch = batch;
    m        = asked(q, &at, &l);
    return rank_memory_of(&m, out, rank, layer, err);
}

static lm_status find_largest(question *q, answer *a, lm_error *err)
{
    layout            l;
    const rank_memory m = asked(q, &q->a->bind, &l);
    const uint64_t    room =
        room_allowed((uint64_t)q->a->room, q->a->overhead > 0, room_reserved(&q->a->memory));
    int64_t   rank;
    lm_status status = rank_memory_largest(&m, room, &a->largest, err);

    if (!status && a->largest)
        status = measure(q, a->largest, &a->at_largest, NULL, &rank, err);
    if (!status && a->largest < MEMORY_BATCH_MAX)
        status = measure(q, a->largest + 1, &a->beyond, NULL, &rank, err);
    if (!status && !a->largest)
        room_remedy(&m, (uint64_t)q->a->room, a->remedy);
    if (!status && !option_given(q->o, &q->a->batch) && !q->a->layout.layout.micro_batch)
        q->largest = a->largest;
    return status;
}

static lm_status check_block(const question *q, lm_error *err)
{
    const char *block = q->a->block;

    for (size_t l = 0; block && l < q->net->n_layers; l++)
        if (metrics_in_block(q->net->layer[l].name, block))
            return LM_OK;
    return block ? lm_error_set(err, LM_E_NOTFOUND, "%s: no layer '%s' and none under it",
                                q->net->path, block)
                 : LM_OK;
}

static lm_status find_answer(question *q, answer *a, lm_error *err)
{
    lm_status status = check_block(q, err);

    if (!status && q->a->room)
        status = find_largest(q, a, err);
    a->point = calloc(q->a->batch.n, sizeof *a->point);
    a->rank  = calloc(q->a->batch.n, sizeof *a->rank);
    if (q->a->layers)
        a->layer = calloc(q->net->n_layers + 1, sizeof *a->layer);
    if (!a->point || !a->rank || (!a->layer && q->a->layers))
        return no_memory(err);
    for (size_t i = 0; i < q->a->batch.n && !status; i++)
        status = measure(q, batch_at(q, i), &a->point[i], a->layer, &a->rank[i], err);
    return status;
}

static lm_status check_buckets(options *o, memory_command *a, lm_error *err)
{
    int64_t bytes;

    a->memory.buckets = !strcmp(a->buckets, "view") ? BUCKETS_VIEW : BUCKETS_COPY;
    if (a->memory.buckets == BUCKETS_VIEW || !strcmp(a->buckets, "copy"))
        return LM_OK;
    if (text_bytes(a->buckets, &bytes, err))
        return misused(o, &a->buckets, err, "expected copy, view or a size, found '%.40s'",
                       a->buckets);
    a->memory.buckets      = BUCKETS_FIXED;
    a->memory.bucket_bytes = (uint64_t)bytes;
    return LM_OK;
}

static lm_status check_layout(const options *o, memory_command *a, lm_error *err)
{
    layout   *l      = &a->layout.layout;
    lm_status status = layout_choice_check(
        o, &a->layout, &(layout_beside){ .batch = &a->batch, .recompute = &a->memory.recompute },
        err);

    if (status || !a->layout.given)
        return status;
    if (!a->bind.evaluation && !a->memory.recompute && strcmp(l->recompute, "none") != 0)
        a->memory.recompute = l->recompute;
    if (a->bind.evaluation && (status = layout_check_inference(l, err)))
        return status;
    if (option_given(o, &a->memory.nodes))
        return misused(o, &a->memory.nodes, err, "goes without a layout, which has --dp");
    return LM_OK;
}

static lm_status check(options *o, lm_error *err)
{
    memory_command *a     = o->filled;
    const lm_dtype  mixed = a->memory.mixed;

    if (decode_check(&a->decode, a->program, err))
        return err->code;
    a->bind.evaluation = a->program != PROGRAM_TRAINING;
    a->memory.overhead = (uint64_t)a->overhead;
    if (mixed && mixed != LM_F16 && mixed != LM_BF16 && mixed != LM_F8)
        return misused(o, &a->memory.mixed, err, "expected f16, bf16 or fp8, found '%.40s'",
                       text_dtype_name(mixed));
    if (mixed && a->bind.dtype != LM_F32)
        return misused(o, &a->memory.mixed, err, "has f32 weights: leave out --dtype");
    if (a->memory.masters && lm_dtype_bytes(a->bind.dtype) != 2)
        return misused(o, &a->memory.masters, err, "is of weights of 16 bit: give --dtype bf16");
    if (a->memory.sums && a->memory.sums != LM_F32)
        return misused(o, &a->memory.sums, err, "expected f32, found '%.40s'",
                       text_dtype_name(a->memory.sums));
    if (a->memory.late_sums && a->memory.fused_gradients)
        return misused(o, &a->memory.late_sums, err, "or --fused-gradients: give one of them");
    if (check_layout(o, a, err))
        return err->code;
    if (a->stage && a->room)
        return misused(o, &a->stage, err, "what fits is said of all stages: leave out --memory");
    if (a->stage > a->layout.layout.pp || (a->stage && !a->layout.given))
        return misused(o, &a->stage, err, "of a pipeline of %lld stages: stage %lld is not there",
                       (long long)a->layout.layout.pp, (long long)a->stage);
    if (a->batch.n > 1 && a->layers)
        return misused(o, &a->layers, err, "layers are listed at one batch");
    return check_buckets(o, a, err);
}

/* Does the network divide, and the global batch? With it `accumulation` is the samples of a rank. */
static lm_status settle(const question *q, layout *l, lm_error *err)
{
    const int64_t  micro = l->accumulation;
    bind_options   whole = q->a->bind;
    bound_network *bound = NULL;
    layout_facts   facts;
    lm_status      status;

    whole.batch = 1;
    if ((status = bind_network(q->net, q->reg, &whole, &bound, err)))
        return status;
    facts = layout_facts_of(bound);
    bound_network_free(bound);
    for (size_t i = 0; i < q->a->batch.n && l->global_batch && !status; i++) {
        layout at = *l;

        at.micro_batch = q->a->batch.at[i];
        status         = layout_settle(&at, &facts, 0, err);
    }
    l->micro_batch  = 1;
    l->accumulation = l->global_batch ? 0 : micro;
    if (!status)
        status = layout_settle(l, &facts, 0, err);
    if (status)
        return status;
    if (!q->a->layout.layout.global_batch) {
        l->accumulation = micro;
        l->global_batch = 0;
    }
    return rank_memory_check(l, err);
}

static lm_status run(const options *o, lm_error *err)
{
    memory_command *filled  = o->filled;
    question        q       = { .o = o, .a = filled };
    layout          l       = q.a->layout.layout;
    answer          a       = { 0 };
    lm_library     *library = NULL;
    lm_network     *net = NULL, *step = NULL; /* step: of decoding, of the last token */
    lm_status       status;

    status = q.a->device ? room_of_device(q.a->devices, q.a->device, &filled->room, err) : LM_OK;
    if (!status && !(status = open_library(o, &library, err)))
        status = open_network(o, &q.a->network, library, &net, err);
    if (!status && q.a->program == PROGRAM_DECODE)
        status =
            network_handle_decoding(net, q.a->decode.context + q.a->decode.tokens - 1, &step, err);
    if (!status) {
        q.reg = library->reg;
        q.net = step ? step->net : net->net;
        q.l   = &l;
        if (q.a->layout.given)
            status = settle(&q, &l, err);
        if (!status && !(status = find_answer(&q, &a, err)))
            status = print_answer(&q, &a, err);
    }
    free(a.point);
    free(a.rank);
    free(a.layer);
    lm_network_close(step);
    lm_network_close(net);
    lm_library_close(library);
    return status;
}

const command cmd_memory =
    COMMAND("memory", "NETWORK", "Memory of a training step, and the largest batch that fits",
            memory_command, 1, 1, check, run);
