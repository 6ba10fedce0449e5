/* LSTM, GRU and RNN: each becomes one layer, as in torch. */
#include <string.h>

#include "onnx/operators.h"

/* Layers take N,L,E. ONNX's operators take L,N,E unless `layout` is 1. A transpose for this purpose
 * only is removed. */
lm_status samples_first(importer *im, value *v, value **out)
{
    recipe r = recipe_of("permute");

    recipe_set(&r, "order", "1,0,2");
    return emit_lazy(im, &r, v, out);
}

/* Defines Y, [L, directions, N, H], from [N, L, directions x H]. */
static lm_status define_sequence(importer *im, value *v, bool layout, int64_t directions)
{
    value    *out[LM_MAX_RANK] = { v };
    recipe    r = recipe_of(directions == 1 ? "unsqueeze" : "reshape"), turn = recipe_of("permute");
    lm_status status;

    if (directions == 1) {
        if (!layout && (status = samples_first(im, v, out)))
            return status;
        recipe_set(&r, "axis", "%d", layout ? 2 : 1);
        return convert_lazily(im, &r, out[0]);
    }
    recipe_set(&r, "shape", "0,0,%lld,%lld", (long long)directions,
               (long long)(v->shape[LANE_FILE].dim[2] / directions));
    if (layout)
        return convert_lazily(im, &r, v);
    recipe_set(&turn, "order", "1,2,0,3");
    status = emit_lazy(im, &r, v, out);
    return status ? status : convert_lazily(im, &turn, out[0]);
}

lm_status emit_recurrent(importer *im, conversion *c)
{
    const bool layout = node_int(im, "layout", 0) != 0;
    const bool both   = !strcmp(node_text(im, "direction", "forward"), "bidirectional");
    recipe    *r      = &c->r;
    value     *in     = c->in[0], *weight[3];
    size_t     n      = 0;
    int64_t    hidden;
    lm_status  status;

    for (size_t i = 1; i <= 3; i++)
        if (i < 3 || (node_input(im, i) && node_input(im, i)->role == ROLE_PARAMETER)) {
            if (!(weight[n++] = need_weight(im, i)))
                return import_failed(im);
        }
    if (node_input(im, 7))
        return node_fail(im, LM_E_UNSUPPORTED, "peepholes");
    if (in->shape[LANE_FILE].rank != 3)
        return node_fail(im, LM_E_SHAPE, "an input of %u dimensions",
                         (unsigned)in->shape[LANE_FILE].rank);
    /* R is directions, gates x H, H */
    hidden = weight[1]->shape[LANE_FILE].rank == 3 ? weight[1]->shape[LANE_FILE].dim[2] : 0;
    hidden = node_int(im, "hidden_size", hidden);
    recipe_set(r, "hidden", "%lld", (long long)hidden);
    if (both)
        recipe_set(r, "bidirectional", "yes");
    if (n == 2)
        recipe_set(r, "bias", "no");
    if (!layout && (status = samples_first(im, in, &in)))
        return status;
    return emit(im, r, &in, 1, weight, n, c->out);
}

static lm_status define_states(importer *im, const conversion *c, bool layout)
{
    for (size_t k = 1; k <= (strcmp(c->r.type, "lstm") ? 1 : 2); k++) { /* N, directions, H */
        value    *state = c->out[k];
        lm_status status;

        if (!node_output_used(im, k))
            continue;
        if ((!layout && (status = samples_first(im, state, &state))) ||
            (status = define_alias(im, k, state)))
            return status;
    }
    return LM_OK;
}

lm_status convert_recurrent(importer *im, conversion *c)
{
    const bool layout = node_int(im, "layout", 0) != 0;
    const bool both   = !strcmp(node_text(im, "direction", "forward"), "bidirectional");
    lm_status  status = emit_recurrent(im, c);

    if (!status)
        status = define_sequence(im, c->out[0], layout, both ? 2 : 1);
    return status ? status : define_states(im, c, layout);
}
