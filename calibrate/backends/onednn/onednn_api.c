/* oneDNN's C API, 2.4 to 3.x. Only this file knows that 3.0 removed operation descriptors. */
#include "onednn_api.h"

#include <stdio.h>

#define EPSILON    1e-5f
#define AFFINE     (dnnl_use_scale | dnnl_use_shift)
#define LAST_AXIS  1 /* of softmax: rows, group */
#define N_OPERANDS 4

/*
 * Tensor descriptors: a struct in 2.x, a handle in 3.x. `desc_ref` is what functions take.
 */
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t desc_ref;

static dnnl_status_t desc_make(dnnl_memory_desc_t *desc, const api_tensor *t)
{
    return dnnl_memory_desc_create_with_tag(desc, t->rank, t->dim, t->type, t->layout);
}

static desc_ref desc_of(const dnnl_memory_desc_t *desc)
{
    return *desc;
}

static void desc_free(dnnl_memory_desc_t *desc)
{
    dnnl_memory_desc_destroy(*desc);
}

static dnnl_data_type_t desc_type(desc_ref desc)
{
    dnnl_data_type_t type = dnnl_data_type_undef;

    dnnl_memory_desc_query(desc, dnnl_query_data_type, &type);
    return type;
}

static int desc_rank(desc_ref desc)
{
    int rank = 0;

    dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, &rank);
    return rank;
}

static const dnnl_dim_t *desc_dims(desc_ref desc)
{
    const dnnl_dims_t *dims = NULL;

    dnnl_memory_desc_query(desc, dnnl_query_dims, &dims);
    return *dims;
}
#else
typedef const dnnl_memory_desc_t *desc_ref;

static dnnl_status_t desc_make(dnnl_memory_desc_t *desc, const api_tensor *t)
{
    return dnnl_memory_desc_init_by_tag(desc, t->rank, t->dim, t->type, t->layout);
}

static desc_ref desc_of(const dnnl_memory_desc_t *desc)
{
    return desc;
}

static void desc_free(dnnl_memory_desc_t *desc)
{
    (void)desc;
}

static dnnl_data_type_t desc_type(desc_ref desc)
{
    return desc->data_type;
}

static int desc_rank(desc_ref desc)
{
    return desc->ndims;
}

static const dnnl_dim_t *desc_dims(desc_ref desc)
{
    return desc->dims;
}
#endif

/* Tensor descriptors of an operation; NULL: absent. */
typedef struct operands {
    dnnl_memory_desc_t desc[N_OPERANDS];
    bool               made[N_OPERANDS];
    desc_ref           src, weights, bias, dst;
} operands;

static void operands_free(operands *o)
{
    for (int i = 0; i < N_OPERANDS; i++)
        if (o->made[i])
            desc_free(&o->desc[i]);
}

/* `o` is zeroed. */
static dnnl_status_t operands_make(operands *o, const api_op *op)
{
    const api_tensor *tensor[N_OPERANDS] = { &op->src, &op->weights, &op->bias, &op->dst };
    desc_ref         *ref[N_OPERANDS]    = { &o->src, &o->weights, &o->bias, &o->dst };

    for (int i = 0; i < N_OPERANDS; i++) {
        dnnl_status_t status;

        if (tensor[i]->rank == 0)
            continue;
        status = desc_make(&o->desc[i], tensor[i]);
        if (status != dnnl_success)
            return status;
        o->made[i] = true;
        *ref[i]    = desc_of(&o->desc[i]);
    }
    if (!o->dst)
        o->dst = o->src;
    return dnnl_success;
}

static unsigned statistics(const api_op *op)
{
    return AFFINE | (op->evaluation ? dnnl_use_global_stats : 0);
}

/*
 * Convolutions use the propagation kind of training, in evaluation, too, as PyTorch (ideep's
 * default).
 *
 * Primitive descriptors. Backward ones take their forward one as a hint.
 */
#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t desc_forward(const api_device *d, const api_op *op, const operands *o,
                                  dnnl_primitive_desc_t *out)
{
    const dnnl_prop_kind_t kind = op->evaluation ? dnnl_forward_inference : dnnl_forward_training;
    const api_window      *w    = &op->window;

    switch (op->kind) {
    case API_CONV:
        return dnnl_convolution_forward_primitive_desc_create(
            out, d->engine, dnnl_forward_training, dnnl_convolution_direct, o->src, o->weights,
            o->bias, o->dst, w->stride, w->dilation, w->front, w->behind, d->attr);
    case API_POOL:
        return dnnl_pooling_forward_primitive_desc_create(
            out, d->engine, kind, op->algorithm, o->src, o->dst, w->stride, w->size, w->dilation,
            w->front, w->behind, d->attr);
    case API_ELTWISE:
        return dnnl_eltwise_forward_primitive_desc_create(out, d->engine, kind, op->algorithm,
                                                          o->src, o->dst, op->alpha, 0.0f, d->attr);
    case API_BINARY:
        return dnnl_binary_primitive_desc_create(out, d->engine, dnnl_binary_add, o->src,
                                                 o->weights, o->dst, d->attr);
    case API_MATMUL:
        return dnnl_matmul_primitive_desc_create(out, d->engine, o->src, o->weights, o->bias,
                                                 o->dst, d->attr);
    case API_BATCHNORM:
        return dnnl_batch_normalization_forward_primitive_desc_create(
            out, d->engine, kind, o->src, o->dst, EPSILON, statistics(op), d->attr);
    case API_LAYERNORM:
        return dnnl_layer_normalization_forward_primitive_desc_create(
            out, d->engine, kind, o->src, o->dst, o->weights, EPSILON, AFFINE, d->attr);
    case API_SOFTMAX:
        return dnnl_softmax_forward_primitive_desc_create(
            out, d->engine, kind, dnnl_softmax_accurate, o->src, o->dst, LAST_AXIS, d->attr);
    case API_COPY:
        return dnnl_reorder_primitive_desc_create(out, o->src, d->engine, o->dst, d->engine,
                                                  d->attr);
    }
    return dnnl_unimplemented;
}

static dnnl_status_t desc_backward(const api_device *d, const api_op *op, const operands *o,
                                   const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    const api_window *w = &op->window;

    switch (op->kind) {
    case API_CONV:
        if (op->pass == LM_GRAD_INPUT)
            return dnnl_convolution_backward_data_primitive_desc_create(
                out, d->engine, dnnl_convolution_direct, o->src, o->weights, o->dst, w->stride,
                w->dilation, w->front, w->behind, hint, d->attr);
        return dnnl_convolution_backward_weights_primitive_desc_create(
            out, d->engine, dnnl_convolution_direct, o->src, o->weights, o->bias, o->dst, w->stride,
            w->dilation, w->front, w->behind, hint, d->attr);
    case API_POOL:
        return dnnl_pooling_backward_primitive_desc_create(out, d->engine, op->algorithm, o->src,
                                                           o->dst, w->stride, w->size, w->dilation,
                                                           w->front, w->behind, hint, d->attr);
    case API_ELTWISE:
        return dnnl_eltwise_backward_primitive_desc_create(
            out, d->engine, op->algorithm, o->src, o->dst, o->src, op->alpha, 0.0f, hint, d->attr);
    case API_BATCHNORM:
        return dnnl_batch_normalization_backward_primitive_desc_create(
            out, d->engine, dnnl_backward, o->src, o->dst, o->src, EPSILON, AFFINE, hint, d->attr);
    case API_LAYERNORM:
        return dnnl_layer_normalization_backward_primitive_desc_create(
            out, d->engine, dnnl_backward, o->src, o->dst, o->src, o->weights, EPSILON, AFFINE,
            hint, d->attr);
    case API_SOFTMAX:
        return dnnl_softmax_backward_primitive_desc_create(out, d->engine, dnnl_softmax_accurate,
                                                           o->src, o->dst, o->dst, LAST_AXIS, hint,
                                                           d->attr);
    case API_BINARY:
    case API_MATMUL:
    case API_COPY: break;
    }
    return dnnl_unimplemented;
}
#else
/* An operation descriptor of any kind. */
typedef union api_operation {
    dnnl_convolution_desc_t         conv;
    dnnl_pooling_v2_desc_t          pool;
    dnnl_eltwise_desc_t             eltwise;
    dnnl_binary_desc_t              binary;
    dnnl_matmul_desc_t              matmul;
    dnnl_batch_normalization_desc_t batchnorm;
    dnnl_layer_normalization_desc_t layernorm;
    dnnl_softmax_desc_t             softmax;
} api_operation;

static dnnl_status_t operation_forward(const api_op *op, const operands *o, api_operation *out)
{
    const dnnl_prop_kind_t kind = op->evaluation ? dnnl_forward_inference : dnnl_forward_training;
    const api_window      *w    = &op->window;

    switch (op->kind) {
    case API_CONV:
        return dnnl_dilated_convolution_forward_desc_init(
            &out->conv, dnnl_forward_training, dnnl_convolution_direct, o->src, o->weights, o->bias,
            o->dst, w->stride, w->dilation, w->front, w->behind);
    case API_POOL:
        return dnnl_pooling_v2_forward_desc_init(&out->pool, kind, op->algorithm, o->src, o->dst,
                                                 w->stride, w->size, w->dilation, w->front,
                                                 w->behind);
    case API_ELTWISE:
        return dnnl_eltwise_forward_desc_init(&out->eltwise, kind, op->algorithm, o->src, op->alpha,
                                              0.0f);
    case API_BINARY:
        return dnnl_binary_desc_init(&out->binary, dnnl_binary_add, o->src, o->weights, o->dst);
    case API_MATMUL:
        return dnnl_matmul_desc_init(&out->matmul, o->src, o->weights, o->bias, o->dst);
    case API_BATCHNORM:
        return dnnl_batch_normalization_forward_desc_init(&out->batchnorm, kind, o->src, EPSILON,
                                                          statistics(op));
    case API_LAYERNORM:
        return dnnl_layer_normalization_forward_desc_init(&out->layernorm, kind, o->src, o->weights,
                                                          EPSILON, AFFINE);
    case API_SOFTMAX: return dnnl_softmax_forward_desc_init(&out->softmax, kind, o->src, LAST_AXIS);
    case API_COPY: break;
    }
    return dnnl_unimplemented;
}

static dnnl_status_t operation_backward(const api_op *op, const operands *o, api_operation *out)
{
    const api_window *w = &op->window;

    switch (op->kind) {
    case API_CONV:
        if (op->pass == LM_GRAD_INPUT)
            return dnnl_dilated_convolution_backward_data_desc_init(
                &out->conv, dnnl_convolution_direct, o->src, o->weights, o->dst, w->stride,
                w->dilation, w->front, w->behind);
        return dnnl_dilated_convolution_backward_weights_desc_init(
            &out->conv, dnnl_convolution_direct, o->src, o->weights, o->bias, o->dst, w->stride,
            w->dilation, w->front, w->behind);
    case API_POOL:
        return dnnl_pooling_v2_backward_desc_init(&out->pool, op->algorithm, o->src, o->dst,
                                                  w->stride, w->size, w->dilation, w->front,
                                                  w->behind);
    case API_ELTWISE:
        return dnnl_eltwise_backward_desc_init(&out->eltwise, op->algorithm, o->src, o->src,
                                               op->alpha, 0.0f);
    case API_BATCHNORM:
        return dnnl_batch_normalization_backward_desc_init(&out->batchnorm, dnnl_backward, o->src,
                                                           o->src, EPSILON, AFFINE);
    case API_LAYERNORM:
        return dnnl_layer_normalization_backward_desc_init(&out->layernorm, dnnl_backward, o->src,
                                                           o->src, o->weights, EPSILON, AFFINE);
    case API_SOFTMAX:
        return dnnl_softmax_backward_desc_init(&out->softmax, o->src, o->src, LAST_AXIS);
    case API_BINARY:
    case API_MATMUL:
    case API_COPY: break;
    }
    return dnnl_unimplemented;
}

static dnnl_status_t desc_forward(const api_device *d, const api_op *op, const operands *o,
                                  dnnl_primitive_desc_t *out)
{
    api_operation what;
    dnnl_status_t status;

    if (op->kind == API_COPY)
        return dnnl_reorder_primitive_desc_create(out, o->src, d->engine, o->dst, d->engine,
                                                  d->attr);
    status = operation_forward(op, o, &what);
    if (status != dnnl_success)
        return status;
    return dnnl_primitive_desc_create(out, &what, d->attr, d->engine, NULL);
}

static dnnl_status_t desc_backward(const api_device *d, const api_op *op, const operands *o,
                                   const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    api_operation what;
    dnnl_status_t status = operation_backward(op, o, &what);

    if (status != dnnl_success)
        return status;
    return dnnl_primitive_desc_create(out, &what, d->attr, d->engine, hint);
}
#endif

/* Has the kind separate backward primitives? Products and forward element-wise functions are the
 * same in each pass. */
static bool has_backward(api_kind kind)
{
    return kind != API_MATMUL && kind != API_BINARY && kind != API_COPY;
}

dnnl_status_t api_create(const api_device *device, const api_op *op, api_primitive *out)
{
    dnnl_primitive_desc_t forward = NULL, desc = NULL;
    operands              o      = { 0 };
    dnnl_status_t         status = operands_make(&o, op);

    if (status != dnnl_success)
        goto out;
    status = desc_forward(device, op, &o, &forward);
    if (status != dnnl_success)
        goto out;
    if (op->pass == LM_FORWARD || !has_backward(op->kind)) {
        desc    = forward;
        forward = NULL;
    } else {
        status = desc_backward(device, op, &o, forward, &desc);
        if (status != dnnl_success)
            goto out;
    }
    status = dnnl_primitive_create(&out->run, desc);
    if (status != dnnl_success)
        goto out;
    out->desc = desc;
    desc      = NULL;
out:
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    if (forward)
        dnnl_primitive_desc_destroy(forward);
    operands_free(&o);
    return status;
}

void api_destroy(api_primitive *primitive)
{
    if (primitive->run)
        dnnl_primitive_destroy(primitive->run);
    if (primitive->desc)
        dnnl_primitive_desc_destroy(primitive->desc);
    *primitive = (api_primitive){ 0 };
}

static desc_ref argument_desc(const api_primitive *primitive, int argument)
{
    return dnnl_primitive_desc_query_md(primitive->desc, dnnl_query_exec_arg_md, argument);
}

size_t api_bytes(const api_primitive *primitive, int argument)
{
    const desc_ref desc = argument_desc(primitive, argument);

    return desc ? dnnl_memory_desc_get_size(desc) : 0;
}

int api_inputs(const api_primitive *primitive)
{
    int n = 0;

    dnnl_primitive_desc_query(primitive->desc, dnnl_query_num_of_inputs_s32, 0, &n);
    return n;
}

dnnl_data_type_t api_type(const api_primitive *primitive, int argument)
{
    const desc_ref desc = argument_desc(primitive, argument);

    return desc ? desc_type(desc) : dnnl_data_type_undef;
}

dnnl_status_t api_memory(const api_device *device, const api_primitive *primitive, int argument,
                         void *at, dnnl_memory_t *out)
{
    const desc_ref desc = argument_desc(primitive, argument);

    return desc ? dnnl_memory_create(out, desc, device->engine, at) : dnnl_invalid_arguments;
}

size_t api_elements(const api_primitive *primitive, int argument)
{
    const desc_ref desc = argument_desc(primitive, argument);
    size_t         n    = desc && desc_rank(desc);

    for (int i = 0; n && i < desc_rank(desc); i++)
        n *= (size_t)desc_dims(desc)[i];
    return n;
}

static dnnl_status_t copy_memory(const api_device *device, desc_ref from, void *at_from,
                                 desc_ref to, void *at_to)
{
    dnnl_primitive_desc_t desc      = NULL;
    dnnl_primitive_t      run       = NULL;
    dnnl_exec_arg_t       memory[2] = { { DNNL_ARG_FROM, NULL }, { DNNL_ARG_TO, NULL } };
    dnnl_status_t         status =
        dnnl_reorder_primitive_desc_create(&desc, from, device->engine, to, device->engine, NULL);

    if (status == dnnl_success)
        status = dnnl_primitive_create(&run, desc);
    if (status == dnnl_success)
        status = dnnl_memory_create(&memory[0].memory, from, device->engine, at_from);
    if (status == dnnl_success)
        status = dnnl_memory_create(&memory[1].memory, to, device->engine, at_to);
    if (status == dnnl_success)
        status = dnnl_primitive_execute(run, device->stream, 2, memory);
    if (status == dnnl_success)
        status = dnnl_stream_wait(device->stream);
    for (int i = 0; i < 2; i++)
        if (memory[i].memory)
            dnnl_memory_destroy(memory[i].memory);
    if (run)
        dnnl_primitive_destroy(run);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return status;
}

dnnl_status_t api_reorder(const api_device *device, const api_primitive *primitive, int argument,
                          void *plain, void *at, bool to_plain)
{
    static const dnnl_format_tag_t rows[] = { dnnl_a,    dnnl_ab,    dnnl_abc,
                                              dnnl_abcd, dnnl_abcde, dnnl_abcdef };
    const desc_ref                 own    = argument_desc(primitive, argument);
    const int                      rank   = own ? desc_rank(own) : 0;
    api_tensor                     t      = { .rank = rank };
    dnnl_memory_desc_t             desc;
    dnnl_status_t                  status;

    if (rank < 1 || rank > (int)(sizeof rows / sizeof rows[0]))
        return dnnl_invalid_arguments;
    for (int i = 0; i < rank; i++)
        t.dim[i] = desc_dims(own)[i];
    t.type   = desc_type(own);
    t.layout = rows[rank - 1];
    status   = desc_make(&desc, &t);
    if (status != dnnl_success)
        return status;
    status = to_plain ? copy_memory(device, own, at, desc_of(&desc), plain)
                      : copy_memory(device, desc_of(&desc), plain, own, at);
    desc_free(&desc);
    return status;
}

dnnl_status_t api_open(api_device *device)
{
    dnnl_status_t status = dnnl_engine_create(&device->engine, dnnl_cpu, 0);

    if (status == dnnl_success)
        status = dnnl_stream_create(&device->stream, device->engine, dnnl_stream_default_flags);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_create(&device->attr);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(device->attr, dnnl_scratchpad_mode_user);
    return status;
}

void api_close(api_device *device)
{
    if (device->attr)
        dnnl_primitive_attr_destroy(device->attr);
    if (device->stream)
        dnnl_stream_destroy(device->stream);
    if (device->engine)
        dnnl_engine_destroy(device->engine);
    *device = (api_device){ 0 };
}

const char *api_isa(char *buffer, size_t size)
{
    const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    switch ((int)isa) {
    case dnnl_cpu_isa_sse41: return "sse41";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core: return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
#if DNNL_VERSION_MAJOR >= 3
    case dnnl_cpu_isa_avx512_core_fp16: return "avx512_core_fp16";
#endif
    default: snprintf(buffer, size, "0x%x", (unsigned)isa); return buffer;
    }
}

int api_channel_block(void)
{
    const int isa = (int)dnnl_get_effective_cpu_isa();

    return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core ? 16 : 8;
}
