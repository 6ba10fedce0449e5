/* Products of matrices. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "onnx/operators.h"

/* Is it only a swap of the last two dimensions? Then the product can take its input directly. */
static bool is_swap(const value *v)
{
    const uint32_t rank                      = v->shape[LANE_FILE].rank;
    char           swap[2 * LM_MAX_RANK + 1] = "";

    if (!v->lazy || strcmp(v->lazy->type, "permute") != 0 || rank < 2)
        return false;
    for (uint32_t d = 0; d < rank; d++)
        text_add(swap, sizeof swap, "%s%u", d ? "," : "",
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

lm_status convert_matmul(importer *im, conversion *c)
{
    value    *a = c->in[0], *b = c->in[1];
    lm_status status;

    if (b->role == ROLE_PARAMETER && b->shape[LANE_FILE].rank == 2 && a->role != ROLE_PARAMETER)
        status = emit_linear(im, a, b->shape[LANE_FILE].dim[1], &b, 1, c->out);
    else
        status = emit_matmul(im, a, b, false, false, c->out);
    return status ? status : define_alias(im, 0, c->out[0]);
}

/* Is it a bias: one element per feature, along the last dimension? */
static bool is_bias(const value *v, int64_t features)
{
    return v && v->role == ROLE_PARAMETER && value_elements(v, LANE_FILE) == (uint64_t)features &&
           v->shape[LANE_FILE].rank > 0 &&
           v->shape[LANE_FILE].dim[v->shape[LANE_FILE].rank - 1] == features;
}

lm_status convert_gemm(importer *im, conversion *c)
{
    const bool swap_a = node_int(im, "transA", 0) != 0, swap_b = node_int(im, "transB", 0) != 0;
    value     *a = c->in[0], *b = c->in[1], *more = node_input(im, 2);
    recipe     add = recipe_of("add");
    int64_t    features;
    lm_status  status;

    if (b->shape[LANE_FILE].rank != 2)
        return node_fail(im, LM_E_SHAPE, "a factor of %u dimensions",
                         (unsigned)b->shape[LANE_FILE].rank);
    features = b->shape[LANE_FILE].dim[swap_b ? 0 : 1];
    if (b->role == ROLE_PARAMETER && a->role != ROLE_PARAMETER && !swap_a) {
        const bool bias = is_bias(more, features);

        status = emit_linear(im, a, features, (value *[]){ b, more }, bias ? 2 : 1, c->out);
        more   = bias ? NULL : more;
    } else {
        status = emit_matmul(im, a, b, swap_a, swap_b, c->out);
    }
    if (status)
        return status;
    if (!more || (more->role == ROLE_CONSTANT && value_is_scalar(more)))
        return define_alias(im, 0, c->out[0]);
    return convert_into(im, &add, (value *[]){ c->out[0], more }, 2, NULL, 0);
}
