/* Plans the conversion of each node: reachable, constant, or unknown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "onnx/import.h"

/* ---- makers and takers of tensors ---- */

/* Does an input matter for counts? Lengths and initial states of recurrent layers do not. */
static bool node_reads(const onnx_node *node, size_t input)
{
    const bool recurrent =
        !strcmp(node->type, "LSTM") || !strcmp(node->type, "GRU") || !strcmp(node->type, "RNN");

    return *node->input[input] && !(recurrent && input >= 4 && input <= 6);
}

static lm_status find_producers(importer *im)
{
    const onnx_model *m = im->model;

    for (size_t i = 0; i < m->n_nodes; i++)
        for (size_t k = 0; k < m->node[i].n_outputs; k++) {
            const char *name = m->node[i].output[k];

            if (!*name)
                continue;
            if (names_find(&im->producer, name) != NAMES_NONE)
                return lm_error_set(im->err, LM_E_SYNTAX, "%s: two nodes yield '%.80s'", m->path,
                                    name);
            if (!names_add(&im->producer, name, i))
                return no_memory(im->err);
        }
    return LM_OK;
}

/* Marks the nodes that the outputs of the graph depend on. */
static lm_status find_reachable(importer *im)
{
    const onnx_model *m     = im->model;
    size_t           *stack = malloc((m->n_nodes + 1) * sizeof *stack);
    size_t            depth = 0;

    if (!stack)
        return no_memory(im->err);
    for (size_t i = 0; i < m->n_outputs; i++) {
        const size_t at = names_find(&im->producer, m->output[i].name);

        if (at != NAMES_NONE && !im->plan[at].reachable) {
            im->plan[at].reachable = true;
            stack[depth++]         = at;
        }
    }
    while (depth > 0) {
        const onnx_node *node = &m->node[stack[--depth]];

        for (size_t k = 0; k < node->n_inputs; k++) {
            const size_t at = names_find(&im->producer, node->input[k]);

            if (node_reads(node, k) && at != NAMES_NONE && !im->plan[at].reachable) {
                im->plan[at].reachable = true;
                stack[depth++]         = at;
            }
        }
    }
    free(stack);
    return LM_OK;
}

static lm_status count_use(importer *im, const char *name)
{
    size_t at = names_find(&im->tensors, name);

    if (at == NAMES_NONE) {
        at = im->n_tensors++;
        if (!names_add(&im->tensors, name, at))
            return no_memory(im->err);
    }
    im->uses[at]++;
    return LM_OK;
}

static lm_status count_uses(importer *im)
{
    const onnx_model *m      = im->model;
    size_t            most   = m->n_outputs + 1;
    lm_status         status = LM_OK;

    for (size_t i = 0; i < m->n_nodes; i++)
        most += m->node[i].n_inputs;
    im->uses = arena_array(im->arena, most, sizeof *im->uses);
    if (!im->uses)
        return no_memory(im->err);
    for (size_t i = 0; i < m->n_nodes && !status; i++)
        for (size_t k = 0; k < m->node[i].n_inputs && im->plan[i].reachable && !status; k++)
            if (node_reads(&m->node[i], k))
                status = count_use(im, m->node[i].input[k]);
    for (size_t i = 0; i < m->n_outputs && !status; i++)
        status = count_use(im, m->output[i].name);
    return status;
}

size_t tensor_uses(const importer *im, const char *name)
{
    const size_t at = names_find(&im->tensors, name);

    return at == NAMES_NONE ? 0 : im->uses[at];
}

/* ---- constants ---- */

/* Error for an input that no node makes, or that has a type that no layer takes. */
static lm_status refuse_missing(importer *im, const onnx_node *node, const char *name)
{
    const onnx_model *m    = im->model;
    int32_t           type = 0;

    for (size_t i = 0; i < m->n_initializers; i++)
        if (!strcmp(m->initializer[i].name, name))
            type = m->initializer[i].shape.type;
    if (type && !value_dtype(type))
        return lm_error_set(im->err, LM_E_UNSUPPORTED,
                            "%s: '%.80s' has elements of type %s, which is not supported", m->path,
                            name, onnx_type_name(type));
    return lm_error_set(im->err, LM_E_SYNTAX,
                        "%s: node '%.80s' (%.40s) takes '%.80s', which nothing before it yields",
                        m->path, node_label(node), node->type, name);
}

/* Finds the constant nodes. Checks that every input is made before its use, which excludes
 * cycles. */
static lm_status find_constants(importer *im)
{
    const onnx_model *m = im->model;

    for (size_t i = 0; i < m->n_nodes; i++) {
        const onnx_node *node  = &m->node[i];
        const operation *op    = operation_find(node);
        bool             fixed = true;

        if (!im->plan[i].reachable)
            continue;
        for (size_t k = 0; k < node->n_inputs; k++) {
            const char  *name = node->input[k];
            const size_t from = names_find(&im->producer, name);
            const value *v    = value_find(im, name);

            if (!node_reads(node, k))
                continue;
            if (from != NAMES_NONE ? from >= i : !v)
                return refuse_missing(im, node, name);
            fixed &= from != NAMES_NONE ? im->plan[from].constant : v->role == ROLE_CONSTANT;
        }
        im->plan[i].constant = fixed || (op && op->flags & OP_FRESH);
    }
    return LM_OK;
}

/* ---- what nobody knows ---- */

static lm_status read_choices(importer *im)
{
    const network_choices *c = im->choices;

    for (size_t i = 0; c && i < c->n_treat; i++) {
        const char           *equal = strchr(c->treat[i], '=');
        const registry_entry *entry;
        lm_status             status;

        if (!equal || equal == c->treat[i] || !equal[1])
            return lm_error_set(im->err, LM_E_ARG, "--treat %.80s: expected OPERATOR=TYPE",
                                c->treat[i]);
        if ((status = registry_need(im->reg, equal + 1, &entry, im->err))) {
            lm_error_prefix(im->err, "--treat %.80s", c->treat[i]);
            return status;
        }
    }
    return LM_OK;
}

const char *choice_treats(const network_choices *c, const char *type)
{
    const char *treat = NULL;

    for (size_t k = 0; c && k < c->n_treat; k++) {
        const size_t n = strcspn(c->treat[k], "=");

        if (strlen(type) == n && !strncmp(c->treat[k], type, n))
            treat = c->treat[k] + n + 1;
    }
    return treat;
}

bool choice_ignores(const network_choices *c, const char *type)
{
    for (size_t k = 0; c && k < c->n_ignore; k++)
        if (!strcmp(c->ignore[k], type))
            return true;
    return false;
}

static void choose(importer *im, size_t i)
{
    const char *type = im->model->node[i].type;

    im->plan[i].treat  = choice_treats(im->choices, type);
    im->plan[i].ignore = choice_ignores(im->choices, type);
}

/* An operator and its number of nodes. */
typedef struct tally {
    const char *type;
    size_t      n;
} tally;

static bool known(const importer *im, size_t i, bool constants)
{
    const operation *op = operation_find(&im->model->node[i]);

    return im->plan[i].treat || im->plan[i].ignore || im->plan[i].assumed ||
           im->model->node[i].branch /* an untaken branch may not matter */ ||
           (op && (!(op->flags & OP_CONSTANT) || !constants || im->plan[i].constant));
}

/* Has the operator a graph of its own? */
static bool holds_graph(const onnx_node *node)
{
    static const char *const flows[] = { "If", "Loop", "Scan", "SequenceMap" };

    for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++)
        if (!strcmp(node->type, flows[i]))
            return true;
    return false;
}

/* Lets an unknown node count as traffic of its tensors, unless the user chose strict. */
static void assume(importer *im, size_t i)
{
    const onnx_node *node    = &im->model->node[i];
    bool             assumed = !operation_find(node) && !(im->choices && im->choices->strict) &&
                   !im->plan[i].treat && !im->plan[i].ignore && node->n_inputs &&
                   !holds_graph(node);

    for (size_t k = 0; k < node->n_outputs && assumed; k++)
        assumed = !*node->output[k] || !tensor_uses(im, node->output[k]) ||
                  told_shape(im, node->output[k]);
    im->plan[i].assumed = assumed;
}

/* "Foo (3), Bar (1)" */
static void list_tallies(const tally *t, size_t n, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (used + strlen(t[i].type) + 40 > size) {
            snprintf(buffer + used, size - used, " and %zu more", n - i);
            return;
        }
        used += (size_t)snprintf(buffer + used, size - used, "%s%s (%zu)", i ? ", " : "", t[i].type,
                                 t[i].n);
    }
}

/* Counts unknown operators, or (`assumed`) those that count as traffic. */
static lm_status tally_unknown(importer *im, bool constants, bool assumed, names *kinds, tally *t,
                               size_t *n)
{
    const onnx_model *m = im->model;

    for (size_t i = 0; i < m->n_nodes; i++) {
        size_t k;

        if (!im->plan[i].reachable)
            continue;
        choose(im, i);
        assume(im, i);
        if (assumed ? !im->plan[i].assumed : known(im, i, constants))
            continue;
        k = names_find(kinds, m->node[i].type);
        if (k == NAMES_NONE) {
            k         = (*n)++;
            t[k].type = m->node[i].type;
            if (!names_add(kinds, t[k].type, k))
                return no_memory(im->err);
        }
        t[k].n++;
    }
    return LM_OK;
}

/* Error that names all unknown operators, so that they can be fixed together. `constants`: are
 * constants known? */
static lm_status refuse_unknown(importer *im, bool constants)
{
    tally    *t      = malloc((im->model->n_nodes + 1) * sizeof *t);
    names     kinds  = { NULL, 0, 0 };
    size_t    n      = 0;
    lm_status status = LM_OK;
    char      list[300];

    if (!t)
        return no_memory(im->err);
    memset(t, 0, (im->model->n_nodes + 1) * sizeof *t);
    status = tally_unknown(im, constants, false, &kinds, t, &n);
    if (!status && n) {
        list_tallies(t, n, list, sizeof list);
        status = lm_error_set(
            im->err, LM_E_UNSUPPORTED,
            "%s: no layer type for %s; choose one (--treat %.40s=TYPE), pass the input on "
            "(--ignore %.40s), or write a plugin",
            im->model->path, list, t[0].type, t[0].type);
    }
    names_free(&kinds);
    if (!status && !n) {
        kinds  = (names){ NULL, 0, 0 };
        status = tally_unknown(im, constants, true, &kinds, t, &n);
        list_tallies(t, n, list, sizeof list);
        if (!status && n)
            build_note(im->build,
                       "not known, assumed to be traffic of their tensors alone, without "
                       "arithmetic: %s",
                       list);
        names_free(&kinds);
    }
    free(t);
    return status;
}

/* Results depend on the user's choices, so they are part of the note. A choice for an operator that
 * the file lacks is an error. */
static lm_status note_choice(importer *im, const char *option, const char *operator, size_t length,
                             const char *type)
{
    size_t n = 0;

    for (size_t i = 0; i < im->model->n_nodes; i++) {
        const char *name = im->model->node[i].type;

        n += im->plan[i].reachable && strlen(name) == length && !strncmp(name, operator, length);
    }
    if (!n)
        return lm_error_set(im->err, LM_E_ARG, "%s %.*s: %s has no such operator", option,
                            (int)length, operator, im->model->path);
    build_note(im->build, "%.*s %s%s (%zu node%s)", (int)length, operator,
               type ? "treated as " : "ignored", type ? type : "", n, n == 1 ? "" : "s");
    return LM_OK;
}

static lm_status note_choices(importer *im)
{
    const network_choices *c      = im->choices;
    lm_status              status = LM_OK;

    for (size_t k = 0; c && k < c->n_treat && !status; k++) {
        const size_t n = strcspn(c->treat[k], "=");

        status = note_choice(im, "--treat", c->treat[k], n, c->treat[k] + n + 1);
    }
    for (size_t k = 0; c && k < c->n_ignore && !status; k++)
        status = note_choice(im, "--ignore", c->ignore[k], strlen(c->ignore[k]), NULL);
    return status;
}

/* The tensor behind `name`, through nodes that slice or rearrange it. */
static const char *tensor_behind(const importer *im, const char *name)
{
    for (int depth = 0; depth < 16; depth++) {
        const size_t     from = names_find(&im->producer, name);
        const onnx_node *node = from == NAMES_NONE ? NULL : &im->model->node[from];
        const operation *op   = node ? operation_find(node) : NULL;

        if (!op || !node->n_inputs || (!(op->flags & OP_TURNS) && strcmp(node->type, "Expand")))
            break;
        name = node->input[0];
    }
    return name;
}

/* Notes initial states of recurrent layers in the file, which may be trained but are not counted.
 * Zeros written by exporters have invented names. */
static lm_status note_states(importer *im)
{
    const onnx_model *m      = im->model;
    names             states = { NULL, 0, 0 };
    size_t            n      = 0;
    bool              room   = true;

    for (size_t i = 0; i < m->n_nodes && room; i++)
        for (size_t k = 5; k < m->node[i].n_inputs && k <= 6 && room; k++)
            if (im->plan[i].reachable && *m->node[i].input[k] && !node_reads(&m->node[i], k))
                room = names_set(&states, tensor_behind(im, m->node[i].input[k]), i);
    for (size_t i = 0; i < m->n_initializers && states.n && room; i++) {
        const onnx_tensor *t = &m->initializer[i];

        n += value_dtype(t->shape.type) == LM_F32 && !strpbrk(t->name, ":/") &&
             names_find(&states, t->name) != NAMES_NONE;
    }
    names_free(&states);
    if (n)
        build_note(im->build,
                   "tensors that are first states of recurrent layers, not counted as "
                   "parameters: %zu",
                   n);
    return room ? LM_OK : no_memory(im->err);
}

static lm_status find_told(importer *im)
{
    for (size_t i = 0; i < im->model->n_inner; i++)
        if (names_find(&im->told, im->model->inner[i].name) == NAMES_NONE &&
            !names_add(&im->told, im->model->inner[i].name, i))
            return no_memory(im->err);
    return LM_OK;
}

lm_status plan_nodes(importer *im)
{
    lm_status status, unknown;

    im->plan = arena_array(im->arena, im->model->n_nodes + 1, sizeof *im->plan);
    if (!im->plan)
        return no_memory(im->err);
    if ((status = read_choices(im)) || (status = find_producers(im)) ||
        (status = find_reachable(im)) || (status = count_uses(im)) || (status = find_told(im)))
        return status;
    status = inputs_define(im);
    if (!status)
        status = find_constants(im);
    /* unknown operators come first: other errors may follow from them */
    unknown = refuse_unknown(im, !status);
    if (unknown || status)
        return unknown ? unknown : status;
    if ((status = note_choices(im)) || (status = note_states(im)))
        return status;
    return fusions_find(im);
}
