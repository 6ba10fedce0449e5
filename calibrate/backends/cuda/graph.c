/* cuDNN's graph API: descriptors, their attributes, and who destroys them. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_OPERATIONS  = 40,
    MAX_NUMBERS     = 8,
    MAX_BOUND       = 24, /* tensors in memory: arguments, scratch, numbers */
    ALIGNMENT       = 16, /* bytes: what the fastest kernels want */
    SCRATCH_ALIGNED = 256,
    MAX_CONFIGS     = 64 /* of one heuristic */
};

typedef struct candidate {
    cudnnBackendDescriptor_t plan;
    int64_t                  engine, workspace;
    bool                     tensor_cores, lower_precision, varies;
} candidate;

/* A tensor in memory, and where. */
typedef struct bound {
    enum { BOUND_ARGUMENT, BOUND_SCRATCH, BOUND_NUMBER } kind;
    size_t place, offset; /* argument or number; bytes behind its start, or that of the scratch */
} bound;

/* Pointers once bound, as launches come again and again with the same ones. */
typedef struct pack {
    cudnnBackendDescriptor_t variant;
    const void              *key[MAX_BOUND + 1]; /* the pointers, and the scratch memory */
} pack;

typedef union number {
    float   f;
    int64_t i;
} number;

struct graph {
    cudnnHandle_t             handle;
    cudnnBackendDescriptor_t  properties;
    cudnnBackendDescriptor_t *owned;
    size_t                    n_owned, room;
    cudnnBackendDescriptor_t  operation[MAX_OPERATIONS];
    size_t                    n_operations;
    bound                     bound[MAX_BOUND]; /* uid: place in this list + 1 */
    size_t                    n_bound;
    int64_t                   n_virtual;
    number                    number[MAX_NUMBERS];
    size_t                    n_numbers, scratch_bytes;
    candidate                 candidate[GRAPH_MAX_CANDIDATES];
    size_t                    n_candidates, chosen;
    pack                     *pack;
    size_t                    n_packs, last_pack;
    cudnnStatus_t             cause;
    char                      text[256];
};

/* ---- layouts --------------------------------------------------------------------------------- */

graph_layout graph_packed(int rank, const int64_t *dim)
{
    graph_layout l    = { .rank = rank };
    int64_t      step = 1;

    for (int i = rank; i-- > 0;) {
        l.dim[i]    = dim[i];
        l.stride[i] = step;
        step *= dim[i];
    }
    return l;
}

graph_layout graph_image(int rank, const int64_t *dim, bool nhwc)
{
    graph_layout l    = graph_packed(rank, dim);
    int64_t      step = dim[1];

    if (!nhwc)
        return l;
    l.stride[1] = 1;
    for (int i = rank; i-- > 2;) {
        l.stride[i] = step;
        step *= dim[i];
    }
    l.stride[0] = step;
    return l;
}

uint64_t graph_elements(const graph_layout *layout)
{
    uint64_t last = 0;

    for (int i = 0; i < layout->rank; i++) {
        if (layout->dim[i] < 1)
            return 0;
        last = lm_add(last, lm_mul((uint64_t)layout->dim[i] - 1, (uint64_t)layout->stride[i]));
    }
    return lm_add(last, 1);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

graph *graph_new(cudnnHandle_t handle, cudnnBackendDescriptor_t properties)
{
    graph *g = calloc(1, sizeof *g);

    if (g) {
        g->handle     = handle;
        g->properties = properties;
    }
    return g;
}

void graph_free(graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_packs; i++)
        (void)cudnnBackendDestroyDescriptor(g->pack[i].variant);
    while (g->n_owned)
        (void)cudnnBackendDestroyDescriptor(g->owned[--g->n_owned]);
    free(g->pack);
    free(g->owned);
    free(g);
}

/* The library's own last words are of the calling thread and often the only ones that help. */
static void note(graph *g, cudnnStatus_t cause, const char *what)
{
    char last[160] = "";

    if (cause == CUDNN_STATUS_SUCCESS || g->cause != CUDNN_STATUS_SUCCESS)
        return;
    g->cause = cause;
    cudnnGetLastErrorString(last, sizeof last);
    for (char *c = last; *c; c++)
        if (*c == '\n')
            *c = ' ';
    snprintf(g->text, sizeof g->text, "%s: %s%s%s", what, cudnnGetErrorString(cause),
             *last ? ": " : "", last);
}

static bool failed(const graph *g)
{
    return g->cause != CUDNN_STATUS_SUCCESS;
}

static bool own(graph *g, cudnnBackendDescriptor_t d)
{
    if (g->n_owned == g->room) {
        const size_t              room = g->room ? 2 * g->room : 32;
        cudnnBackendDescriptor_t *more = realloc(g->owned, room * sizeof *more);

        if (!more)
            return false;
        g->owned = more;
        g->room  = room;
    }
    g->owned[g->n_owned++] = d;
    return true;
}

static cudnnBackendDescriptor_t make(graph *g, cudnnBackendDescriptorType_t type, const char *what)
{
    cudnnBackendDescriptor_t d = NULL;

    if (failed(g))
        return NULL;
    note(g, cudnnBackendCreateDescriptor(type, &d), what);
    if (failed(g))
        return NULL;
    if (own(g, d))
        return d;
    (void)cudnnBackendDestroyDescriptor(d);
    note(g, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, what);
    return NULL;
}

/* Destroys everything made since there were `n`. */
static void unmake(graph *g, size_t n)
{
    while (g->n_owned > n)
        (void)cudnnBackendDestroyDescriptor(g->owned[--g->n_owned]);
}

static void set(graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *values, const char *what)
{
    if (!failed(g))
        note(g, cudnnBackendSetAttribute(d, name, type, n, values), what);
}

static void set_node(graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                     cudnnBackendDescriptor_t value, const char *what)
{
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, what);
}

static void set_type(graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                     cudnnDataType_t value, const char *what)
{
    set(g, d, name, CUDNN_TYPE_DATA_TYPE, 1, &value, what);
}

static void set_long(graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                     int64_t value, const char *what)
{
    set(g, d, name, CUDNN_TYPE_INT64, 1, &value, what);
}

static void finish(graph *g, cudnnBackendDescriptor_t d, const char *what)
{
    if (!failed(g))
        note(g, cudnnBackendFinalize(d), what);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static size_t bytes_of(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16: return 2;
    case CUDNN_DATA_INT64: return 8;
    case CUDNN_DATA_BOOLEAN: return 1;
    default: return 4;
    }
}

static graph_node make_tensor(graph *g, int64_t uid, const graph_layout *l, cudnnDataType_t type,
                              bool is_virtual, bool by_value)
{
    static const char              what[] = "tensor";
    const cudnnBackendDescriptor_t t      = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR, what);

    set_type(g, t, CUDNN_ATTR_TENSOR_DATA_TYPE, type, what);
    set(g, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, l->rank, l->dim, what);
    set(g, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, l->rank, l->stride, what);
    set_long(g, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid, what);
    set_long(g, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ALIGNMENT, what);
    if (is_virtual)
        set(g, t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual, what);
    if (by_value)
        set(g, t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value, what);
    finish(g, t, what);
    return failed(g) ? NULL : t;
}

static graph_node make_bound(graph *g, bound where, const graph_layout *l, cudnnDataType_t type)
{
    if (g->n_bound == MAX_BOUND) {
        note(g, CUDNN_STATUS_NOT_SUPPORTED, "too many tensors");
        return NULL;
    }
    g->bound[g->n_bound++] = where;
    return make_tensor(g, (int64_t)g->n_bound, l, type, false, where.kind == BOUND_NUMBER);
}

graph_node graph_argument(graph *g, size_t argument, const graph_layout *layout,
                          cudnnDataType_t type)
{
    return graph_part(g, argument, 0, layout, type);
}

graph_node graph_part(graph *g, size_t argument, size_t offset, const graph_layout *layout,
                      cudnnDataType_t type)
{
    return make_bound(g, (bound){ BOUND_ARGUMENT, argument, offset }, layout, type);
}

graph_node graph_virtual(graph *g, const graph_layout *layout, cudnnDataType_t type)
{
    return make_tensor(g, MAX_BOUND + ++g->n_virtual, layout, type, true, false);
}

static size_t aligned(size_t bytes)
{
    return (bytes + SCRATCH_ALIGNED - 1) / SCRATCH_ALIGNED * SCRATCH_ALIGNED;
}

graph_node graph_scratch(graph *g, const graph_layout *layout, cudnnDataType_t type)
{
    const uint64_t bytes  = lm_mul(graph_elements(layout), bytes_of(type));
    const size_t   offset = g->scratch_bytes;

    if (bytes > SIZE_MAX / 4 - offset) {
        note(g, CUDNN_STATUS_NOT_SUPPORTED, "scratch memory");
        return NULL;
    }
    g->scratch_bytes += aligned((size_t)bytes);
    return make_bound(g, (bound){ BOUND_SCRATCH, 0, offset }, layout, type);
}

static graph_node make_number(graph *g, int rank, number value, cudnnDataType_t type)
{
    graph_layout l = { .rank = rank };

    for (int i = 0; i < rank; i++)
        l.dim[i] = l.stride[i] = 1;
    if (g->n_numbers == MAX_NUMBERS) {
        note(g, CUDNN_STATUS_NOT_SUPPORTED, "too many numbers");
        return NULL;
    }
    g->number[g->n_numbers++] = value;
    return make_bound(g, (bound){ BOUND_NUMBER, g->n_numbers - 1, 0 }, &l, type);
}

graph_node graph_number(graph *g, int rank, float value)
{
    return make_number(g, rank, (number){ .f = value }, CUDNN_DATA_FLOAT);
}

graph_node graph_long(graph *g, int rank, int64_t value)
{
    return make_number(g, rank, (number){ .i = value }, CUDNN_DATA_INT64);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void finish_operation(graph *g, cudnnBackendDescriptor_t op, const char *what)
{
    finish(g, op, what);
    if (failed(g))
        return;
    if (g->n_operations == MAX_OPERATIONS)
        note(g, CUDNN_STATUS_NOT_SUPPORTED, "too many operations");
    else
        g->operation[g->n_operations++] = op;
}

/* What the three products of a convolution call the same things. */
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

/* Sums are kept in f32 whatever the elements are, as frameworks have it. */
static cudnnBackendDescriptor_t make_conv(graph *g, const graph_window *w)
{
    static const char                 what[] = "convolution";
    const cudnnConvolutionMode_t      mode   = CUDNN_CROSS_CORRELATION;
    const cudnnBackendAttributeType_t i64    = CUDNN_TYPE_INT64;
    const cudnnBackendDescriptor_t    c      = make(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, what);

    set_type(g, c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT, what);
    set(g, c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode, what);
    set_long(g, c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, w->axes, what);
    set(g, c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i64, w->axes, w->before, what);
    set(g, c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i64, w->axes, w->after, what);
    set(g, c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i64, w->axes, w->stride, what);
    set(g, c, CUDNN_ATTR_CONVOLUTION_DILATIONS, i64, w->axes, w->dilation, what);
    finish(g, c, what);
    return c;
}

void graph_conv(graph *g, lm_pass pass, const graph_window *w, graph_node image, graph_node filter,
                graph_node result)
{
    static const char              what[] = "convolution";
    const float                    one = 1.0f, zero = 0.0f;
    const struct conv_names       *name = &conv_names[pass];
    const cudnnBackendDescriptor_t conv = make_conv(g, w), op = make(g, name->type, what);

    set_node(g, op, name->conv, conv, what);
    set_node(g, op, name->image, image, what);
    set_node(g, op, name->filter, filter, what);
    set_node(g, op, name->result, result, what);
    set(g, op, name->alpha, CUDNN_TYPE_FLOAT, 1, &one, what);
    set(g, op, name->beta, CUDNN_TYPE_FLOAT, 1, &zero, what);
    finish_operation(g, op, what);
}

static void pointwise(graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, int64_t axis,
                      graph_node x, graph_node b, graph_node select, graph_node y)
{
    static const char              what[] = "pointwise operation";
    const cudnnBackendDescriptor_t p      = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    set(g, p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode, what);
    set_type(g, p, CUDNN_ATTR_POINTWISE_MATH_PREC, compute, what);
    if (axis >= 0)
        set_long(g, p, CUDNN_ATTR_POINTWISE_AXIS, axis, what);
    finish(g, p, what);
    op = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, p, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x, what);
    if (b)
        set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b, what);
    if (select)
        set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, select, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y, what);
    finish_operation(g, op, what);
}

void graph_pointwise(graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, graph_node x,
                     graph_node b, graph_node select, graph_node y)
{
    pointwise(g, mode, compute, -1, x, b, select, y);
}

void graph_index(graph *g, int axis, graph_node x, graph_node y)
{
    pointwise(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis, x, NULL, NULL, y);
}

void graph_matmul(graph *g, graph_node a, graph_node b, graph_node c)
{
    static const char              what[] = "matrix product";
    const cudnnBackendDescriptor_t m      = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    set_type(g, m, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT, what);
    finish(g, m, what);
    op = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, m, what);
    finish_operation(g, op, what);
}

void graph_reduce(graph *g, cudnnReduceTensorOp_t kind, graph_node x, graph_node y)
{
    static const char              what[] = "reduction";
    const cudnnBackendDescriptor_t r      = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    set(g, r, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &kind, what);
    set_type(g, r, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT, what);
    finish(g, r, what);
    op = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, r, what);
    finish_operation(g, op, what);
}

void graph_reshape(graph *g, graph_node x, graph_node y)
{
    static const char              what[] = "reshape";
    const cudnnBackendDescriptor_t op = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, what);

    set_node(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y, what);
    finish_operation(g, op, what);
}

void graph_random(graph *g, double keep, graph_node seed, graph_node offset, graph_node y)
{
    static const char              what[] = "random numbers";
    const cudnnRngDistribution_t   coin   = CUDNN_RNG_DISTRIBUTION_BERNOULLI;
    const cudnnBackendDescriptor_t r      = make(g, CUDNN_BACKEND_RNG_DESCRIPTOR, what);
    cudnnBackendDescriptor_t       op;

    set(g, r, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1, &coin, what);
    set(g, r, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, 1, &keep, what);
    finish(g, r, what);
    op = make(g, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_RNG_YDESC, y, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_RNG_SEED, seed, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, offset, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_RNG_DESC, r, what);
    finish_operation(g, op, what);
}

void graph_norm_forward(graph *g, const graph_norm *n)
{
    static const char                what[] = "norm";
    const cudnnBackendNormFwdPhase_t phase  = CUDNN_NORM_FWD_TRAINING;
    const cudnnBackendDescriptor_t   op =
        make(g, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, what);

    set(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &n->mode, what);
    set(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, n->x, what);
    if (n->mean)
        set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, n->mean, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, n->inverse_deviation, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, n->scale, what);
    if (n->shift)
        set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, n->shift, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, n->epsilon, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, n->y, what);
    finish_operation(g, op, what);
}

void graph_norm_backward(graph *g, const graph_norm *n)
{
    static const char              what[] = "norm";
    const cudnnBackendDescriptor_t op =
        make(g, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, what);

    set(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &n->mode, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, n->x, what);
    if (n->mean)
        set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, n->mean, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, n->inverse_deviation, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, n->dy, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, n->scale, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, n->dscale, what);
    if (n->dshift)
        set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, n->dshift, what);
    set_node(g, op, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, n->dx, what);
    finish_operation(g, op, what);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static cudnnBackendDescriptor_t make_operation_graph(graph *g)
{
    static const char              what[] = "graph";
    const cudnnBackendDescriptor_t d      = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, what);

    set(g, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        (int64_t)g->n_operations, g->operation, what);
    if (g->handle)
        set(g, d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle, what);
    finish(g, d, what);
    return d;
}

static cudnnBackendDescriptor_t make_heuristic(graph *g, cudnnBackendDescriptor_t operations,
                                               cudnnBackendHeurMode_t mode)
{
    static const char              what[] = "heuristic";
    const cudnnBackendDescriptor_t h      = make(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, what);

    set_node(g, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations, what);
    set(g, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, what);
    if (!g->handle)
        set_node(g, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, g->properties, what);
    finish(g, h, what);
    return h;
}

/* The engine of a configuration: its number, and what is to be known of its arithmetic. */
static void look_at_engine(graph *g, cudnnBackendDescriptor_t config, candidate *c)
{
    static const char           what[] = "engine";
    cudnnBackendDescriptor_t    engine = make(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR, what);
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t                     n = 0;

    if (failed(g))
        return;
    note(g,
         cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine),
         what);
    if (failed(g))
        return;
    note(g,
         cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &n,
                                  &c->engine),
         what);
    if (failed(g))
        return;
    note(g,
         cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                  CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n,
                                  notes),
         what);
    for (int64_t i = 0; i < n && !failed(g); i++) {
        c->tensor_cores |= notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
        c->lower_precision |= notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
        c->varies |= notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    }
}

static void make_plan(graph *g, cudnnBackendDescriptor_t config, candidate *c)
{
    static const char what[] = "plan";
    int64_t           n      = 0;

    c->plan = make(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, what);
    if (g->handle)
        set(g, c->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle, what);
    else
        set_node(g, c->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, g->properties, what);
    set_node(g, c->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config, what);
    finish(g, c->plan, what);
    if (!failed(g))
        note(g,
             cudnnBackendGetAttribute(c->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &n, &c->workspace),
             what);
}

/* Whether the library, though it failed, may be asked for another implementation. */
static bool may_go_on(cudnnStatus_t cause)
{
    return cause != CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

/* One configuration. What cannot be had, or breaks the rules, leaves nothing behind but `refused`,
 * which holds the first reason. */
static void try_config(graph *g, cudnnBackendDescriptor_t config, const graph_rules *rules,
                       char *refused, size_t size)
{
    const size_t before = g->n_owned;
    const char  *broken = NULL;
    candidate    c      = { 0 };

    look_at_engine(g, config, &c);
    if (!failed(g) && c.tensor_cores && !rules->tensor_cores)
        broken = "without tensor cores there is none";
    else if (!failed(g) && c.lower_precision && !rules->lower_precision)
        broken = "in full precision there is none";
    if (!broken)
        make_plan(g, config, &c);
    if (!broken && !failed(g) &&
        (c.workspace < 0 || (uint64_t)c.workspace + g->scratch_bytes > rules->workspace_limit))
        broken = "within the workspace limit there is none";
    if (!broken && !failed(g)) {
        g->candidate[g->n_candidates++] = c;
        return;
    }
    if (!*refused)
        snprintf(refused, size, "%s", broken ? broken : g->text);
    unmake(g, before);
    if (may_go_on(g->cause)) {
        g->cause   = CUDNN_STATUS_SUCCESS;
        g->text[0] = '\0';
    }
}

static void ask(graph *g, cudnnBackendDescriptor_t operations, cudnnBackendHeurMode_t mode,
                const graph_rules *rules, char *refused, size_t size)
{
    static const char        what[]              = "heuristic";
    cudnnBackendDescriptor_t h                   = make_heuristic(g, operations, mode);
    cudnnBackendDescriptor_t config[MAX_CONFIGS] = { 0 };
    int64_t                  n                   = 0;

    if (failed(g))
        return;
    note(g,
         cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                  0, &n, NULL),
         what);
    n = n > MAX_CONFIGS ? MAX_CONFIGS : n;
    for (int64_t i = 0; i < n; i++)
        config[i] = make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, what);
    if (failed(g) || n < 1)
        return;
    note(g,
         cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                  n, &n, config),
         what);
    for (int64_t i = 0; i < n && !failed(g) && g->n_candidates < (size_t)rules->wanted; i++)
        try_config(g, config[i], rules, refused, size);
}

lm_status graph_plan(graph *g, const graph_rules *rules, lm_error *err)
{
    const cudnnBackendHeurMode_t   mode[]       = { rules->mode, CUDNN_HEUR_MODE_FALLBACK };
    const cudnnBackendDescriptor_t operations   = make_operation_graph(g);
    char                           refused[256] = "";

    for (size_t i = 0; i < 2 && !failed(g) && g->n_candidates == 0; i++) {
        ask(g, operations, mode[i], rules, refused, sizeof refused);
        if (failed(g) && may_go_on(g->cause)) { /* a heuristic may refuse the whole graph */
            if (!*refused)
                snprintf(refused, sizeof refused, "%s", g->text);
            g->cause = CUDNN_STATUS_SUCCESS;
        }
    }
    if (g->cause == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    if (failed(g))
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s", g->text);
    if (g->n_candidates == 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s",
                            *refused ? refused : "the library proposes no engine");
    return LM_OK;
}

size_t graph_candidates(const graph *g)
{
    return g->n_candidates;
}

void graph_choose(graph *g, size_t which)
{
    g->chosen = which;
}

size_t graph_scratch_bytes(const graph *g)
{
    return g->scratch_bytes + (size_t)g->candidate[g->chosen].workspace;
}

void graph_describe(const graph *g, char *buffer, size_t size)
{
    const candidate *c = &g->candidate[g->chosen];

    snprintf(buffer, size, "engine %lld%s%s", (long long)c->engine,
             c->tensor_cores ? " tensor" : "", c->varies ? " varies" : "");
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const void *pointer_of(const graph *g, const bound *b, void *const *at, size_t n,
                              const char *scratch)
{
    switch (b->kind) {
    case BOUND_ARGUMENT: return b->place < n ? (const char *)at[b->place] + b->offset : NULL;
    case BOUND_SCRATCH: return scratch ? scratch + b->offset : NULL;
    default: return &g->number[b->place];
    }
}

static cudnnStatus_t make_variant(graph *g, void *const *at, size_t n, char *scratch,
                                  cudnnBackendDescriptor_t *out)
{
    int64_t                  uid[MAX_BOUND];
    const void              *pointer[MAX_BOUND];
    void                    *workspace = scratch ? scratch + g->scratch_bytes : NULL;
    cudnnBackendDescriptor_t v         = NULL;
    cudnnStatus_t            cause;
    const int64_t            count = (int64_t)g->n_bound;

    for (size_t i = 0; i < g->n_bound; i++) {
        uid[i]     = (int64_t)i + 1;
        pointer[i] = pointer_of(g, &g->bound[i], at, n, scratch);
    }
    cause = cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &v);
    if (cause != CUDNN_STATUS_SUCCESS)
        return cause;
    cause = cudnnBackendSetAttribute(v, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count,
                                     uid);
    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnBackendSetAttribute(v, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                         CUDNN_TYPE_VOID_PTR, count, pointer);
    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnBackendSetAttribute(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
                                         1, &workspace);
    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnBackendFinalize(v);
    if (cause == CUDNN_STATUS_SUCCESS)
        *out = v;
    else
        (void)cudnnBackendDestroyDescriptor(v);
    return cause;
}

/* Launches of a step come round in the same order: the next pack is most often the one. */
static const pack *find_pack(graph *g, const pack *wanted)
{
    for (size_t i = 0; i < g->n_packs; i++) {
        const size_t at = (g->last_pack + 1 + i) % g->n_packs;

        if (!memcmp(g->pack[at].key, wanted->key, sizeof wanted->key)) {
            g->last_pack = at;
            return &g->pack[at];
        }
    }
    return NULL;
}

cudnnStatus_t graph_run(graph *g, void *const *at, size_t n, void *scratch)
{
    pack          wanted = { 0 };
    const pack   *found;
    pack         *more;
    cudnnStatus_t cause;

    for (size_t i = 0; i < g->n_bound; i++)
        wanted.key[i] = pointer_of(g, &g->bound[i], at, n, scratch);
    wanted.key[MAX_BOUND] = scratch;
    found                 = find_pack(g, &wanted);
    if (!found) {
        more = realloc(g->pack, (g->n_packs + 1) * sizeof *more);
        if (!more)
            return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
        g->pack = more;
        cause   = make_variant(g, at, n, scratch, &wanted.variant);
        if (cause != CUDNN_STATUS_SUCCESS)
            return cause;
        g->pack[g->n_packs] = wanted;
        g->last_pack        = g->n_packs++;
        found               = &g->pack[g->last_pack];
    }
    return cudnnBackendExecute(g->handle, g->candidate[g->chosen].plan, found->variant);
}
