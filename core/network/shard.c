/* One rank's part of a network: which inputs are gathered, which outputs added up. */
#include "network/shard.h"

#include <stdio.h>
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

const char *shard_print(const net_shard *s, char text[SHARD_TEXT])
{
    snprintf(text, SHARD_TEXT, "%lld %lld %lld %d %d", (long long)s->tp, (long long)s->cp,
             (long long)s->ep, s->sp, s->ulysses);
    return text;
}

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

/* How the ranks of tp share a layer. */
static lm_way way_of(const sharding *s, const bound_layer *l)
{
    return s->out->options.shard.tp > 1 ? l->decl->way : LM_WHOLE;
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

/* Does the layer read all features of its inputs and compute a part of its outputs? */
static bool is_entry(lm_way way, uint32_t sums)
{
    return way != LM_WHOLE && way != LM_TOKENS && sums & LM_SUMS_INPUT;
}

/* Divides the tokens of a tensor among the ranks. */
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

/* Inputs of a layer after which each rank holds only its own tokens. */
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

/* Asks the layer's type for another split; parts 0: the type has none. */
static lm_status ask_other(sharding *s, bound_layer *l, host_layer *view, lm_way way, int64_t parts,
                           lm_split *split)
{
    const lm_layer_type *type = &l->entry->type;
    lm_value            *param;
    lm_status            status;

    if (parts <= 1 || !type->split || !l->decl->n_inputs)
        return LM_OK;
    param = arena_copy(s->out->arena, l->param, type->n_params, sizeof *param);
    if (type->n_params && !param)
        return no_memory(s->err);
    *split = (lm_split){ .size = sizeof *split, .parts = parts, .way = way, .param = param };
    view->err->text[0] = '\0';
    status             = type->split(&view->layer, split);
    if (status == LM_E_UNSUPPORTED) {
        split->parts = 0;
        return LM_OK;
    }
    if (status)
        return layer_explained(status, s->err);
    l->param          = param;
    view->layer.param = param;
    return LM_OK;
}

/* With sp, layers of experts that ranks of ep share take their own tokens: LM_ROUTED. */
static lm_status ask_routed(sharding *s, bound_layer *l, host_layer *view)
{
    const net_shard *shard = &s->out->options.shard;
    lm_status        status;

    if (l->decl->way != LM_COLUMNS || !shard->sp || shard->ep <= 1 || !l->decl->n_inputs ||
        part_of_input(s, l, 0) != PART_TOKENS)
        return LM_OK;
    status = ask_other(s, l, view, LM_ROUTED, shard->tp, &s->other[2]);
    s->any |= s->other[2].parts > 0;
    return status;
}

/* This rank's part of a layer among the ranks of tp. */
static lm_status enter_tensor(sharding *s, bound_layer *l, host_layer *view)
{
    const net_shard *shard  = &s->out->options.shard;
    const lm_way     way    = way_of(s, l);
    const bool       source = !l->decl->n_inputs;
    lm_tensor       *in;
    lm_status        status;

    if (way == LM_WHOLE || (way == LM_TOKENS && !shard->sp))
        return LM_OK;
    if ((status = check_inputs(s, l, way)) || (status = ask_routed(s, l, view)) ||
        s->other[2].parts)
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

/* ---- what ranks of cp and ep share ---- */

/* Rows of integers are tokens; so is dimension 1 of a constant of the same length. */
static lm_status cut_source(sharding *s, const bound_layer *l)
{
    const lm_layer_type *type  = &l->entry->type;
    const int64_t        cp    = s->out->options.shard.cp;
    lm_value            *shape = (lm_value *)(uintptr_t)&l->param[0];
    const bool           data  = !(type->flags & LM_CONSTANT) && shape->count == 1;
    int64_t             *n     = &shape->u.i[!data];

    if (!data && (!(type->flags & LM_CONSTANT) || type->weights || shape->count < 2 || !s->tokens ||
                  *n != s->tokens))
        return LM_OK;
    if (*n % cp)
        return lm_error_set(s->err, LM_E_SHAPE, "%lld tokens are no multiple of cp %lld",
                            (long long)*n, (long long)cp);
    s->tokens = s->tokens ? s->tokens : *n;
    *n /= cp;
    return LM_OK;
}

/* Converts a tensor between the two divisions around an all-to-all: by tokens outside of the layer,
 * by heads (features) within it. */
static lm_status exchange_dims(const sharding *s, lm_tensor *t, bool within)
{
    const int64_t  cp     = s->out->options.shard.cp;
    const uint32_t tokens = t->rank == 4 ? 2 : 1, heads = t->rank == 4 ? 1 : 2;
    int64_t *less = &t->dim[within ? heads : tokens], *more = &t->dim[within ? tokens : heads];

    if (*less % cp)
        return lm_error_set(s->err, LM_E_SHAPE, "%lld %s are no multiple of cp %lld",
                            (long long)*less, within ? "heads or features" : "tokens",
                            (long long)cp);
    *less /= cp;
    *more *= cp;
    return LM_OK;
}

static lm_status enter_context(sharding *s, bound_layer *l, host_layer *view)
{
    const net_shard *shard = &s->out->options.shard;
    lm_tensor       *in;
    lm_status        status;

    if (shard->cp > 1 && l->entry->type.flags & LM_SOURCE)
        return cut_source(s, l);
    status = ask_other(s, l, view, shard->ulysses ? LM_ULYSSES : LM_RING, shard->cp, &s->other[0]);
    if (status || !s->other[0].parts)
        return status;
    s->context = l->context = true;
    if (!shard->ulysses)
        return LM_OK;
    if (!(in = arena_copy(s->out->arena, l->input, l->n_inputs, sizeof *in)))
        return no_memory(s->err);
    view->layer.input = l->input = in;
    for (uint32_t i = 0; i < l->n_inputs && !status; i++)
        status = exchange_dims(s, &in[i], true);
    return status;
}

lm_status sharding_enter(sharding *s, bound_layer *l, host_layer *view)
{
    const net_shard *shard  = &s->out->options.shard;
    const bool       source = l->entry->type.flags & LM_SOURCE;
    lm_status        status = LM_OK;

    s->split  = (lm_split){ .size = sizeof s->split, .parts = shard->tp, .way = way_of(s, l) };
    s->before = l->input;
    memset(s->other, 0, sizeof s->other);
    if (source) /* before the split by tp */
        status = enter_context(s, l, view);
    if (!status)
        status = enter_tensor(s, l, view);
    if (!status && !source)
        status = enter_context(s, l, view);
    if (!status)
        status = ask_other(s, l, view, LM_EXPERTS, shard->ep, &s->other[1]);
    s->experts |= s->other[1].parts > 0;
    return status;
}

/* ---- what is exchanged ---- */

static shard_message of_tensor(shard_kind kind, size_t layer, bool backward, bool again,
                               uint64_t bytes, uint32_t count)
{
    return (shard_message){ .kind     = kind,
                            .layer    = layer,
                            .backward = backward,
                            .again    = again,
                            .bytes    = bytes,
                            .count    = count };
}

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

/* Does an earlier layer of the same scope read the same tensor in the same way? Then one message
 * serves both. */
static bool is_shared(const sharding *s, const bound_layer *l, size_t i)
{
    const net_edge from  = l->decl->input[i];
    const size_t   scope = scope_of(l->decl->name);

    for (size_t k = 0; k < i; k++)
        if (l->decl->input[k].layer == from.layer && l->decl->input[k].output == from.output)
            return true;
    for (const bound_layer *other = l; other-- > &s->out->layer[from.layer];)
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
        return add_message(s, of_tensor(SHARD_ALLREDUCE, at, true, false, bytes, wanted));
    if ((status = add_message(s, of_tensor(SHARD_ALLGATHER, at, false, false, bytes, 1))) ||
        (status = add_message(s, of_tensor(SHARD_ALLGATHER, at, true, true, bytes, trained))))
        return status;
    return add_message(s, of_tensor(SHARD_REDUCESCATTER, at, true, false, bytes, wanted));
}

static lm_status exchange_output(sharding *s, bound_layer *l, lm_tensor *output)
{
    const size_t   at    = (size_t)(l - s->out->layer);
    const uint64_t bytes = lm_bytes(output);
    const bool     back  = l->trained || l->needs_grad_input;
    lm_status      status;

    if (!s->out->options.shard.sp)
        return add_message(s, of_tensor(SHARD_ALLREDUCE, at, false, false, bytes, 1));
    if ((status = cut_tokens(s, output)))
        return status;
    l->cost.workspace_bytes = lm_add(l->cost.workspace_bytes, bytes); /* the rank's summand */
    if ((status = add_message(s, of_tensor(SHARD_REDUCESCATTER, at, false, false, bytes, 1))))
        return status;
    return add_message(s, of_tensor(SHARD_ALLGATHER, at, true, false, bytes, back));
}

/* Messages of a split that are as many, of the same sizes, in both passes. */
static lm_status exchange_both(sharding *s, const lm_split *split, shard_message m, bool back)
{
    lm_status status = LM_OK;

    m.count = 1;
    for (uint32_t i = 0; i < split->exchanges && !status; i++) {
        m.bytes    = lm_exchanged(split, i);
        m.backward = false;
        if ((status = add_message(s, m)) || !back)
            continue;
        m.backward = true;
        status     = add_message(s, m);
    }
    return status;
}

/* Messages of context parallelism. Ring: keys and values pass around; backward their gradients,
 * too, which return after the last chunk (Liu et al. 2023, arXiv:2310.01889, section 3). Ulysses:
 * the same all-to-alls in both passes. */
static lm_status exchange_context(sharding *s, const bound_layer *l)
{
    const lm_split *split = &s->other[0];
    shard_message   m     = { .kind   = SHARD_SENDRECV,
                              .layer  = (size_t)(l - s->out->layer),
                              .bytes  = split->exchanged_bytes,
                              .count  = split->exchanges,
                              .group  = SHARD_CP,
                              .hidden = true };
    lm_status       status;

    if (!split->parts)
        return LM_OK;
    if (split->way == LM_ULYSSES) {
        m.kind   = SHARD_ALLTOALL;
        m.hidden = false;
        return exchange_both(s, split, m, l->needs_grad_input);
    }
    status     = add_message(s, m);
    m.backward = true;
    if (status || !l->needs_grad_input)
        return status;
    m.bytes = lm_mul(2, split->exchanged_bytes);
    if ((status = add_message(s, m)))
        return status;
    m.bytes  = split->exchanged_bytes;
    m.count  = 1;
    m.hidden = false;
    return add_message(s, m);
}

/* Messages of a layer whose tokens' rows meet at the experts (LM_ROUTED): an all-gather before them,
 * and a reduce-scatter behind them, in each pass. All tokens, if they are gathered, are gathered
 * again for the gradients of weights (Korthikanti et al. 2022, section 4.2.2). */
static lm_status exchange_rows(sharding *s, const bound_layer *l)
{
    const lm_split *split  = &s->other[2];
    const bool      back   = l->trained || l->needs_grad_input;
    lm_status       status = LM_OK;

    for (uint32_t i = 0; i < split->exchanges && split->parts && !status; i++) {
        shard_message gather  = { .kind  = SHARD_ALLGATHER,
                                  .layer = (size_t)(l - s->out->layer),
                                  .bytes = lm_exchanged(split, i),
                                  .count = 1,
                                  .waits = true };
        shard_message scatter = gather;

        scatter.kind = SHARD_REDUCESCATTER;
        if ((status = add_message(s, gather)) || (status = add_message(s, scatter)) || !back)
            continue;
        gather.backward = scatter.backward = true;
        gather.count += i && l->trained;
        scatter.count = l->needs_grad_input;
        if (!(status = add_message(s, gather)))
            status = add_message(s, scatter);
    }
    return status;
}

/* All-to-all to the experts and back, in each pass. */
static lm_status exchange_experts(sharding *s, const bound_layer *l)
{
    const shard_message m = { .kind  = SHARD_ALLTOALL,
                              .layer = (size_t)(l - s->out->layer),
                              .group = SHARD_EP };

    if (!s->other[1].parts)
        return LM_OK;
    for (size_t i = 0; i < l->n_weights; i++)
        if (l->weights[i].flags & LM_EXPERT && !(l->weights[i].flags & LM_FROZEN))
            s->out->sharing.expert_bytes =
                lm_add(s->out->sharing.expert_bytes, lm_bytes(&l->weights[i].tensor));
    return exchange_both(s, &s->other[1], m, l->trained || l->needs_grad_input);
}

/* ---- what goes out ---- */

/* Division of a layer's output if it needs no sum: that of its inputs. */
static net_part part_handed_on(const sharding *s, const bound_layer *l)
{
    if (s->other[2].parts)
        return PART_TOKENS;
    if (way_of(s, l) == LM_TOKENS)
        return s->out->options.shard.sp ? PART_TOKENS : PART_WHOLE;
    if (way_of(s, l) != LM_WHOLE || has_input(s, l, PART_FEATURES))
        return PART_FEATURES;
    return has_input(s, l, PART_TOKENS) ? PART_TOKENS : PART_WHOLE;
}

/* Bytes of weights that see only some of the tokens: their gradients must be summed. */
static uint64_t summed_bytes(const sharding *s, const bound_layer *l, const lm_tensor *output,
                             net_part part)
{
    const bool rows  = s->split.sums & LM_SUMS_OUTPUT; /* its bias is added after the sum */
    uint64_t   bytes = 0;

    if (s->other[2].parts)
        return l->trained ? s->other[2].own_bytes : 0;
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
    const bool   alone = s->out->options.shard.tp > 1 && l->decl->way == LM_WHOLE &&
                       !has_input(s, l, PART_FEATURES) && !has_input(s, l, PART_TOKENS);

    for (int p = 0; p < LM_N_PASSES; p++) {
        to->flops = lm_add(to->flops, l->cost.pass[p].flops);
        if (alone)
            to->flops_whole = lm_add(to->flops_whole, l->cost.pass[p].flops);
    }
}

lm_status sharding_leave(sharding *s, bound_layer *l, lm_tensor *output)
{
    const size_t   at   = (size_t)(l - s->out->layer);
    const lm_way   way  = way_of(s, l);
    net_part       part = part_handed_on(s, l);
    const uint64_t each = s->split.exchanged_bytes;
    lm_status      status;

    if ((s->other[0].way == LM_ULYSSES && s->other[0].parts &&
         (status = exchange_dims(s, output, false))) ||
        (status = exchange_context(s, l)) || (status = exchange_experts(s, l)) ||
        (status = exchange_rows(s, l)))
        return status;
    l->way = s->other[2].parts                               ? LM_ROUTED
             : way == LM_TOKENS && !s->out->options.shard.sp ? LM_WHOLE
                                                             : way;
    for (uint32_t i = 0; i < l->n_inputs && is_entry(way, s->split.sums); i++)
        if ((status = exchange_input(s, l, i)))
            return status;
    if ((status = add_message(
             s, of_tensor(SHARD_ALLREDUCE, at, false, false, each, s->split.exchanges))))
        return status;
    if (s->split.sums & LM_SUMS_OUTPUT) {
        if ((status = exchange_output(s, l, output)))
            return status;
        part = s->out->options.shard.sp ? PART_TOKENS : PART_WHOLE;
    }
    for (size_t i = 0; way == LM_TOKENS && i < l->decl->n_inputs && s->out->options.shard.sp; i++)
        if (part_of_input(s, l, i) == PART_WHOLE && l->wants_gradient[i] &&
            (status = add_message(
                 s, of_tensor(SHARD_ALLGATHER, at, true, false, lm_bytes(&s->before[i]), 1))))
            return status;
    s->out->sharing.step_bytes =
        lm_add(s->out->sharing.step_bytes, summed_bytes(s, l, output, part));
    s->part[at] = (uint8_t)part;
    count(s, l);
    return LM_OK;
}

static lm_status nothing_shared(const sharding *s, const char *option, int64_t ranks,
                                const char *why)
{
    return lm_error_set(s->err, LM_E_UNSUPPORTED, "%s: %s %lld: %s", s->out->net->path, option,
                        (long long)ranks, why);
}

lm_status sharding_finish(sharding *s)
{
    const net_shard *shard = &s->out->options.shard;

    if (shard->tp > 1 && !s->any)
        return nothing_shared(s, "tp", shard->tp,
                              "none of its layers says how it splits (split =): each rank would "
                              "compute all of them");
    if (shard->cp > 1 && !(s->tokens && s->context))
        return nothing_shared(s, "cp", shard->cp,
                              s->tokens ? "no layer of its is attention that ranks can share"
                                        : "its samples are not rows of tokens");
    if (shard->ep > 1 && !s->experts)
        return nothing_shared(s, "ep", shard->ep, "it has no experts");
    return LM_OK;
}
