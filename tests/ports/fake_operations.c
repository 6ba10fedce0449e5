/* Operations of cuDNN's graph API: their tensors, and what those have to fulfil. */
#include "fake_graph.h"

#include <string.h>

#include "fake.h"

static const cudnnBackendAttributeName_t pointwise_in[] = { CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_TDESC };

const cudnnBackendAttributeName_t fake_length_names[3] = {
    CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
    CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
    CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC
};

static void add(fake_ports *p, const fake_descriptor *op, cudnnBackendAttributeName_t name,
                bool out)
{
    const fake_descriptor *t = fake_reference(op, name);

    if (t && out)
        p->out[p->n_out++] = t;
    else if (t)
        p->in[p->n_in++] = t;
}

static void add_norm(fake_ports *p, const fake_descriptor *op, bool forward)
{
    if (forward) {
        add(p, op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, false);
        add(p, op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, false);
        add(p, op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, false);
        add(p, op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, false);
        add(p, op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, true);
        add(p, op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, true);
        add(p, op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, true);
        return;
    }
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, false);
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, false);
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, false);
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, false);
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, false);
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, true);
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, true);
    add(p, op, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, true);
}

/* In a fixed order, which fake_graph_run.c counts on. */
fake_ports fake_ports_of(const fake_descriptor *op)
{
    fake_ports p = { .n_in = 0 };

    switch (op->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, false);
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, false);
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, true);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, false);
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, false);
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, true);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, false);
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, false);
        add(&p, op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, true);
        break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        for (size_t i = 0; i < sizeof pointwise_in / sizeof pointwise_in[0]; i++)
            add(&p, op, pointwise_in[i], false);
        add(&p, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, true);
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        add(&p, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, false);
        add(&p, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, false);
        for (int i = 0; i < 3; i++)
            add(&p, op, fake_length_names[i], false);
        add(&p, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, true);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        add(&p, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, false);
        add(&p, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, true);
        break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        add(&p, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, false);
        add(&p, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, true);
        break;
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
        add(&p, op, CUDNN_ATTR_OPERATION_RNG_SEED, false);
        add(&p, op, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, false);
        add(&p, op, CUDNN_ATTR_OPERATION_RNG_YDESC, true);
        break;
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR: add_norm(&p, op, true); break;
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR: add_norm(&p, op, false); break;
    default: break;
    }
    return p;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* "y = 1 + (x + pre + post - (((w - 1) * dilation) + 1)) / stride", in every
 * axis; channels in groups. */
static const char *check_conv(const fake_descriptor *conv, const fake_tensor *x,
                              const fake_tensor *w, const fake_tensor *y)
{
    const int64_t  axes = fake_integer(conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
    int64_t        n;
    const int64_t *before = fake_attribute(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &n);
    const int64_t *after  = fake_attribute(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &n);
    const int64_t *stride = fake_attribute(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &n);
    const int64_t *gaps   = fake_attribute(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, &n);

    if (x->rank != axes + 2 || w->rank != axes + 2 || y->rank != axes + 2 || n != axes)
        return "a convolution of tensors with other axes";
    if (x->type != w->type || x->type != y->type)
        return "a convolution of several types";
    if (x->dim[0] != y->dim[0] || y->dim[1] != w->dim[0] || x->dim[1] % w->dim[1] ||
        w->dim[0] % (x->dim[1] / w->dim[1]))
        return "a convolution whose channels do not fit";
    for (int64_t i = 0; i < axes; i++) {
        const int64_t reach = (w->dim[2 + i] - 1) * gaps[i] + 1;
        const int64_t whole = x->dim[2 + i] + before[i] + after[i] - reach;

        if (whole < 0 || y->dim[2 + i] != 1 + whole / stride[i])
            return "a convolution whose output has another size";
    }
    return NULL;
}

static bool is_comparison(int mode)
{
    return mode == (int)CUDNN_POINTWISE_CMP_GE || mode == (int)CUDNN_POINTWISE_CMP_LT ||
           mode == (int)CUDNN_POINTWISE_LOGICAL_AND;
}

static const char *check_pointwise(const fake_descriptor *op, const fake_ports *p)
{
    const fake_descriptor *how  = fake_reference(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const int              mode = fake_enum(how, CUDNN_ATTR_POINTWISE_MODE);
    const fake_tensor      y    = fake_shape(p->out[0]);
    size_t                 wanted = 2;

    if (mode == (int)CUDNN_POINTWISE_EXP || mode == (int)CUDNN_POINTWISE_LOG ||
        mode == (int)CUDNN_POINTWISE_IDENTITY || mode == (int)CUDNN_POINTWISE_GEN_INDEX)
        wanted = 1;
    if (mode == (int)CUDNN_POINTWISE_BINARY_SELECT)
        wanted = 3;
    if (p->n_in != wanted)
        return "a pointwise operation with more or less operands than its mode has";
    for (size_t i = 0; i < p->n_in; i++) {
        const fake_tensor x = fake_shape(p->in[i]);

        if (!fake_stretches(&x, &y))
            return "a pointwise operation of shapes that do not fit";
    }
    if (mode == (int)CUDNN_POINTWISE_GEN_INDEX &&
        fake_integer(how, CUDNN_ATTR_POINTWISE_AXIS, -1) < 0)
        return "an index without its axis";
    if (is_comparison(mode) != (y.type == CUDNN_DATA_BOOLEAN))
        return "a comparison is boolean, nothing else is";
    return wanted == 3 && fake_shape(p->in[2]).type != CUDNN_DATA_BOOLEAN
               ? "a choice by what is not boolean"
               : NULL;
}

static bool is_lengths(const fake_tensor *t, int64_t batch)
{
    return t->type == CUDNN_DATA_INT32 && t->rank == 4 && t->dim[0] == batch && t->dim[1] == 1 &&
           t->dim[2] == 1 && t->dim[3] == 1;
}

/* Batches are equal, or heads share what they read. */
static const char *check_matmul(const fake_ports *p, const fake_tensor *a, const fake_tensor *b,
                                const fake_tensor *c)
{
    const int r = c->rank;

    for (size_t i = 2; i < p->n_in; i++) {
        const fake_tensor t = fake_shape(p->in[i]);

        if (!is_lengths(&t, c->dim[0]))
            return "lengths that are not int32 of shape batch,1,1,1";
    }
    if (a->rank != r || b->rank != r || r < 2)
        return "a product of tensors with other axes";
    for (int i = 0; i < r - 2; i++)
        if (c->dim[i] % a->dim[i] || c->dim[i] % b->dim[i])
            return "a product whose batches do not fit";
    return a->dim[r - 2] != c->dim[r - 2] || b->dim[r - 1] != c->dim[r - 1] ||
                   a->dim[r - 1] != b->dim[r - 2]
               ? "a product whose matrices do not fit"
               : NULL;
}

static const char *check_reduction(const fake_tensor *x, const fake_tensor *y)
{
    for (int i = 0; i < x->rank; i++)
        if (x->rank != y->rank || x->dim[i] % y->dim[i])
            return "a reduction whose shapes do not fit";
    return NULL;
}

/* Statistics are of the axes in which scale is 1; those of scale are normalised. */
static const char *check_norm(const fake_ports *p, bool forward, int mode)
{
    const fake_tensor x = fake_shape(p->in[0]), y = fake_shape(p->out[0]);
    const fake_tensor scale = fake_shape(p->in[forward ? 1 : 2]);
    const fake_tensor stat  = fake_shape(forward ? p->out[1] : p->in[3]);
    const bool        rms   = mode == (int)CUDNN_RMS_NORM;

    if (!rms && mode != (int)CUDNN_LAYER_NORM)
        return "a norm that is not known here";
    if (p->n_in != (forward ? 4u : 5u) - rms || p->n_out != 3u - rms)
        return "a norm with more or less tensors than its mode has";
    if (!fake_same_shape(&x, &y) || !fake_stretches(&scale, &x) || !fake_stretches(&stat, &x))
        return "a norm whose shapes do not fit";
    for (int i = 0; i < x.rank; i++)
        if ((scale.dim[i] == 1 ? stat.dim[i] != x.dim[i] : stat.dim[i] != 1))
            return "a norm whose statistics do not fit its scale";
    return stat.type == CUDNN_DATA_FLOAT ? NULL : "statistics are f32";
}

static const char *check_conv_operation(const fake_descriptor *op, const fake_ports *p)
{
    const fake_tensor a = fake_shape(p->in[0]), b = fake_shape(p->in[1]), c = fake_shape(p->out[0]);

    switch (op->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return check_conv(fake_reference(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
                          &a, &b, &c);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return check_conv(fake_reference(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
                          &c, &b, &a);
    default:
        return check_conv(fake_reference(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
                          &a, &c, &b);
    }
}

const char *fake_check_operation(const fake_descriptor *op)
{
    const fake_ports p = fake_ports_of(op);
    fake_tensor      a, b, c;

    if (p.n_out == 0 || p.n_in == 0)
        return NULL; /* no operation */
    a = fake_shape(p.in[0]);
    b = fake_shape(p.in[p.n_in > 1 ? 1 : 0]);
    c = fake_shape(p.out[0]);
    switch (op->type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return check_pointwise(op, &p);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: return check_matmul(&p, &a, &b, &c);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: return check_reduction(&a, &c);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return fake_tensor_bytes(&a) / fake_element_bytes(a.type) ==
                       fake_tensor_bytes(&c) / fake_element_bytes(c.type)
                   ? NULL
                   : "a reshape of more or less elements";
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
        return a.type == CUDNN_DATA_INT64 && b.type == CUDNN_DATA_INT64 ? NULL
                                                                        : "a seed of another type";
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
        return fake_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) != (int)CUDNN_NORM_FWD_TRAINING
                   ? "a norm that is not trained"
                   : check_norm(&p, true, fake_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE));
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
        return check_norm(&p, false, fake_enum(op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE));
    default: return check_conv_operation(op, &p);
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

static int mode_of(const fake_descriptor *op)
{
    return op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR
               ? fake_enum(fake_reference(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
                           CUDNN_ATTR_POINTWISE_MODE)
               : -1;
}

static const fake_descriptor *maker(fake_descriptor *const *op, int64_t n, const fake_descriptor *t)
{
    for (int64_t i = 0; i < n; i++) {
        const fake_ports p = fake_ports_of(op[i]);

        for (size_t j = 0; j < p.n_out; j++)
            if (fake_uid(p.out[j]) == fake_uid(t))
                return op[i];
    }
    return NULL;
}

/* Is `t` the comparison of a place along `axis` with lengths? */
static bool compares(fake_descriptor *const *op, int64_t n, const fake_descriptor *t, int64_t axis)
{
    const fake_descriptor *compare = maker(op, n, t), *place;
    fake_tensor            with;

    if (!compare || mode_of(compare) != (int)CUDNN_POINTWISE_CMP_LT)
        return false;
    with  = fake_shape(fake_ports_of(compare).in[1]);
    place = maker(op, n, fake_ports_of(compare).in[0]);
    return place && mode_of(place) == (int)CUDNN_POINTWISE_GEN_INDEX &&
           fake_integer(fake_reference(place, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
                        CUDNN_ATTR_POINTWISE_AXIS, -1) == axis &&
           is_lengths(&with, fake_shape(t).dim[0]);
}

static bool masks_padding(fake_descriptor *const *op, int64_t n, const fake_descriptor *select)
{
    const fake_descriptor *both;

    if (mode_of(select) != (int)CUDNN_POINTWISE_BINARY_SELECT)
        return false;
    both = maker(op, n, fake_ports_of(select).in[2]);
    return both && mode_of(both) == (int)CUDNN_POINTWISE_LOGICAL_AND &&
           compares(op, n, fake_ports_of(both).in[0], 2) &&
           compares(op, n, fake_ports_of(both).in[1], 3);
}

/* Gradients before 9.10 mask padding again behind the statistics (cudnn-frontend,
 * scaled_dot_product_flash_attention.h). Without masks the library makes plans as well, but their
 * results are wrong (NVIDIA/cudnn-frontend, issue 160). Here there are none. */
static bool masks_last_block(fake_descriptor *const *op, int64_t n)
{
    const int version  = (int)cudnnGetVersion();
    int64_t   keys     = 0;
    int       products = 0, masks = 0;

    for (int64_t i = 0; i < n; i++) {
        products += op[i]->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
        masks += masks_padding(op, n, op[i]);
        if (mode_of(op[i]) == (int)CUDNN_POINTWISE_EXP)
            keys = fake_shape(fake_ports_of(op[i]).out[0]).dim[3];
    }
    if (!products || keys % 128 == 0 || version >= 91500)
        return true;
    return masks == (products > 2 && version < 91000 ? 2 : 1);
}

/* Fused patterns multiply 16-bit elements only. */
bool fake_supports(const fake_descriptor *graph)
{
    int64_t                 n;
    fake_descriptor *const *op = fake_attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, &n);

    for (int64_t i = 0; n > 1 && i < n; i++) {
        const fake_tensor b = fake_shape(fake_ports_of(op[i]).in[0]);

        if (op[i]->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR &&
            !fake_is(fake_ports_of(op[i]).in[0], CUDNN_ATTR_TENSOR_IS_VIRTUAL) &&
            b.type != CUDNN_DATA_HALF && b.type != CUDNN_DATA_BFLOAT16)
            return false;
    }
    return masks_last_block(op, n);
}
