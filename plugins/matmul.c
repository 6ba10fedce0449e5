/* matmul: product of the last two dimensions of two tensors, as torch.matmul. */
#include <stdbool.h>

#include "tensors.h"

enum { TRANSPOSE_A, TRANSPOSE_B };
enum { A, B };

static const lm_param params[] = {
    [TRANSPOSE_A] = { .name     = "transpose_a",
                      .kind     = LM_BOOL,
                      .fallback = "no",
                      .doc      = "swap the last two dimensions of the first input" },
    [TRANSPOSE_B] = { .name     = "transpose_b",
                      .kind     = LM_BOOL,
                      .fallback = "no",
                      .doc      = "swap the last two dimensions of the second input" },
};

/* Sizes of the product: `batch` times m x k by k x n. */
typedef struct product {
    int64_t batch, m, n, k;
} product;

/* Rows (0) or columns (1) of an input's matrix in the product. */
static int64_t side(const lm_layer *layer, uint32_t input, uint32_t which)
{
    const lm_tensor *t       = &layer->input[input];
    const bool       swapped = lm_int(layer, input == A ? TRANSPOSE_A : TRANSPOSE_B);

    return t->dim[t->rank - 2 + (which ^ swapped)];
}

/* The dimensions in front of the last two. */
static lm_tensor leading(const lm_tensor *t)
{
    lm_tensor out = *t;

    out.rank -= 2;
    return out;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    lm_tensor out;
    lm_status status;

    for (uint32_t i = A; i <= B; i++)
        if (layer->input[i].rank < 2)
            return lm_fail(layer, LM_E_SHAPE,
                           "input of rank %u, expected 2 or more: unsqueeze puts in a 1",
                           (unsigned)layer->input[i].rank);
    if (layer->input[A].dtype != layer->input[B].dtype)
        return lm_fail(layer, LM_E_SHAPE,
                       "inputs of different element types: put a cast before one of them");
    if (side(layer, A, 1) != side(layer, B, 0))
        return lm_fail(layer, LM_E_SHAPE, "%lld columns times %lld rows",
                       (long long)side(layer, A, 1), (long long)side(layer, B, 0));
    out                    = leading(&layer->input[A]);
    const lm_tensor second = leading(&layer->input[B]);

    status = tensor_broadcast(layer, &second, &out);
    if (status)
        return status;
    out.dim[out.rank++] = side(layer, A, 0);
    out.dim[out.rank++] = side(layer, B, 1);
    output[0]           = out;
    return LM_OK;
}

/* Is the product folded? As in torch.matmul, a second input of two dimensions is multiplied with
 * all rows of the first at once. */
static bool is_folded(const lm_layer *layer)
{
    return layer->input[B].rank == 2 && !lm_int(layer, TRANSPOSE_A);
}

static product product_of(const lm_layer *layer)
{
    const lm_tensor batch = leading(&layer->output[0]);
    product         p     = { (int64_t)lm_elements(&batch), side(layer, A, 0), side(layer, B, 1),
                              side(layer, A, 1) };

    if (is_folded(layer)) {
        p.m     = (int64_t)lm_mul((uint64_t)p.batch, (uint64_t)p.m);
        p.batch = 1;
    }
    return p;
}

/* An input after broadcasting. */
static lm_tensor stretched(const lm_layer *layer, uint32_t input)
{
    const lm_tensor *t   = &layer->input[input];
    lm_tensor        out = leading(&layer->output[0]);

    out.dim[out.rank++] = t->dim[t->rank - 2];
    out.dim[out.rank++] = t->dim[t->rank - 1];
    return out;
}

/* Bytes of the copy of a stretched input. None if one matrix serves all products, by strides of 0;
 * a copy if it serves some of them. */
static uint64_t copy_bytes(const lm_layer *layer, uint32_t input)
{
    const lm_tensor whole = stretched(layer, input), own = leading(&layer->input[input]);

    if (is_folded(layer) || lm_elements(&own) == 1 ||
        lm_elements(&whole) == lm_elements(&layer->input[input]))
        return 0;
    return lm_bytes(&whole);
}

static void emit_product(const lm_layer *layer, lm_pass pass, lm_sink *sink, int64_t m, int64_t n,
                         int64_t k)
{
    emit(sink,
         (lm_kernel){
             .op     = LM_OP_GEMM,
             .pass   = pass,
             .dtype  = layer->output[0].dtype,
             .u.gemm = {
                 .batch = product_of(layer).batch, .m = m, .n = n, .k = k, .activations = 1 } });
}

/* Forward A B; backward dC B^T and A^T dC, summed for stretched inputs. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const product p = product_of(layer);

    if (pass == LM_FORWARD) {
        for (uint32_t i = A; i <= B; i++)
            if (copy_bytes(layer, i))
                emit(sink, (lm_kernel){ .op     = LM_OP_COPY,
                                        .pass   = pass,
                                        .dtype  = layer->input[i].dtype,
                                        .u.copy = { (int64_t)copy_bytes(layer, i) } });
        emit_product(layer, pass, sink, p.m, p.n, p.k);
    }
    for (uint32_t i = A; i <= B && pass == LM_GRAD_INPUT; i++) {
        const lm_tensor whole = stretched(layer, i);

        if (!lm_wants_gradient(layer, i))
            continue;
        if (i == A)
            emit_product(layer, pass, sink, p.m, p.k, p.n);
        else
            emit_product(layer, pass, sink, p.k, p.n, p.m);
        if (!is_folded(layer))
            emit_sum_to(sink, pass, &layer->input[i], &whole);
    }
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    for (uint32_t i = A; i <= B; i++)
        if (lm_wants_gradient(layer, A + B - i)) { /* the other input, or its copy, is kept */
            cost->saved_bytes = lm_add(cost->saved_bytes, copy_bytes(layer, i));
            cost->keeps |= copy_bytes(layer, i) ? 0 : LM_KEEPS_ONE(i);
        }
    return cost_of_kernels(layer, cost);
}

static const lm_layer_type matmul = {
    .size = sizeof(lm_layer_type),
    .name = "matmul",
    .doc = "matrix product of two activations; the dimensions in front are stretched to each other",
    LM_PARAMS(params),
    .min_inputs = 2,
    .max_inputs = 2,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &matmul };

LM_PLUGIN = {
    .name    = "layermeter-matmul",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
