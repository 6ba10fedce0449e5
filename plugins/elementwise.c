/* add, multiply: two or more tensors element by element, with the broadcasting of NumPy and
 * PyTorch. */
#include <layermeter/plugin.h>

typedef struct elementwise {
    lm_layer_type type;     /* first: a layer's `type` points here */
    int           multiply; /* 0: add */
} elementwise;

static int multiplies(const lm_layer *layer)
{
    return ((const elementwise *)(const void *)layer->type)->multiply;
}

/* Fits `in` into `out`: shapes are aligned at the last dimension, a 1 stretches to any length. */
static lm_status broadcast(const lm_layer *layer, const lm_tensor *in, lm_tensor *out)
{
    const uint32_t rank = in->rank > out->rank ? in->rank : out->rank;
    lm_tensor      all  = { .dtype = out->dtype, .rank = rank };

    if (in->dtype != out->dtype)
        return lm_fail(layer, LM_E_SHAPE, "inputs of different element types");
    for (uint32_t back = 1; back <= rank; back++) { /* from the last dimension */
        const int64_t a = back <= out->rank ? out->dim[out->rank - back] : 1;
        const int64_t b = back <= in->rank ? in->dim[in->rank - back] : 1;

        if (a != b && a != 1 && b != 1)
            return lm_fail(layer, LM_E_SHAPE, "%lld and %lld elements do not fit in dimension %u",
                           (long long)a, (long long)b, (unsigned)(rank - back));
        all.dim[rank - back] = a > b ? a : b;
    }
    *out = all;
    return LM_OK;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out = layer->input[0];

    for (uint32_t i = 1; i < layer->n_inputs; i++) {
        const lm_status status = broadcast(layer, &layer->input[i], &out);

        if (status)
            return status;
    }
    output[0] = out;
    return LM_OK;
}

static lm_kernel map_of(const lm_layer *layer, lm_pass pass, uint32_t repeat, int64_t operands,
                        int64_t flops)
{
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_MAP,
        .pass   = pass,
        .dtype  = layer->output[0].dtype,
        .repeat = repeat,
        .u.map  = { .elements          = (int64_t)lm_elements(&layer->output[0]),
                    .operands          = operands,
                    .flops_per_element = flops },
    };
}

/*
 * The kernels of a pass; returns how many.
 *
 * Backward, a sum hands its gradient on and computes nothing; a product multiplies it with the
 * other inputs, once for each input. What was stretched forward is added up backward: 1 FLOP per
 * element of the output, for each such input.
 */
static uint32_t kernels_of(const lm_layer *layer, lm_pass pass, lm_kernel kernel[2])
{
    const uint32_t n_inputs    = layer->n_inputs;
    const uint64_t elements    = lm_elements(&layer->output[0]);
    uint32_t       n_stretched = 0, n = 0;

    if (pass == LM_GRAD_WEIGHT)
        return 0;
    if (pass == LM_FORWARD) {
        kernel[0] = map_of(layer, pass, 1, n_inputs, n_inputs - 1);
        return 1;
    }
    for (uint32_t i = 0; i < n_inputs; i++)
        n_stretched += lm_elements(&layer->input[i]) != elements;
    if (multiplies(layer))
        kernel[n++] = map_of(layer, pass, n_inputs, n_inputs, n_inputs - 1);
    if (n_stretched)
        kernel[n++] = map_of(layer, pass, n_stretched, 1, 1);
    return n;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    lm_kernel kernel[2];

    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        const uint32_t n   = kernels_of(layer, pass, kernel);
        lm_work       *sum = &cost->pass[pass];

        for (uint32_t i = 0; i < n; i++) {
            const lm_work  work  = lm_kernel_work(&kernel[i]);
            const uint64_t times = kernel[i].repeat;

            sum->flops         = lm_add(sum->flops, lm_mul(times, work.flops));
            sum->read_bytes    = lm_add(sum->read_bytes, lm_mul(times, work.read_bytes));
            sum->written_bytes = lm_add(sum->written_bytes, lm_mul(times, work.written_bytes));
        }
    }
    cost->keeps = multiplies(layer) ? LM_KEEPS_INPUT : 0;
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

#define ELEMENTWISE(type_name, type_doc)                                                \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 2, \
    .n_outputs = 1, .flags = LM_FUNCTIONAL, .infer = infer, .cost = cost, .lower = lower

static const elementwise add = {
    .type     = { ELEMENTWISE("add", "sum of its inputs, element by element") },
    .multiply = 0,
};
static const elementwise multiply = {
    .type     = { ELEMENTWISE("multiply", "product of its inputs, element by element") },
    .multiply = 1,
};

static const lm_layer_type *const types[] = { &add.type, &multiply.type };

LM_PLUGIN = {
    .name    = "layermeter-elementwise",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
