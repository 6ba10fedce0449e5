/* low_rank: y = x A^T B^T, a linear layer whose matrix is the product of two thin ones
 * (Sainath et al. 2013, "Low-rank matrix factorization for deep neural network training"). */
#include <layermeter/plugin.h>

enum { FEATURES, RANK };

static const lm_param params[] = {
    [FEATURES] = { .name = "features",
                   .kind = LM_INT,
                   .min  = 1,
                   .max  = 1e9,
                   .unit = "elements",
                   .doc  = "size of the output's last dimension" },
    [RANK]     = { .name     = "rank",
                   .kind     = LM_INT,
                   .min      = 1,
                   .max      = 1e9,
                   .fallback = "8",
                   .unit     = "elements",
                   .doc      = "size between the two factors" },
};

/* What the products are about: x is rows by in, A rank by in, B out by rank. */
typedef struct sizes {
    int64_t rows, in, rank, out;
} sizes;

static sizes sizes_of(const lm_layer *layer)
{
    lm_tensor     rows = layer->input[0];
    const int64_t in   = rows.dim[rows.rank - 1];

    rows.rank--; /* all dimensions but the last */
    return (sizes){ (int64_t)lm_elements(&rows), in, lm_int(layer, RANK), lm_int(layer, FEATURES) };
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in = &layer->input[0];
    int64_t          last;

    if (in->rank < 2)
        return lm_fail(layer, LM_E_SHAPE,
                       "input of rank %u, expected 2 or more: batch, ..., features",
                       (unsigned)in->rank);
    last = in->dim[in->rank - 1];
    if (lm_int(layer, RANK) > last || lm_int(layer, RANK) > lm_int(layer, FEATURES))
        return lm_fail(layer, LM_E_ARG, "rank %lld is no lower than that of %lld features to %lld",
                       (long long)lm_int(layer, RANK), (long long)last,
                       (long long)lm_int(layer, FEATURES));
    output[0]                   = *in;
    output[0].dim[in->rank - 1] = lm_int(layer, FEATURES);
    return LM_OK;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const sizes     s = sizes_of(layer);
    const lm_weight a = {
        .size   = sizeof a,
        .role   = "a",
        .tensor = { .dtype = layer->dtype, .rank = 2, .dim = { s.rank, s.in } },
    };
    const lm_weight b = {
        .size   = sizeof b,
        .role   = "b",
        .tensor = { .dtype = layer->dtype, .rank = 2, .dim = { s.out, s.rank } },
    };

    sink->weight(sink, &a);
    sink->weight(sink, &b);
    return LM_OK;
}

static lm_kernel product(const lm_layer *layer, lm_pass pass, int64_t m, int64_t n, int64_t k)
{
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_GEMM,
        .pass   = pass,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.gemm = { .batch = 1, .m = m, .n = n, .k = k },
    };
}

/* Each pass takes two products: (m x k) (k x n). */
static void kernels_of(const lm_layer *layer, lm_pass pass, lm_kernel kernel[2])
{
    const sizes s = sizes_of(layer);

    if (pass == LM_FORWARD) {
        kernel[0] = product(layer, pass, s.rows, s.rank, s.in);  /* h = x A^T */
        kernel[1] = product(layer, pass, s.rows, s.out, s.rank); /* y = h B^T */
    } else if (pass == LM_GRAD_INPUT) {
        kernel[0] = product(layer, pass, s.rows, s.rank, s.out); /* dh = dy B */
        kernel[1] = product(layer, pass, s.rows, s.in, s.rank);  /* dx = dh A */
    } else {
        kernel[0] = product(layer, pass, s.out, s.rank, s.rows); /* dB = dy^T h */
        kernel[1] = product(layer, pass, s.rank, s.in, s.rows);  /* dA = dh^T x */
    }
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    lm_kernel kernel[2];

    kernels_of(layer, pass, kernel);
    sink->kernel(sink, &kernel[0]);
    sink->kernel(sink, &kernel[1]);
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const sizes s = sizes_of(layer);

    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        lm_kernel kernel[2];
        lm_work   one, other;

        kernels_of(layer, pass, kernel);
        one   = lm_kernel_work(&kernel[0]);
        other = lm_kernel_work(&kernel[1]);

        cost->pass[pass] =
            (lm_work){ lm_add(one.flops, other.flops), lm_add(one.read_bytes, other.read_bytes),
                       lm_add(one.written_bytes, other.written_bytes) };
    }
    cost->keeps       = LM_KEEPS_INPUT;
    cost->saved_bytes = lm_mul(lm_mul((uint64_t)s.rows, (uint64_t)s.rank),
                               lm_dtype_bytes(layer->input[0].dtype)); /* h */
    return LM_OK;
}

static const lm_layer_type low_rank = {
    .size = sizeof(lm_layer_type),
    .name = "low_rank",
    .doc  = "linear layer whose matrix is the product of two thin ones",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &low_rank };

LM_PLUGIN = {
    .name    = "layermeter-low-rank",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
