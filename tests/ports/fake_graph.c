/*
 * cuDNN's graph API of a device that is not there: descriptors.
 *
 * Written from NVIDIA's documentation of the backend API: which attributes each descriptor has, of
 * which type and how many, which it cannot do without, what may be set when, and what a graph has
 * to fulfil. Engines are made up, so that every rule of choice finds something to choose.
 */
#include "fake_graph.h"

#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* ---- what descriptors have ------------------------------------------------------------------- */

typedef struct rule {
    cudnnBackendDescriptorType_t of;
    cudnnBackendAttributeName_t  name;
    cudnnBackendAttributeType_t  type;
    int                          least, most; /* elements; least 0: may be left out */
} rule;

#define TENSOR(name) CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_##name
#define CONV(name)   CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_##name
#define CONV_FORWARD(name)                                  \
    CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, \
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_##name
#define CONV_DATA(name)                                           \
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, \
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_##name
#define CONV_FILTER(name)                                           \
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, \
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_##name
#define POINTWISE(name) CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_##name
#define OP_POINTWISE(name) \
    CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_##name
#define OP_MATMUL(name) \
    CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_##name
#define OP_REDUCTION(name) \
    CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_##name
#define OP_RESHAPE(name) \
    CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESHAPE_##name
#define OP_RNG(name) CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, CUDNN_ATTR_OPERATION_RNG_##name
#define NORM_FWD(name) \
    CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_NORM_FWD_##name
#define NORM_BWD(name) \
    CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_NORM_BWD_##name
#define HEURISTIC(name) CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_##name
#define GRAPH(name)     CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_##name
#define PLAN(name)      CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_##name
#define PACK(name)      CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_##name

#define NODE CUDNN_TYPE_BACKEND_DESCRIPTOR

static const rule rules[] = {
    { TENSOR(DATA_TYPE), CUDNN_TYPE_DATA_TYPE, 1, 1 },
    { TENSOR(DIMENSIONS), CUDNN_TYPE_INT64, 1, FAKE_RANK },
    { TENSOR(STRIDES), CUDNN_TYPE_INT64, 1, FAKE_RANK },
    { TENSOR(UNIQUE_ID), CUDNN_TYPE_INT64, 1, 1 },
    { TENSOR(BYTE_ALIGNMENT), CUDNN_TYPE_INT64, 1, 1 },
    { TENSOR(IS_VIRTUAL), CUDNN_TYPE_BOOLEAN, 0, 1 },
    { TENSOR(IS_BY_VALUE), CUDNN_TYPE_BOOLEAN, 0, 1 },
    { CONV(COMP_TYPE), CUDNN_TYPE_DATA_TYPE, 1, 1 },
    { CONV(CONV_MODE), CUDNN_TYPE_CONVOLUTION_MODE, 1, 1 },
    { CONV(DILATIONS), CUDNN_TYPE_INT64, 1, 3 },
    { CONV(FILTER_STRIDES), CUDNN_TYPE_INT64, 1, 3 },
    { CONV(PRE_PADDINGS), CUDNN_TYPE_INT64, 1, 3 },
    { CONV(POST_PADDINGS), CUDNN_TYPE_INT64, 1, 3 },
    { CONV(SPATIAL_DIMS), CUDNN_TYPE_INT64, 1, 1 },
    { CONV_FORWARD(ALPHA), CUDNN_TYPE_FLOAT, 1, 1 },
    { CONV_FORWARD(BETA), CUDNN_TYPE_FLOAT, 1, 1 },
    { CONV_FORWARD(CONV_DESC), NODE, 1, 1 },
    { CONV_FORWARD(X), NODE, 1, 1 },
    { CONV_FORWARD(W), NODE, 1, 1 },
    { CONV_FORWARD(Y), NODE, 1, 1 },
    { CONV_DATA(ALPHA), CUDNN_TYPE_FLOAT, 1, 1 },
    { CONV_DATA(BETA), CUDNN_TYPE_FLOAT, 1, 1 },
    { CONV_DATA(CONV_DESC), NODE, 1, 1 },
    { CONV_DATA(DX), NODE, 1, 1 },
    { CONV_DATA(W), NODE, 1, 1 },
    { CONV_DATA(DY), NODE, 1, 1 },
    { CONV_FILTER(ALPHA), CUDNN_TYPE_FLOAT, 1, 1 },
    { CONV_FILTER(BETA), CUDNN_TYPE_FLOAT, 1, 1 },
    { CONV_FILTER(CONV_DESC), NODE, 1, 1 },
    { CONV_FILTER(X), NODE, 1, 1 },
    { CONV_FILTER(DW), NODE, 1, 1 },
    { CONV_FILTER(DY), NODE, 1, 1 },
    { POINTWISE(MODE), CUDNN_TYPE_POINTWISE_MODE, 1, 1 },
    { POINTWISE(MATH_PREC), CUDNN_TYPE_DATA_TYPE, 1, 1 },
    { POINTWISE(AXIS), CUDNN_TYPE_INT64, 0, 1 },
    { OP_POINTWISE(PW_DESCRIPTOR), NODE, 1, 1 },
    { OP_POINTWISE(XDESC), NODE, 1, 1 },
    { OP_POINTWISE(BDESC), NODE, 0, 1 },
    { OP_POINTWISE(TDESC), NODE, 0, 1 },
    { OP_POINTWISE(YDESC), NODE, 1, 1 },
    { CUDNN_BACKEND_MATMUL_DESCRIPTOR, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1 },
    { OP_MATMUL(ADESC), NODE, 1, 1 },
    { OP_MATMUL(BDESC), NODE, 1, 1 },
    { OP_MATMUL(CDESC), NODE, 1, 1 },
    { OP_MATMUL(DESC), NODE, 1, 1 },
    { OP_MATMUL(GEMM_M_OVERRIDE_DESC), NODE, 0, 1 },
    { OP_MATMUL(GEMM_N_OVERRIDE_DESC), NODE, 0, 1 },
    { OP_MATMUL(GEMM_K_OVERRIDE_DESC), NODE, 0, 1 },
    { CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_OPERATOR,
      CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, 1 },
    { CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
      1 },
    { OP_REDUCTION(XDESC), NODE, 1, 1 },
    { OP_REDUCTION(YDESC), NODE, 1, 1 },
    { OP_REDUCTION(DESC), NODE, 1, 1 },
    { OP_RESHAPE(XDESC), NODE, 1, 1 },
    { OP_RESHAPE(YDESC), NODE, 1, 1 },
    { CUDNN_BACKEND_RNG_DESCRIPTOR, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1,
      1 },
    { CUDNN_BACKEND_RNG_DESCRIPTOR, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, 1,
      1 },
    { OP_RNG(YDESC), NODE, 1, 1 },
    { OP_RNG(SEED), NODE, 1, 1 },
    { OP_RNG(OFFSET_DESC), NODE, 1, 1 },
    { OP_RNG(DESC), NODE, 1, 1 },
    { NORM_FWD(MODE), CUDNN_TYPE_NORM_MODE, 1, 1 },
    { NORM_FWD(PHASE), CUDNN_TYPE_NORM_FWD_PHASE, 1, 1 },
    { NORM_FWD(XDESC), NODE, 1, 1 },
    { NORM_FWD(MEAN_DESC), NODE, 0, 1 },
    { NORM_FWD(INV_VARIANCE_DESC), NODE, 0, 1 },
    { NORM_FWD(SCALE_DESC), NODE, 1, 1 },
    { NORM_FWD(BIAS_DESC), NODE, 0, 1 },
    { NORM_FWD(EPSILON_DESC), NODE, 1, 1 },
    { NORM_FWD(YDESC), NODE, 1, 1 },
    { NORM_BWD(MODE), CUDNN_TYPE_NORM_MODE, 1, 1 },
    { NORM_BWD(XDESC), NODE, 1, 1 },
    { NORM_BWD(MEAN_DESC), NODE, 0, 1 },
    { NORM_BWD(INV_VARIANCE_DESC), NODE, 1, 1 },
    { NORM_BWD(DYDESC), NODE, 1, 1 },
    { NORM_BWD(SCALE_DESC), NODE, 1, 1 },
    { NORM_BWD(DSCALE_DESC), NODE, 1, 1 },
    { NORM_BWD(DBIAS_DESC), NODE, 0, 1 },
    { NORM_BWD(DXDESC), NODE, 1, 1 },
    { GRAPH(OPS), NODE, 1, 64 },
    { GRAPH(HANDLE), CUDNN_TYPE_HANDLE, 1, 1 },
    { HEURISTIC(OPERATION_GRAPH), NODE, 1, 1 },
    { HEURISTIC(MODE), CUDNN_TYPE_HEUR_MODE, 1, 1 },
    { PLAN(HANDLE), CUDNN_TYPE_HANDLE, 1, 1 },
    { PLAN(ENGINE_CONFIG), NODE, 1, 1 },
    { PACK(UNIQUE_IDS), CUDNN_TYPE_INT64, 1, FAKE_MAX_BOUND },
    { PACK(DATA_POINTERS), CUDNN_TYPE_VOID_PTR, 1, FAKE_MAX_BOUND },
    { PACK(WORKSPACE), CUDNN_TYPE_VOID_PTR, 0, 1 },
};

enum { N_RULES = sizeof rules / sizeof rules[0] };

static size_t size_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_INT64: return sizeof(int64_t);
    case CUDNN_TYPE_DOUBLE: return sizeof(double);
    case CUDNN_TYPE_FLOAT: return sizeof(float);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    default: return sizeof(int); /* enumerations */
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const fake_value *find(const fake_descriptor *d, cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; d && i < d->n_values; i++)
        if (d->value[i].name == name)
            return &d->value[i];
    return NULL;
}

const void *fake_attribute(const fake_descriptor *d, cudnnBackendAttributeName_t name, int64_t *n)
{
    const fake_value *v = find(d, name);

    *n = v ? v->n : 0;
    return v ? v->bytes : NULL;
}

const fake_descriptor *fake_reference(const fake_descriptor *d, cudnnBackendAttributeName_t name)
{
    const fake_value *v = find(d, name);

    return v ? *(fake_descriptor *const *)v->bytes : NULL;
}

int64_t fake_integer(const fake_descriptor *d, cudnnBackendAttributeName_t name, int64_t otherwise)
{
    const fake_value *v = find(d, name);

    return v ? *(const int64_t *)v->bytes : otherwise;
}

int fake_enum(const fake_descriptor *d, cudnnBackendAttributeName_t name)
{
    const fake_value *v = find(d, name);

    return v ? *(const int *)v->bytes : -1;
}

bool fake_is(const fake_descriptor *tensor, cudnnBackendAttributeName_t flag)
{
    const fake_value *v = find(tensor, flag);

    return v && *(const bool *)v->bytes;
}

int64_t fake_uid(const fake_descriptor *tensor)
{
    return fake_integer(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
}

fake_tensor fake_shape(const fake_descriptor *tensor)
{
    fake_tensor    t = { .type = (cudnnDataType_t)fake_enum(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE) };
    int64_t        n;
    const int64_t *dim    = fake_attribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, &n);
    const int64_t *stride = fake_attribute(tensor, CUDNN_ATTR_TENSOR_STRIDES, &n);

    t.rank = (int)n;
    for (int i = 0; i < t.rank; i++) {
        t.dim[i]    = dim[i];
        t.stride[i] = stride[i];
    }
    return t;
}

/* ---- made, set, destroyed -------------------------------------------------------------------- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t    *out)
{
    fake_descriptor *d = calloc(1, sizeof *d);

    if (!d)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    d->type = type;
    *out    = d;
    fake_descriptors++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t it)
{
    fake_descriptor *d = it;

    if (!d)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nothing to destroy");
    for (size_t i = 0; i < d->n_values; i++)
        free(d->value[i].bytes);
    free(d);
    fake_descriptors--;
    return CUDNN_STATUS_SUCCESS;
}

static const rule *rule_of(const fake_descriptor *d, cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; i < N_RULES; i++)
        if (rules[i].of == d->type && rules[i].name == name)
            return &rules[i];
    return NULL;
}

static bool all_final(int64_t n, const void *values)
{
    fake_descriptor *const *d = values;

    for (int64_t i = 0; i < n; i++)
        if (!d[i] || !d[i]->final)
            return false;
    return true;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t    it,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values)
{
    fake_descriptor *d = it;
    const rule      *r;
    void            *bytes;

    if (!d || !values)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null pointer");
    if (d->final)
        return fake_refuse(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is finalised");
    r = rule_of(d, name);
    if (!r)
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "the descriptor has no such attribute");
    if (r->type != type)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
    if (n < 1 || n > r->most)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND,
                           "so many elements it does not have");
    if (type == NODE && !all_final(n, values))
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "not finalised");
    if (find(d, name))
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "set before");
    bytes = malloc((size_t)n * size_of(type));
    if (!bytes)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memcpy(bytes, values, (size_t)n * size_of(type));
    d->value[d->n_values++] = (fake_value){ name, type, n, bytes };
    return CUDNN_STATUS_SUCCESS;
}

/* ---- finalised ------------------------------------------------------------------------------- */

static const char *check_tensor(const fake_descriptor *d)
{
    int64_t     dims, strides;
    fake_tensor t;

    fake_attribute(d, CUDNN_ATTR_TENSOR_DIMENSIONS, &dims);
    fake_attribute(d, CUDNN_ATTR_TENSOR_STRIDES, &strides);
    if (dims != strides)
        return "a tensor with more or less strides than sizes";
    t = fake_shape(d);
    for (int i = 0; i < t.rank; i++)
        if (t.dim[i] < 1 || t.stride[i] < 1)
            return "a tensor's sizes and strides are positive";
    if (fake_is(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL) && fake_is(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
        return "a tensor both virtual and a number";
    return NULL;
}

static bool same_tensor(const fake_descriptor *a, const fake_descriptor *b)
{
    const fake_tensor s = fake_shape(a), t = fake_shape(b);

    return fake_same_shape(&s, &t) && s.type == t.type &&
           !memcmp(s.stride, t.stride, sizeof s.stride) &&
           fake_is(a, CUDNN_ATTR_TENSOR_IS_VIRTUAL) == fake_is(b, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}

static int producers(fake_descriptor *const *op, int64_t n, int64_t uid)
{
    int found = 0;

    for (int64_t i = 0; i < n; i++) {
        const fake_ports p = fake_ports_of(op[i]);

        for (size_t j = 0; j < p.n_out; j++)
            found += fake_uid(p.out[j]) == uid;
    }
    return found;
}

/* Every tensor is what its number says everywhere; what is virtual is made exactly
 * once; nothing is made twice. */
static const char *check_port(fake_descriptor *const *op, int64_t n, const fake_descriptor *t,
                              bool is_output)
{
    const int made = producers(op, n, fake_uid(t));

    for (int64_t i = 0; i < n; i++) {
        const fake_ports p = fake_ports_of(op[i]);

        for (size_t j = 0; j < p.n_in + p.n_out; j++) {
            const fake_descriptor *other = j < p.n_in ? p.in[j] : p.out[j - p.n_in];

            if (fake_uid(other) == fake_uid(t) && !same_tensor(other, t))
                return "two tensors of one number";
        }
    }
    if (fake_is(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL) && made != 1)
        return "a virtual tensor that is not made once";
    return is_output && made > 1 ? "a tensor that is made twice" : NULL;
}

static const char *check_graph(const fake_descriptor *d)
{
    int64_t                 n;
    fake_descriptor *const *op = fake_attribute(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, &n);

    for (int64_t i = 0; i < n; i++) {
        const fake_ports p     = fake_ports_of(op[i]);
        const char      *wrong = NULL;

        if (p.n_out == 0)
            return "a graph of something that is no operation";
        for (size_t j = 0; j < p.n_in && !wrong; j++)
            wrong = check_port(op, n, p.in[j], false);
        for (size_t j = 0; j < p.n_out && !wrong; j++)
            wrong = check_port(op, n, p.out[j], true);
        if (wrong)
            return wrong;
    }
    return NULL;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t it)
{
    fake_descriptor *d     = it;
    const char      *wrong = NULL;

    if (!d)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null pointer");
    for (size_t i = 0; i < N_RULES; i++)
        if (rules[i].of == d->type && rules[i].least && !find(d, rules[i].name))
            return fake_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute is missing");
    switch (d->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: wrong = check_tensor(d); break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: wrong = check_graph(d); break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        fake_plans++;
        d->graph  = fake_reference(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->graph;
        d->engine = fake_reference(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->engine;
        break;
    default: wrong = fake_check_operation(d);
    }
    if (wrong)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, wrong);
    d->final = true;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- engines --------------------------------------------------------------------------------- */

/* Made up. The last is proposed by the fallback heuristic alone. */
static const struct engine {
    int64_t                     workspace;
    int                         n_notes;
    cudnnBackendNumericalNote_t note[2];
} engines[] = {
    { 4096, 1, { CUDNN_NUMERICAL_NOTE_TENSOR_CORE } },
    { 0, 2, { CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS } },
    { 65536, 1, { CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC } },
    { 0, 0, { CUDNN_NUMERICAL_NOTE_TENSOR_CORE } },
};

enum { N_ENGINES = sizeof engines / sizeof engines[0] };

static int64_t propose(const fake_descriptor *heuristic, int64_t room, void *values)
{
    fake_descriptor *const *out  = values;
    const fake_descriptor *graph = fake_reference(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const bool             fallback =
        fake_enum(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE) == (int)CUDNN_HEUR_MODE_FALLBACK;
    const int first = fallback ? N_ENGINES - 1 : 0, end = fallback ? N_ENGINES : N_ENGINES - 1;

    if (!fake_supports(graph))
        return 0;
    for (int i = first; i < end && i - first < room; i++) {
        out[i - first]->graph  = graph;
        out[i - first]->engine = i;
        out[i - first]->final  = true;
    }
    return end - first;
}

/* Which of these a descriptor has, the documentation says under each. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t    it,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t *n,
                                       void *values)
{
    const fake_descriptor *d   = it;
    fake_descriptor       *out = NULL;

    if (!d || !d->final)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "not finalised");
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == NODE) {
        *n = propose(d, room, values);
        if (room && *n > room)
            *n = room;
    } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == NODE && room >= 1) {
        memcpy(&out, values, sizeof(void *));
        out->graph  = d->graph;
        out->engine = d->engine;
        out->final  = true;
        *n          = 1;
    } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CUDNN_TYPE_INT64 && room >= 1) {
        *(int64_t *)values = d->engine;
        *n                 = 1;
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE &&
               room >= 2) {
        *n = engines[d->engine].n_notes;
        memcpy(values, engines[d->engine].note, sizeof engines[d->engine].note);
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 &&
               room >= 1) {
        *(int64_t *)values = engines[d->engine].workspace;
        *n                 = 1;
    } else {
        return fake_refuse(CUDNN_STATUS_NOT_SUPPORTED, "the descriptor has no such attribute");
    }
    return CUDNN_STATUS_SUCCESS;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Seen on an H100 with cuDNN 9.14: engines of norms refuse tensors aligned to 64 bytes that declare
 * 16. */
enum { NORM_ALIGNMENT = 128 };
static const char misaligned[] = "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";

static const char *bind(const fake_descriptor *tensor, const fake_descriptor *pack, bool of_norm,
                        fake_run *run)
{
    const fake_tensor t = fake_shape(tensor);
    int64_t           n, m;
    const int64_t    *uid = fake_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &n);
    void *const      *at  = fake_attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, &m);
    fake_bound        b   = { .uid = fake_uid(tensor) };

    if (n != m)
        return "as many pointers as numbers";
    for (int64_t i = 0; i < n; i++)
        if (uid[i] == b.uid)
            b.at = at[i];
    if (!b.at)
        return "a tensor without a pointer";
    if (fake_is(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
        memcpy(b.number, b.at, fake_element_bytes(t.type));
        b.at = NULL;
    } else if (!fake_is_device_memory(b.at, fake_tensor_bytes(&t))) {
        return "a tensor that does not lie in device memory";
    } else if ((uintptr_t)b.at %
               (uintptr_t)fake_integer(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1)) {
        return "a tensor less aligned than it says";
    } else if (of_norm && (uintptr_t)b.at % NORM_ALIGNMENT) {
        return misaligned;
    }
    if (run->n_bound == FAKE_MAX_BOUND)
        return "too many tensors";
    run->bound[run->n_bound++] = b;
    return NULL;
}

static bool is_bound(const fake_run *run, int64_t uid)
{
    for (size_t i = 0; i < run->n_bound; i++)
        if (run->bound[i].uid == uid)
            return true;
    return false;
}

static const char *bind_all(const fake_descriptor *pack, fake_run *run)
{
    int64_t                 n;
    fake_descriptor *const *op = fake_attribute(run->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, &n);

    for (int64_t i = 0; i < n; i++) {
        const fake_ports p       = fake_ports_of(op[i]);
        const bool       of_norm = op[i]->type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR ||
                             op[i]->type == CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR;

        for (size_t j = 0; j < p.n_in + p.n_out; j++) {
            const fake_descriptor *t     = j < p.n_in ? p.in[j] : p.out[j - p.n_in];
            const char            *wrong = NULL;

            if (!fake_is(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL) && !is_bound(run, fake_uid(t)))
                wrong = bind(t, pack, of_norm, run);
            if (wrong)
                return wrong;
        }
    }
    return NULL;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant)
{
    const fake_descriptor *p = plan, *v = variant;
    fake_run               run = { 0 };
    int64_t                n;
    void *const           *workspace;
    const char            *wrong;

    if (!handle || !p || !v || !p->final || !v->final)
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "not finalised");
    run.graph           = p->graph;
    run.workspace_bytes = (size_t)engines[p->engine].workspace;
    workspace           = fake_attribute(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &n);
    run.workspace       = workspace ? *workspace : NULL;
    if (run.workspace_bytes && !fake_is_device_memory(run.workspace, run.workspace_bytes))
        return fake_refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no workspace");
    wrong = bind_all(v, &run);
    if (wrong)
        return fake_refuse(wrong == misaligned ? CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER
                                               : CUDNN_STATUS_BAD_PARAM,
                           wrong);
    return fake_library_enqueue(fake_stream(handle), fake_graph_run, &run, sizeof run) ==
                   cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED;
}
