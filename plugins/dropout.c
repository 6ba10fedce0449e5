/* dropout: switches off random elements while training, as torch.nn.Dropout. */
#include <layermeter/plugin.h>

enum { P };

static const lm_param params[] = {
    [P] = { .name     = "p",
            .kind     = LM_REAL,
            .min      = 0,
            .max      = 1,
            .fallback = "0.5",
            .doc      = "probability that an element becomes 0; no influence on work or memory" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

/* Forward 2 FLOP per element: compare a random number with p, scale what stays; backward 1: scale
 * where the mask is set. Drawing the random number is left out: generators differ, and none needs
 * memory. */
static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_MAP,
        .pass   = pass,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.map  = { .elements          = (int64_t)lm_elements(&layer->input[0]),
                    .operands          = pass == LM_FORWARD ? 1 : 2,
                    .flops_per_element = pass == LM_FORWARD ? 2 : 1 },
    };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel forward  = kernel_of(layer, LM_FORWARD),
                    backward = kernel_of(layer, LM_GRAD_INPUT);

    cost->pass[LM_FORWARD]    = lm_kernel_work(&forward);
    cost->pass[LM_GRAD_INPUT] = lm_kernel_work(&backward);
    cost->saved_bytes         = lm_elements(&layer->input[0]); /* the mask, one byte an element */
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = kernel_of(layer, pass);

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

static const lm_layer_type dropout = {
    .size = sizeof(lm_layer_type),
    .name = "dropout",
    .doc  = "sets elements to 0 at random and scales the others up",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &dropout };

LM_PLUGIN = {
    .name    = "layermeter-dropout",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
