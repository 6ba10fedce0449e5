/* Expansion of nodes: calls of the file's functions, and loops. */
#include "onnx/expand.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "onnx/import.h"

#define NODES_MAX  200000
#define WITHIN_MAX 32 /* depth of functions that call functions */

/* A list of nodes that replaces the model's. */
typedef struct expansion {
    onnx_model *model;
    onnx_node  *node;
    size_t      n, room, initializer_room;
    lm_error   *err;
} expansion;

/* A copy of a body that replaces a node. */
typedef struct instance {
    const onnx_node   *call;
    const onnx_body   *body;
    const char       **input, **output; /* outer names of the body's inputs and outputs; "": none */
    size_t             n_inputs;
    names              own;       /* tensors that the body's nodes output */
    unsigned long      number;    /* makes names of its tensors unique */
    const char       **renamed;   /* new name of tensor i of `own` */
    const onnx_branch *from, *to; /* the last copied branch */
} instance;

static lm_status add_node(expansion *e, const onnx_node *node)
{
    void *more;

    if (e->n == NODES_MAX)
        return lm_error_set(e->err, LM_E_UNSUPPORTED,
                            "%s: functions and loops come to more than 200,000 nodes",
                            e->model->path);
    more = arena_grow(e->model->arena, e->node, e->n, &e->room, sizeof *e->node);
    if (!more)
        return no_memory(e->err);
    e->node         = more;
    e->node[e->n++] = *node;
    return LM_OK;
}

/* ---- names ---- */

static const char *joined(const expansion *e, const char *a, const char *mark, const char *b)
{
    const size_t size = strlen(a) + strlen(mark) + strlen(b) + 1;
    char        *text = arena_alloc(e->model->arena, size);

    if (text)
        snprintf(text, size, "%s%s%s", a, mark, b);
    return text;
}

static const char *numbered(const expansion *e, const char *name, unsigned long number)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%lu", number);
    return joined(e, name, "@", digits);
}

/* Outer name of a tensor of the body. NULL: no memory. */
static const char *name_outside(const instance *in, const char *name)
{
    size_t at;

    if (!*name)
        return name;
    for (size_t i = 0; i < in->body->n_inputs; i++)
        if (!strcmp(in->body->input[i], name))
            return i < in->n_inputs ? in->input[i] : "";
    at = names_find(&in->own, name);
    return at == NAMES_NONE ? name : in->renamed[at];
}

/* Names the outputs of the body's nodes; the body's own outputs get those of the call. */
static lm_status name_own(const expansion *e, instance *in)
{
    const onnx_body *b    = in->body;
    size_t           most = 1, n = 0;

    for (size_t i = 0; i < b->n_nodes; i++)
        most += b->node[i].n_outputs;
    in->renamed = arena_array(e->model->arena, most, sizeof *in->renamed);
    if (!in->renamed)
        return no_memory(e->err);
    for (size_t i = 0; i < b->n_nodes; i++)
        for (size_t k = 0; k < b->node[i].n_outputs; k++) {
            const char *name = b->node[i].output[k];

            if (!*name || names_find(&in->own, name) != NAMES_NONE)
                continue;
            for (size_t o = 0; o < b->n_outputs && !in->renamed[n]; o++)
                if (*in->output[o] && !strcmp(b->output[o], name))
                    in->renamed[n] = in->output[o];
            if (!in->renamed[n])
                in->renamed[n] = numbered(e, name, in->number);
            if (!in->renamed[n] || !names_add(&in->own, name, n))
                return no_memory(e->err);
            n++;
        }
    return LM_OK;
}

/* ---- copies ---- */

static lm_status copy_names(const expansion *e, const instance *in, const char ***list, size_t n)
{
    const char **copy = arena_array(e->model->arena, n + 1, sizeof *copy);

    if (!copy)
        return no_memory(e->err);
    for (size_t i = 0; i < n; i++)
        if (!(copy[i] = name_outside(in, (*list)[i])))
            return no_memory(e->err);
    *list = copy;
    return LM_OK;
}

/* A branch in a body: its condition is a tensor of the body, or of a graph around it. */
static const onnx_branch *copy_branch(const expansion *e, instance *in, const onnx_branch *from)
{
    onnx_branch *b;

    if (!from)
        return in->call->branch;
    if (from == in->from)
        return in->to;
    if (!(b = arena_copy(e->model->arena, from, 1, sizeof *b)))
        return NULL;
    b->outer     = copy_branch(e, in, from->outer);
    b->condition = name_outside(in, from->condition);
    in->from     = from;
    in->to       = b;
    return b;
}

static const onnx_attribute *find(const onnx_attribute *a, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(a[i].name, name))
            return &a[i];
    return NULL;
}

/* Copies attributes that refer to the call: its value, else the function's default, else none. */
static lm_status copy_attributes(const expansion *e, const instance *in, onnx_node *node)
{
    onnx_attribute *copy = arena_array(e->model->arena, node->n_attributes + 1, sizeof *copy);
    size_t          n    = 0;

    if (!copy)
        return no_memory(e->err);
    for (size_t i = 0; i < node->n_attributes; i++) {
        const onnx_attribute *a = &node->attribute[i], *given = a;

        if (*a->from) {
            given = find(in->call->attribute, in->call->n_attributes, a->from);
            if (!given)
                given = find(in->body->attribute, in->body->n_attributes, a->from);
        }
        if (!given)
            continue;
        copy[n]      = *given;
        copy[n].name = a->name;
        n++;
    }
    node->attribute    = copy;
    node->n_attributes = n;
    return LM_OK;
}

static lm_status copy_node(expansion *e, instance *in, const onnx_node *from)
{
    onnx_node node = *from;
    lm_status status;

    if (*from->name && *in->call->name && !(node.name = joined(e, in->call->name, "/", from->name)))
        return no_memory(e->err);
    node.branch = copy_branch(e, in, from->branch);
    if (from->branch && !node.branch)
        return no_memory(e->err);
    if ((status = copy_names(e, in, &node.input, node.n_inputs)) ||
        (status = copy_names(e, in, &node.output, node.n_outputs)) ||
        (status = copy_attributes(e, in, &node)))
        return status;
    return add_node(e, &node);
}

static lm_status add_plain(expansion *e, const onnx_node *call, const char *type,
                           const char *const *input, size_t n_inputs, const char *output)
{
    onnx_node node = { .name = "", .type = type, .branch = call->branch, .n_outputs = 1 };

    node.input    = arena_copy(e->model->arena, input, n_inputs, sizeof *input);
    node.output   = arena_copy(e->model->arena, &output, 1, sizeof output);
    node.n_inputs = n_inputs;
    return node.input && node.output ? add_node(e, &node) : no_memory(e->err);
}

/* Adds the body's nodes, and another name for outputs that no node of it makes. */
static lm_status add_body(expansion *e, instance *in)
{
    const onnx_body *b      = in->body;
    lm_status        status = name_own(e, in);

    for (size_t i = 0; i < b->n_nodes && !status; i++)
        status = copy_node(e, in, &b->node[i]);
    for (size_t o = 0; o < b->n_outputs && !status; o++) {
        const char *inside = *in->output[o] ? name_outside(in, b->output[o]) : in->output[o];

        if (*in->output[o] && strcmp(inside, in->output[o]))
            status = add_plain(e, in->call, "Identity", &inside, 1, in->output[o]);
    }
    names_free(&in->own);
    return status;
}

/* ---- functions ---- */

/* Lists functions by name, without those that a choice treats as a layer type, or ignores. */
static lm_status list_functions(const expansion *e, const network_choices *c, names *out)
{
    const onnx_model *m = e->model;

    for (size_t i = 0; i < m->n_functions; i++)
        if (!choice_treats(c, m->function[i].type) && !choice_ignores(c, m->function[i].type) &&
            !names_set(out, m->function[i].type, i))
            return no_memory(e->err);
    return LM_OK;
}

static lm_status add_call(expansion *e, const onnx_node *call, const onnx_body *body)
{
    instance in = { .call = call, .body = body, .number = (unsigned long)++e->model->n_instances };
    const char **output = arena_array(e->model->arena, body->n_outputs + 1, sizeof *output);

    if (!output)
        return no_memory(e->err);
    for (size_t o = 0; o < body->n_outputs; o++)
        output[o] = o < call->n_outputs ? call->output[o] : "";
    in.input    = call->input;
    in.n_inputs = call->n_inputs;
    in.output   = output;
    return add_body(e, &in);
}

/* Expands all calls once. *any: there was a call. */
static lm_status expand_once(onnx_model *m, const names *functions, bool may, bool *any,
                             lm_error *err)
{
    expansion e      = { .model = m, .err = err };
    lm_status status = LM_OK;

    *any = false;
    for (size_t i = 0; i < m->n_nodes && !status; i++) {
        const size_t at = names_find(functions, m->node[i].type);

        *any |= at != NAMES_NONE;
        if (at == NAMES_NONE)
            status = add_node(&e, &m->node[i]);
        else if (may)
            status = add_call(&e, &m->node[i], &m->function[at].body);
        else
            status = lm_error_set(err, LM_E_SYNTAX,
                                  "%s: function '%.80s' calls itself, or %d others within each "
                                  "other",
                                  m->path, m->node[i].type, WITHIN_MAX);
    }
    if (status || !*any)
        return status;
    m->node    = e.node;
    m->n_nodes = e.n;
    return LM_OK;
}

lm_status onnx_expand_calls(onnx_model *m, const network_choices *choices, lm_error *err)
{
    const expansion e         = { .model = m, .err = err };
    names           functions = { NULL, 0, 0 };
    bool            any       = m->n_functions > 0;
    lm_status       status    = list_functions(&e, choices, &functions);

    for (int depth = 0; any && !status; depth++)
        status = expand_once(m, &functions, depth < WITHIN_MAX, &any, err);
    names_free(&functions);
    return status;
}

/* ---- loops ---- */

/* Is the tensor always true? `body`: its input condition counts as true. */
static bool stays_true(const onnx_model *m, const onnx_body *body, const char *name)
{
    for (int depth = 0; depth < WITHIN_MAX; depth++) {
        const onnx_node *node = body ? body->node : m->node, *from = NULL;
        const size_t     n     = body ? body->n_nodes : m->n_nodes;
        const char      *given = body && body->n_inputs > 1 ? body->input[1] : "";

        if (!*name || !strcmp(name, given))
            return true;
        for (size_t i = 0; i < n && !from; i++)
            for (size_t k = 0; k < node[i].n_outputs; k++)
                if (!strcmp(node[i].output[k], name))
                    from = &node[i];
        if (!from && body) {
            body = NULL; /* a tensor of the outer graph */
            continue;
        }
        if (!from) {
            for (size_t i = 0; i < m->n_initializers; i++)
                if (!strcmp(m->initializer[i].name, name))
                    return m->initializer[i].n == 1 && m->initializer[i].ints &&
                           m->initializer[i].ints[0];
            return false;
        }
        if (!strcmp(from->type, "Constant")) {
            const onnx_attribute *a = onnx_attribute_of(from, "value");

            return a && a->tensor && a->tensor->n == 1 && a->tensor->ints && a->tensor->ints[0];
        }
        if ((strcmp(from->type, "Identity") && strcmp(from->type, "Cast")) || !from->n_inputs)
            return false;
        name = from->input[0];
    }
    return false;
}

static lm_status add_number(expansion *e, const char *name, int32_t type, uint32_t rank,
                            int64_t number)
{
    onnx_model  *m = e->model;
    onnx_tensor *more =
        arena_grow(m->arena, m->initializer, m->n_initializers, &e->initializer_room, sizeof *more);
    int64_t *ints = arena_copy(m->arena, &number, 1, sizeof number);

    if (!more || !ints)
        return no_memory(e->err);
    more[m->n_initializers++] =
        (onnx_tensor){ .name  = name,
                       .shape = { .type = type, .rank = rank, .dim = { rank }, .known = true },
                       .ints  = ints,
                       .n     = 1 };
    m->initializer = more;
    return LM_OK;
}

/* State of unrolling a loop: inputs of a step, and parts of outputs of all steps. */
typedef struct unrolling {
    const onnx_node *loop;
    const onnx_body *body;
    size_t           carried, scanned;
    const char     **input;
    const char    ***part; /* by joined output and step */
    const char      *zero; /* name of the constant 0, the axis of these joins */
} unrolling;

static lm_status add_step(expansion *e, unrolling *u, int64_t step)
{
    const unsigned long number = (unsigned long)++e->model->n_instances;
    const char **output = arena_array(e->model->arena, u->body->n_outputs + 1, sizeof *output);
    instance     in     = { .call     = u->loop,
                            .body     = u->body,
                            .input    = u->input,
                            .output   = output,
                            .n_inputs = 2 + u->carried,
                            .number   = number };
    lm_status    status;

    if (!output || !(u->input[0] = numbered(e, "step", number)) ||
        !(u->input[1] = numbered(e, "on", number)))
        return no_memory(e->err);
    if ((status = add_number(e, u->input[0], ONNX_INT64, 0, step)) ||
        (status = add_number(e, u->input[1], ONNX_BOOL, 0, 1)))
        return status;
    output[0] = "";
    for (size_t o = 1; o < u->body->n_outputs; o++)
        if (!(output[o] = numbered(e, o <= u->carried ? "carried" : "part",
                                   number * u->body->n_outputs + o)))
            return no_memory(e->err);
    if ((status = add_body(e, &in)))
        return status;
    for (size_t k = 0; k < u->carried; k++)
        u->input[2 + k] = output[1 + k];
    for (size_t k = 0; k < u->scanned && !status; k++) {
        const char *one[] = { output[1 + u->carried + k], u->zero };

        if (!(u->part[k][step] = joined(e, one[0], "@", "row")))
            return no_memory(e->err);
        status = add_plain(e, u->loop, "Unsqueeze", one, 2, u->part[k][step]);
    }
    return status;
}

static lm_status add_results(expansion *e, const unrolling *u, int64_t steps)
{
    const onnx_node *loop   = u->loop;
    lm_status        status = LM_OK;

    for (size_t k = 0; k < loop->n_outputs && !status; k++) {
        if (!*loop->output[k])
            continue;
        if (k < u->carried) {
            status = add_plain(e, loop, "Identity", &u->input[2 + k], 1, loop->output[k]);
            continue;
        }
        status =
            add_plain(e, loop, "Concat", u->part[k - u->carried], (size_t)steps, loop->output[k]);
        if (!status) {
            onnx_attribute axis = { .name = "axis", .from = "", .text = "" };

            e->node[e->n - 1].attribute    = arena_copy(e->model->arena, &axis, 1, sizeof axis);
            e->node[e->n - 1].n_attributes = 1;
            if (!e->node[e->n - 1].attribute)
                status = no_memory(e->err);
        }
    }
    return status;
}

static lm_status prepare(expansion *e, unrolling *u, int64_t steps)
{
    const onnx_node *loop = u->loop;
    arena           *a    = e->model->arena;

    u->input = arena_array(a, 2 + u->carried + 1, sizeof *u->input);
    u->part  = arena_array(a, u->scanned + 1, sizeof *u->part);
    u->zero  = numbered(e, "axis", (unsigned long)++e->model->n_instances);
    if (!u->input || !u->part || !u->zero)
        return no_memory(e->err);
    for (size_t k = 0; k < u->carried; k++)
        u->input[2 + k] = loop->input[2 + k];
    for (size_t k = 0; k < u->scanned; k++)
        if (!(u->part[k] = arena_array(a, (size_t)steps + 1, sizeof **u->part)))
            return no_memory(e->err);
    return u->scanned ? add_number(e, u->zero, ONNX_INT64, 1, 0) : LM_OK;
}

static lm_status refuse_loop(const expansion *e, const onnx_node *loop, const char *why)
{
    return lm_error_set(e->err, LM_E_UNSUPPORTED, "%s: node '%.80s' (Loop): %s", e->model->path,
                        *loop->name       ? loop->name
                        : loop->n_outputs ? loop->output[0]
                                          : "",
                        why);
}

/* Checks the loop: its body must have matching numbers of inputs and outputs. */
static lm_status check_loop(const expansion *e, const unrolling *u, int64_t steps)
{
    const onnx_node *loop = u->loop;
    const onnx_body *b    = u->body;

    if (!b || loop->n_inputs < 2 || b->n_inputs != loop->n_inputs ||
        b->n_outputs != 1 + loop->n_outputs || b->n_outputs < 1 + u->carried)
        return refuse_loop(e, loop, "its body has other numbers of inputs or outputs");
    if (steps < 0 || steps > NODES_MAX || (u->scanned && steps < 1))
        return refuse_loop(e, loop, "so many steps are not supported");
    if (!stays_true(e->model, NULL, loop->input[1]) || !stays_true(e->model, b, b->output[0]))
        return refuse_loop(e, loop, "when it ends depends on data");
    return LM_OK;
}

lm_status onnx_expand_loop(onnx_model *m, size_t node, int64_t steps, lm_error *err)
{
    const onnx_attribute *a = onnx_attribute_of(&m->node[node], "body");
    expansion             e = { .model = m, .err = err, .initializer_room = m->n_initializers };
    unrolling             u = { .loop = &m->node[node], .body = a ? a->body : NULL };
    lm_status             status;

    u.carried = u.loop->n_inputs > 2 ? u.loop->n_inputs - 2 : 0;
    u.scanned = u.loop->n_outputs > u.carried ? u.loop->n_outputs - u.carried : 0;
    if ((status = check_loop(&e, &u, steps)) || (status = prepare(&e, &u, steps)))
        return status;
    for (size_t i = 0; i < node && !status; i++)
        status = add_node(&e, &m->node[i]);
    for (int64_t s = 0; s < steps && !status; s++)
        status = add_step(&e, &u, s);
    if (!status)
        status = add_results(&e, &u, steps);
    for (size_t i = node + 1; i < m->n_nodes && !status; i++)
        status = add_node(&e, &m->node[i]);
    if (status)
        return status;
    m->node    = e.node;
    m->n_nodes = e.n;
    return LM_OK;
}
