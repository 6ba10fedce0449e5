/* Norms and dropout. */
#include <string.h>

#include "onnx/operators.h"

/* Finds the weights among inputs 1 and 2; *n is their number. Constants do not count. False: one is
 * computed in the graph. */
static bool norm_weights(const importer *im, value *weight[2], size_t *n)
{
    *n = 0;
    for (size_t i = 1; i <= 2; i++) {
        value *v = node_input(im, i);

        if (v && v->role == ROLE_DATA)
            return false;
        if (v && v->role == ROLE_PARAMETER)
            weight[(*n)++] = v;
    }
    return true;
}

/* Adds a norm without weights, then a product and a sum with weights by channel or by the last
 * dimensions. */
static lm_status norm_and_scale(importer *im, conversion *c, bool channels)
{
    const bool     plain = !strcmp(c->r.type, "instance_norm");
    const uint32_t rank  = c->in[0]->shape[LANE_FILE].rank;
    lm_status      status;

    if (!plain)
        recipe_set(&c->r, "affine", "no");
    status = emit_one(im, &c->r, c->in[0], c->out);
    for (size_t i = 1; i <= 2 && !status; i++) {
        recipe  wide = recipe_of("unsqueeze"), r = recipe_of(i == 1 ? "multiply" : "add");
        int64_t axes[LM_MAX_RANK];
        value  *v = node_input(im, i), *pair[2], *out[LM_MAX_RANK];

        if (!v || v->role == ROLE_CONSTANT)
            continue;
        for (uint32_t d = 0; channels && d + 2 < rank; d++)
            axes[d] = d + 1;
        if (channels && rank > 2) {
            recipe_list(&wide, "axis", axes, rank - 2, false);
            if ((status = emit_one(im, &wide, v, out)))
                return status;
            v = out[0];
        }
        pair[0] = c->out[0];
        pair[1] = v;
        status  = emit(im, &r, pair, 2, NULL, 0, c->out);
    }
    return status ? status : define_alias(im, 0, c->out[0]);
}

/* Norms with optional weights: sets `affine` or `bias` if these differ from the type's default. */
lm_status convert_norm(importer *im, conversion *c)
{
    const bool plain = !strcmp(c->r.type, "instance_norm"); /* affine only if the key says so */
    value     *weight[2];
    size_t     n;

    if (!norm_weights(im, weight, &n))
        return norm_and_scale(im, c, strcmp(c->r.type, "layer_norm") != 0);
    if (plain ? n > 0 : n == 0)
        recipe_set(&c->r, "affine", plain ? "yes" : "no");
    else if (n == 1 && !strcmp(c->r.type, "layer_norm"))
        recipe_set(&c->r, "bias", "no");
    return convert_into(im, &c->r, c->in, 1, weight, n);
}

lm_status convert_layer_norm(importer *im, conversion *c)
{
    const int64_t rank = c->in[0]->shape[LANE_FILE].rank;
    int64_t       axis = node_int(im, "axis", -1);

    if (axis < -rank || axis >= rank)
        return node_fail(im, LM_E_SHAPE, "axis %lld of %lld dimensions", (long long)axis,
                         (long long)rank);
    axis += axis < 0 ? rank : 0;
    if (axis != rank - 1)
        recipe_set(&c->r, "dims", "%lld", (long long)(rank - axis));
    return convert_norm(im, c);
}

lm_status convert_group_norm(importer *im, conversion *c)
{
    recipe_set(&c->r, "groups", "%lld", (long long)node_int(im, "num_groups", 1));
    return convert_norm(im, c);
}

lm_status convert_lrn(importer *im, conversion *c)
{
    recipe_set(&c->r, "size", "%lld", (long long)node_int(im, "size", 1));
    return convert_one(im, &c->r, c->in[0]);
}

lm_status convert_dropout(importer *im, conversion *c)
{
    double p = node_real(im, "ratio", 0.5);

    if (node_input(im, 1) && !value_number(im, node_input(im, 1), &p))
        p = 0.5;
    if (p >= 0 && p < 1)
        recipe_set(&c->r, "p", "%.9g", p);
    return convert_one(im, &c->r, c->in[0]);
}
