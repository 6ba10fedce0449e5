/* swish: x s(beta x), s being the logistic function (Ramachandran et al. 2017, arXiv:1710.05941).
 */
#include <layermeter/plugin.h>

enum { BETA };

static const lm_param params[] = {
    [BETA] = { .name     = "beta",
               .kind     = LM_REAL,
               .min      = 0,
               .max      = 100,
               .fallback = "1",
               .doc      = "how steep; 0: half of x, large: nearly relu" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in = &layer->input[0];

    if (in->dtype != layer->dtype)
        return lm_fail(layer, LM_E_SHAPE, "expects numbers of the network's own element type");
    output[0] = *in;
    return LM_OK;
}

/* FLOPs an element. Forward: beta x 1, s = 1 / (1 + exp(-...)) 4, times x 1. Backward:
 * dy s (1 + beta x (1 - s)): beta x and s again 5, and 5 more. */
enum { FORWARD_FLOPS = 6, BACKWARD_FLOPS = 10 };

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const uint64_t n = lm_elements(&layer->input[0]), bytes = lm_bytes(&layer->input[0]);

    cost->pass[LM_FORWARD] = (lm_work){
        .flops         = lm_mul(n, FORWARD_FLOPS),
        .read_bytes    = bytes,
        .written_bytes = bytes,
    };
    cost->pass[LM_GRAD_INPUT] = (lm_work){
        .flops         = lm_mul(n, BACKWARD_FLOPS),
        .read_bytes    = lm_mul(2, bytes), /* x and dy */
        .written_bytes = bytes,
    };
    cost->keeps = LM_KEEPS_INPUT;
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = {
        .size   = sizeof kernel,
        .op     = LM_OP_MAP,
        .pass   = pass,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.map  = { .elements          = (int64_t)lm_elements(&layer->input[0]),
                    .operands          = pass == LM_FORWARD ? 1 : 2,
                    .flops_per_element = pass == LM_FORWARD ? FORWARD_FLOPS : BACKWARD_FLOPS },
    };

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

static const lm_layer_type swish = {
    .size = sizeof(lm_layer_type),
    .name = "swish",
    .doc  = "x times the logistic function of beta x",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &swish };

LM_PLUGIN = {
    .name    = "layermeter-swish",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
