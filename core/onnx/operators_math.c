/* Arithmetic, activations, reductions. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "onnx/operators.h"

/* Operators with one input and no keys. */
lm_status convert_plain(importer *im, conversion *c)
{
    return convert_one(im, &c->r, c->in[0]);
}

/* A tensor x and a number. */
static lm_status convert_scaled(importer *im, const char *type, value *x, bool number_first)
{
    const bool adds = !strcmp(type, "add") || !strcmp(type, "subtract");
    recipe     r    = recipe_of("scale");
    value     *out[LM_MAX_RANK];
    double     c;
    lm_status  status;

    if (!strcmp(type, "maximum") || !strcmp(type, "minimum"))
        return convert_one(im, &(recipe){ .type = "clip" }, x);
    if (!strcmp(type, "divide") && number_first) {
        status = emit_one(im, &(recipe){ .type = "reciprocal" }, x, out);
        if (status || (value_number(im, node_input(im, 0), &c) && c == 1))
            return status ? status : define_alias(im, 0, out[0]);
        return convert_one(im, &r, out[0]);
    }
    if (adds && !(number_first && !strcmp(type, "subtract")))
        recipe_set(&r, "flops_backward", "0"); /* the gradient is passed on */
    return convert_one(im, &r, x);
}

/* Operators with two or more inputs, broadcast. A number among them costs no traffic. */
lm_status convert_binary(importer *im, conversion *c)
{
    value       *in[INPUTS_MAX];
    const size_t n      = im->node->n_inputs;
    lm_status    status = all_inputs(im, in);

    if (status)
        return status;
    if (im->model->opset < 7 && onnx_attribute_of(im->node, "axis"))
        return node_fail(im, LM_E_UNSUPPORTED, "stretched along an axis, as before opset 7");
    if (n == 1)
        return define_alias(im, 0, in[0]);
    for (int k = 0; k < 2 && n == 2 && strcmp(c->r.type, "compare"); k++)
        if (in[k]->role == ROLE_DATA && value_is_scalar(in[1 - k]) &&
            in[1 - k]->shape[0].rank <= in[k]->shape[0].rank)
            return convert_scaled(im, c->r.type, in[k], k == 1);
    return convert_into(im, &c->r, in, n, NULL, 0);
}

lm_status convert_mean(importer *im, conversion *c)
{
    value       *in[INPUTS_MAX];
    const size_t n = im->node->n_inputs;
    lm_status    status;

    if (n < 2 || n > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "%zu inputs", n);
    if ((status = all_inputs(im, in)) || (status = emit(im, &c->r, in, n, NULL, 0, c->out)))
        return status;
    return convert_one(im, &(recipe){ .type = "scale" }, c->out[0]);
}

lm_status convert_pow(importer *im, conversion *c)
{
    double      x;
    const bool  known = value_is_scalar(c->in[1]) && value_number(im, c->in[1], &x);
    const char *type  = !known     ? NULL
                        : x == 2   ? "square"
                        : x == 0.5 ? "sqrt"
                        : x == -1  ? "reciprocal"
                                   : NULL;

    return type ? convert_one(im, &(recipe){ .type = type }, c->in[0])
                : convert_into(im, &c->r, c->in, 2, NULL, 0);
}

/* A bound of Clip: an attribute before opset 11, an input since then; absent: `fallback`. */
static double bound(const importer *im, const char *name, size_t input, double fallback)
{
    double x;

    if (onnx_attribute_of(im->node, name))
        return node_real(im, name, fallback);
    return value_number(im, node_input(im, input), &x) ? x : fallback;
}

lm_status convert_clip(importer *im, conversion *c)
{
    const double low = bound(im, "min", 1, -HUGE_VAL), high = bound(im, "max", 2, HUGE_VAL);

    if (low == 0 && (high == 6 || high > 1e30))
        c->r.type = high == 6 ? "relu6" : "relu";
    else if (low == -1 && high == 1)
        c->r.type = "hard_tanh";
    return convert_one(im, &c->r, c->in[0]);
}

lm_status convert_prelu(importer *im, conversion *c)
{
    value *slope = need_weight(im, 1);

    if (!slope)
        return import_failed(im);
    if (value_elements(slope, LANE_FILE) > 1)
        recipe_set(&c->r, "per", "channel");
    return convert_into(im, &c->r, c->in, 1, &slope, 1);
}

lm_status convert_gelu(importer *im, conversion *c)
{
    if (!strcmp(node_text(im, "approximate", "none"), "tanh"))
        recipe_set(&c->r, "approximate", "tanh");
    return convert_one(im, &c->r, c->in[0]);
}

lm_status convert_shrink(importer *im, conversion *c)
{
    c->r.type = node_real(im, "bias", 0) == 0 ? "hardshrink" : "softshrink";
    return convert_one(im, &c->r, c->in[0]);
}

lm_status convert_where(importer *im, conversion *c)
{
    return convert_into(im, &c->r, c->in, 3, NULL, 0);
}

lm_status convert_cast(importer *im, conversion *c)
{
    const value   *like = !strcmp(im->node->type, "Cast") ? NULL : node_input(im, 1);
    const lm_dtype to =
        like ? like->shape[LANE_FILE].dtype : value_dtype((int32_t)node_int(im, "to", 0));

    if (!to)
        return node_fail(im, LM_E_UNSUPPORTED, "to an element type that is not supported");
    if (to == c->in[0]->shape[LANE_FILE].dtype)
        return define_alias(im, 0, c->in[0]);
    recipe_set(&c->r, "to", "%s", to == LM_F32 ? "network" : text_dtype_name(to));
    return convert_one(im, &c->r, c->in[0]);
}

/* ---- along dimensions ------------------------------------------------------------------------ */

/* Softmax. Before opset 13 it runs over all dimensions from `axis` on together. */
lm_status convert_softmax(importer *im, conversion *c)
{
    const bool       joined = im->model->opset < 13;
    value           *in = c->in[0], **out = c->out;
    const lm_tensor *t    = &in->shape[LANE_FILE];
    recipe           join = recipe_of("flatten");
    int64_t          axis = node_int(im, "axis", joined ? 1 : -1), inner = 1;
    lm_status        status;

    if (!axis_from_front(&axis, t->rank))
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    for (uint32_t d = (uint32_t)axis + 1; d < t->rank; d++)
        inner *= t->dim[d];
    if (!joined || inner == 1) {
        recipe_set(&c->r, "axis", "%lld", (long long)axis);
        return convert_one(im, &c->r, in);
    }
    recipe_set(&join, "start", "%lld", (long long)axis);
    if ((status = emit_one(im, &join, in, out)) || (status = emit_one(im, &c->r, out[0], out)) ||
        (status = emit_reshape_to(im, out[0], t->dim, t->rank, out)))
        return status;
    return define_alias(im, 0, out[0]);
}

/* Dimensions to reduce: an attribute, or an input since opset 18 (of a sum: 13). */
static lm_status reduce_axes(importer *im, uint32_t rank, int64_t *axes, size_t *n)
{
    if (!strncmp(im->node->type, "Arg", 3)) {
        axes[0] = node_int(im, "axis", 0);
        *n      = 1;
    } else if (!node_list(im, "axes", 1, axes, n)) {
        if (node_has_list(im, "axes", 1))
            return node_fail(im, LM_E_UNSUPPORTED, "the dimensions to reduce are computed");
        *n = 0;
    }
    if (!*n && node_int(im, "noop_with_empty_axes", 0))
        return LM_OK;
    if (!*n)
        for (*n = 0; *n < rank; ++*n)
            axes[*n] = (int64_t)*n;
    return LM_OK;
}

static lm_status emit_reduce(importer *im, conversion *c)
{
    recipe    r = recipe_of("reduce");
    int64_t   axes[LM_MAX_RANK];
    size_t    n;
    lm_status status = reduce_axes(im, c->in[0]->shape[LANE_FILE].rank, axes, &n);

    if (status)
        return status;
    if (!n) {
        c->out[0] = c->in[0];
        return LM_OK;
    }
    recipe_set(&r, "op", "%s", c->r.type);
    recipe_list(&r, "axes", axes, n, false);
    if (node_int(im, "keepdims", 1))
        recipe_set(&r, "keep", "yes");
    return emit_one(im, &r, c->in[0], c->out);
}

lm_status convert_reduce(importer *im, conversion *c)
{
    const lm_status status = emit_reduce(im, c);

    return status ? status : define_alias(im, 0, c->out[0]);
}

lm_status convert_log_sum(importer *im, conversion *c)
{
    const lm_status status = emit_reduce(im, c);

    return status ? status : convert_one(im, &(recipe){ .type = "log" }, c->out[0]);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Losses of scores or logarithms of classes and class numbers. Without a reduction: one loss for
 * each number. */
lm_status convert_loss(importer *im, conversion *c)
{
    recipe    r = recipe_of("traffic");
    lm_tensor shape[N_LANES];

    if (node_output_used(im, 1))
        return node_fail(im, LM_E_UNSUPPORTED, "its logarithms of probabilities are used");
    if (strcmp(node_text(im, "reduction", "mean"), "none") != 0)
        return convert_into(im, &c->r, c->in, 2, NULL, 0);
    recipe_set(&r, "flops", "1");
    memcpy(shape, c->in[1]->shape, sizeof shape);
    for (int lane = 0; lane < N_LANES; lane++)
        shape[lane].dtype = c->in[0]->shape[lane].dtype;
    return convert_traffic(im, &r, shape);
}
