/* From an ONNX file to a network. */
#include "onnx/onnx.h"

#include <string.h>

#include "base/no_memory.h"
#include "network/bind.h"
#include "network/metrics.h"
#include "onnx/expand.h"
#include "onnx/fold.h"
#include "onnx/operators.h"
#include "onnx/pairs.h"

/* ---- one node ---- */

/* Converts to the layer type that the user chose: one input, one output, default keys. */
static lm_status convert_treated(importer *im, const char *type)
{
    const recipe r  = recipe_of(type);
    value       *in = node_input(im, 0);

    return in ? convert_one(im, &r, in)
              : node_fail(im, LM_E_UNSUPPORTED, "--treat needs a node with an input");
}

/* Are all inputs weights, or numbers beside weights? Then the output counts as a transposed weight.
 * Weights joined with other tensors do not: not all elements are trained. */
static bool only_weights(const importer *im)
{
    const bool joins = !strcmp(im->node->type, "Concat");
    bool       any   = false;

    for (size_t i = 0; i < im->node->n_inputs; i++) {
        const value *v = node_input(im, i);

        if (!v)
            continue;
        if (v->role == ROLE_DATA || v->depth >= 16 ||
            (joins && v->role == ROLE_CONSTANT && value_elements(v, LANE_FILE)))
            return false;
        any |= v->role == ROLE_PARAMETER;
    }
    return any;
}

#define ORIGINS_MAX ((size_t)8 << 20) /* for all values together: 64 MiB */

/* Gathers the origins of all inputs, each once. A single weight passes on its own list. */
static lm_status gather_origins(importer *im, value *out)
{
    const value *only = NULL;
    size_t       n = 0, weights = 0;

    for (size_t i = 0; i < im->node->n_inputs; i++) {
        const value *v = node_input(im, i);

        if (!v)
            continue;
        if (v->depth >= out->depth)
            out->depth = v->depth + 1;
        if (v->n_origins) {
            only = v;
            n += v->n_origins;
            weights++;
        }
    }
    if (weights == 1) {
        out->origin    = only->origin;
        out->n_origins = only->n_origins;
        return LM_OK;
    }
    im->origins += n;
    if (im->origins > ORIGINS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "the file joins its weights too often");
    out->origin = arena_array(im->arena, n + 1, sizeof *out->origin);
    if (!out->origin)
        return no_memory(im->err);
    im->visits++;
    for (size_t i = 0; i < im->node->n_inputs; i++) {
        const value *v = node_input(im, i);

        for (size_t k = 0; v && k < v->n_origins; k++)
            if (v->origin[k]->visit != im->visits) {
                v->origin[k]->visit           = im->visits;
                out->origin[out->n_origins++] = v->origin[k];
            }
    }
    return LM_OK;
}

/* Infers shapes only. The node becomes a layer if its output is used other than as a weight. */
static lm_status convert_weights(importer *im, const operation *op)
{
    lm_status status;

    im->virtual = true;
    status      = operation_convert(im, op);
    im->virtual = false;
    for (size_t k = 0; k < im->node->n_outputs && !status; k++) {
        value *v = *im->node->output[k] ? value_find(im, im->node->output[k]) : NULL;

        if (!v || v->role == ROLE_PARAMETER)
            continue; /* unused, or another name of the weight */
        v->role  = ROLE_PARAMETER;
        v->node  = im->node;
        v->depth = 0;
        status   = gather_origins(im, v);
    }
    return status;
}

static lm_status convert_constant(importer *im, const operation *op)
{
    lm_status status;

    im->virtual = true;
    status      = op ? operation_convert(im, op) : convert_assumed(im);
    im->virtual = false;
    if (!status)
        fold_node(im, im->node);
    return status;
}

lm_status convert_node(importer *im, const onnx_node *node)
{
    const node_plan *p  = &im->plan[node - im->model->node];
    const operation *op = operation_find(node);
    value           *in;

    im->node = node;
    if (p->ignore) {
        in = node_input(im, 0);
        return in ? define_alias(im, 0, in)
                  : node_fail(im, LM_E_UNSUPPORTED, "--ignore needs a node with an input");
    }
    if (p->treat)
        return convert_treated(im, p->treat);
    if (!op && !p->assumed) /* in a taken branch */
        return node_fail(im, LM_E_UNSUPPORTED,
                         "no layer type for it: --treat, --ignore, or write a plugin");
    for (size_t i = 0; i < node->n_inputs && !(op && op->flags & OP_LIST); i++)
        if ((in = node_input(im, i)) && in->item)
            return node_fail(im, LM_E_UNSUPPORTED, "its input '%.60s' is a sequence",
                             node->input[i]);
    if (p->constant)
        return convert_constant(im, op);
    if (p->assumed)
        return convert_assumed(im);
    return (op->flags & OP_TURNS) && only_weights(im) ? convert_weights(im, op)
                                                      : operation_convert(im, op);
}

/* ---- the graph ---- */

/* Is the node in a branch that is not taken? */
static bool is_skipped(importer *im, const onnx_node *node)
{
    double holds;

    for (const onnx_branch *b = node->branch; b; b = b->outer)
        if (value_choice(im, value_find(im, b->condition), &holds) && (holds != 0) != b->then)
            return true;
    return false;
}

static lm_status convert_nodes(importer *im)
{
    const onnx_model *m      = im->model;
    lm_status         status = LM_OK;

    for (size_t i = 0; i < m->n_nodes && !status; i++) {
        const node_plan *p = &im->plan[i];

        if (!p->reachable || p->fused || is_skipped(im, &m->node[i]))
            continue;
        status = p->fusion ? fusion_convert(im, p->fusion) : convert_node(im, &m->node[i]);
        if (!status && !p->fusion)
            status = check_outputs(im);
        if (!status)
            status = im->status;
    }
    return status;
}

static lm_status mark_outputs(importer *im)
{
    const onnx_model *m      = im->model;
    lm_status         status = LM_OK;
    bool              any    = false;

    im->node = NULL;
    for (size_t i = 0; i < m->n_outputs && !status; i++) {
        value   *v = value_find(im, m->output[i].name);
        net_edge edge;

        if (!v)
            return lm_error_set(im->err, LM_E_SYNTAX, "%s: no node yields the output '%.80s'",
                                m->path, m->output[i].name);
        for (size_t k = 0; k < (v->item ? v->n_items : 1) && !status; k++) {
            value *of = v->item ? v->item[k] : v;

            if (of->role != ROLE_DATA)
                continue;
            status = materialise(im, of, &edge);
            if (!status)
                build_output(im->build, edge.layer);
            any = true;
        }
    }
    if (!status && !any)
        status =
            lm_error_set(im->err, LM_E_UNSUPPORTED, "%s: no output depends on a sample", m->path);
    return status;
}

/* ---- facts that explain the counts ---- */

/* In an eval export torch folds batch norms and renames the weights of convolutions. */
static bool norm_was_folded(const onnx_model *m)
{
    size_t renamed = 0;

    for (size_t i = 0; i < m->n_nodes; i++) {
        const onnx_node *n = &m->node[i];

        if (!strcmp(n->type, "BatchNormalization"))
            return false;
        renamed += !strcmp(n->type, "Conv") && n->n_inputs > 2 &&
                   (n->of_norm || strchr(n->input[1], ':') != NULL);
    }
    return renamed > 0;
}

static void add_notes(importer *im, bool image)
{
    if (norm_was_folded(im->model))
        build_note(im->build, "batch norm is folded into convolutions; counts of training need an "
                              "export that keeps it");
    if (im->parts)
        build_note(im->build, "%zu parameter tensors are used in parts, and counted as these parts",
                   im->parts);
    if (im->again)
        build_note(im->build,
                   "weights taken for those of a module that is called again, as it shares "
                   "the rest by name: %zu",
                   im->again);
    if (!im->alive[LANE_BATCH])
        build_note(im->build,
                   NETWORK_BATCH_FIXED "%lld: the graph does not tell how it depends on it",
                   (long long)im->batch);
    if ((image || im->loop.sized) && !im->alive[LANE_IMAGE])
        build_note(im->build, NETWORK_IMAGE_FIXED ": the graph does not tell how it depends on it");
}

/* ---- the whole ---- */

/* Checks that the layers have the parameters of the nodes. */
static lm_status check_parameters(importer *im, const network *net)
{
    bound_network *bound = NULL;
    net_metrics    m;
    lm_status      status = bind_network(
             net, im->reg, &(bind_options){ .batch = im->batch, .dtype = LM_F32 }, &bound, im->err);

    if (!status)
        status = metrics_of_network(bound, NULL, &m, im->err);
    if (!status && m.params != im->params)
        status = lm_error_set(
            im->err, LM_E_UNSUPPORTED,
            "%s: its nodes take %llu parameters, but the layers made of them have "
            "%llu: refused",
            im->model->path, (unsigned long long)im->params, (unsigned long long)m.params);
    bound_network_free(bound);
    return status;
}

/* Before any node: does an input have rows and columns? */
static bool takes_image(const importer *im)
{
    for (size_t i = 0; i < im->n_values && im->alive[LANE_IMAGE]; i++)
        if (im->value[i]->placed && im->value[i]->shape[LANE_FILE].rank >= 4)
            return true;
    return false;
}

static lm_status import_model(importer *im, network **out)
{
    network   *net    = NULL;
    lm_status  status = plan_nodes(im);
    const bool image  = !status && takes_image(im);

    if (!status)
        status = convert_nodes(im);
    if (!status)
        status = mark_outputs(im);
    if (!status)
        status = im->status;
    if (status)
        return status;
    add_notes(im, image);
    status    = build_finish(im->build, &net, im->err);
    im->build = NULL;
    if (!status)
        status = check_parameters(im, net);
    if (status) {
        network_free(net);
        return status;
    }
    *out = net;
    return LM_OK;
}

/* "models/net.onnx" -> "net" */
static void name_of(const char *path, char *buffer, size_t size)
{
    const char  *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n    = strlen(name);
    const size_t kept = n > 5 && !strcmp(name + n - 5, ".onnx") ? n - 5 : n;

    buffer[0] = '\0';
    strncat(buffer, name, kept < size - 1 ? kept : size - 1);
}

/* Limit of loops in a file. Each costs a new attempt. */
#define LOOPS_MAX 300

static void importer_free(importer *im)
{
    build_free(im->build);
    names_free(&im->by_name);
    names_free(&im->producer);
    names_free(&im->told);
    names_free(&im->tensors);
    arena_free(im->arena);
}

/* One attempt. *node: a loop to be expanded before the next attempt. */
static lm_status attempt(const onnx_model *model, const registry *reg,
                         const network_choices *choices, const char *name, struct loop *loop,
                         size_t *node, network **out, lm_error *err)
{
    importer  im = { .model   = model,
                     .reg     = reg,
                     .choices = choices,
                     .err     = err,
                     .alive   = { true, true, !loop->sized },
                     .loop    = { .sized = loop->sized } };
    lm_status status;

    im.build = build_new(model->path, name);
    im.arena = arena_new();
    if (!im.build || !im.arena)
        status = no_memory(err);
    else
        status = import_model(&im, out);
    *loop = im.loop;
    *node = im.loop.known ? (size_t)(im.node - model->node) : 0;
    importer_free(&im);
    return status;
}

lm_status onnx_load(const char *path, const registry *reg, const network_choices *choices,
                    network **out, lm_error *err)
{
    lm_error    ignored;
    onnx_model *model = NULL;
    char        name[100];
    struct loop loop = { .known = false };
    size_t      node;
    lm_status   status;

    err = err ? err : &ignored;
    name_of(path, name, sizeof name);
    status = onnx_read(path, &model, err);
    if (!status && model->opset && (model->opset < 1 || model->opset > 100))
        status = lm_error_set(err, LM_E_UNSUPPORTED, "%s: opset %lld: 1 to 100 are supported", path,
                              (long long)model->opset);
    if (!status)
        status = onnx_expand_calls(model, choices, err);
    for (int tries = 0; !status && tries <= LOOPS_MAX; tries++) {
        status = attempt(model, reg, choices, name, &loop, &node, out, err);
        if (!loop.known || tries == LOOPS_MAX)
            break;
        status = onnx_expand_loop(model, node, loop.steps, err);
        if (!status)
            status = onnx_expand_calls(model, choices, err);
    }
    if (!status && (status = pairs_mark(*out, err)))
        network_free(*out);
    if (!status)
        *err = (lm_error){ LM_OK, "" };
    onnx_model_free(model);
    return status;
}
