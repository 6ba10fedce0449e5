/* local_response_norm: divides by a power of the mean square of neighbouring channels, as
 * torch.nn.LocalResponseNorm (Krizhevsky et al. 2012, section 3.3). */
#include "norm.h"

enum { SIZE };

static const lm_param params[] = {
    [SIZE] = { .name = "size",
               .kind = LM_INT,
               .min  = 1,
               .max  = 1e6,
               .unit = "channels",
               .doc  = "neighbours in the mean, the channel itself among them" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_status status = input_rank(layer, 3, LM_MAX_RANK, "batch, channels, ...");

    if (!status)
        output[0] = layer->input[0];
    return status;
}

/* The mean as an average pooling over channels, separately at each place. */
static lm_kernel mean_of(const lm_layer *layer, lm_pass pass)
{
    const lm_tensor *in       = &layer->input[0];
    const int64_t    channels = in->dim[1], places = (int64_t)tensor_span(in, 2, in->rank);
    const int64_t    size = lm_int(layer, SIZE);

    return (lm_kernel){
        .op     = LM_OP_POOL,
        .pass   = pass,
        .dtype  = in->dtype,
        .u.pool = { .n        = in->dim[0],
                    .channels = 1,
                    .mode     = LM_POOL_AVG,
                    .in       = { 1, channels, places },
                    .out      = { 1, channels, places },
                    .window   = { 1, size, 1 },
                    .stride   = { 1, 1, 1 },
                    .pad      = { 0, size / 2, 0 },
                    .dilation = { 1, 1, 1 } },
    };
}

/*
 * y = x / p, p = d^b, d = k + a mean(x x): square 1, mean, then a, k, power, division 4. Backward,
 * with d and p kept: dy x / p / d 3, its mean, and dy / p - c x mean 4.
 */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const int64_t n = (int64_t)lm_elements(&layer->input[0]);
    lm_kernel     k = { .op = LM_OP_MAP, .pass = pass, .dtype = layer->input[0].dtype };

    if (pass == LM_GRAD_WEIGHT)
        return LM_OK;
    k.u.map.elements          = n;
    k.u.map.operands          = pass == LM_FORWARD ? 1 : 4;
    k.u.map.flops_per_element = pass == LM_FORWARD ? 1 : 3;
    emit(sink, k);
    emit(sink, mean_of(layer, pass));
    k.u.map.operands          = pass == LM_FORWARD ? 2 : 4;
    k.u.map.flops_per_element = 4;
    emit(sink, k);
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_tensor *in     = &layer->input[0];
    lm_tensor        padded = *in;

    padded.dim[1] += lm_int(layer, SIZE) - 1;
    cost->keeps       = LM_KEEPS_INPUT;
    cost->saved_bytes = lm_add(lm_mul(2, lm_bytes(in)), lm_bytes(&padded)); /* d, p, the squares */
    return cost_of_kernels(layer, cost);
}

const lm_layer_type norm_local_response = {
    .size = sizeof(lm_layer_type),
    .name = "local_response_norm",
    .doc  = "divides by a power of the mean square of neighbouring channels",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};
