/* Norms and dropout. */
#include "network/onnx/operators.h"

/* The weights among inputs 1 and 2; *n of them. A scale that is no weight is none at all. */
static lm_status norm_weights(importer *im, value *weight[2], size_t *n)
{
    *n = 0;
    for (size_t i = 1; i <= 2; i++) {
        value *v = node_input(im, i);

        if (v && v->role == ROLE_PARAMETER)
            weight[(*n)++] = v;
        else if (v && v->role == ROLE_DATA)
            return node_fail(im, LM_E_UNSUPPORTED, "its weight '%.60s' is computed in the graph",
                             v->name);
    }
    return LM_OK;
}

lm_status convert_batch_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    if (!n)
        recipe_set(&r, "affine", "no");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_instance_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    if (n)
        recipe_set(&r, "affine", "yes");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_layer_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    int64_t   axis   = node_int(im, "axis", -1), rank;
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    rank = in->shape[LANE_FILE].rank;
    if (axis < -rank || axis >= rank)
        return node_fail(im, LM_E_SHAPE, "axis %lld of %lld dimensions", (long long)axis,
                         (long long)rank);
    axis += axis < 0 ? rank : 0;
    if (axis != rank - 1)
        recipe_set(&r, "dims", "%lld", (long long)(rank - axis));
    if (!n)
        recipe_set(&r, "affine", "no");
    else if (n == 1)
        recipe_set(&r, "bias", "no");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_group_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    recipe_set(&r, "groups", "%lld", (long long)node_int(im, "num_groups", 1));
    if (!n)
        recipe_set(&r, "affine", "no");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_lrn(importer *im, const operation *op)
{
    recipe r  = recipe_of(op->type);
    value *in = need_input(im, 0);

    if (!in)
        return import_failed(im);
    recipe_set(&r, "size", "%lld", (long long)node_int(im, "size", 1));
    return convert_into(im, &r, &in, 1, NULL, 0);
}

lm_status convert_dropout(importer *im, const operation *op)
{
    recipe r  = recipe_of(op->type);
    value *in = need_input(im, 0);
    double p  = node_real(im, "ratio", 0.5);

    if (!in)
        return import_failed(im);
    if (node_input(im, 1) && !value_number(im, node_input(im, 1), &p))
        p = 0.5;
    if (p >= 0 && p < 1)
        recipe_set(&r, "p", "%.9g", p);
    return convert_into(im, &r, &in, 1, NULL, 0);
}
