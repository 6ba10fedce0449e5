/* cast: the same numbers in another element type. */
#include "shape.h"

enum { TO };

static const lm_param params[] = {
    [TO] = { .name    = "to",
             .kind    = LM_ENUM,
             .choices = TENSOR_DTYPES_OR_NETWORK,
             .doc     = "element type of the output; network: that of weights and activations; "
                        "integers carry no gradient" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0]       = layer->input[0];
    output[0].dtype = tensor_dtype_of(layer, lm_int(layer, TO));
    return LM_OK;
}

/* A copy has one width: that of the wider type. A cast to the same type copies nothing. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor *in = &layer->input[0], *out = &layer->output[0];
    const uint64_t   from = lm_bytes(in), to = lm_bytes(out);

    if (in->dtype == out->dtype || pass == LM_GRAD_WEIGHT ||
        (pass == LM_GRAD_INPUT && !lm_dtype_is_real(out->dtype)))
        return LM_OK;
    emit(sink, (lm_kernel){ .op     = LM_OP_COPY,
                            .pass   = pass,
                            .dtype  = from > to ? in->dtype : out->dtype,
                            .u.copy = { (int64_t)(from > to ? from : to) } });
    return LM_OK;
}

const lm_layer_type shape_cast = {
    SHAPE_TYPE("cast", "the same numbers in another element type"),
    LM_PARAMS(params),
    .flags = LM_FUNCTIONAL,
    .infer = infer,
    .lower = lower,
};
