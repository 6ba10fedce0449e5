/* Norms and dropout. */
#include "formats/onnx/operators.h"

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

/* What all norms are made of. */
typedef struct norm {
    recipe r;
    value *in, *weight[2];
    size_t n; /* weights */
} norm;

static lm_status begin_norm(importer *im, const operation *op, norm *out)
{
    *out = (norm){ .r = recipe_of(op->type), .in = need_input(im, 0) };
    return out->in ? norm_weights(im, out->weight, &out->n) : import_failed(im);
}

static lm_status end_norm(importer *im, norm *made)
{
    return convert_into(im, &made->r, &made->in, 1, made->weight, made->n);
}

lm_status convert_batch_norm(importer *im, const operation *op)
{
    norm            made;
    const lm_status status = begin_norm(im, op, &made);

    if (status)
        return status;
    if (!made.n)
        recipe_set(&made.r, "affine", "no");
    return end_norm(im, &made);
}

lm_status convert_instance_norm(importer *im, const operation *op)
{
    norm            made;
    const lm_status status = begin_norm(im, op, &made);

    if (status)
        return status;
    if (made.n)
        recipe_set(&made.r, "affine", "yes");
    return end_norm(im, &made);
}

lm_status convert_layer_norm(importer *im, const operation *op)
{
    norm            made;
    int64_t         axis   = node_int(im, "axis", -1), rank;
    const lm_status status = begin_norm(im, op, &made);

    if (status)
        return status;
    rank = made.in->shape[LANE_FILE].rank;
    if (axis < -rank || axis >= rank)
        return node_fail(im, LM_E_SHAPE, "axis %lld of %lld dimensions", (long long)axis,
                         (long long)rank);
    axis += axis < 0 ? rank : 0;
    if (axis != rank - 1)
        recipe_set(&made.r, "dims", "%lld", (long long)(rank - axis));
    if (!made.n)
        recipe_set(&made.r, "affine", "no");
    else if (made.n == 1)
        recipe_set(&made.r, "bias", "no");
    return end_norm(im, &made);
}

lm_status convert_group_norm(importer *im, const operation *op)
{
    norm            made;
    const lm_status status = begin_norm(im, op, &made);

    if (status)
        return status;
    recipe_set(&made.r, "groups", "%lld", (long long)node_int(im, "num_groups", 1));
    if (!made.n)
        recipe_set(&made.r, "affine", "no");
    return end_norm(im, &made);
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
