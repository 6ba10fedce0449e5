/* Unfolds sections of a network file into nodes. */
#include "network/unfold.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/shard.h"

#define DEPTH_MAX  32         /* blocks within blocks */
#define NODES_MAX  200000     /* number of layers and of block inputs */
#define REPEAT_MAX 10000      /* number of sections of a range */
#define INDEX_MAX  1000000000 /* a number in a range */
#define NAME_BYTES 192        /* a full layer name */
#define LAYER_COST 64         /* memory of a layer, or of a use of a block, beside its texts */

#define SHARES NONE /* the `input` of a pending `shares =` */

/* ---- nodes ---- */

static lm_status add_node(unfolding *u, const node *n, size_t *out)
{
    if (u->n_nodes == NODES_MAX)
        return ini_fail(u->doc, u->err, n->line, LM_E_SYNTAX, "more than %d layers", NODES_MAX);
    if (!array_grow(&u->node, u->n_nodes, &u->node_room, sizeof *u->node))
        return no_memory(u->err);
    *out                  = u->n_nodes;
    u->node[u->n_nodes++] = *n;
    return LM_OK;
}

static lm_status add_pending(unfolding *u, size_t at, size_t input, const char *text, int line)
{
    if (!array_grow(&u->pending, u->n_pending, &u->pending_room, sizeof *u->pending))
        return no_memory(u->err);
    u->pending[u->n_pending++] = (pending){ at, input, text, line };
    return LM_OK;
}

/* The names in `inputs =`, or none. They live in the arena. */
static lm_status split_inputs(unfolding *u, const environment *env, const ini_pair *given,
                              char *part[INPUTS_MAX], size_t *n)
{
    const char *text;
    lm_status   status;

    *n = 0;
    if (!given)
        return LM_OK;
    if ((status = block_substitute(&u->blocks, env, given->value, given->line, &text)))
        return status;
    *n = text_split((char *)(uintptr_t)text, ',', part, INPUTS_MAX);
    for (size_t i = 0; i < *n; i++)
        if (!*part[i] || strchr(part[i], ','))
            return ini_fail(u->doc, u->err, given->line, LM_E_SYNTAX,
                            "inputs: expected 1 to %d names separated by commas", INPUTS_MAX);
    return LM_OK;
}

static lm_status copy_parameters(unfolding *u, const ini_section *s, const environment *env,
                                 node *n)
{
    net_pair *pair = arena_array(u->net->arena, s->n_pairs ? s->n_pairs : 1, sizeof *pair);
    lm_status status;

    if (!pair)
        return no_memory(u->err);
    n->pair = pair;
    for (size_t i = 0; i < s->n_pairs; i++) {
        const ini_pair *p = &s->pair[i];
        const char     *value;

        if (!strcmp(p->key, "inputs") || !strcmp(p->key, "shares") || !strcmp(p->key, "when"))
            continue;
        if ((status = block_substitute(&u->blocks, env, p->value, p->line, &value)))
            return status;
        if (!strcmp(p->key, "type")) {
            n->type = value;
        } else if (!strcmp(p->key, "functional")) {
            bool functional;

            if (text_bool(value, &functional, u->err))
                return ini_fail(u->doc, u->err, p->line, LM_E_ARG,
                                "functional: expected yes or no, found '%s'", value);
            n->counted = functional ? NET_COUNTED_NO : NET_COUNTED_YES;
        } else if (!strcmp(p->key, "frozen")) {
            if (text_bool(value, &n->frozen, u->err))
                return ini_fail(u->doc, u->err, p->line, LM_E_ARG,
                                "frozen: expected yes or no, found '%s'", value);
        } else if (!strcmp(p->key, "split")) {
            if (!shard_way_parse(value, &n->way))
                return ini_fail(u->doc, u->err, p->line, LM_E_SYNTAX,
                                "split: expected " SHARD_WAYS ", found '%s'", value);
        } else {
            pair[n->n_pairs].key = arena_text(u->net->arena, p->key, strlen(p->key));
            if (!pair[n->n_pairs].key)
                return no_memory(u->err);
            pair[n->n_pairs].value  = value;
            pair[n->n_pairs++].line = p->line;
        }
    }
    if (!n->type)
        return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX,
                        "layer '%s' has no 'type =' (nor 'block =')", n->name);
    return LM_OK;
}

/* ---- scopes ---- */

/* "layer1.0..2": stem "layer1.", from 0 to 2; only the end may be negative, as in 0..-1: empty */
typedef struct range {
    size_t  stem; /* bytes */
    int64_t from, to;
} range;

static bool range_number(const char *text, size_t n, int64_t *out)
{
    char digits[12];

    if (n >= sizeof digits)
        return false;
    memcpy(digits, text, n);
    digits[n] = '\0';
    return !text_int(digits, out, NULL) && *out <= INDEX_MAX;
}

/* *is_one is false for a name that is no range. */
static lm_status split_range(unfolding *u, const ini_section *s, const char *name, range *out,
                             bool *is_one)
{
    const size_t n = strlen(name);
    size_t       b = n, a;

    *is_one = false;
    while (b > 0 && isdigit((unsigned char)name[b - 1]))
        b--;
    if (b == n)
        return LM_OK;
    b -= b > 0 && name[b - 1] == '-';
    if (b < 3 || name[b - 1] != '.' || name[b - 2] != '.')
        return LM_OK;
    for (a = b - 2; a > 0 && isdigit((unsigned char)name[a - 1]);)
        a--;
    if (a == b - 2)
        return LM_OK;
    *is_one   = true;
    out->stem = a;
    if (!range_number(name + a, b - 2 - a, &out->from) || !range_number(name + b, n - b, &out->to))
        return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX,
                        "'%s': the numbers of a range go up to %d", name, INDEX_MAX);
    if (out->to < out->from - 1 || out->to - out->from >= REPEAT_MAX)
        return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX,
                        "'%s': the range runs downwards or is longer than %d", name, REPEAT_MAX);
    return LM_OK;
}

static lm_status unfold_layer(unfolding *u, name_scope *sc, const ini_section *s, const char *full,
                              size_t *out)
{
    node            n      = { .name      = full,
                               .block     = sc->block,
                               .section   = s,
                               .shares    = NONE,
                               .line      = s->line,
                               .used_line = sc->env.used_line };
    const ini_pair *shares = ini_get(s, "shares");
    char           *part[INPUTS_MAX];
    size_t          n_given = 0;
    bool            source; /* has no input */
    lm_status       status = copy_parameters(u, s, &sc->env, &n);

    if (!status)
        status = split_inputs(u, &sc->env, ini_get(s, "inputs"), part, &n_given);
    if (status)
        return status;
    source = network_source_type(n.type);
    if (n_given == 1 && !strcmp(part[0], "none")) {
        n_given = 0;
        source  = true;
    }
    n.n_inputs = n_given ? n_given : sc->last != NONE && !source ? 1 : 0;
    n.input    = arena_array(u->net->arena, n.n_inputs ? n.n_inputs : 1, sizeof *n.input);
    if (!n.input)
        return no_memory(u->err);
    if (!n_given && n.n_inputs)
        n.input[0].layer = sc->last;
    status = add_node(u, &n, out);
    for (size_t i = 0; i < n_given && !status; i++)
        status = add_pending(u, *out, i, part[i], ini_get(s, "inputs")->line);
    if (!status && shares) {
        const char *owner;

        status = block_substitute(&u->blocks, &sc->env, shares->value, shares->line, &owner);
        if (!status)
            status = add_pending(u, *out, SHARES, owner, shares->line);
    }
    return status;
}

/* Adds input k of a block: the layer that `given` names, or the layer before the block. */
static lm_status add_port(unfolding *u, const name_scope *sc, const ini_section *s, size_t k,
                          char *given, name_scope *inner)
{
    node      port = { .name      = inner->prefix,
                       .line      = s->line,
                       .n_inputs  = 1,
                       .shares    = NONE,
                       .used_line = inner->env.used_line };
    size_t    at;
    char      input[16], *kept;
    lm_status status;

    snprintf(input, sizeof input, k ? "input%zu" : "input", k + 1);
    kept       = arena_text(u->net->arena, input, strlen(input));
    port.input = arena_array(u->net->arena, 1, sizeof *port.input);
    if (!kept || !port.input)
        return no_memory(u->err);
    if (!given)
        port.input[0].layer = sc->last;
    if ((status = add_node(u, &port, &at)) ||
        (given && (status = add_pending(u, at, 0, given, ini_get(s, "inputs")->line))))
        return status;
    if (!names_add(&inner->local, kept, at))
        return no_memory(u->err);
    if (k == 0)
        inner->last = at;
    return LM_OK;
}

static lm_status unfold_block(unfolding *u, name_scope *sc, const ini_section *s, const char *full,
                              size_t *out)
{
    const ini_pair *which = ini_get(s, "block");
    const block    *b;
    const char     *name;
    name_scope      inner = {
             .prefix = full, .block = sc->block ? sc->block : full, .last = NONE, .depth = sc->depth + 1
    };
    char     *part[INPUTS_MAX];
    size_t    n_given = 0, n_ports;
    lm_status status  = block_substitute(&u->blocks, &sc->env, which->value, which->line, &name);

    if (status)
        return status;
    b = block_find(&u->blocks, name, strlen(name));
    if (!b)
        return ini_fail(u->doc, u->err, which->line, LM_E_NOTFOUND, "there is no [block %s]", name);
    if (inner.depth > DEPTH_MAX)
        return ini_fail(u->doc, u->err, which->line, LM_E_SYNTAX,
                        "blocks nest deeper than %d: does '%s' use itself?", DEPTH_MAX, b->name);
    if ((status = block_bind(&u->blocks, b, s, &sc->env, &inner.env)) ||
        (status = split_inputs(u, &sc->env, ini_get(s, "inputs"), part, &n_given)))
        return status;
    n_ports = n_given ? n_given : sc->last != NONE ? 1 : 0;
    for (size_t k = 0; k < n_ports && !status; k++)
        status = add_port(u, sc, s, k, n_given ? part[k] : NULL, &inner);
    if (!status)
        status = unfold_scope(u, &inner, b->layer, b->n_layers, out);
    names_free(&inner.local);
    return status;
}

static lm_status name_too_long(unfolding *u, const ini_section *s)
{
    return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX, "layer name longer than %d bytes",
                    NAME_BYTES - 1);
}

/* Unfolds one section under one name. */
static lm_status unfold_one(unfolding *u, name_scope *sc, const ini_section *s, const char *local)
{
    char      full[NAME_BYTES];
    char     *name, *kept;
    size_t    at, twin;
    lm_status status;

    if (!*local || strpbrk(local, ",:$ "))
        return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX,
                        "'%s': a layer's name has no blanks, commas, colons or $", local);
    if (snprintf(full, sizeof full, "%s%s%s", sc->prefix, *sc->prefix ? "." : "", local) >=
        (int)sizeof full)
        return name_too_long(u, s);
    if ((status = block_spend(&u->blocks, LAYER_COST + strlen(full) + strlen(local), s->line)))
        return status;
    name = arena_text(u->net->arena, full, strlen(full));
    kept = arena_text(u->net->arena, local, strlen(local));
    if (!name || !kept)
        return no_memory(u->err);
    twin = names_find(&u->line_of, name);
    if (twin != NAMES_NONE)
        return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX,
                        "there is a layer '%s' already, from line %zu", full, twin);
    if (names_find(&sc->local, local) != NAMES_NONE)
        return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX,
                        "there is an input '%s' of the block already", full);
    if (!names_add(&u->line_of, name, (size_t)s->line))
        return no_memory(u->err);
    if (ini_get(s, "block") && ini_get(s, "type"))
        return ini_fail(u->doc, u->err, s->line, LM_E_SYNTAX,
                        "'%s' has both 'type =' and 'block ='", full);
    status =
        ini_get(s, "block") ? unfold_block(u, sc, s, name, &at) : unfold_layer(u, sc, s, name, &at);
    if (status)
        return status;
    sc->last = at;
    return names_add(&sc->local, kept, at) && names_add(&u->by_name, name, at) ? LM_OK
                                                                               : no_memory(u->err);
}

/* `when =`: does the layer exist? */
static lm_status is_wanted(unfolding *u, const name_scope *sc, const ini_section *s, bool *wanted)
{
    const ini_pair *when = ini_get(s, "when");
    const char     *value;
    lm_status       status;

    *wanted = true;
    if (!when)
        return LM_OK;
    status = block_substitute(&u->blocks, &sc->env, when->value, when->line, &value);
    if (!status && text_bool(value, wanted, u->err))
        status = ini_fail(u->doc, u->err, when->line, LM_E_ARG,
                          "when: expected yes or no, 1 or 0, found '%s'", value);
    return status;
}

static lm_status unfold_wanted(unfolding *u, name_scope *sc, const ini_section *s,
                               const char *local)
{
    bool      wanted;
    lm_status status = is_wanted(u, sc, s, &wanted);

    return status || !wanted ? status : unfold_one(u, sc, s, local);
}

/* Unfolds one element of a range; $index is its number. */
static lm_status unfold_step(unfolding *u, name_scope *sc, const ini_section *s, const char *name,
                             size_t stem, int64_t index)
{
    const environment outer = sc->env;
    char              local[NAME_BYTES], number[24];
    const argument    arg = { "index", number };
    lm_status         status;

    snprintf(number, sizeof number, "%" PRId64, index);
    if (snprintf(local, sizeof local, "%.*s%s", (int)stem, name, number) >= (int)sizeof local)
        return name_too_long(u, s);
    sc->env = (environment){ &arg, 1, outer.used_line, &outer };
    status  = unfold_wanted(u, sc, s, local);
    sc->env = outer;
    return status;
}

static lm_status unfold_section(unfolding *u, name_scope *sc, const ini_section *s,
                                const char *local)
{
    const char *name;
    range       r;
    bool        is_range;
    lm_status   status = block_substitute(&u->blocks, &sc->env, local, s->line, &name);

    if (!status)
        status = split_range(u, s, name, &r, &is_range);
    if (status || !is_range)
        return status ? status : unfold_wanted(u, sc, s, name);
    for (int64_t i = r.from; i <= r.to && !status; i++)
        status = unfold_step(u, sc, s, name, r.stem, i);
    return status;
}

/* The node of a name in a scope, or in a block used there. */
static size_t unfold_find(const unfolding *u, const name_scope *sc, const char *name)
{
    const size_t local = names_find(&sc->local, name);
    char         full[2 * NAME_BYTES];

    if (local != NAMES_NONE || !*sc->prefix)
        return local != NAMES_NONE ? local : names_find(&u->by_name, name);
    snprintf(full, sizeof full, "%s.%s", sc->prefix, name);
    return names_find(&u->by_name, full);
}

/* The owner of shared parameters: a layer of the scope or, by its full name, an earlier one. */
static lm_status resolve_owner(unfolding *u, const name_scope *sc, const pending *p)
{
    node  *n     = &u->node[p->node];
    size_t owner = unfold_find(u, sc, p->text);
    char   full[2 * NAME_BYTES];

    if (owner == NAMES_NONE)
        owner = names_find(&u->by_name, p->text);
    if (owner == NAMES_NONE)
        return ini_fail(u->doc, u->err, p->line, LM_E_NOTFOUND,
                        "layer '%s' shares the parameters of '%s': there is no such layer here",
                        n->name, p->text);
    if (owner == p->node)
        return ini_fail(u->doc, u->err, p->line, LM_E_ARG,
                        "layer '%s' shares the parameters of itself: name another layer", n->name);
    snprintf(full, sizeof full, "%s.%s", sc->prefix, p->text);
    if (!u->node[owner].section ||
        (strcmp(u->node[owner].name, p->text) && strcmp(u->node[owner].name, full)))
        return ini_fail(u->doc, u->err, p->line, LM_E_ARG,
                        "'%s' is a block: name the layer in it whose parameters are shared",
                        p->text);
    n->shares = owner;
    return LM_OK;
}

/* "name" or "name:1" -> node and output. */
static lm_status resolve(unfolding *u, const name_scope *sc, const pending *p)
{
    node       *n     = &u->node[p->node];
    const char *colon = strchr(p->text, ':');
    char        name[NAME_BYTES];
    int64_t     output = 0;
    size_t      found;

    if (p->input == SHARES)
        return resolve_owner(u, sc, p);
    if (colon && (text_int(colon + 1, &output, u->err) || output < 0 || output >= LM_MAX_RANK))
        return ini_fail(u->doc, u->err, p->line, LM_E_SYNTAX, "'%s': expected NAME or NAME:OUTPUT",
                        p->text);
    if (snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - p->text) : (int)strlen(p->text),
                 p->text) >= (int)sizeof name)
        return ini_fail(u->doc, u->err, p->line, LM_E_SYNTAX,
                        "'%.40s...': layer name longer than %d bytes", name, NAME_BYTES - 1);
    found = unfold_find(u, sc, name);
    if (found == NAMES_NONE)
        return ini_fail(u->doc, u->err, p->line, LM_E_NOTFOUND,
                        "layer '%s' takes its input from '%s': there is no such "
                        "layer here",
                        n->name, name);
    n->input[p->input] = (net_edge){ found, (uint32_t)output };
    return LM_OK;
}

lm_status unfold_scope(unfolding *u, name_scope *sc, const ini_section *const *item, size_t n,
                       size_t *output)
{
    const size_t mine   = u->n_pending;
    lm_status    status = LM_OK;

    for (size_t i = 0; i < n && !status; i++) {
        const char *slash = block_slash(item[i]->name);

        status = unfold_section(u, sc, item[i], slash ? slash + 1 : item[i]->name);
    }
    for (size_t i = mine; i < u->n_pending && !status; i++)
        status = resolve(u, sc, &u->pending[i]);
    u->n_pending = mine;
    *output      = sc->last;
    return status;
}
