/* What residuals of single kernels are learned from. */
#include "single/operator_features.h"

#include <math.h>
#include <stddef.h>

#include "base/random.h"
#include "base/text.h"
#include "layers/kernel_text.h"

typedef struct listing {
    operator_feature *out;
    size_t            n;
} listing;

static void put(listing *l, const char *name, feature_kind kind, double value)
{
    l->out[l->n++] = (operator_feature){ { name, kind }, value };
}

static void put_count(listing *l, const char *name, double value)
{
    put(l, name, FEATURE_COUNT, log(fmax(value, 1e-12)));
}

/* How far x is below the next multiple of t. */
static double rest(double x, double t)
{
    return t * ceil(x / t) - x;
}

/* ---- tiles --------------------------------------------------------------------------------------
 */

#define N_TILES 9

/* Names stand in full, so that they can be looked for. */
static const struct {
    double      rows, columns;
    const char *tiles, *waves, *fill;
} tilings[N_TILES] = {
    { 256, 128, "tiles256x128", "waves256x128", "fill256x128" },
    { 128, 256, "tiles128x256", "waves128x256", "fill128x256" },
    { 128, 128, "tiles128x128", "waves128x128", "fill128x128" },
    { 128, 64, "tiles128x64", "waves128x64", "fill128x64" },
    { 64, 128, "tiles64x128", "waves64x128", "fill64x128" },
    { 64, 64, "tiles64x64", "waves64x64", "fill64x64" },
    { 128, 32, "tiles128x32", "waves128x32", "fill128x32" },
    { 32, 128, "tiles32x128", "waves32x128", "fill32x128" },
    { 32, 32, "tiles32x32", "waves32x32", "fill32x32" },
};

/* Tiles a multiprocessor has, what of the last wave is idle, and what of the tiles is result. */
static void put_tiles(listing *l, const operator_product *p, double multiprocessors)
{
    for (int t = 0; t < N_TILES; t++) {
        const double tiles =
            p->batch * ceil(p->m / tilings[t].rows) * ceil(p->n / tilings[t].columns);
        const double each = tiles / fmax(multiprocessors, 1);

        put(l, tilings[t].tiles, FEATURE_FREE, log(each));
        put(l, tilings[t].waves, FEATURE_FREE, ceil(each) / each);
        put(l, tilings[t].fill, FEATURE_FREE,
            p->batch * p->m * p->n / (tiles * tilings[t].rows * tilings[t].columns));
    }
}

static void put_product(listing *l, const operator_product *p, double multiprocessors)
{
    put_count(l, "product.batch", p->batch);
    put_count(l, "product.m", p->m);
    put_count(l, "product.n", p->n);
    put_count(l, "product.k", p->k);
    put_count(l, "product.results", p->batch * p->m * p->n);
    put(l, "product.m.rest4", FEATURE_FREE, rest(p->m, 4));
    put(l, "product.n.rest4", FEATURE_FREE, rest(p->n, 4));
    put(l, "product.k.rest4", FEATURE_FREE, rest(p->k, 4));
    put(l, "product.k.rest8", FEATURE_FREE, rest(p->k, 8));
    put(l, "product.m.rest32", FEATURE_FREE, rest(p->m, 32));
    put(l, "product.n.rest32", FEATURE_FREE, rest(p->n, 32));
    put(l, "product.k.rest32", FEATURE_FREE, rest(p->k, 32));
    put_tiles(l, p, multiprocessors);
}

/* ---- kinds --------------------------------------------------------------------------------------
 */

static void put_conv(listing *l, const lm_kernel *k)
{
    double padding = 0;

    for (int i = 0; i < 3; i++)
        padding += 2 * (double)k->u.conv.pad[i];
    put(l, "bias", FEATURE_FLAG, (double)k->u.conv.bias);
    put_count(l, "batch", (double)k->u.conv.n);
    put_count(l, "channels_in", (double)k->u.conv.c_in);
    put_count(l, "channels_out", (double)k->u.conv.c_out);
    put_count(l, "groups", (double)k->u.conv.groups);
    put_count(l, "image", (double)lm_volume(k->u.conv.in));
    put_count(l, "pixels", (double)lm_volume(k->u.conv.out));
    put_count(l, "window", (double)lm_volume(k->u.conv.window));
    put_count(l, "stride", (double)lm_volume(k->u.conv.stride));
    put_count(l, "dilation", (double)lm_volume(k->u.conv.dilation));
    put(l, "padding", FEATURE_FREE, padding);
    put(l, "channels_in.rest4", FEATURE_FREE, rest((double)k->u.conv.c_in, 4));
    put(l, "channels_in.rest32", FEATURE_FREE, rest((double)k->u.conv.c_in, 32));
    put(l, "channels_out.rest4", FEATURE_FREE, rest((double)k->u.conv.c_out, 4));
    put(l, "channels_out.rest32", FEATURE_FREE, rest((double)k->u.conv.c_out, 32));
    put(l, "batch.rest32", FEATURE_FREE, rest((double)k->u.conv.n, 32));
}

static void put_map(listing *l, const lm_kernel *k)
{
    put(l, "map", FEATURE_FLAG, k->op == LM_OP_MAP);
    put(l, "copy", FEATURE_FLAG, k->op == LM_OP_COPY);
    put(l, "gather", FEATURE_FLAG, k->op == LM_OP_GATHER);
    put(l, "reduce", FEATURE_FLAG, k->op == LM_OP_REDUCE);
    put(l, "operands", FEATURE_FLAG, k->op == LM_OP_MAP ? (double)k->u.map.operands : 1);
    put(l, "elements.rest4", FEATURE_FREE,
        k->op == LM_OP_MAP ? rest((double)k->u.map.elements, 4) : 0);
}

static void put_rows(listing *l, double n_rows, double group, double multiprocessors)
{
    const double each = n_rows / fmax(multiprocessors, 1);

    put_count(l, "rows", n_rows);
    put_count(l, "group", group);
    put(l, "rows.waves", FEATURE_FREE, ceil(each) / each);
    put(l, "group.rest4", FEATURE_FREE, rest(group, 4));
    put(l, "group.rest32", FEATURE_FREE, rest(group, 32));
    put(l, "group.rest1024", FEATURE_FREE, rest(group, 1024));
}

static void put_common(listing *l, const lm_kernel *k, double seconds)
{
    const lm_work w     = lm_kernel_work(k);
    const double  bytes = (double)w.read_bytes + (double)w.written_bytes;

    for (lm_dtype t = LM_F32; t <= LM_U8; t++)
        put(l, text_dtype_name(t), FEATURE_FLAG, k->dtype == t);
    for (lm_pass p = 0; p < LM_N_PASSES; p++)
        put(l, kernel_pass_name(p), FEATURE_FLAG, k->pass == p);
    put_count(l, "flops", fmax(1, (double)w.flops));
    put_count(l, "bytes", bytes);
    put_count(l, "intensity", fmax(1, (double)w.flops) / bytes);
    put_count(l, "seconds", seconds);
}

size_t operator_features(const lm_kernel *k, double multiprocessors, double seconds,
                         operator_feature out[OPERATOR_FEATURES])
{
    const operator_class class = operator_class_of(k);
    listing          l         = { out, 0 };
    operator_product p;

    if (class == OPERATOR_OTHER)
        return 0;
    put_common(&l, k, seconds);
    switch (class) {
    case OPERATOR_GEMM:
    case OPERATOR_BATCHED: put(&l, "bias", FEATURE_FLAG, (double)k->u.gemm.bias); break;
    case OPERATOR_MAP: put_map(&l, k); break;
    case OPERATOR_NORM:
        put(&l, "rms", FEATURE_FLAG, (double)k->u.norm.rms);
        put_count(&l, "inner", (double)k->u.norm.inner);
        put_rows(&l, (double)k->u.norm.rows, (double)k->u.norm.group, multiprocessors);
        break;
    case OPERATOR_SOFTMAX:
        put_rows(&l, (double)k->u.softmax.rows, (double)k->u.softmax.group, multiprocessors);
        break;
    case OPERATOR_CONV_FORWARD:
    case OPERATOR_CONV_GRAD_INPUT:
    case OPERATOR_CONV_GRAD_WEIGHT: put_conv(&l, k); break;
    case OPERATOR_OTHER:
    case N_OPERATOR_CLASSES: break;
    }
    if (operator_product_of(k, &p))
        put_product(&l, &p, multiprocessors);
    return l.n;
}

/* A kernel of the class, whatever its sizes. */
static lm_kernel any_of(operator_class c)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_MAP, .dtype = LM_F32, .repeat = 1 };

    if (c == OPERATOR_GEMM || c == OPERATOR_BATCHED) {
        k.op                 = LM_OP_GEMM;
        k.u.gemm.activations = c == OPERATOR_BATCHED;
    } else if (c == OPERATOR_NORM) {
        k.op = LM_OP_NORM;
    } else if (c == OPERATOR_SOFTMAX) {
        k.op = LM_OP_SOFTMAX;
    } else if (c != OPERATOR_MAP) {
        k.op            = LM_OP_CONV;
        k.pass          = c == OPERATOR_CONV_FORWARD      ? LM_FORWARD
                          : c == OPERATOR_CONV_GRAD_INPUT ? LM_GRAD_INPUT
                                                          : LM_GRAD_WEIGHT;
        k.u.conv.groups = 1;
        for (int i = 0; i < 3; i++)
            k.u.conv.stride[i] = 1;
    }
    return k;
}

size_t operator_feature_names(operator_class c, named_feature out[OPERATOR_FEATURES])
{
    operator_feature found[OPERATOR_FEATURES];
    const lm_kernel  k = any_of(c);
    const size_t     n = c < OPERATOR_OTHER ? operator_features(&k, 1, 1, found) : 0;

    for (size_t i = 0; i < n; i++)
        out[i] = found[i].of;
    return n;
}

/* ---- shapes -------------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t state, int64_t value)
{
    state ^= (uint64_t)value;
    return random_next(&state);
}

uint64_t operator_shape(const lm_kernel *k)
{
    uint64_t h = mix(0, k->op);

    switch ((enum lm_ops)k->op) {
    case LM_OP_GEMM: /* rows of activations are a batch; of two factors that are activations, not */
        h = mix(mix(h, k->u.gemm.n), k->u.gemm.k);
        return k->u.gemm.activations ? mix(h, k->u.gemm.m) : h;
    case LM_OP_CONV:
        h = mix(mix(mix(h, k->u.conv.groups), k->u.conv.c_in), k->u.conv.c_out);
        for (int i = 0; i < 3; i++)
            h = mix(mix(mix(h, k->u.conv.in[i]), k->u.conv.window[i]), k->u.conv.stride[i]);
        return h;
    case LM_OP_MAP: return mix(h, k->u.map.elements);
    case LM_OP_NORM: return mix(h, k->u.norm.group);
    case LM_OP_SOFTMAX: return mix(h, k->u.softmax.group);
    case LM_OP_OPAQUE:
    case LM_OP_POOL:
    case LM_OP_GATHER:
    case LM_OP_COPY:
    case LM_OP_REDUCE:
    case LM_OP_ATTENTION:
    case LM_OP_ALLREDUCE: break;
    }
    return mix(h, (int64_t)lm_kernel_work(k).read_bytes);
}
