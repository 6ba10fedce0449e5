/* One rank's part of a network: which inputs are gathered, which outputs added up. */
#include "network/shard.h"

#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/bind.h"
#include "network/layer.h"

static const char *const way_names[] = {
    "whole", "columns", "rows", "heads", "vocabulary", "tokens"
};

#define N_WAYS (sizeof way_names / sizeof *way_names)

const char *shard_way_name(lm_way way)
{
    return way_names[way];
}

bool shard_way_parse(const char *text, lm_way *out)
{
    const size_t at = text_place(text, way_names, N_WAYS);

    if (at < N_WAYS)
        *out = (lm_way)at;
    return at < N_WAYS;
}

/* ---- what comes in ---- */

lm_status sharding_begin(sharding *s, bound_network *out, lm_error *err)
{
    *s      = (sharding){ .out = out, .err = err };
    s->part = arena_array(out->arena, out->n_layers + 1, sizeof *s->part);
    return s->part ? LM_OK : no_memory(err);
}

static net_part part_of_input(const sharding *s, const bound_layer *l, size_t i)
{
    return l->decl->n_inputs ? (net_part)s->part[l->decl->input[i].layer] : PART_WHOLE;
}

static bool has_input(const sharding *s, const bound_layer *l, net_part part)
{
    for (size_t i = 0; i < l->decl->n_inputs; i++)
        if (part_of_input(s, l, i) == part)
            return true;
    return false;
}

/* Does the layer read all features of its inputs, and make some? */
static bool is_entry(lm_way way, uint32_t sums)
{
    return way != LM_WHOLE && way != LM_TOKENS && sums & LM_SUMS_INPUT;
}

/* The tokens of this rank's part of a tensor, or of all ranks' together. */
static lm_status cut_tokens(const sharding *s, lm_tensor *t)
{
    const int64_t tp = s->out->options.shard.tp;

    if (t->rank > 3)
        return lm_error_set(s->err, LM_E_UNSUPPORTED,
                            "sp shares tokens: a tensor of %u dimensions is not batch, tokens, "
                            "features",
                            t->rank);
    if (t->rank < 2 || t->dim[1] % tp)
        return lm_error_set(s->err, LM_E_SHAPE, "%lld tokens are no multiple of tp %lld",
                            (long long)(t->rank < 2 ? 1 : t->dim[1]), (long long)tp);
    t->dim[1] /= tp;
    return LM_OK;
}

static lm_status check_inputs(const sharding *s, const bound_layer *l, lm_way way)
{
    const bool split = has_input(s, l, PART_FEATURES);

    if (way == LM_ROWS && !split)
        return lm_error_set(s->err, LM_E_SHAPE,
                            "split = rows: its input has all features; a layer before it takes "
                            "columns or heads");
    if (way == LM_COLUMNS && split)
        return lm_error_set(s->err, LM_E_SHAPE,
                            "split = columns: its input has some of its features already");
    return LM_OK;
}

/* A layer from which on each rank has its tokens alone. */
static lm_status enter_tokens(const sharding *s, const bound_layer *l, lm_tensor *in)
{
    lm_status status = LM_OK;

    for (uint32_t i = 0; i < l->n_inputs && !status; i++)
        if (part_of_input(s, l, i) == PART_WHOLE)
            status = cut_tokens(s, &in[i]);
    return status;
}

static lm_status ask_type(sharding *s, bound_layer *l, host_layer *view)
{
    const lm_layer_type *type  = &l->entry->type;
    lm_value            *param = arena_copy(s->out->arena, l->param, type->n_params, sizeof *param);
    lm_status            status;

    if (type->n_params && !param)
        return no_memory(s->err);
    if (!type->split)
        return lm_error_set(s->err, LM_E_UNSUPPORTED, "split = %s: '%s' does not split",
                            shard_way_name(l->decl->way), type->name);
    s->split.param     = param;
    view->err->text[0] = '\0';
    status             = type->split(&view->layer, &s->split);
    if (status) {
        status = layer_explained(status, s->err);
        lm_error_prefix(s->err, "split = %s", shard_way_name(l->decl->way));
        return status;
    }
    l->param          = param;
    view->layer.param = param;
    s->any            = true;
    return LM_OK;
}

lm_status sharding_enter(sharding *s, bound_layer *l, host_layer *view)
{
    const net_shard *shard  = &s->out->options.shard;
    const lm_way     way    = l->decl->way;
    const bool       source = !l->decl->n_inputs;
    lm_tensor       *in;
    lm_status        status;

    s->split  = (lm_split){ .size = sizeof s->split, .parts = shard->tp, .way = way };
    s->before = l->input;
    if (way == LM_WHOLE || (way == LM_TOKENS && !shard->sp))
        return LM_OK;
    if ((status = check_inputs(s, l, way)))
        return status;
    if (!(in = arena_copy(s->out->arena, l->input, l->n_inputs, sizeof *in)) && l->n_inputs)
        return no_memory(s->err);
    view->layer.input = l->input = in;
    if (way == LM_TOKENS && !source)
        return enter_tokens(s, l, in);
    if ((status = ask_type(s, l, view)))
        return status;
    for (uint32_t i = 0; i < l->n_inputs && is_entry(way, s->split.sums); i++)
        if (part_of_input(s, l, i) == PART_TOKENS)
            in[i].dim[1] *= shard->tp;
    return LM_OK;
}

/* ---- what is exchanged ---- */

static lm_status add_message(sharding *s, shard_message m)
{
    net_sharing   *to = &s->out->sharing;
    shard_message *grown;

    if (!m.count || (m.backward && s->out->options.evaluation))
        return LM_OK;
    if (to->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;

        if (!(grown = arena_array(s->out->arena, room, sizeof *grown)))
            return no_memory(s->err);
        if (to->n)
            memcpy(grown, to->message, to->n * sizeof *grown);
        to->message = grown;
        s->room     = room;
    }
    to->message[to->n++] = m;
    return LM_OK;
}

/* The name up to its last dot: layers of one part of a block. */
static size_t scope_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? (size_t)(dot - name) : 0;
}

/* Does a layer of the same scope before this one read the same tensor the same way? Then it is gathered,
 * or its gradient added up, for both at once. */
static bool is_shared(const sharding *s, const bound_layer *l, size_t i)
{
    const net_edge from  = l->decl->input[i];
    const size_t   scope = scope_of(l->decl->name);

    for (size_t k = 0; k < i; k++)
        if (l->decl->input[k].layer == from.layer && l->decl->input[k].output == from.output)
            return true;
    for (const bound_layer *other = l; other-- > s->out->layer;)
        for (size_t k = 0; k < other->decl->n_inputs; k++)
            if (other->decl->input[k].layer == from.layer &&
                other->decl->input[k].output == from.output && other->way == l->way &&
                scope_of(other->decl->name) == scope &&
                !strncmp(other->decl->name, l->decl->name, scope))
                return true;
    return false;
}

static lm_status exchange_input(sharding *s, const bound_layer *l, size_t i)
{
    const size_t   at      = (size_t)(l - s->out->layer);
    const bool     wanted  = l->wants_gradient[i];
    const uint64_t bytes   = lm_bytes(&l->input[i]);
    const bool     trained = l->trained;
    lm_status      status;

    if (is_shared(s, l, i))
        return LM_OK;
    if (part_of_input(s, l, i) != PART_TOKENS)
        return add_message(s, (shard_message){ SHARD_ALLREDUCE, at, true, false, bytes, wanted });
    if ((status = add_message(s, (shard_message){ SHARD_ALLGATHER, at, false, false, bytes, 1 })) ||
        (status =
             add_message(s, (shard_message){ SHARD_ALLGATHER, at, true, true, bytes, trained })))
        return status;
    return add_message(s, (shard_message){ SHARD_REDUCESCATTER, at, true, false, bytes, wanted });
}

static lm_status exchange_output(sharding *s, bound_layer *l, lm_tensor *output)
{
    const size_t   at    = (size_t)(l - s->out->layer);
    const uint64_t bytes = lm_bytes(output);
    const bool     back  = l->trained || l->needs_grad_input;
    lm_status      status;

    if (!s->out->options.shard.sp)
        return add_message(s, (shard_message){ SHARD_ALLREDUCE, at, false, false, bytes, 1 });
    if ((status = cut_tokens(s, output)))
        return status;
    l->cost.workspace_bytes = lm_add(l->cost.workspace_bytes, bytes); /* the summand */
    if ((status =
             add_message(s, (shard_message){ SHARD_REDUCESCATTER, at, false, false, bytes, 1 })))
        return status;
    return add_message(s, (shard_message){ SHARD_ALLGATHER, at, true, false, bytes, back });
}

/* ---- what goes out ---- */

/* Of a layer without sums: what its inputs are. */
static net_part part_handed_on(const sharding *s, const bound_layer *l)
{
    if (l->decl->way == LM_TOKENS)
        return s->out->options.shard.sp ? PART_TOKENS : PART_WHOLE;
    if (l->decl->way != LM_WHOLE || has_input(s, l, PART_FEATURES))
        return PART_FEATURES;
    return has_input(s, l, PART_TOKENS) ? PART_TOKENS : PART_WHOLE;
}

/* Weights that see some of the tokens: their gradients are summands. */
static uint64_t summed_bytes(const sharding *s, const bound_layer *l, const lm_tensor *output,
                             net_part part)
{
    const bool rows  = s->split.sums & LM_SUMS_OUTPUT; /* its bias is added behind the sum */
    uint64_t   bytes = 0;

    for (size_t i = 0; i < l->n_weights && part == PART_TOKENS; i++) {
        const lm_tensor *w = &l->weights[i].tensor;

        if (!(l->weights[i].flags & LM_FROZEN) &&
            (!rows || (w->rank == 1 && w->dim[0] == output->dim[output->rank - 1])))
            bytes = lm_add(bytes, lm_bytes(w));
    }
    return bytes;
}

static void count(const sharding *s, const bound_layer *l)
{
    net_sharing *to    = &s->out->sharing;
    const bool   alone = l->decl->way == LM_WHOLE && !has_input(s, l, PART_FEATURES) &&
                       !has_input(s, l, PART_TOKENS);

    for (int p = 0; p < LM_N_PASSES; p++) {
        to->flops = lm_add(to->flops, l->cost.pass[p].flops);
        if (alone)
            to->flops_whole = lm_add(to->flops_whole, l->cost.pass[p].flops);
    }
}

lm_status sharding_leave(sharding *s, bound_layer *l, lm_tensor *output)
{
    const size_t   at   = (size_t)(l - s->out->layer);
    const lm_way   way  = l->decl->way;
    net_part       part = part_handed_on(s, l);
    const uint64_t each = s->split.exchanged_bytes;
    lm_status      status;

    l->way = way == LM_TOKENS && !s->out->options.shard.sp ? LM_WHOLE : way;
    for (uint32_t i = 0; i < l->n_inputs && is_entry(way, s->split.sums); i++) {
        if ((status = exchange_input(s, l, i)))
            return status;
        if (part_of_input(s, l, i) == PART_TOKENS)
            l->cost.workspace_bytes = lm_add(l->cost.workspace_bytes, lm_bytes(&l->input[i]));
    }
    if ((status = add_message(
             s, (shard_message){ SHARD_ALLREDUCE, at, false, false, each, s->split.exchanges })))
        return status;
    if (s->split.sums & LM_SUMS_OUTPUT) {
        if ((status = exchange_output(s, l, output)))
            return status;
        part = s->out->options.shard.sp ? PART_TOKENS : PART_WHOLE;
    }
    for (size_t i = 0; way == LM_TOKENS && i < l->decl->n_inputs && s->out->options.shard.sp; i++)
        if (part_of_input(s, l, i) == PART_WHOLE && l->wants_gradient[i] &&
            (status = add_message(s, (shard_message){ SHARD_ALLGATHER, at, true, false,
                                                      lm_bytes(&s->before[i]), 1 })))
            return status;
    s->out->sharing.step_bytes =
        lm_add(s->out->sharing.step_bytes, summed_bytes(s, l, output, part));
    s->part[at] = (uint8_t)part;
    count(s, l);
    return LM_OK;
}

lm_status sharding_finish(sharding *s)
{
    if (s->any)
        return LM_OK;
    return lm_error_set(s->err, LM_E_UNSUPPORTED,
                        "%s: tp %lld: none of its layers says how it splits (split =): each rank "
                        "would compute all of them",
                        s->out->net->path, (long long)s->out->options.shard.tp);
}
