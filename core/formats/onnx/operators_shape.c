/* Operators that give a tensor another shape. */
#include "formats/onnx/fold.h"
#include "formats/onnx/operators.h"

lm_status convert_reshape(importer *im, const operation *op)
{
    const onnx_attribute *a  = onnx_attribute_of(im->node, "shape"); /* before opset 5 */
    value                *in = need_input(im, 0), *out, *shape;
    lm_status             status;

    (void)op;
    if (!in)
        return import_failed(im);
    if (a) {
        if (a->n_ints > LM_MAX_RANK)
            return node_fail(im, LM_E_UNSUPPORTED, "more than %d dimensions", LM_MAX_RANK);
        status = emit_reshape_to(im, in, a->ints, (uint32_t)a->n_ints, &out);
    } else {
        shape = need_input(im, 1);
        if (!shape)
            return import_failed(im);
        status = emit_reshape(im, in, shape, &out);
    }
    return status ? status : define_alias(im, 0, out);
}

bool axis_from_front(int64_t *axis, uint32_t rank)
{
    *axis += *axis < 0 ? rank : 0;
    return *axis >= 0 && *axis < rank;
}

/* Two dimensions: those before `axis`, and the others. */
lm_status convert_flatten(importer *im, const operation *op)
{
    value    *v    = need_input(im, 0), *out[LM_MAX_RANK];
    int64_t   axis = node_int(im, "axis", 1), rank;
    recipe    r;
    lm_status status;

    if (!v)
        return import_failed(im);
    rank = v->shape[LANE_FILE].rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    if (rank - axis > 1) {
        r = recipe_of(op->type);
        recipe_set(&r, "start", "%lld", (long long)axis);
        if ((status = emit_one(im, &r, v, out)))
            return status;
        v = out[0];
    }
    if (axis > 1) {
        r = recipe_of(op->type);
        recipe_set(&r, "start", "0");
        recipe_set(&r, "end", "%lld", (long long)axis - 1);
        if ((status = emit_one(im, &r, v, out)))
            return status;
        v = out[0];
    }
    if (axis == 0 || axis == rank) {
        r = recipe_of("unsqueeze");
        recipe_set(&r, "axis", "%d", axis == 0 ? 0 : 1);
        if ((status = emit_one(im, &r, v, out)))
            return status;
        v = out[0];
    }
    return define_alias(im, 0, v);
}

/* The dimensions a Squeeze leaves out where it names none: those of 1, but not the batch. */
static void ones_of(const importer *im, const value *v, int64_t *axes, size_t *n)
{
    *n = 0;
    for (uint32_t d = 0; d < v->shape[LANE_FILE].rank; d++)
        if (v->shape[LANE_FILE].dim[d] == 1 && value_same_in_lanes(im, v, d))
            axes[(*n)++] = d;
}

lm_status convert_squeeze(importer *im, const operation *op)
{
    value    *in = need_input(im, 0), *out[LM_MAX_RANK];
    recipe    r  = recipe_of(op->type);
    int64_t   axes[LM_MAX_RANK];
    size_t    n;
    lm_status status;

    if (!in)
        return import_failed(im);
    if (!node_list(im, "axes", 1, axes, &n)) {
        if (node_has_list(im, "axes", 1))
            return node_fail(im, LM_E_UNSUPPORTED, "the dimensions are computed");
        ones_of(im, in, axes, &n);
    }
    if (!n)
        return define_alias(im, 0, in);
    for (size_t i = 0; i < n; i++)
        if (!axis_from_front(&axes[i], in->shape[LANE_FILE].rank))
            return node_fail(im, LM_E_SHAPE, "no such dimension");
    recipe_list(&r, "axis", axes, n, false);
    status = emit_lazy(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_unsqueeze(importer *im, const operation *op)
{
    value    *in = need_input(im, 0), *out[LM_MAX_RANK];
    recipe    r  = recipe_of(op->type);
    int64_t   axes[LM_MAX_RANK];
    size_t    n;
    lm_status status;

    if (!in)
        return import_failed(im);
    if (!node_list(im, "axes", 1, axes, &n) || !n)
        return node_fail(im, LM_E_UNSUPPORTED, "the dimensions are computed, or missing");
    for (size_t i = 0; i < n; i++)
        if (!axis_from_front(&axes[i], in->shape[LANE_FILE].rank + (uint32_t)n))
            return node_fail(im, LM_E_SHAPE, "no such dimension");
    recipe_list(&r, "axis", axes, n, false);
    status = emit_lazy(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_transpose(importer *im, const operation *op)
{
    const onnx_attribute *perm = onnx_attribute_of(im->node, "perm");
    value                *in   = need_input(im, 0), *out[LM_MAX_RANK];
    recipe                r    = recipe_of(op->type);
    int64_t               order[LM_MAX_RANK];
    bool                  moves = false;
    lm_status             status;
    uint32_t              rank;

    if (!in)
        return import_failed(im);
    rank = in->shape[LANE_FILE].rank;
    if (perm && perm->n_ints != rank)
        return node_fail(im, LM_E_SHAPE, "an order of %zu dimensions for %u", perm->n_ints, rank);
    for (uint32_t d = 0; d < rank; d++) {
        order[d] = perm ? perm->ints[d] : (int64_t)(rank - 1 - d);
        if (order[d] < 0 || order[d] >= rank)
            return node_fail(im, LM_E_SHAPE, "no such dimension");
        moves |= order[d] != d;
    }
    if (!moves)
        return define_alias(im, 0, in);
    recipe_list(&r, "order", order, rank, false);
    status = emit_lazy(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}
