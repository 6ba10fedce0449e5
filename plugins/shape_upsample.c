/* upsample: images of another size, as torch.nn.functional.interpolate. */
#include "shape.h"
#include "windows.h"

enum { FACTOR, SIZE, MODE };
enum modes { NEAREST, LINEAR, BILINEAR, TRILINEAR, BICUBIC, AREA };

static const lm_param params[] = {
    [FACTOR] = { .name     = "factor",
                 .kind     = LM_REAL,
                 .min      = 0,
                 .max      = 1e6,
                 .fallback = "0",
                 .doc = "size of the output over that of the input, of every spatial dimension, "
                        "rounded down; 0: as `size` says" },
    [SIZE]   = { .name     = "size",
                 .kind     = LM_LIST,
                 .min      = 0,
                 .max      = 1e9,
                 .unit     = "pixels",
                 .fallback = "0",
                 .doc      = "of the output: one number, or one for each spatial dimension; 0: as "
                               "`factor` says" },
    [MODE]   = { .name     = "mode",
                 .kind     = LM_ENUM,
                 .choices  = "nearest|linear|bilinear|trilinear|bicubic|area",
                 .fallback = "nearest",
                 .doc = "how pixels come about: linear takes N,C,W, bilinear and bicubic N,C,H,W, "
                          "trilinear N,C,D,H,W, the others all of them" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    static const uint32_t ranks[] = {
        [LINEAR] = 3, [BILINEAR] = 4, [TRILINEAR] = 5, [BICUBIC] = 4, [AREA] = 0
    }; /* 0: 3 to 5 */
    const lm_value *size   = &layer->param[SIZE];
    const double    factor = lm_real(layer, FACTOR);
    lm_tensor       out    = layer->input[0];
    const uint32_t  wanted = ranks[lm_int(layer, MODE)];

    if (wanted ? out.rank != wanted : out.rank < 3 || out.rank > 5)
        return lm_fail(layer, LM_E_SHAPE, "input of rank %u, expected %s for this mode",
                       (unsigned)out.rank,
                       wanted == 3   ? "3"
                       : wanted == 4 ? "4"
                       : wanted == 5 ? "5"
                                     : "3 to 5");
    if ((factor > 0) == (size->u.i[0] > 0))
        return lm_fail(layer, LM_E_ARG, "give `factor` or `size`, one of the two");
    if (size->count != 1 && size->count != out.rank - 2)
        return lm_fail(layer, LM_E_ARG, "a size of %u dimensions for %u", (unsigned)size->count,
                       (unsigned)(out.rank - 2));
    for (uint32_t d = 2; d < out.rank; d++) {
        const int64_t given = size->u.i[size->count == 1 ? 0 : d - 2];

        /* beyond 2^53 a product of doubles is not exact */
        if (factor > 0 && (double)out.dim[d] * factor > 9007199254740992.0)
            return lm_fail(layer, LM_E_OVERFLOW, "an output of more than 2^53 pixels");
        out.dim[d] = factor > 0 ? (int64_t)((double)out.dim[d] * factor) : given;
        if (out.dim[d] < 1)
            return lm_fail(layer, LM_E_ARG, "no pixel would be left in dimension %u", (unsigned)d);
    }
    output[0] = out;
    return LM_OK;
}

/*
 * FLOPs for each element of the output. Weights depend on the place only and count nothing.
 *
 *  - nearest     0 | its gradient is added to that of one pixel: 1
 *  - linear      in one dimension a (1 - t) + b t: 3; in k dimensions, 2^k - 1 of these: 3, 9, 21
 *                | backward each is 2 products, and 2^k values are added: 4, 10, 22
 *  - bicubic     4 values with their weights: 7; 4 rows and then their results: 35
 *                | 4 + 16 products, 16 values are added: 36
 *  - area none here: an adaptive_avg_pool, as in PyTorch
 */
static int64_t flops_of(const lm_layer *layer, lm_pass pass)
{
    switch ((enum modes)lm_int(layer, MODE)) {
    case NEAREST: return pass == LM_FORWARD ? 0 : 1;
    case BICUBIC: return pass == LM_FORWARD ? 35 : 36;
    case AREA: /* a pool: see lower() */
    case LINEAR:
    case BILINEAR:
    case TRILINEAR: break;
    }
    const int64_t corners = INT64_C(1) << (layer->input[0].rank - 2);

    return pass == LM_FORWARD ? 3 * (corners - 1) : 2 * (corners - 1) + corners;
}

static lm_status emit_area(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_tensor *in = &layer->input[0], *out = &layer->output[0];
    lm_kernel        k = { .op = LM_OP_POOL, .pass = pass, .dtype = in->dtype };
    window_axis      axis[3];
    lm_status        status;

    for (uint32_t back = 1; back <= 3; back++)
        axis[3 - back] = in->rank >= 2 + back
                             ? window_adaptive(in->dim[in->rank - back], out->dim[out->rank - back])
                             : window_none();
    k.u.pool.n        = in->dim[0];
    k.u.pool.channels = in->dim[1];
    k.u.pool.mode     = LM_POOL_AVG;
    WINDOW_FILL(&k.u.pool, axis);
    status = window_taps(layer, axis, &k.u.pool.taps);
    if (!status)
        emit(sink, k);
    return status;
}

/* One launch over the output's elements: forward it reads the input,
 * backward it writes its gradient. */
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const int64_t in  = (int64_t)lm_elements(&layer->input[0]);
    const int64_t out = (int64_t)lm_elements(&layer->output[0]), other = in == out ? 0 : in;

    if (pass == LM_GRAD_WEIGHT)
        return LM_OK;
    if (lm_int(layer, MODE) == AREA)
        return emit_area(layer, pass, sink);
    emit(sink, (lm_kernel){ .op    = LM_OP_MAP,
                            .pass  = pass,
                            .dtype = layer->output[0].dtype,
                            .u.map = { .elements          = out,
                                       .operands          = 1,
                                       .flops_per_element = flops_of(layer, pass),
                                       .reads             = pass == LM_FORWARD ? other : 0,
                                       .writes            = pass == LM_FORWARD ? 0 : other } });
    return LM_OK;
}

const lm_layer_type shape_upsample = {
    SHAPE_TYPE("upsample", "images of another size"),
    LM_PARAMS(params),
    .flags = LM_FUNCTIONAL,
    .infer = infer,
    .lower = lower,
};
