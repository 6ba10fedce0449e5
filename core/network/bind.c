/* Binding: a network and a batch become tensors, costs, weights and kernels. */
#include "network/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "layers/schema.h"
#include "network/autocast.h"
#include "network/evaluation.h"
#include "network/layer.h"
#include "network/tied.h"

/* What a layer's type told, before the exchanges of ranks changed it. */
typedef struct told_layer {
    const lm_tensor *output;
    lm_cost          cost;
} told_layer;

typedef struct binding {
    bound_network       *out;
    const network       *net;
    const registry      *reg;
    host_sink            sink;
    sharding             sharding;
    told_layer          *told;      /* of each layer */
    bool                 shared;    /* one rank's part is bound */
    char                 sizes[80]; /* of an input replaced by one of another rank; or empty */
    const bound_network *like;      /* earlier binding with types and keys to reuse; or NULL */
    lm_error            *err;
} binding;

/* Puts the layer's place in front of the error, and before it an input of another rank: the likely cause.
   Networks of a builder have no lines. */
static void prefix_place(binding *b, const net_layer *l, int line)
{
    const char *file = b->net->base ? b->net->base : b->net->path;

    if (line)
        lm_error_prefix(b->err, "%s:%d: layer '%s'", file, line, l->name);
    else
        lm_error_prefix(b->err, "%s: layer '%s'", file, l->name);
    if (*b->sizes)
        lm_error_prefix(b->err, "input %s: the network's is %s", b->out->options.input, b->sizes);
}

static bool is_source(const bound_layer *l)
{
    return (l->entry->type.flags & LM_SOURCE) != 0;
}

/* A source whose shape may be replaced. */
static bool is_data(const bound_layer *l)
{
    return is_source(l) && !(l->entry->type.flags & LM_CONSTANT);
}

/* Refuses another height or width for networks that work with one image size only. */
static lm_status check_image(const binding *b, const int64_t *shape, size_t rank,
                             const int64_t *wanted, size_t wanted_rank)
{
    if (rank >= 2 && wanted_rank >= 2 && shape[rank - 1] == wanted[wanted_rank - 1] &&
        shape[rank - 2] == wanted[wanted_rank - 2])
        return LM_OK;
    if (!b->net->note || !strstr(b->net->note, NETWORK_IMAGE_FIXED))
        return LM_OK;
    return lm_error_set(b->err, LM_E_SHAPE, NETWORK_IMAGE_FIXED ", as its note says");
}

static void add_sizes(char *text, size_t size, const lm_value *shape)
{
    for (uint32_t i = 0; i < shape->count; i++)
        text_add(text, size, i ? "x%lld" : "%lld", (long long)shape->u.i[i]);
}

/* The input of a source is the batch. Options may replace the source's shape. */
static lm_status feed_source(binding *b, bound_layer *l, lm_tensor *input)
{
    const bind_options *o     = &b->out->options;
    lm_value           *shape = (lm_value *)(uintptr_t)&l->param[0];
    size_t              n     = 0;
    lm_status           status;

    if (l->decl->n_inputs)
        return lm_error_set(b->err, LM_E_SHAPE, "'%s' is a source and takes no inputs",
                            l->decl->type);
    if (!l->entry->type.n_params || shape->kind != LM_SHAPE)
        return lm_error_set(b->err, LM_E_ABI,
                            "source type '%s' has no shape as its first parameter", l->decl->type);
    if (l->entry->type.flags & LM_CONSTANT) {
        *input = (lm_tensor){ .dtype = o->dtype, .rank = 1, .dim = { o->batch } };
        return LM_OK;
    }
    if (o->input) {
        int64_t wanted[LM_MAX_RANK];

        if ((status = text_shape(o->input, wanted, LM_MAX_RANK - 1, &n, b->err)) ||
            (status = check_image(b, shape->u.i, shape->count, wanted, n)))
            return status;
        if (n != shape->count)
            add_sizes(b->sizes, sizeof b->sizes, shape);
        memcpy(shape->u.i, wanted, n * sizeof *wanted);
        shape->count = (uint32_t)n;
    }
    if (o->image) {
        if (shape->count < 2)
            return lm_error_set(b->err, LM_E_SHAPE,
                                "its input is no image: an image size means nothing");
        if ((status = check_image(b, shape->u.i, shape->count,
                                  (const int64_t[]){ o->image, o->image }, 2)))
            return status;
        shape->u.i[shape->count - 1] = shape->u.i[shape->count - 2] = o->image;
    }
    if (*b->out->input)
        text_add(b->out->input, sizeof b->out->input, ", ");
    add_sizes(b->out->input, sizeof b->out->input, shape);
    *input = (lm_tensor){ .dtype = o->dtype, .rank = 1, .dim = { o->batch } };
    return LM_OK;
}

static lm_status gather_inputs(binding *b, bound_layer *l)
{
    const size_t n    = is_source(l) ? 1 : l->decl->n_inputs;
    lm_tensor   *in   = arena_array(b->out->arena, n + 1, sizeof *in);
    uint8_t     *want = arena_array(b->out->arena, n + 1, sizeof *want);
    lm_status    status;

    if (!in || !want)
        return no_memory(b->err);
    l->input          = in;
    l->wants_gradient = want;
    l->n_inputs       = (uint32_t)n;
    if (is_source(l))
        return feed_source(b, l, in);
    if ((status = layer_check_inputs(l->entry, n, b->err)))
        return status;
    for (size_t i = 0; i < n; i++) {
        const net_edge     e    = l->decl->input[i];
        const bound_layer *from = &b->out->layer[e.layer];

        if (e.output >= from->n_outputs)
            return lm_error_set(b->err, LM_E_SHAPE, "'%s' has no output %u", from->decl->name,
                                e.output);
        in[i] = from->output[e.output];
        want[i] =
            lm_dtype_is_real(in[i].dtype) && (from->trained || from->needs_grad_input ||
                                              (b->out->options.input_gradient && is_data(from)));
        l->needs_grad_input |= want[i];
    }
    return LM_OK;
}

/* A kernel that yields both gradients (norms) belongs to LM_GRAD_INPUT and runs for either. */
static bool pass_happens(const binding *b, const bound_layer *l, lm_pass pass)
{
    const bool both_at_once = l->lowered && l->trained && !l->n_kernels[LM_GRAD_WEIGHT];

    if (b->out->options.evaluation)
        return pass == LM_FORWARD;
    return pass == LM_FORWARD || (pass == LM_GRAD_INPUT && (l->needs_grad_input || both_at_once)) ||
           (pass == LM_GRAD_WEIGHT && l->trained);
}

static lm_status check_cost(binding *b, bound_layer *l)
{
    lm_cost *c = &l->cost;

    for (lm_pass p = 0; p < LM_N_PASSES; p++)
        if (!pass_happens(b, l, p))
            c->pass[p] = (lm_work){ 0, 0, 0 };
    for (int p = 0; p < LM_N_PASSES; p++)
        if (c->pass[p].flops == UINT64_MAX || c->pass[p].read_bytes == UINT64_MAX ||
            c->pass[p].written_bytes == UINT64_MAX)
            return lm_error_set(b->err, LM_E_OVERFLOW, "work does not fit 64 bits");
    return LM_OK;
}

static lm_status emit(binding *b, bound_layer *l, const host_layer *view)
{
    const lm_layer_type *type = &l->entry->type;
    host_sink           *c    = &b->sink;
    lm_status            status;
    lm_weight           *weights;

    if ((status = layer_weights(l->entry, view, c)))
        return status;
    weights = arena_copy(b->out->arena, c->weight, c->n_weights, sizeof *weights);
    if (c->n_weights && !weights)
        return no_memory(b->err);
    l->weights   = weights;
    l->n_weights = c->n_weights;
    for (size_t i = 0; i < l->n_weights; i++) {
        weights[i].flags |= l->decl->frozen ? LM_FROZEN : 0;
        l->trained |= !(weights[i].flags & LM_FROZEN);
    }

    l->lowered = type->lower != NULL;
    for (lm_pass pass = LM_N_PASSES; pass-- > 0;) { /* weight gradients decide on input gradients */
        lm_kernel *kernels;

        if (!l->lowered || !pass_happens(b, l, pass))
            continue;
        c->n_kernels = 0;
        c->pass      = pass;
        status       = type->lower(&view->layer, pass, &c->sink);
        if (!status)
            status = c->status;
        if (status)
            return layer_explained(status, b->err);
        kernels = arena_copy(b->out->arena, c->kernel, c->n_kernels, sizeof *kernels);
        if (c->n_kernels && !kernels)
            return no_memory(b->err);
        l->kernels[pass]   = kernels;
        l->n_kernels[pass] = c->n_kernels;
    }
    return LM_OK;
}

/* A loss in evaluation: it does not belong to a sample. */
static bool is_skipped(const binding *b, const lm_tensor *output)
{
    return b->out->options.evaluation && output->rank == 0;
}

/* Asks the type for outputs, weights, kernels and cost. */
static lm_status ask_layer(binding *b, bound_layer *l, host_layer *view, told_layer *told)
{
    const lm_layer_type *type   = &l->entry->type;
    lm_tensor           *output = arena_array(b->out->arena, type->n_outputs, sizeof *output);
    lm_status            status;

    if (!output)
        return no_memory(b->err);
    if ((status = layer_infer(l->entry, view, output)))
        return status;
    told->output = output;
    l->cost.size = sizeof l->cost;
    if (is_skipped(b, output)) {
        l->lowered = true;
    } else {
        if ((status = emit(b, l, view)))
            return status;
        if ((status = type->cost(&view->layer, &l->cost)))
            return layer_explained(status, b->err);
    }
    status     = check_cost(b, l);
    told->cost = l->cost;
    return status;
}

#define TWIN_REACH 64 /* layers between twins: more than a block of repeated layers has */

/* An earlier layer of the same type, parameters and inputs: most networks repeat blocks. Its type
 * would tell the same, because callbacks are pure. NULL: there is none. */
static const bound_layer *twin_of(const binding *b, const bound_layer *l)
{
    const size_t at    = (size_t)(l - b->out->layer);
    const size_t first = at > TWIN_REACH ? at - TWIN_REACH : 0;

    for (size_t i = at; i-- > first;) {
        const bound_layer *t = &b->out->layer[i];

        if (t->entry == l->entry && t->n_inputs == l->n_inputs && !is_source(l) &&
            t->decl->frozen == l->decl->frozen &&
            !memcmp(t->input, l->input, l->n_inputs * sizeof *l->input) &&
            !memcmp(t->wants_gradient, l->wants_gradient, l->n_inputs) &&
            !memcmp(t->param, l->param, l->entry->type.n_params * sizeof *l->param))
            return t;
    }
    return NULL;
}

static void take_from(bound_layer *l, const bound_layer *twin, const told_layer *told)
{
    l->weights   = twin->weights;
    l->n_weights = twin->n_weights;
    l->trained   = twin->trained;
    l->lowered   = twin->lowered;
    l->cost      = told->cost;
    memcpy(l->kernels, twin->kernels, sizeof l->kernels);
    memcpy(l->n_kernels, twin->n_kernels, sizeof l->n_kernels);
}

static lm_status bind_layer(binding *b, bound_layer *l)
{
    const lm_layer_type *type          = &l->entry->type;
    const bool           layer_by_type = !(type->flags & (LM_FUNCTIONAL | LM_SOURCE));
    told_layer          *told          = &b->told[l - b->out->layer];
    const bound_layer   *twin;
    lm_tensor           *output;
    host_layer           h;
    lm_status            status = gather_inputs(b, l);

    if (status)
        return status;
    h = layer_view(l->entry, l->decl->name, l->param, l->input, l->n_inputs, b->out->options.dtype,
                   b->err);
    h.layer.wants_gradient = l->wants_gradient;
    if (b->shared && (status = sharding_enter(&b->sharding, l, &h)))
        return status;
    if ((twin = twin_of(b, l))) {
        *told = b->told[twin - b->out->layer];
        take_from(l, twin, told);
    } else if ((status = ask_layer(b, l, &h, told)))
        return status;
    l->counted   = l->decl->counted == NET_COUNTED_AS_TYPE ? layer_by_type
                                                           : l->decl->counted == NET_COUNTED_YES;
    l->output    = told->output;
    l->n_outputs = type->n_outputs;
    if (!b->shared || is_skipped(b, l->output))
        return LM_OK;
    if (!(output = arena_copy(b->out->arena, told->output, l->n_outputs, sizeof *output)))
        return no_memory(b->err);
    l->output = output;
    return sharding_leave(&b->sharding, l, output);
}

/* ---- shared parameters ---- */

static lm_status share_all(binding *b)
{
    for (size_t i = 0; i < b->out->n_layers; i++) {
        bound_layer     *l     = &b->out->layer[i];
        const net_layer *owner = l->decl->shares;
        lm_status        status;

        if (!owner)
            continue;
        status = tied_weights(l, &b->out->layer[owner - b->net->layer], b->out->arena, b->err);
        if (status || (status = check_cost(b, l))) {
            prefix_place(b, l->decl, l->decl->line);
            return status;
        }
    }
    return LM_OK;
}

/* ---- options ---- */

static lm_status check_options(const network *net, const bind_options *o, lm_error *err)
{
    const char *fixed = net->note ? strstr(net->note, NETWORK_BATCH_FIXED) : NULL;

    if (o->batch < 1)
        return lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more", (long long)o->batch);
    if (fixed && strtoll(fixed + strlen(NETWORK_BATCH_FIXED), NULL, 10) != o->batch)
        return lm_error_set(
            err, LM_E_SHAPE, "%s: batch %lld: " NETWORK_BATCH_FIXED "%lld, as its note says",
            net->path, (long long)o->batch, strtoll(fixed + strlen(NETWORK_BATCH_FIXED), NULL, 10));
    if (!lm_dtype_bytes(o->dtype))
        return lm_error_set(err, LM_E_ARG, "unknown element type %d", o->dtype);
    if (!lm_dtype_is_real(o->dtype))
        return lm_error_set(
            err, LM_E_ARG,
            "element type %s: weights and activations are real numbers here; f8 has "
            "as many bytes as int8",
            text_dtype_name(o->dtype));
    if (o->image < 0)
        return lm_error_set(err, LM_E_ARG, "image size %lld: must be 1 or more",
                            (long long)o->image);
    return LM_OK;
}

/* Sets the dropout probability to 0: parameter `p` of a dropout layer, `dropout` of other
 * layers. */
static void switch_off_dropout(const lm_layer_type *type, lm_value *param)
{
    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_param p = schema_param(type, i);

        if (p.kind == LM_REAL && !strcmp(p.name, type->flags & LM_TRAINING_ONLY ? "p" : "dropout"))
            param[i].u.f[0] = 0;
    }
}

/* Reuses type and parameters of an earlier binding, except for sources, whose shape may change. */
static lm_status read_keys(binding *b, const bound_layer *before, bound_layer *l, int *line)
{
    lm_value *param;
    lm_status status;

    if (before && !is_source(before) && !b->shared) {
        l->entry = before->entry;
        l->param = before->param;
        return LM_OK;
    }
    status = registry_need(b->reg, l->decl->type, &l->entry, b->err);
    if (!status &&
        !(status = layer_params(l->entry, l->decl, b->out->arena, &param, line, b->err))) {
        if (b->out->options.evaluation)
            switch_off_dropout(&l->entry->type, param);
        l->param = param;
    }
    return status;
}

/* Layers that learn something for each place of an image or of a sequence take its size as an
 * argument. */
static void say_argument(const binding *b)
{
    const bind_options *o = &b->out->options;

    for (size_t i = 0; i < b->net->n_arguments; i++) {
        const char *name = b->net->argument[i].name;

        if (o->image && !strcmp(name, "image"))
            text_add(b->err->text, sizeof b->err->text,
                     "; this network takes the size as an argument, behind its name: :image=%lld",
                     (long long)o->image);
        if (o->input && !strcmp(name, "sequence"))
            text_add(b->err->text, sizeof b->err->text,
                     "; this network takes the length as an argument: --sequence %.40s", o->input);
    }
}

/* Type, parameters, shapes and counts of a declared layer. */
static lm_status bind_declared(binding *b, const net_layer *decl, bound_layer *l)
{
    const bound_layer *before = b->like ? &b->like->layer[l - b->out->layer] : NULL;
    int                line   = decl->line;
    lm_status          status;

    l->decl = decl;
    if (!(status = read_keys(b, before, l, &line))) {
        line = decl->line;
        b->out->n_data += is_data(l);
        if (b->out->n_data > 1 && is_data(l) && (b->out->options.input || b->out->options.image))
            status = lm_error_set(b->err, LM_E_ARG,
                                  "the network has several inputs: their shapes cannot "
                                  "be replaced from outside");
        else
            status = bind_layer(b, l);
    }
    if (status)
        say_argument(b);
    if (status)
        prefix_place(b, decl, line);
    return status;
}

/* Compares the part with the same part of the whole sequence. */
static lm_status check_context(const binding *b, const network *net, const registry *reg,
                               const bind_options *options)
{
    bind_options   all   = *options;
    bound_network *whole = NULL;
    lm_status      status;

    all.shard.cp = 1;
    all.like     = NULL;
    status       = bind_network(net, reg, &all, &whole, b->err);
    if (!status)
        status = sharding_check_context(b->out, whole, b->err);
    bound_network_free(whole);
    return status;
}

/* Do both bindings have the same options, so that keys read for `before` are valid? */
static bool used_alike(const bound_network *before, const bind_options *options)
{
    const char *input = options->input ? options->input : "";

    return before && before->options.evaluation == options->evaluation &&
           !strcmp(before->options.input ? before->options.input : "", input);
}

/* Binds in one element type. */
static lm_status bind_plain(const network *net, const registry *reg, const bind_options *options,
                            bound_network **out, lm_error *err)
{
    lm_error  ignored;
    binding   b      = { .net = net, .reg = reg, .err = err ? err : &ignored };
    arena    *a      = arena_new();
    network  *own    = NULL;
    lm_status status = check_options(net, options, b.err);

    if (!status && used_alike(options->like, options))
        b.net = options->like->net;
    else if (!status)
        status = network_for_use(net, options->input, options->evaluation, &own, b.err);
    if (own)
        b.net = own;
    b.like = options->like && options->like->net == b.net &&
                     options->like->options.evaluation == options->evaluation
                 ? options->like
                 : NULL;
    b.out  = a ? arena_alloc(a, sizeof *b.out) : NULL;
    if (b.out)
        b.out->layer = arena_array(a, b.net->n_layers + 1, sizeof *b.out->layer);
    b.told = calloc(b.net->n_layers + 1, sizeof *b.told);
    if (!b.out || !b.out->layer || !b.told)
        status = no_memory(b.err);
    if (status)
        goto out;
    b.out->arena   = a;
    b.out->net     = b.net;
    b.out->own     = own;
    b.out->options = *options;
    b.out->options.input_gradient |= net->part;
    b.out->n_layers = b.net->n_layers;
    b.shared        = !shard_is_whole(&options->shard);
    b.sink          = host_sink_make(a, b.err);
    if (b.shared)
        status = sharding_begin(&b.sharding, b.out, b.err);
    for (size_t i = 0; i < b.net->n_layers && !status; i++)
        status = bind_declared(&b, &b.net->layer[i], &b.out->layer[i]);
    if (!status && !b.out->n_data)
        status = lm_error_set(b.err, LM_E_SHAPE, "%s: no layer of type input", net->path);
    if (!status)
        status = share_all(&b);
    if (!status && b.shared)
        status = sharding_finish(&b.sharding);
    if (!status && options->shard.cp > 1 && !options->checked)
        status = check_context(&b, net, reg, options);
    if (!status && options->evaluation)
        status = evaluation_settle(b.out, b.err);
out:
    host_sink_free(&b.sink);
    free(b.told);
    if (status) {
        network_free(own);
        arena_free(a);
        return status;
    }
    if (err)
        *err = (lm_error){ LM_OK, "" };
    *out = b.out;
    return LM_OK;
}

lm_status bind_network(const network *net, const registry *reg, const bind_options *options,
                       bound_network **out, lm_error *err)
{
    bind_options   single = *options, lower = *options;
    bound_network *full = NULL, *half = NULL;
    lm_status      status = options->mixed ? autocast_check(options, err) : LM_OK;

    single.mixed = lower.mixed = 0;
    lower.dtype                = autocast_half(options->mixed);
    lower.checked              = true; /* by the binding in f32 */
    if (status || (status = bind_plain(net, reg, &single, &full, err)))
        return status;
    if (options->mixed && !(status = bind_plain(net, reg, &lower, &half, err)))
        status = autocast_join(full, half, options->mixed, err);
    if (status)
        bound_network_free(full);
    else
        *out = full;
    return status;
}

bound_network *bound_network_share(bound_network *bound)
{
    bound->users++;
    return bound;
}

void bound_network_free(bound_network *bound)
{
    if (!bound || bound->users--)
        return;
    bound_network_free(bound->half);
    network_free(bound->own);
    arena_free(bound->arena);
}
