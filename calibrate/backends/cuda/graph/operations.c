/* cuDNN's graph API: operations. */
#include "parts.h"

static void finish_operation(dnn_graph *g, cudnnBackendDescriptor_t op, const char *what)
{
    graph_finish(g, op, what);
    if (graph_failed(g))
        return;
    if (g->n_operations == GRAPH_MAX_OPERATIONS)
        graph_note(g, CUDNN_STATUS_NOT_SUPPORTED, "too many operations");
    else
        g->operation[g->n_operations++] = op;
}

/* Names of the tensors in the three products of a convolution. */
static const struct conv_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t  conv, image, filter, result, alpha, beta;
} conv_names[LM_N_PASSES] = {
    [LM_FORWARD]     = { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
    [LM_GRAD_INPUT]  = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
    [LM_GRAD_WEIGHT] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA },
};

/* Sums are in f32 for all element types, as in frameworks. */
static cudnnBackendDescriptor_t make_conv(dnn_graph *g, const graph_window *w)
{
    static const char                 what[] = "convolution";
    const cudnnConvolutionMode_t      mode   = CUDNN_CROSS_CORRELATION;
    const cudnnBackendAttributeType_t i64    = CUDNN_TYPE_INT64;
    const cudnnBackendDescriptor_t    c = graph_make(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, what);

    graph_set_type(g, c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT, what);
    graph_set(g, c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode, what);
    graph_set_long(g, c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, w->axes, what);
    graph_set(g, c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i64, w->axes, w->before, what);
    graph_set(g, c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i64, w->axes, w->after, what);
    graph_set(g, c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i64, w->axes, w->stride, what);
    graph_set(g, c, CUDNN_ATTR_CONVOLUTION_DILATIONS, i64, w->axes, w->dilation, what);
    graph_finish(g, c, what);
    return c;
}

void graph_conv(dnn_graph *g, lm_pass pass, const graph_window *w, graph_node image,
                graph_node filter, graph_node result)
{
    static const char              what[] = "convolution";
    const float                    one = 1.0f, zero = 0.0f;
    const struct conv_names       *name = &conv_names[pass];
    const cudnnBackendDescriptor_t conv = make_conv(g, w), op = graph_make(g, name->type, what);

    graph_set_node(g, op, name->conv, conv, what);
    graph_set_node(g, op, name->image, image, what);
    graph_set_node(g, op, name->filter, filter, what);
    graph_set_node(g, op, name->result, result, what);
    graph_set(g, op, name->alpha, CUDNN_TYPE_FLOAT, 1, &one, what);
    graph_set(g, op, name->beta, CUDNN_TYPE_FLOAT, 1, &zero, what);
    finish_operation(g, op, what);
}

static void pointwise(dnn_graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute,
                      int64_t axis, graph_node x, graph_node b, graph_node select, graph_node y)
{
    static const char              what[] = "pointwise operation";
    const cudnnBackendDescriptor_t p      = graph_make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    graph_set(g, p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode, what);
    graph_set_type(g, p, CUDNN_ATTR_POINTWISE_MATH_PREC, compute, what);
    if (axis >= 0)
        graph_set_long(g, p, CUDNN_ATTR_POINTWISE_AXIS, axis, what);
    graph_finish(g, p, what);
    op = graph_make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, p, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x, what);
    if (b)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b, what);
    if (select)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, select, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y, what);
    finish_operation(g, op, what);
}

void graph_pointwise(dnn_graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, graph_node x,
                     graph_node b, graph_node select, graph_node y)
{
    pointwise(g, mode, compute, -1, x, b, select, y);
}

void graph_index(dnn_graph *g, int axis, graph_node x, graph_node y)
{
    pointwise(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis, x, NULL, NULL, y);
}

void graph_matmul(dnn_graph *g, graph_node a, graph_node b, graph_lengths lengths, graph_node c)
{
    static const char              what[] = "matrix product";
    const cudnnBackendDescriptor_t m      = graph_make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    graph_set_type(g, m, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT, what);
    graph_finish(g, m, what);
    op = graph_make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, m, what);
    if (lengths.rows)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, lengths.rows, what);
    if (lengths.columns)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, lengths.columns,
                       what);
    if (lengths.summands)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, lengths.summands,
                       what);
    finish_operation(g, op, what);
}

void graph_reduce(dnn_graph *g, cudnnReduceTensorOp_t kind, graph_node x, graph_node y)
{
    static const char              what[] = "reduction";
    const cudnnBackendDescriptor_t r      = graph_make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    graph_set(g, r, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &kind,
              what);
    graph_set_type(g, r, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT, what);
    graph_finish(g, r, what);
    op = graph_make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, r, what);
    finish_operation(g, op, what);
}

void graph_reshape(dnn_graph *g, graph_node x, graph_node y)
{
    static const char              what[] = "reshape";
    const cudnnBackendDescriptor_t op =
        graph_make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, what);

    graph_set_node(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y, what);
    finish_operation(g, op, what);
}

void graph_random(dnn_graph *g, double keep, graph_node seed, graph_node offset, graph_node y)
{
    static const char              what[] = "random numbers";
    const cudnnRngDistribution_t   coin   = CUDNN_RNG_DISTRIBUTION_BERNOULLI;
    const cudnnBackendDescriptor_t r      = graph_make(g, CUDNN_BACKEND_RNG_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    graph_set(g, r, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1, &coin, what);
    graph_set(g, r, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, 1, &keep, what);
    graph_finish(g, r, what);
    op = graph_make(g, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_RNG_YDESC, y, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_RNG_SEED, seed, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, offset, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_RNG_DESC, r, what);
    finish_operation(g, op, what);
}

void graph_norm_forward(dnn_graph *g, const graph_norm *n)
{
    static const char                what[] = "norm";
    const cudnnBackendNormFwdPhase_t phase  = CUDNN_NORM_FWD_TRAINING;
    const cudnnBackendDescriptor_t   op =
        graph_make(g, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, what);

    graph_set(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &n->mode, what);
    graph_set(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase,
              what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, n->x, what);
    if (n->mean)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, n->mean, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, n->inverse_deviation,
                   what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, n->scale, what);
    if (n->shift)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, n->shift, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, n->epsilon, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, n->y, what);
    finish_operation(g, op, what);
}

void graph_norm_backward(dnn_graph *g, const graph_norm *n)
{
    static const char              what[] = "norm";
    const cudnnBackendDescriptor_t op =
        graph_make(g, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, what);

    graph_set(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &n->mode, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, n->x, what);
    if (n->mean)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, n->mean, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, n->inverse_deviation,
                   what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, n->dy, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, n->scale, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, n->dscale, what);
    if (n->dshift)
        graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, n->dshift, what);
    graph_set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, n->dx, what);
    finish_operation(g, op, what);
}
