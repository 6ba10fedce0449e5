/* deformable: a convolution whose taps lie where another layer says, between pixels (Zhu et al. 2018,
 * "Deformable ConvNets v2", arXiv:1811.11168): as torchvision's deform_conv2d.
 *
 * Shows a kernel of its own kind, which samples the image into columns and is priced by its FLOPs and
 * bytes, before a product that the program knows. */
#include <stdbool.h>

#include <layermeter/plugin.h>

enum { FILTERS, KERNEL, STRIDE, PADDING, BIAS };

#define WHOLE(least) .kind = LM_INT, .min = least, .max = 1e6

static const lm_param params[] = {
    [FILTERS] = { .name = "filters", WHOLE(1), .doc = "output channels" },
    [KERNEL]  = { .name = "kernel", WHOLE(1), .fallback = "3", .doc = "taps along each side" },
    [STRIDE]  = { .name = "stride", WHOLE(1), .fallback = "1", .doc = "step of the window" },
    [PADDING] = { .name = "padding", WHOLE(0), .fallback = "0", .doc = "zeros around the image" },
    [BIAS]    = { .name = "bias", .kind = LM_BOOL, .fallback = "yes", .doc = "add a number" },
};

/* FLOPs. Of each tap: its place 2, four distances 2, four weights of pixels 4. Of each element of a
 * column: four products and three sums, and the mask. Backward the same again for the mask's
 * gradient; the image's 4 products and 4 sums; the places' gradients 2 x 7 and 2 to add them up. */
enum { TAP = 8, SAMPLE = 8, BACK_SAMPLE = 2 * SAMPLE + 8 + 16 };

typedef struct sizes {
    lm_dtype dtype;
    uint64_t images, channels, pixels, taps, places, filters;
} sizes;

static sizes sizes_of(const lm_layer *layer)
{
    const lm_tensor *x = &layer->input[0], *offset = &layer->input[1];
    const uint64_t   k = (uint64_t)lm_int(layer, KERNEL);

    return (sizes){ x->dtype,
                    (uint64_t)x->dim[0],
                    (uint64_t)x->dim[1],
                    lm_mul((uint64_t)x->dim[2], (uint64_t)x->dim[3]),
                    k * k,
                    lm_mul((uint64_t)offset->dim[2], (uint64_t)offset->dim[3]),
                    (uint64_t)lm_int(layer, FILTERS) };
}

static int64_t length(const lm_layer *layer, int64_t in)
{
    return (in + 2 * lm_int(layer, PADDING) - lm_int(layer, KERNEL)) / lm_int(layer, STRIDE) + 1;
}

/* Inputs: the image; of each tap and place, row and column beside the regular ones; its mask. */
static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *x    = &layer->input[0];
    const int64_t    taps = lm_int(layer, KERNEL) * lm_int(layer, KERNEL);

    if (x->rank != 4 || x->dtype != layer->dtype)
        return lm_fail(layer, LM_E_SHAPE, "expects an image: batch, channels, rows, columns");
    output[0]        = *x;
    output[0].dim[1] = lm_int(layer, FILTERS);
    for (uint32_t d = 2; d < 4; d++) {
        if (x->dim[d] > (int64_t)1 << 40 ||
            x->dim[d] + 2 * lm_int(layer, PADDING) < lm_int(layer, KERNEL))
            return lm_fail(layer, LM_E_SHAPE, "%lld pixels are too few for the window, or too many",
                           (long long)x->dim[d]);
        output[0].dim[d] = length(layer, x->dim[d]);
    }
    for (uint32_t i = 1; i < 3; i++) {
        const lm_tensor *in = &layer->input[i];

        if (in->rank != 4 || in->dtype != x->dtype || in->dim[0] != x->dim[0] ||
            in->dim[1] != (3 - i) * taps || in->dim[2] != output[0].dim[2] ||
            in->dim[3] != output[0].dim[3])
            return lm_fail(layer, LM_E_SHAPE, "input %u: expected %lld x %lld x %lld of each image",
                           i, (long long)((3 - i) * taps), (long long)output[0].dim[2],
                           (long long)output[0].dim[3]);
    }
    return LM_OK;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    const sizes     s = sizes_of(layer);
    const int64_t   k = lm_int(layer, KERNEL);
    const lm_weight w = { .size   = sizeof w,
                          .role   = "weight",
                          .tensor = { .dtype = s.dtype,
                                      .rank  = 4,
                                      .dim = { (int64_t)s.filters, (int64_t)s.channels, k, k } } };
    const lm_weight b = { .size   = sizeof b,
                          .role   = "bias",
                          .tensor = {
                              .dtype = s.dtype, .rank = 1, .dim = { (int64_t)s.filters } } };

    sink->weight(sink, &w);
    if (lm_int(layer, BIAS))
        sink->weight(sink, &b);
    return LM_OK;
}

static uint64_t product(uint64_t a, uint64_t b, uint64_t c)
{
    return lm_mul(lm_mul(a, b), c);
}

/* The image into columns, or, backward, the columns' gradient into those of all three inputs. */
static lm_work sampling(const sizes *s, lm_pass pass)
{
    const uint64_t tap     = product(s->images, s->taps, s->places),
                   image   = lm_mul(s->images, s->pixels);
    const uint64_t columns = lm_mul(tap, s->channels);
    const uint64_t in      = lm_add(lm_mul(image, s->channels), lm_mul(3, tap));
    const bool     back    = pass == LM_GRAD_INPUT;
    const uint64_t bytes   = lm_dtype_bytes(s->dtype);

    return (lm_work){
        .flops         = lm_add(lm_mul(TAP, tap), lm_mul(back ? BACK_SAMPLE : SAMPLE, columns)),
        .read_bytes    = lm_mul(bytes, back ? lm_add(in, columns) : in),
        .written_bytes = lm_mul(bytes, back ? in : columns),
    };
}

static int64_t whole(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* filters x (channels x taps) times its columns, and the other two products of it. */
static lm_kernel gemm(const lm_layer *layer, const sizes *s, lm_pass pass)
{
    const int64_t f = (int64_t)s->filters, depth = whole(lm_mul(s->channels, s->taps));
    const int64_t rows = whole(lm_mul(s->images, s->places));

    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_GEMM,
                        .pass   = pass,
                        .dtype  = s->dtype,
                        .repeat = 1,
                        .u.gemm = { .batch = 1,
                                    .m     = pass == LM_GRAD_WEIGHT ? f : rows,
                                    .n     = pass == LM_FORWARD ? f : depth,
                                    .k     = pass == LM_FORWARD      ? depth
                                             : pass == LM_GRAD_INPUT ? f
                                                                     : rows,
                                    .bias  = pass == LM_FORWARD && lm_int(layer, BIAS) } };
}

/* dL/db = the sum of the gradients of a filter's outputs. */
static lm_kernel bias_gradient(const sizes *s)
{
    return (lm_kernel){ .size     = sizeof(lm_kernel),
                        .op       = LM_OP_REDUCE,
                        .pass     = LM_GRAD_WEIGHT,
                        .dtype    = s->dtype,
                        .repeat   = 1,
                        .u.reduce = { (int64_t)s->filters, whole(lm_mul(s->images, s->places)),
                                      (int64_t)s->filters } };
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const sizes     s        = sizes_of(layer);
    const lm_kernel multiply = gemm(layer, &s, pass);
    const lm_kernel sample   = { .size     = sizeof sample,
                                 .op       = LM_OP_OPAQUE,
                                 .pass     = pass,
                                 .dtype    = s.dtype,
                                 .repeat   = 1,
                                 .u.opaque = sampling(&s, pass) };

    sink->kernel(sink, &sample); /* for the weights' gradient the columns are made again */
    sink->kernel(sink, &multiply);
    if (pass == LM_GRAD_WEIGHT && lm_int(layer, BIAS)) {
        const lm_kernel sum = bias_gradient(&s);

        sink->kernel(sink, &sum);
    }
    return LM_OK;
}

static lm_work add(lm_work a, lm_work b)
{
    return (lm_work){ lm_add(a.flops, b.flops), lm_add(a.read_bytes, b.read_bytes),
                      lm_add(a.written_bytes, b.written_bytes) };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const sizes s = sizes_of(layer);

    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        const lm_kernel multiply = gemm(layer, &s, pass);

        cost->pass[pass] = add(sampling(&s, pass), lm_kernel_work(&multiply));
    }
    if (lm_int(layer, BIAS)) {
        const lm_kernel sum = bias_gradient(&s);

        cost->pass[LM_GRAD_WEIGHT] = add(cost->pass[LM_GRAD_WEIGHT], lm_kernel_work(&sum));
    }
    cost->keeps           = LM_KEEPS_INPUT;
    cost->workspace_bytes = sampling(&s, LM_FORWARD).written_bytes;
    return LM_OK;
}

static const lm_layer_type deformable = {
    .size = sizeof(lm_layer_type),
    .name = "deformable",
    .doc  = "convolution whose taps lie where its second input says",
    LM_PARAMS(params),
    .min_inputs = 3,
    .max_inputs = 3,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .weights    = weights,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &deformable };

LM_PLUGIN = {
    .name    = "layermeter-deformable",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
