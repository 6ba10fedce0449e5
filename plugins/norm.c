/* Norms: batch_norm, layer_norm, rms_norm, group_norm and instance_norm, as torch.nn has them. */
#include "norm.h"

enum { AFFINE, TRACK = 1, DIMS = 1, GROUPS = 1, BIAS };

#define AFFINE_PARAM(by_default, what)                                                    \
    {                                                                                     \
        .name = "affine", .kind = LM_BOOL, .fallback = (by_default), .doc = "learn " what \
    }
#define TRACK_PARAM(by_default)                                                   \
    {                                                                             \
        .name = "track_running_stats", .kind = LM_BOOL, .fallback = (by_default), \
        .doc = "keep running means and variances, which have no gradient"         \
    }
#define DIMS_PARAM                                                                         \
    {                                                                                      \
        .name = "dims", .kind = LM_INT, .min = 1, .max = LM_MAX_RANK - 1, .fallback = "1", \
        .doc = "how many of the last dimensions are normalised together"                   \
    }

static const lm_param batch_params[] = {
    [AFFINE] = AFFINE_PARAM("yes", "a scale and a shift per channel"),
    [TRACK]  = TRACK_PARAM("yes"),
};
static const lm_param layer_params[] = {
    [AFFINE] = AFFINE_PARAM("yes", "a scale and a shift per place in the normalised dimensions"),
    [DIMS]   = DIMS_PARAM,
    [BIAS]   = { .name     = "bias",
                 .kind     = LM_BOOL,
                 .fallback = "yes",
                 .doc      = "no: learn the scale, but no shift" },
};
static const lm_param rms_params[] = {
    [AFFINE] = AFFINE_PARAM("yes", "a scale per place in the normalised dimensions"),
    [DIMS]   = DIMS_PARAM,
};
static const lm_param group_params[] = {
    [AFFINE] = AFFINE_PARAM("yes", "a scale and a shift per channel"),
    [GROUPS] = { .name = "groups",
                 .kind = LM_INT,
                 .min  = 1,
                 .max  = 1e9,
                 .doc  = "parts the channels are cut into; divides their number" },
};
static const lm_param instance_params[] = {
    [AFFINE] = AFFINE_PARAM("no", "a scale and a shift per channel"),
    [TRACK]  = TRACK_PARAM("no"),
};

typedef enum norm_kind { BATCH, LAYER, RMS, GROUP, INSTANCE } norm_kind;

typedef struct norm_type {
    lm_layer_type type; /* first: a layer's `type` points here */
    norm_kind     kind;
} norm_type;

static norm_kind kind_of(const lm_layer *layer)
{
    return ((const norm_type *)(const void *)layer->type)->kind;
}

static int tracks(const lm_layer *layer)
{
    return (kind_of(layer) == BATCH || kind_of(layer) == INSTANCE) && lm_int(layer, TRACK);
}

static int shifts(const lm_layer *layer)
{
    return kind_of(layer) != RMS && (kind_of(layer) != LAYER || lm_int(layer, BIAS));
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in     = &layer->input[0];
    lm_status        status = LM_OK;

    switch (kind_of(layer)) {
    case BATCH: status = input_rank(layer, 2, 5, "batch, channels, ..."); break;
    case INSTANCE: status = input_rank(layer, 3, 5, "batch, channels, ..."); break;
    case GROUP:
        status = input_rank(layer, 2, LM_MAX_RANK, "batch, channels, ...");
        if (!status && in->dim[1] % lm_int(layer, GROUPS))
            return lm_fail(layer, LM_E_SHAPE, "%lld channels do not divide into %lld groups",
                           (long long)in->dim[1], (long long)lm_int(layer, GROUPS));
        break;
    case LAYER:
    case RMS:
        status = input_rank(layer, 2, LM_MAX_RANK, "batch, ...");
        if (!status && lm_int(layer, DIMS) >= (int64_t)in->rank)
            return lm_fail(layer, LM_E_SHAPE,
                           "%lld dimensions to normalise leave no batch in an input of rank %u",
                           (long long)lm_int(layer, DIMS), (unsigned)in->rank);
        break;
    }
    if (!status)
        output[0] = *in;
    return status;
}

/* Geometry of a kernel: the elements that share statistics. */
static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    const lm_tensor *in   = &layer->input[0];
    lm_kernel        k    = { .op = LM_OP_NORM, .pass = pass, .dtype = in->dtype };
    const uint64_t   all  = lm_elements(in);
    uint64_t         rows = 1;

    switch (kind_of(layer)) {
    case BATCH: rows = (uint64_t)in->dim[1]; break;
    case INSTANCE: rows = tensor_span(in, 0, 2); break;
    case GROUP: rows = (uint64_t)(in->dim[0] * lm_int(layer, GROUPS)); break;
    case LAYER:
    case RMS: rows = tensor_span(in, 0, in->rank - (uint32_t)lm_int(layer, DIMS)); break;
    }
    k.u.norm.rows  = (int64_t)rows;
    k.u.norm.group = (int64_t)(all / rows);
    k.u.norm.inner =
        kind_of(layer) == BATCH ? (int64_t)tensor_span(in, 2, in->rank) : k.u.norm.group;
    k.u.norm.rms      = kind_of(layer) == RMS;
    k.u.norm.channels = kind_of(layer) == BATCH && k.u.norm.inner == k.u.norm.group;
    return k;
}

/* A single backward launch yields all gradients, under LM_GRAD_INPUT. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass != LM_GRAD_WEIGHT)
        emit(sink, kernel_of(layer, pass));
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel k          = kernel_of(layer, LM_FORWARD);
    const uint64_t  element    = lm_dtype_bytes(k.dtype);
    const uint64_t  statistics = k.u.norm.rms ? 1 : 2; /* inverse deviation, and the mean */
    uint64_t        repeated   = 0;

    if (kind_of(layer) == INSTANCE) /* PyTorch copies these for each sample */
        repeated = (uint64_t)lm_int(layer, AFFINE) + 2 * (uint64_t)lm_int(layer, TRACK);
    cost->keeps = LM_KEEPS_INPUT;
    /* in single precision or better */
    cost->saved_bytes = lm_mul((uint64_t)k.u.norm.rows,
                               statistics * (element > 4 ? element : 4) + repeated * element);
    return cost_of_kernels(layer, cost);
}

/* Shape of scale and shift: one number per channel, or per place in the last dimensions. */
static lm_tensor scale_of(const lm_layer *layer)
{
    const lm_tensor *in    = &layer->input[0];
    lm_tensor        scale = { .dtype = in->dtype };

    if (kind_of(layer) == LAYER || kind_of(layer) == RMS) {
        scale.rank = (uint32_t)lm_int(layer, DIMS);
        for (uint32_t i = 0; i < scale.rank; i++)
            scale.dim[i] = in->dim[in->rank - scale.rank + i];
    } else {
        scale.rank   = 1;
        scale.dim[0] = in->dim[1];
    }
    return scale;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const lm_tensor scale = scale_of(layer);

    if (lm_int(layer, AFFINE)) {
        emit_weight(sink, (lm_weight){ .role = "weight", .tensor = scale });
        if (shifts(layer))
            emit_weight(sink, (lm_weight){ .role = "bias", .tensor = scale });
    }
    if (tracks(layer)) {
        emit_weight(sink,
                    (lm_weight){ .role = "running_mean", .tensor = scale, .flags = LM_FROZEN });
        emit_weight(sink,
                    (lm_weight){ .role = "running_var", .tensor = scale, .flags = LM_FROZEN });
    }
    return LM_OK;
}

#define NORM(type_name, type_doc)                                                       \
    .size = sizeof(lm_layer_type), .name = type_name, .doc = type_doc, .min_inputs = 1, \
    .max_inputs = 1, .n_outputs = 1, .infer = infer, .cost = cost, .weights = weights,  \
    .lower = lower

static const norm_type batch_norm = {
    .type = { NORM("batch_norm",
                   "normalises each channel over batch and space, then scales and shifts it"),
              LM_PARAMS(batch_params) },
    .kind = BATCH,
};
static const norm_type layer_norm = {
    .type = { NORM("layer_norm", "normalises the last dimensions, then scales and shifts them"),
              LM_PARAMS(layer_params) },
    .kind = LAYER,
};
static const norm_type rms_norm = {
    .type = { NORM("rms_norm",
                   "divides the last dimensions by their root mean square, then scales them"),
              LM_PARAMS(rms_params) },
    .kind = RMS,
};
static const norm_type group_norm = {
    .type = { NORM("group_norm", "normalises groups of channels of each sample"),
              LM_PARAMS(group_params) },
    .kind = GROUP,
};
static const norm_type instance_norm = {
    .type = { NORM("instance_norm", "normalises each channel of each sample"),
              LM_PARAMS(instance_params) },
    .kind = INSTANCE,
};

static const lm_layer_type *const types[] = {
    &batch_norm.type, &layer_norm.type,    &rms_norm.type,
    &group_norm.type, &instance_norm.type, &norm_local_response,
};

LM_PLUGIN = {
    .name    = "layermeter-norm",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
