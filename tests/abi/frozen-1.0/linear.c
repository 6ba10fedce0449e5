/* linear: fully connected layer on the last dimension, as torch.nn.Linear. */
#include <layermeter/plugin.h>

enum { FEATURES, BIAS };

static const lm_param params[] = {
    [FEATURES] = { .name = "features",
                   .kind = LM_INT,
                   .min  = 1,
                   .max  = 1e9,
                   .doc  = "size of the output's last dimension, in elements" },
    [BIAS]     = { .name     = "bias",
                   .kind     = LM_BOOL,
                   .fallback = "yes",
                   .doc      = "add a number per feature" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in = &layer->input[0];

    if (in->rank < 2)
        return lm_fail(layer, LM_E_SHAPE,
                       "input of rank %u, expected 2 or more: batch, ..., features",
                       (unsigned)in->rank);
    output[0]                   = *in;
    output[0].dim[in->rank - 1] = lm_int(layer, FEATURES);
    return LM_OK;
}

static int64_t features_in(const lm_layer *layer)
{
    return layer->input[0].dim[layer->input[0].rank - 1];
}

/* All dimensions but the last: what the product sees as rows. */
static int64_t rows_of(const lm_layer *layer)
{
    lm_tensor rows = layer->input[0];

    rows.rank--;
    return (int64_t)lm_elements(&rows);
}

/* Each pass has its own product: y = x W^T + b, dx = dy W, dW = dy^T x. */
static lm_kernel product_of(const lm_layer *layer, lm_pass pass)
{
    const int64_t rows = rows_of(layer), in = features_in(layer), out = lm_int(layer, FEATURES);
    lm_kernel     k = { .size   = sizeof k,
                        .op     = LM_OP_GEMM,
                        .pass   = pass,
                        .dtype  = layer->input[0].dtype,
                        .repeat = 1,
                        .u.gemm = { .batch = 1 } };

    k.u.gemm.m    = pass == LM_GRAD_WEIGHT ? out : rows;
    k.u.gemm.n    = pass == LM_FORWARD ? out : in;
    k.u.gemm.k    = pass == LM_FORWARD ? in : pass == LM_GRAD_INPUT ? out : rows;
    k.u.gemm.bias = pass == LM_FORWARD && lm_int(layer, BIAS);
    return k;
}

/* The gradient of the bias sums dy over the rows: a launch of its own, no GEMM yields it. */
static lm_kernel bias_gradient_of(const lm_layer *layer)
{
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_MAP,
        .pass   = LM_GRAD_WEIGHT,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.map  = { .elements          = (int64_t)lm_elements(&layer->output[0]),
                    .operands          = 1,
                    .flops_per_element = 1 },
    };
}

/* The kernels of a pass; returns how many. */
static uint32_t kernels_of(const lm_layer *layer, lm_pass pass, lm_kernel kernel[2])
{
    kernel[0] = product_of(layer, pass);
    if (pass != LM_GRAD_WEIGHT || !lm_int(layer, BIAS))
        return 1;
    kernel[1] = bias_gradient_of(layer);
    return 2;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    lm_kernel kernel[2];

    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        const uint32_t n   = kernels_of(layer, pass, kernel);
        lm_work       *sum = &cost->pass[pass];

        for (uint32_t i = 0; i < n; i++) {
            const lm_work work = lm_kernel_work(&kernel[i]);

            sum->flops         = lm_add(sum->flops, work.flops);
            sum->read_bytes    = lm_add(sum->read_bytes, work.read_bytes);
            sum->written_bytes = lm_add(sum->written_bytes, work.written_bytes);
        }
    }
    cost->keeps = LM_KEEPS_INPUT;
    return LM_OK;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const int64_t  in = features_in(layer), out = lm_int(layer, FEATURES);
    const lm_dtype dtype = layer->input[0].dtype;
    lm_weight      w     = { .size = sizeof w, .role = "weight" };

    w.tensor = (lm_tensor){ .dtype = dtype, .rank = 2, .dim = { out, in } };
    sink->weight(sink, &w);
    if (lm_int(layer, BIAS)) {
        w.role   = "bias";
        w.tensor = (lm_tensor){ .dtype = dtype, .rank = 1, .dim = { out } };
        sink->weight(sink, &w);
    }
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    lm_kernel      kernel[2];
    const uint32_t n = kernels_of(layer, pass, kernel);

    for (uint32_t i = 0; i < n; i++)
        sink->kernel(sink, &kernel[i]);
    return LM_OK;
}

static const lm_layer_type linear = {
    .size = sizeof(lm_layer_type),
    .name = "linear",
    .doc  = "product with a weight matrix along the last dimension",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &linear };

LM_PLUGIN = {
    .name    = "layermeter-linear",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
