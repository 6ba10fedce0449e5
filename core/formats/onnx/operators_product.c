/* Products of matrices. */
#include <stdio.h>
#include <string.h>

#include "formats/onnx/operators.h"

/* Swaps the last two dimensions and nothing else: a product can take the source as it is. */
static bool is_swap(const value *v)
{
    const uint32_t rank = v->shape[LANE_FILE].rank;
    char           swap[2 * LM_MAX_RANK + 1];
    size_t         n = 0;

    if (!v->lazy || strcmp(v->lazy->type, "permute") != 0 || rank < 2)
        return false;
    for (uint32_t d = 0; d < rank; d++)
        n += (size_t)snprintf(swap + n, sizeof swap - n, "%s%u", d ? "," : "",
                              d < rank - 2    ? d
                              : d == rank - 2 ? rank - 1
                                              : rank - 2);
    return !strcmp(swap, v->lazy->key[0].text);
}

lm_status emit_matmul(importer *im, value *a, value *b, bool transpose_a, bool transpose_b,
                      value **out)
{
    recipe r       = recipe_of("matmul");
    value *in[2]   = { a, b };
    bool   swap[2] = { transpose_a, transpose_b };

    for (int i = 0; i < 2; i++)
        if (in[i]->role == ROLE_DATA && !in[i]->placed && is_swap(in[i])) {
            in[i]   = in[i]->source;
            swap[i] = !swap[i];
        }
    if (swap[0])
        recipe_set(&r, "transpose_a", "yes");
    if (swap[1])
        recipe_set(&r, "transpose_b", "yes");
    return emit(im, &r, in, 2, NULL, 0, out);
}

lm_status emit_linear(importer *im, value *in, int64_t features, value *const *weight, size_t n,
                      value **out)
{
    recipe r = recipe_of("linear");

    recipe_set(&r, "features", "%lld", (long long)features);
    if (n == 1)
        recipe_set(&r, "bias", "no");
    return emit(im, &r, &in, 1, weight, n, out);
}

lm_status convert_matmul(importer *im, const operation *op)
{
    value    *a = need_input(im, 0), *b = a ? need_input(im, 1) : NULL, *out[LM_MAX_RANK];
    lm_status status;

    (void)op;
    if (!b)
        return import_failed(im);
    if (b->role == ROLE_PARAMETER && b->shape[LANE_FILE].rank == 2 && a->role != ROLE_PARAMETER)
        status = emit_linear(im, a, b->shape[LANE_FILE].dim[1], &b, 1, out);
    else
        status = emit_matmul(im, a, b, false, false, out);
    return status ? status : define_alias(im, 0, out[0]);
}

/* A weight's bias: as many elements as features, along the last dimension. */
static bool is_bias(const value *v, int64_t features)
{
    return v && v->role == ROLE_PARAMETER && value_elements(v, LANE_FILE) == (uint64_t)features &&
           v->shape[LANE_FILE].rank > 0 &&
           v->shape[LANE_FILE].dim[v->shape[LANE_FILE].rank - 1] == features;
}

lm_status convert_gemm(importer *im, const operation *op)
{
    const bool swap_a = node_int(im, "transA", 0) != 0, swap_b = node_int(im, "transB", 0) != 0;
    value     *a = need_input(im, 0), *b = a ? need_input(im, 1) : NULL, *c, *weight[2], *out[8];
    recipe     add = recipe_of("add");
    int64_t    features;
    lm_status  status;

    (void)op;
    if (!b)
        return import_failed(im);
    if (b->shape[LANE_FILE].rank != 2)
        return node_fail(im, LM_E_SHAPE, "a factor of %u dimensions",
                         (unsigned)b->shape[LANE_FILE].rank);
    c         = node_input(im, 2);
    weight[0] = b;
    weight[1] = c;
    features  = b->shape[LANE_FILE].dim[swap_b ? 0 : 1];
    if (b->role == ROLE_PARAMETER && a->role != ROLE_PARAMETER && !swap_a) {
        const bool bias = is_bias(c, features);

        status = emit_linear(im, a, features, weight, bias ? 2 : 1, out);
        c      = bias ? NULL : c;
    } else {
        status = emit_matmul(im, a, b, swap_a, swap_b, out);
    }
    if (status)
        return status;
    if (!c || (c->role == ROLE_CONSTANT && value_is_scalar(c)))
        return define_alias(im, 0, out[0]);
    return convert_into(im, &add, (value *[]){ out[0], c }, 2, NULL, 0);
}
