/* Operators that change the shape of a tensor. */
#include "onnx/operators.h"

lm_status convert_reshape(importer *im, conversion *c)
{
    const onnx_attribute *a     = onnx_attribute_of(im->node, "shape"); /* before opset 5 */
    value                *shape = a ? NULL : need_input(im, 1);
    lm_status             status;

    if (!a && !shape)
        return import_failed(im);
    if (a && a->n_ints > LM_MAX_RANK)
        return node_fail(im, LM_E_UNSUPPORTED, "more than %d dimensions", LM_MAX_RANK);
    status = a ? emit_reshape_to(im, c->in[0], a->ints, (uint32_t)a->n_ints, c->out)
               : emit_reshape(im, c->in[0], shape, c->out);
    return status ? status : define_alias(im, 0, c->out[0]);
}

bool axis_from_front(int64_t *axis, uint32_t rank)
{
    *axis += *axis < 0 ? rank : 0;
    return *axis >= 0 && *axis < rank;
}

/* Replaces *v by the output of a layer with one or two keys; `end` 0: one key. */
static lm_status reshape_by(importer *im, const char *type, const char *key, int64_t at,
                            int64_t end, value **v)
{
    value    *out[LM_MAX_RANK];
    recipe    r = recipe_of(type);
    lm_status status;

    recipe_set(&r, key, "%lld", (long long)at);
    if (end)
        recipe_set(&r, "end", "%lld", (long long)end);
    if (!(status = emit_one(im, &r, *v, out)))
        *v = out[0];
    return status;
}

/* Flatten: two dimensions, those before `axis` and the others. */
lm_status convert_flatten(importer *im, conversion *c)
{
    value        *v    = c->in[0];
    const int64_t rank = v->shape[LANE_FILE].rank;
    int64_t       axis = node_int(im, "axis", 1);
    lm_status     status;

    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    if ((rank - axis > 1 && (status = reshape_by(im, c->r.type, "start", axis, 0, &v))) ||
        (axis > 1 && (status = reshape_by(im, c->r.type, "start", 0, axis - 1, &v))) ||
        ((axis == 0 || axis == rank) &&
         (status = reshape_by(im, "unsqueeze", "axis", axis != 0, 0, &v))))
        return status;
    return define_alias(im, 0, v);
}

/* Dimensions that a Squeeze without axes removes: those of size 1, except the batch. */
static void ones_of(const importer *im, const value *v, int64_t *axes, size_t *n)
{
    *n = 0;
    for (uint32_t d = 0; d < v->shape[LANE_FILE].rank; d++)
        if (v->shape[LANE_FILE].dim[d] == 1 && value_same_in_lanes(im, v, d))
            axes[(*n)++] = d;
}

/* Adds the lazy layer with these n axes of `rank`. */
static lm_status convert_axes(importer *im, conversion *c, int64_t *axes, size_t n, uint32_t rank)
{
    for (size_t i = 0; i < n; i++)
        if (!axis_from_front(&axes[i], rank))
            return node_fail(im, LM_E_SHAPE, "no such dimension");
    recipe_list(&c->r, "axis", axes, n, false);
    return convert_lazily(im, &c->r, c->in[0]);
}

lm_status convert_squeeze(importer *im, conversion *c)
{
    int64_t axes[LM_MAX_RANK];
    size_t  n;

    if (!node_list(im, "axes", 1, axes, &n)) {
        if (node_has_list(im, "axes", 1))
            return node_fail(im, LM_E_UNSUPPORTED, "the dimensions are computed");
        ones_of(im, c->in[0], axes, &n);
    }
    return n ? convert_axes(im, c, axes, n, c->in[0]->shape[LANE_FILE].rank)
             : define_alias(im, 0, c->in[0]);
}

lm_status convert_unsqueeze(importer *im, conversion *c)
{
    int64_t axes[LM_MAX_RANK];
    size_t  n;

    if (!node_list(im, "axes", 1, axes, &n) || !n)
        return node_fail(im, LM_E_UNSUPPORTED, "the dimensions are computed, or missing");
    return convert_axes(im, c, axes, n, c->in[0]->shape[LANE_FILE].rank + (uint32_t)n);
}

lm_status convert_transpose(importer *im, conversion *c)
{
    const onnx_attribute *perm = onnx_attribute_of(im->node, "perm");
    const uint32_t        rank = c->in[0]->shape[LANE_FILE].rank;
    int64_t               order[LM_MAX_RANK];
    bool                  moves = false;

    if (perm && perm->n_ints != rank)
        return node_fail(im, LM_E_SHAPE, "an order of %zu dimensions for %u", perm->n_ints, rank);
    for (uint32_t d = 0; d < rank; d++) {
        order[d] = perm ? perm->ints[d] : (int64_t)(rank - 1 - d);
        if (order[d] < 0 || order[d] >= rank)
            return node_fail(im, LM_E_SHAPE, "no such dimension");
        moves |= order[d] != d;
    }
    if (!moves)
        return define_alias(im, 0, c->in[0]);
    recipe_list(&c->r, "order", order, rank, false);
    return convert_lazily(im, &c->r, c->in[0]);
}
