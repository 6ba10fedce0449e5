/* Arithmetic, activations, reductions. */
#include <math.h>
#include <string.h>

#include "formats/onnx/operators.h"

/* One input, no keys. */
lm_status convert_plain(importer *im, const operation *op)
{
    const recipe r  = recipe_of(op->type);
    value       *in = need_input(im, 0);

    return in ? convert_into(im, &r, &in, 1, NULL, 0) : im->err->code;
}

/* x and a number. */
static lm_status convert_scaled(importer *im, const operation *op, value *x, bool number_first)
{
    const bool adds = !strcmp(op->type, "add") || !strcmp(op->type, "subtract");
    recipe     r    = recipe_of("scale");
    value     *out[LM_MAX_RANK];
    double     c;
    lm_status  status;

    if (!strcmp(op->type, "divide") && number_first) {
        r      = recipe_of("reciprocal");
        status = emit_one(im, &r, x, out);
        if (status || (value_number(im, node_input(im, 0), &c) && c == 1))
            return status ? status : define_alias(im, 0, out[0]);
        r = recipe_of("scale");
        return convert_into(im, &r, out, 1, NULL, 0);
    }
    if (adds && !(number_first && !strcmp(op->type, "subtract")))
        recipe_set(&r, "flops_backward", "0"); /* the gradient is handed on */
    return convert_into(im, &r, &x, 1, NULL, 0);
}

/* Two or more, broadcast; one that is a number costs no traffic. */
lm_status convert_binary(importer *im, const operation *op)
{
    const recipe r = recipe_of(op->type);
    value       *in[INPUTS_MAX];
    const size_t n = im->node->n_inputs;

    if (n > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "more than %d inputs", INPUTS_MAX);
    for (size_t i = 0; i < n; i++)
        if (!(in[i] = need_input(im, i)))
            return im->err->code;
    if (n == 1)
        return define_alias(im, 0, in[0]);
    if (n == 2 && strcmp(op->type, "compare") && in[0]->role == ROLE_DATA &&
        value_is_scalar(in[1]) && in[1]->shape[0].rank <= in[0]->shape[0].rank)
        return strcmp(op->type, "maximum") && strcmp(op->type, "minimum")
                   ? convert_scaled(im, op, in[0], false)
                   : convert_into(im, &(recipe){ .type = "clip" }, in, 1, NULL, 0);
    if (n == 2 && strcmp(op->type, "compare") && in[1]->role == ROLE_DATA &&
        value_is_scalar(in[0]) && in[0]->shape[0].rank <= in[1]->shape[0].rank)
        return strcmp(op->type, "maximum") && strcmp(op->type, "minimum")
                   ? convert_scaled(im, op, in[1], true)
                   : convert_into(im, &(recipe){ .type = "clip" }, &in[1], 1, NULL, 0);
    return convert_into(im, &r, in, n, NULL, 0);
}

lm_status convert_mean(importer *im, const operation *op)
{
    const recipe sum = recipe_of(op->type), part = recipe_of("scale");
    value       *in[INPUTS_MAX], *out[LM_MAX_RANK];
    const size_t n = im->node->n_inputs;
    lm_status    status;

    if (n < 2 || n > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "%zu inputs", n);
    for (size_t i = 0; i < n; i++)
        if (!(in[i] = need_input(im, i)))
            return im->err->code;
    status = emit(im, &sum, in, n, NULL, 0, out);
    return status ? status : convert_into(im, &part, out, 1, NULL, 0);
}

lm_status convert_pow(importer *im, const operation *op)
{
    value *in[2] = { need_input(im, 0), NULL };
    recipe r     = recipe_of(op->type);
    double c;

    if (!in[0] || !(in[1] = need_input(im, 1)))
        return im->err->code;
    if (value_is_scalar(in[1]) && value_number(im, in[1], &c)) {
        r.type = c == 2 ? "square" : c == 0.5 ? "sqrt" : c == -1 ? "reciprocal" : op->type;
        if (r.type != op->type)
            return convert_into(im, &r, in, 1, NULL, 0);
    }
    return convert_into(im, &r, in, 2, NULL, 0);
}

/* The bound of a Clip: an attribute before opset 11, an input since; `fallback`: none. */
static double bound(const importer *im, const char *name, size_t input, double fallback)
{
    double x;

    if (onnx_attribute_of(im->node, name))
        return node_real(im, name, fallback);
    return value_number(im, node_input(im, input), &x) ? x : fallback;
}

lm_status convert_clip(importer *im, const operation *op)
{
    const double low = bound(im, "min", 1, -HUGE_VAL), high = bound(im, "max", 2, HUGE_VAL);
    const recipe r  = recipe_of(low == 0 && high == 6     ? "relu6"
                                : low == 0 && high > 1e30 ? "relu"
                                : low == -1 && high == 1  ? "hard_tanh"
                                                          : op->type);
    value       *in = need_input(im, 0);

    return in ? convert_into(im, &r, &in, 1, NULL, 0) : im->err->code;
}

lm_status convert_prelu(importer *im, const operation *op)
{
    recipe r     = recipe_of(op->type);
    value *in    = need_input(im, 0);
    value *slope = in ? need_weight(im, 1) : NULL;

    if (!slope)
        return im->err->code;
    if (value_elements(slope, LANE_FILE) > 1)
        recipe_set(&r, "per", "channel");
    return convert_into(im, &r, &in, 1, &slope, 1);
}

lm_status convert_gelu(importer *im, const operation *op)
{
    recipe r  = recipe_of(op->type);
    value *in = need_input(im, 0);

    if (!in)
        return im->err->code;
    if (!strcmp(node_text(im, "approximate", "none"), "tanh"))
        recipe_set(&r, "approximate", "tanh");
    return convert_into(im, &r, &in, 1, NULL, 0);
}

lm_status convert_shrink(importer *im, const operation *op)
{
    const recipe r  = recipe_of(node_real(im, "bias", 0) == 0 ? "hardshrink" : "softshrink");
    value       *in = need_input(im, 0);

    (void)op;
    return in ? convert_into(im, &r, &in, 1, NULL, 0) : im->err->code;
}

/* A mask that turns over: one operation for each element. */
lm_status convert_not(importer *im, const operation *op)
{
    return convert_plain(im, op);
}

lm_status convert_where(importer *im, const operation *op)
{
    const recipe r = recipe_of(op->type);
    value       *in[3];

    for (size_t i = 0; i < 3; i++)
        if (!(in[i] = need_input(im, i)))
            return im->err->code;
    return convert_into(im, &r, in, 3, NULL, 0);
}

lm_status convert_cast(importer *im, const operation *op)
{
    const value   *like = !strcmp(op->name, "Cast") ? NULL : node_input(im, 1);
    const lm_dtype to =
        like ? like->shape[LANE_FILE].dtype : value_dtype((int32_t)node_int(im, "to", 0));
    value *in = need_input(im, 0);
    recipe r  = recipe_of(op->type);

    if (!in)
        return im->err->code;
    if (!to)
        return node_fail(im, LM_E_UNSUPPORTED, "to an element type that is not supported");
    if (to == in->shape[LANE_FILE].dtype)
        return define_alias(im, 0, in);
    recipe_set(&r, "to", "%s",
               to == LM_F32   ? "network"
               : to == LM_I64 ? "i64"
               : to == LM_I32 ? "i32"
                              : "u8");
    return convert_into(im, &r, &in, 1, NULL, 0);
}

/* ---- along dimensions ------------------------------------------------------------------------ */

/* Before opset 13 softmax was taken over all dimensions from `axis` on together. */
lm_status convert_softmax(importer *im, const operation *op)
{
    const bool joined = im->model->opset < 13;
    value     *in     = need_input(im, 0), *out[LM_MAX_RANK];
    recipe     r = recipe_of(op->type), join = recipe_of("flatten");
    int64_t    axis, inner                   = 1;
    uint32_t   rank;
    lm_status  status;

    if (!in)
        return im->err->code;
    rank = in->shape[LANE_FILE].rank;
    axis = node_int(im, "axis", joined ? 1 : -1);
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    axis += axis < 0 ? rank : 0;
    for (uint32_t d = (uint32_t)axis + 1; d < rank; d++)
        inner *= in->shape[LANE_FILE].dim[d];
    if (!joined || inner == 1) {
        recipe_set(&r, "axis", "%lld", (long long)axis);
        return convert_into(im, &r, &in, 1, NULL, 0);
    }
    recipe_set(&join, "start", "%lld", (long long)axis);
    if ((status = emit_one(im, &join, in, out)) || (status = emit_one(im, &r, out[0], out)) ||
        (status = emit_reshape_to(im, out[0], in->shape[LANE_FILE].dim, rank, out)))
        return status;
    return define_alias(im, 0, out[0]);
}

/* The dimensions to reduce: an attribute, or an input since opset 18 (a sum: 13). */
static lm_status reduce_axes(importer *im, uint32_t rank, int64_t *axes, size_t *n)
{
    const bool arg = !strncmp(im->node->type, "Arg", 3);

    if (arg) {
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

static lm_status emit_reduce(importer *im, const char *how, value **out)
{
    value    *in = need_input(im, 0);
    recipe    r  = recipe_of("reduce");
    int64_t   axes[LM_MAX_RANK];
    size_t    n;
    lm_status status = in ? reduce_axes(im, in->shape[LANE_FILE].rank, axes, &n) : im->err->code;

    if (status)
        return status;
    if (!n) {
        *out = in;
        return LM_OK;
    }
    recipe_set(&r, "op", "%s", how);
    recipe_list(&r, "axes", axes, n, false);
    if (node_int(im, "keepdims", 1))
        recipe_set(&r, "keep", "yes");
    return emit_one(im, &r, in, out);
}

lm_status convert_reduce(importer *im, const operation *op)
{
    value          *out[LM_MAX_RANK];
    const lm_status status = emit_reduce(im, op->type, out);

    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_log_sum(importer *im, const operation *op)
{
    const recipe r = recipe_of("log");
    value       *out[LM_MAX_RANK];
    lm_status    status = emit_reduce(im, op->type, out);

    return status ? status : convert_into(im, &r, out, 1, NULL, 0);
}
