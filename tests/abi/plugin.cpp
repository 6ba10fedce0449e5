// A plugin in C++: the headers, the macros and the constant work there as well.
#include <layermeter/plugin.h>

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const uint64_t bytes = lm_mul(lm_bytes(&layer->input[0]), uint64_t(lm_int(layer, 0)));

    cost->pass[LM_FORWARD] = lm_work{ lm_elements(&layer->input[0]), bytes, bytes };
    return LM_OK;
}

static const lm_param params[] = {
    { .name = "times", .doc = "how often", .fallback = "1", .min = 1, .max = 9, .kind = LM_INT },
};

static const lm_layer_type cxx = {
    .size = sizeof(lm_layer_type), .name = "cxx", .doc = "in C++", LM_PARAMS(params),
    .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .infer = infer, .cost = cost,
};

static const lm_layer_type *const types[] = { &cxx };

LM_PLUGIN = {
    LM_PLUGIN_HEAD, LM_TYPES(types), .name = "cxx", .version = "1", .license = "Apache-2.0",
};
