/* Fusions: norms, activations and linear layers that exporters split into several nodes. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "onnx/operators.h"

/*
 * A pattern is an expression for a module that was split, from its last node backwards:
 *
 *   Op(a,b) a node; sums and products in either order Op(a,...) a node with further inputs Op(a):d
 *   the same, and letter d is its output x a tensor, the same at each place of the letter W the
 *   same, a weight =2 a number # any number
 *
 * The nodes within must have no other use.
 */
#define NODES_WITHIN 24
#define N_LETTERS    ('z' - 'A' + 1)

struct fusion {
    const struct pattern *pattern;
    size_t                node; /* the last one */
    const char           *bound[N_LETTERS];
    size_t                within[NODES_WITHIN]; /* the others, in the order of matching */
    size_t                n_within;
    size_t                seen[NODES_WITHIN]; /* by node: uses of its output within the pattern */
};

typedef struct pattern {
    const char *text;
    /* Adds the layer. *fits false: no match, the nodes stay separate. */
    lm_status (*apply)(importer *im, const fusion *f, const struct pattern *p, bool *fits);
    const char *type;
} pattern;

/* ---- matching ---- */

typedef struct matching {
    const importer *im;
    fusion          f;
} matching;

/* End of the expression at `p`: the comma or closing bracket behind it. */
static const char *end_of(const char *p)
{
    for (int depth = 0; *p; p++) {
        if (*p == '(')
            depth++;
        else if (*p == ')' && depth-- == 0)
            break;
        else if (*p == ',' && depth == 0)
            break;
    }
    return p;
}

static const onnx_node *producer_of(const importer *im, const char *name)
{
    const size_t at = names_find(&im->producer, name);

    return at == NAMES_NONE ? NULL : &im->model->node[at];
}

/* A number in the file: a constant node or an initializer of one element. */
static bool number_of(const importer *im, const char *name, double *out)
{
    const onnx_node      *node = producer_of(im, name);
    const onnx_attribute *a    = NULL;
    const value          *v;

    if (node) {
        a = strcmp(node->type, "Constant") ? NULL : onnx_attribute_of(node, "value");
        if (!a || !a->tensor || a->tensor->n != 1)
            return false;
        *out = a->tensor->ints ? (double)a->tensor->ints[0] : (double)a->tensor->floats[0];
        return true;
    }
    v = value_find(im, name);
    return v && v->role == ROLE_CONSTANT && value_number(im, v, out);
}

/* The parameter behind a tensor, through nodes that only transpose it; NULL: none. */
static value *parameter_behind(const importer *im, const char *name)
{
    for (int depth = 0; depth < 16; depth++) {
        const onnx_node *node = producer_of(im, name);
        const operation *op   = node ? operation_find(node) : NULL;
        value           *v;

        if (!node) {
            v = value_find(im, name);
            return v && v->role == ROLE_PARAMETER ? v : NULL;
        }
        if (!op || !(op->flags & OP_TURNS) || !node->n_inputs)
            return NULL;
        name = node->input[0];
    }
    return NULL;
}

static bool match(matching *m, const char *p, const char *name, bool root);

static bool match_letter(matching *m, char letter, const char *name)
{
    const char **bound = &m->f.bound[letter - 'A'];

    if (isupper((unsigned char)letter) && !parameter_behind(m->im, name))
        return false;
    if (*bound)
        return !strcmp(*bound, name);
    *bound = name;
    return true;
}

static bool match_number(const matching *m, const char *p, const char *name)
{
    double wanted, found;

    if (!number_of(m->im, name, &found))
        return false;
    wanted = *p == '#' ? found : strtod(p + 1, NULL);
    return fabs(found - wanted) <= 1e-3 * fabs(wanted);
}

/* Compares the inputs of a node with the pattern's inputs at `p`. */
static bool match_inputs(matching *m, const onnx_node *node, const char *p)
{
    const char *first = p, *second = *end_of(p) == ',' ? end_of(p) + 1 : NULL;
    const bool  either_way = node->n_inputs == 2 && second && strncmp(second, "...", 3) &&
                            (!strcmp(node->type, "Add") || !strcmp(node->type, "Mul"));
    size_t i = 0;

    if (either_way) {
        const matching before = *m;

        if (match(m, first, node->input[0], false) && match(m, second, node->input[1], false))
            return true;
        *m = before;
        return match(m, first, node->input[1], false) && match(m, second, node->input[0], false);
    }
    for (;; i++) {
        if (!strncmp(p, "...", 3))
            return true;
        if (i == node->n_inputs || !match(m, p, node->input[i], false))
            return false;
        p = end_of(p);
        if (*p == ')')
            return i + 1 == node->n_inputs;
        p++;
    }
}

/* Remembers a node of the pattern, or a further use of it. */
static bool add_within(matching *m, size_t at)
{
    for (size_t i = 0; i < m->f.n_within; i++)
        if (m->f.within[i] == at) {
            m->f.seen[i]++;
            return true;
        }
    if (m->f.n_within == NODES_WITHIN)
        return false;
    m->f.seen[m->f.n_within]     = 1;
    m->f.within[m->f.n_within++] = at;
    return true;
}

static bool match(matching *m, const char *p, const char *name, bool root)
{
    const char      *open = strchr(p, '('), *end = end_of(p), *close;
    const onnx_node *node;

    if (*p == '=' || *p == '#')
        return match_number(m, p, name);
    if (!open || open > end) { /* a letter; a letter of a node within the pattern */
        const size_t at = names_find(&m->im->producer, name);

        if (!match_letter(m, *p, name))
            return false;
        for (size_t i = 0; i < m->f.n_within; i++)
            if (m->f.within[i] == at)
                m->f.seen[i]++;
        return true;
    }
    node = producer_of(m->im, name);
    if (!node || strlen(node->type) != (size_t)(open - p) ||
        strncmp(node->type, p, (size_t)(open - p)) != 0 || !node->n_outputs ||
        strcmp(node->output[0], name) != 0)
        return false;
    close = open + 1;
    for (int depth = 1; depth; close++)
        depth += *close == '(' ? 1 : *close == ')' ? -1 : 0;
    if (*close == ':' && !match_letter(m, close[1], name))
        return false;
    if (!root && !add_within(m, (size_t)(node - m->im->model->node)))
        return false;
    return match_inputs(m, node, open + 1);
}

/* Have the nodes within the pattern no other use? */
static bool closed(const matching *m)
{
    for (size_t i = 0; i < m->f.n_within; i++) {
        const size_t     at   = m->f.within[i];
        const onnx_node *node = &m->im->model->node[at];
        const node_plan *p    = &m->im->plan[at];

        if (p->fused || p->treat || p->ignore || p->constant ||
            tensor_uses(m->im, node->output[0]) != m->f.seen[i])
            return false;
        for (size_t k = 1; k < node->n_outputs; k++)
            if (*node->output[k] && tensor_uses(m->im, node->output[k]))
                return false;
    }
    return true;
}

/* ---- the result ---- */

static value *bound_value(const importer *im, const fusion *f, char letter)
{
    const char *name = f->bound[letter - 'A'];

    return name ? value_find(im, name) : NULL;
}

/* The weights of the pattern among W and B. */
static size_t bound_weights(const importer *im, const fusion *f, value *weight[2])
{
    size_t n = 0;

    for (const char *letter = "WB"; *letter; letter++) {
        value *v = bound_value(im, f, *letter);

        if (v)
            weight[n++] = v;
    }
    return n;
}

/* Names the output of the last node. */
static lm_status finish(importer *im, const recipe *r, value *in, value *const *weight, size_t n)
{
    return convert_into(im, r, &in, 1, weight, n);
}

/* Fuses an activation: one input, no weights, at most one key. */
static lm_status apply_activation(importer *im, const fusion *f, const pattern *p, bool *fits)
{
    recipe r = recipe_of(p->type);

    *fits = true;
    if (!strcmp(p->type, "gelu") && strstr(p->text, "Tanh"))
        recipe_set(&r, "approximate", "tanh");
    return finish(im, &r, bound_value(im, f, 'x'), NULL, 0);
}

/* Number of last dimensions that every ReduceMean reduces; 0: they differ. */
static uint32_t normalised_dims(importer *im, const fusion *f, uint32_t rank)
{
    uint32_t dims = 0;

    for (size_t i = 0; i < f->n_within; i++) {
        const onnx_node *last = im->node;
        int64_t          axes[LM_MAX_RANK];
        size_t           n;
        bool             known;

        im->node = &im->model->node[f->within[i]];
        known    = !strcmp(im->node->type, "ReduceMean") && node_list(im, "axes", 1, axes, &n);
        if (strcmp(im->node->type, "ReduceMean") != 0) {
            im->node = last;
            continue;
        }
        im->node = last;
        if (!known || !n || (dims && dims != n))
            return 0;
        dims = (uint32_t)n;
        for (size_t k = 0; k < n; k++) {
            axes[k] += axes[k] < 0 ? rank : 0;
            if (axes[k] < (int64_t)rank - (int64_t)n || axes[k] >= (int64_t)rank)
                return 0;
        }
    }
    return dims;
}

static lm_status apply_norm(importer *im, const fusion *f, const pattern *p, bool *fits)
{
    value         *x        = bound_value(im, f, 'x'), *weight[2];
    const size_t   n        = bound_weights(im, f, weight);
    const uint32_t dims     = normalised_dims(im, f, x->shape[LANE_FILE].rank);
    uint64_t       elements = 1;
    recipe         r        = recipe_of(p->type);

    for (uint32_t d = 0; d < dims; d++)
        elements =
            lm_mul(elements, (uint64_t)x->shape[LANE_FILE].dim[x->shape[LANE_FILE].rank - 1 - d]);
    *fits = dims > 0;
    for (size_t i = 0; i < n; i++)
        *fits &= value_elements(weight[i], LANE_FILE) == elements;
    if (!*fits)
        return LM_OK;
    if (dims > 1)
        recipe_set(&r, "dims", "%u", (unsigned)dims);
    if (n == 0)
        recipe_set(&r, "affine", "no");
    else if (n == 1 && !strcmp(p->type, "layer_norm"))
        recipe_set(&r, "bias", "no");
    return finish(im, &r, x, weight, n);
}

static lm_status apply_linear(importer *im, const fusion *f, const pattern *p, bool *fits)
{
    value    *x = bound_value(im, f, 'x'), *weight[2], *out[LM_MAX_RANK];
    int64_t   features;
    lm_status status;

    (void)p;
    *fits = bound_weights(im, f, weight) == 2 && x->role != ROLE_PARAMETER &&
            weight[0]->role == ROLE_PARAMETER && weight[0]->shape[LANE_FILE].rank == 2 &&
            weight[1]->role == ROLE_PARAMETER && weight[1]->shape[LANE_FILE].rank == 1;
    if (!*fits)
        return LM_OK;
    features = weight[0]->shape[LANE_FILE].dim[1];
    *fits    = weight[1]->shape[LANE_FILE].dim[0] == features;
    if (!*fits)
        return LM_OK;
    status = emit_linear(im, x, features, weight, 2, out);
    return status ? status : define_alias(im, 0, out[0]);
}

/* Target shape of a Reshape in the pattern: letter a, b. */
static bool bound_shape(const importer *im, const fusion *f, char letter, int64_t *out, size_t *n)
{
    const value *v = bound_value(im, f, letter);

    return v && value_ints_at(v, LANE_FILE, out, LM_MAX_RANK, n);
}

/* torch splits a group norm into an instance norm over N, groups and the rest. */
static lm_status apply_group_norm(importer *im, const fusion *f, const pattern *p, bool *fits)
{
    value       *x = bound_value(im, f, 'x'), *weight[2];
    const size_t n = bound_weights(im, f, weight);
    int64_t      shape[LM_MAX_RANK];
    size_t       rank;
    recipe       r = recipe_of(p->type);

    *fits = bound_shape(im, f, 'a', shape, &rank) && rank == 3 && shape[1] > 0 &&
            x->shape[LANE_FILE].rank > 2 && x->shape[LANE_FILE].dim[1] % shape[1] == 0;
    for (size_t i = 0; i < n; i++)
        *fits &= value_elements(weight[i], LANE_FILE) == (uint64_t)x->shape[LANE_FILE].dim[1];
    if (!*fits)
        return LM_OK;
    recipe_set(&r, "groups", "%lld", (long long)shape[1]);
    if (!n)
        recipe_set(&r, "affine", "no");
    return finish(im, &r, x, weight, n);
}

/* ShuffleNet: channels become groups x rest, are transposed, and joined again. */
static lm_status apply_shuffle(importer *im, const fusion *f, const pattern *p, bool *fits)
{
    static const int64_t  turned[] = { 0, 2, 1, 3, 4 };
    value                *x        = bound_value(im, f, 'x');
    const lm_tensor      *t        = &x->shape[LANE_FILE];
    const onnx_attribute *perm =
        onnx_attribute_of(producer_of(im, im->model->node[f->node].input[0]), "perm");
    int64_t shape[LM_MAX_RANK], again[LM_MAX_RANK];
    size_t  n, m;
    recipe  r = recipe_of(p->type);

    *fits = t->rank == 4 && perm && perm->n_ints == 5 &&
            !memcmp(perm->ints, turned, sizeof turned) && bound_shape(im, f, 'a', shape, &n) &&
            n == 5 && shape[1] > 0 && t->dim[1] % shape[1] == 0 && shape[3] == t->dim[2] &&
            shape[4] == t->dim[3] && bound_shape(im, f, 'b', again, &m) && m == 4 &&
            (again[1] == t->dim[1] || again[1] == -1) && again[2] == t->dim[2] &&
            again[3] == t->dim[3];
    if (!*fits)
        return LM_OK;
    recipe_set(&r, "groups", "%lld", (long long)shape[1]);
    return finish(im, &r, x, NULL, 0);
}

/* Fuses the join of both directions, as torch writes it. */
static lm_status apply_directions(importer *im, const fusion *f, const pattern *p, bool *fits)
{
    static const int64_t  turned[] = { 0, 2, 1, 3 };
    const onnx_node      *root     = im->node;
    const onnx_node      *turn     = producer_of(im, root->input[0]);
    const onnx_node      *node     = producer_of(im, turn->input[0]);
    const onnx_attribute *perm     = onnx_attribute_of(turn, "perm");
    const onnx_attribute *layout   = onnx_attribute_of(node, "layout");
    int64_t               shape[LM_MAX_RANK];
    size_t                n;
    conversion            c = { .r = recipe_of(p->type) };
    value                *v;
    lm_status             status;

    *fits = perm && perm->n_ints == 4 && !memcmp(perm->ints, turned, sizeof turned) &&
            (!layout || !layout->i) && bound_shape(im, f, 'a', shape, &n) && n == 3 &&
            shape[0] == 0 && shape[1] == 0 && shape[2] == -1;
    if (!*fits)
        return LM_OK;
    im->node = node;
    status   = (c.in[0] = need_input(im, 0)) ? emit_recurrent(im, &c) : import_failed(im);
    if (!status)
        status = samples_first(im, c.out[0], &v);
    im->node = root;
    return status ? status : define_alias(im, 0, v);
}

/* ---- the patterns ---- */

#define NORMED(square) "Div(Sub(x,ReduceMean(x,...)):d,Sqrt(Add(ReduceMean(" square ",...),#)))"
#define ROOT           "Sqrt(Add(ReduceMean(Pow(x,=2),...),#))"
#define CUBE(cube)     "Add(=1,Tanh(Mul(#,Add(x,Mul(=0.044715," cube ")))))"
#define ERF(inner)     "Add(Erf(" inner "),=1)"

/* Larger patterns first. */
static const pattern patterns[] = {
    { "Add(Mul(" NORMED("Pow(d,=2)") ",W),B)", apply_norm, "layer_norm" },
    { "Add(Mul(" NORMED("Mul(d,d)") ",W),B)", apply_norm, "layer_norm" },
    { "Mul(" NORMED("Pow(d,=2)") ",W)", apply_norm, "layer_norm" },
    { NORMED("Pow(d,=2)"), apply_norm, "layer_norm" },
    { "Mul(W,Mul(x,Reciprocal(" ROOT ")))", apply_norm, "rms_norm" },
    { "Mul(W,Mul(x,Div(=1," ROOT ")))", apply_norm, "rms_norm" },
    { "Mul(W,Div(x," ROOT "))", apply_norm, "rms_norm" },
    { "Add(Mul(Reshape(InstanceNormalization(Reshape(x,a),...),...),W),B)", apply_group_norm,
      "group_norm" },
    { "Reshape(InstanceNormalization(Reshape(x,a),...),...)", apply_group_norm, "group_norm" },
    { "Mul(Mul(x," ERF("Div(x,#)") "),=0.5)", apply_activation, "gelu" },
    { "Mul(Mul(x," ERF("Mul(x,#)") "),=0.5)", apply_activation, "gelu" },
    { "Mul(Mul(x,=0.5)," ERF("Div(x,#)") ")", apply_activation, "gelu" },
    { "Mul(Mul(x,=0.5)," ERF("Mul(x,#)") ")", apply_activation, "gelu" },
    { "Mul(x,Mul(=0.5," ERF("Div(x,#)") "))", apply_activation, "gelu" },
    { "Mul(=0.5,Mul(x," CUBE("Mul(Mul(x,x),x)") "))", apply_activation, "gelu" },
    { "Mul(=0.5,Mul(x," CUBE("Pow(x,=3)") "))", apply_activation, "gelu" },
    { "Mul(Mul(=0.5,x)," CUBE("Mul(Mul(x,x),x)") ")", apply_activation, "gelu" },
    { "Mul(Mul(=0.5,x)," CUBE("Pow(x,=3)") ")", apply_activation, "gelu" },
    { "Div(Mul(x,Clip(Add(x,=3),...)),=6)", apply_activation, "hard_swish" },
    { "Mul(x,Div(Clip(Add(x,=3),...),=6))", apply_activation, "hard_swish" },
    { "Mul(x,HardSigmoid(x))", apply_activation, "hard_swish" },
    { "Div(Clip(Add(x,=3),...),=6)", apply_activation, "hard_sigmoid" },
    { "Mul(x,Sigmoid(x))", apply_activation, "silu" },
    { "Mul(x,Tanh(Softplus(x)))", apply_activation, "mish" },
    { "Reshape(Transpose(LSTM(x,...)),a)", apply_directions, "lstm" },
    { "Reshape(Transpose(GRU(x,...)),a)", apply_directions, "gru" },
    { "Reshape(Transpose(RNN(x,...)),a)", apply_directions, "rnn" },
    { "Add(MatMul(x,W),B)", apply_linear, "linear" },
    { "Reshape(Transpose(Reshape(x,a)),b)", apply_shuffle, "channel_shuffle" },
};

/* ---- all nodes ---- */

static lm_status try_patterns(importer *im, size_t at)
{
    const onnx_node *node = &im->model->node[at];

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        const char *text = patterns[i].text;
        matching    m    = { .im = im, .f = { .pattern = &patterns[i], .node = at } };

        if (strlen(node->type) != strcspn(text, "(") ||
            strncmp(text, node->type, strlen(node->type)) != 0 ||
            !match(&m, text, node->output[0], true) || !closed(&m))
            continue;
        im->plan[at].fusion = arena_copy(im->arena, &m.f, 1, sizeof m.f);
        if (!im->plan[at].fusion)
            return no_memory(im->err);
        for (size_t k = 0; k < m.f.n_within; k++)
            im->plan[m.f.within[k]].fused = true;
        return LM_OK;
    }
    return LM_OK;
}

lm_status fusions_find(importer *im)
{
    lm_status status = LM_OK;

    for (size_t i = im->model->n_nodes; i-- > 0 && !status;) { /* the last node of each pattern
                                                                  first */
        const node_plan *p = &im->plan[i];

        if (p->reachable && !p->fused && !p->constant && !p->treat && !p->ignore &&
            im->model->node[i].n_outputs)
            status = try_patterns(im, i);
    }
    return status;
}

ORDER_BY_VALUE(by_number, size_t)

lm_status fusion_convert(importer *im, const fusion *f)
{
    size_t    within[NODES_WITHIN];
    bool      fits   = true;
    lm_status status = LM_OK;

    im->node = &im->model->node[f->node];
    if (bound_value(im, f, 'x'))
        status = f->pattern->apply(im, f, f->pattern, &fits);
    if (status || fits)
        return status;
    memcpy(within, f->within, sizeof within);
    qsort(within, f->n_within, sizeof *within, by_number);
    for (size_t i = 0; i < f->n_within && !status; i++)
        status = convert_node(im, &im->model->node[within[i]]);
    return status ? status : convert_node(im, &im->model->node[f->node]);
}
