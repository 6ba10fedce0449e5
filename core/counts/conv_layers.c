/*
 * Single convolutions, as GPU libraries run them. Each of the three products uses the fastest
 * algorithm: direct, FFT in tiles, FFT of whole planes, or Winograd.
 *
 * Frameworks have their own kernels for depthwise convolutions.
 *
 * n: samples, a, b: channels in and out, M: n x output pixels, K: a x window, X, Y, W: elements of
 * input, output and weights. Sizes of tiles: a part of a tile costs as much as a full one.
 */
#include <math.h>
#include <stdio.h>

#include "counts/layer_class.h"

#define NARROW 16  /* rows of fewer channels are shorter than a memory transaction */
#define LONG_W 2e7 /* number of weights from which reordering has its full cost */
#define LEAST  8   /* side of an FFT */
#define MOST   256
#define TILE   32 /* side of an FFT in tiles */

/* X(column, name, unit). */
#define COLUMNS(X)                                             \
    X(CALL, "call", CALLS)                                     \
    X(ACTIVATION, "forward.activation", ELEMENTS)              \
    X(BIAS, "forward.bias", ELEMENTS)                          \
    X(F_IN, "forward.input", ELEMENTS)                         \
    X(F_IN_NARROW, "forward.input.narrow", ELEMENTS)           \
    X(F_IN_PADDED, "forward.input.padded", ELEMENTS)           \
    X(F_OUT, "forward.output", ELEMENTS)                       \
    X(F_OUT_NARROW, "forward.output.narrow", ELEMENTS)         \
    X(F_WEIGHTS, "forward.weights", ELEMENTS)                  \
    X(F_WEIGHTS_LONG, "forward.weights.long", ELEMENTS)        \
    X(FP_IN, "forward.pointwise.input", ELEMENTS)              \
    X(FP_OUT, "forward.pointwise.output", ELEMENTS)            \
    X(FP_WEIGHTS, "forward.pointwise.weights", ELEMENTS)       \
    X(FP_FLOPS, "forward.pointwise.flops", FLOPS)              \
    X(F_FLOPS, "forward.direct.flops", FLOPS)                  \
    X(F_DEPTH, "forward.direct.depth", STEPS)                  \
    X(TRAIN_CALL, "backward.call", CALLS)                      \
    X(TRAIN_BIAS, "backward.call.bias", CALLS)                 \
    X(LOSS, "loss", ELEMENTS)                                  \
    X(ACTIVATION_GRAD, "backward.activation", ELEMENTS)        \
    X(B_IN, "backward.input", ELEMENTS)                        \
    X(B_IN_NARROW, "backward.input.narrow", ELEMENTS)          \
    X(B_IN_PADDED, "backward.input.padded", ELEMENTS)          \
    X(B_OUT, "backward.output", ELEMENTS)                      \
    X(B_WEIGHTS, "backward.weights", ELEMENTS)                 \
    X(B_WEIGHTS_WINDOW, "backward.weights.window", ELEMENTS)   \
    X(B_WEIGHTS_LONG, "backward.weights.long", ELEMENTS)       \
    X(B_WEIGHTS_SAMPLES, "backward.weights.samples", ELEMENTS) \
    X(BP_IN, "backward.pointwise.input", ELEMENTS)             \
    X(BP_OUT, "backward.pointwise.output", ELEMENTS)           \
    X(BP_WEIGHTS, "backward.pointwise.weights", ELEMENTS)      \
    X(BP_FLOPS, "backward.pointwise.flops", FLOPS)             \
    X(BP_DEPTH, "backward.pointwise.depth", STEPS)             \
    X(I_FLOPS, "grad_input.direct.flops", FLOPS)               \
    X(I_SCATTER, "grad_input.direct.scatter", ELEMENTS)        \
    X(W_FLOPS, "grad_weight.direct.flops", FLOPS)              \
    X(W_FLOPS_WIDE, "grad_weight.direct.flops.wide", FLOPS)    \
    X(W_SHORT_FLOPS, "grad_weight.short.flops", FLOPS)         \
    X(W_SHORT_DEPTH, "grad_weight.short.depth", STEPS)         \
    X(W_SHORT_OUT, "grad_weight.short.output", ELEMENTS)       \
    X(FD_IN, "forward.depthwise.input", ELEMENTS)              \
    X(FD_OUT, "forward.depthwise.output", ELEMENTS)            \
    X(FD_FLOPS, "forward.depthwise.flops", FLOPS)              \
    X(BD_IN, "backward.depthwise.input", ELEMENTS)             \
    X(BD_OUT, "backward.depthwise.output", ELEMENTS)           \
    X(ID_FLOPS, "grad_input.depthwise.flops", FLOPS)           \
    X(WD_FLOPS, "grad_weight.depthwise.flops", FLOPS)          \
    X(ALL_ELEMENTS, "all.elements", ELEMENTS)                  \
    X(ALL_FLOPS, "all.flops", FLOPS)

/* Algorithms with transforms. "tiles": FFTs in tiles of 32 x 32; "plane": FFTs of the whole plane;
 * "winograd4": tiles of 4 x 4 outputs; "winograd2": tiles of 2 x 2, without intermediate
 * results. */
#define TRANSFORMS(X)                                 \
    X(T_TILES, "tiles", TILES)                        \
    X(T_TILES_IN, "tiles.input", ELEMENTS)            \
    X(T_TILES_OUT, "tiles.output", ELEMENTS)          \
    X(T_TILES_FLOPS, "tiles.flops", FLOPS)            \
    X(T_PLANE_IN, "plane.input", ELEMENTS)            \
    X(T_PLANE_OUT, "plane.output", ELEMENTS)          \
    X(T_PLANE_WEIGHTS, "plane.weights", ELEMENTS)     \
    X(T_WINO4_IN, "winograd4.input", ELEMENTS)        \
    X(T_WINO4_OUT, "winograd4.output", ELEMENTS)      \
    X(T_WINO4_WEIGHTS, "winograd4.weights", ELEMENTS) \
    X(T_WINO4_FLOPS, "winograd4.flops", FLOPS)        \
    X(T_WINO2_FLOPS, "winograd2.flops", FLOPS)

#define ENUMERATOR(at, name, what) at,
enum { TRANSFORMS(ENUMERATOR) N_TRANSFORM };
enum {
    COLUMNS(ENUMERATOR) F_TRANSFORM,
    I_TRANSFORM = F_TRANSFORM + N_TRANSFORM,
    W_TRANSFORM = I_TRANSFORM + N_TRANSFORM,
    N_COLUMNS   = W_TRANSFORM + N_TRANSFORM - 1 /* without T_WINO2_FLOPS */
};

typedef struct spec {
    const char *name, *unit;
    resource    resource;
} spec;

#define CALLS                 "call", RESOURCE_HOST
#define ELEMENTS              "element", RESOURCE_BANDWIDTH
#define FLOPS                 "FLOP", RESOURCE_FLOPS
#define STEPS                 "step", RESOURCE_DEPTH
#define TILES                 "tile", RESOURCE_DEPTH
#define ENTRY(at, name, what) [at] = { name, what },

static const spec specs[F_TRANSFORM] = { COLUMNS(ENTRY) }, transforms[] = { TRANSFORMS(ENTRY) };

/* Few rows do not determine the price of each kind of elements and FLOPs: each is held near the
 * price of all. Prices of single-channel windows (no matrix products) and of transforms (one of
 * several is chosen) are not held. */
static size_t family_of(size_t j, resource r)
{
    if (j >= FD_IN)
        return 0;
    return r == RESOURCE_BANDWIDTH ? ALL_ELEMENTS : r == RESOURCE_FLOPS ? ALL_FLOPS : 0;
}

static bool describe(size_t j, column_spec *out)
{
    static const char *const passes[] = { "forward", "grad_input", "grad_weight" };
    const size_t             way      = j < F_TRANSFORM ? 0 : j - F_TRANSFORM;
    const spec              *of = j < F_TRANSFORM ? &specs[j] : &transforms[way % N_TRANSFORM];

    if (j >= N_COLUMNS)
        return false;
    out->unit     = of->unit;
    out->resource = of->resource;
    out->floor    = j == CALL || j == TRAIN_CALL || j == TRAIN_BIAS;
    out->family   = family_of(j, of->resource);
    snprintf(out->name, sizeof out->name, "%s%s%s",
             j < F_TRANSFORM ? "" : passes[way / N_TRANSFORM], j < F_TRANSFORM ? "" : ".",
             of->name);
    return true;
}

static void begin_from(columns *c, size_t at, size_t from, double share)
{
    c->column[at].from  = from;
    c->column[at].share = share;
}

static void relate(columns *c)
{
    for (size_t t = 0; t < N_TRANSFORM - 1; t++) {
        begin_from(c, I_TRANSFORM + t, F_TRANSFORM + t, 0.7);
        begin_from(c, W_TRANSFORM + t, F_TRANSFORM + t, 0.7);
    }
    begin_from(c, I_TRANSFORM + T_WINO2_FLOPS, F_TRANSFORM + T_WINO2_FLOPS, 1);
    begin_from(c, I_FLOPS, F_FLOPS, 0.8);
    begin_from(c, W_FLOPS, F_FLOPS, 1);
    begin_from(c, W_SHORT_FLOPS, F_FLOPS, 1);
    begin_from(c, BD_IN, FD_IN, 2);   /* is read and written ... */
    begin_from(c, BD_OUT, FD_OUT, 2); /* ... and read twice */
    begin_from(c, ID_FLOPS, FD_FLOPS, 2);
    begin_from(c, WD_FLOPS, FD_FLOPS, 1);
}

/* Initial prices, good enough for a first choice of algorithms. Arithmetic runs at 0.6 of the peak,
 * for depthwise convolutions at a sixteenth of that. A transformed element moves 16 bytes (8 in
 * tiles, which stay in caches). Launching a tile takes 10 us. */
static void begin(columns *c, const layer_rates *rates)
{
    static const size_t products[] = {
        FP_FLOPS, F_FLOPS, BP_FLOPS, I_FLOPS, W_FLOPS, W_SHORT_FLOPS
    };
    const double flop = 1 / (0.6 * rates->flops), element = 16 / rates->bytes;

    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        c->column[products[i]].price = flop;
    c->column[ALL_FLOPS].price    = flop;
    c->column[ALL_ELEMENTS].price = element / 4;
    c->column[FD_IN].price = c->column[FD_OUT].price = element / 4;
    c->column[FD_FLOPS].price                        = 16 * flop;
    for (size_t at = F_TRANSFORM; at <= W_TRANSFORM; at += N_TRANSFORM) {
        c->column[at + T_TILES].price         = 1e-5;
        c->column[at + T_TILES_IN].price      = element / 2;
        c->column[at + T_TILES_OUT].price     = element / 2;
        c->column[at + T_TILES_FLOPS].price   = flop;
        c->column[at + T_PLANE_IN].price      = element;
        c->column[at + T_PLANE_OUT].price     = element;
        c->column[at + T_PLANE_WEIGHTS].price = element;
        c->column[at + T_WINO4_IN].price      = element;
        c->column[at + T_WINO4_OUT].price     = element;
        c->column[at + T_WINO4_WEIGHTS].price = element;
        if (at != W_TRANSFORM)
            c->column[at + T_WINO2_FLOPS].price = 0.8 * flop;
    }
}

static bool has(const layer_shape *s)
{
    return s->kind == SHAPE_CONV;
}

/* Number of tiles of size t that cover x. */
static double tiles(double x, double t)
{
    return ceil(x / t);
}

static double up(double x, double t)
{
    return t * ceil(x / t);
}

/* Is it a 1 x 1 convolution, which is a matrix product without reordering? */
static bool pointwise(const layer_shape *s)
{
    for (int i = 0; i < 3; i++)
        if (s->window[i] != 1 || s->stride[i] != 1)
            return false;
    return s->groups == 1;
}

/* Is it depthwise, with prices for it? Frameworks have special kernels: each thread computes the
 * window of one element, without padding to tiles (conv_depthwise2d of PyTorch, DepthwiseConv2d of
 * TensorFlow). Older files have no such prices. */
static bool depthwise(const columns *c, const layer_shape *s)
{
    const column *of = c->column;

    return s->groups > 1 && s->groups == s->c_in &&
           (of[FD_IN].price + of[FD_OUT].price + of[FD_FLOPS].price > 0 || of[F_FLOPS].price <= 0);
}

/* Can transforms compute it? They take square windows at stride 1 over two dimensions. */
static bool transformable(const layer_shape *s)
{
    return s->in[0] == 1 && s->window[0] == 1 && s->window[1] == s->window[2] && s->window[1] > 1 &&
           s->window[1] <= TILE && s->stride[1] == 1 && s->stride[2] == 1 && s->dilation[1] == 1 &&
           s->dilation[2] == 1 && s->groups == 1;
}

/* Is there more padding behind than in front? That needs a padded copy, because libraries pad both
 * sides equally. */
static bool lopsided(const layer_shape *s)
{
    for (int i = 0; i < 3; i++)
        if (s->behind[i] > s->before[i])
            return true;
    return false;
}

/* Side of an FFT: the smallest power of two that holds the padded plane. */
static double fft_side(const layer_shape *s, int axis)
{
    const double padded =
        (double)(s->in[axis] + s->before[axis] + (s->behind[axis] > 0 ? s->behind[axis] : 0));

    return exp2(ceil(log2(fmax(LEAST, padded))));
}

/* Adds alternatives with transforms: sums over a channels, b output channels; tiles cover
 * `plane`. */
static void add_transforms(rows *r, size_t at, const layer_shape *s, double a, double b,
                           const int64_t plane[3], bool fused)
{
    const double n = (double)s->n, k = (double)s->window[1];
    const double q = tiles((double)plane[1], TILE + 1 - k) * tiles((double)plane[2], TILE + 1 - k);
    const double four = tiles((double)plane[1], 4) * tiles((double)plane[2], 4);
    const double two  = tiles((double)plane[1], 2) * tiles((double)plane[2], 2);
    const double e    = (k + 3) * (k + 3);
    const double high = fft_side(s, 1), wide = fft_side(s, 2);

    rows_alternative(r);
    rows_item(r, at + T_TILES, q);
    rows_item(r, at + T_TILES_IN, n * q * a * TILE * TILE);
    rows_item(r, at + T_TILES_OUT, n * q * b * TILE * TILE);
    rows_item(r, at + T_TILES_FLOPS, q * up(n, 32) * up(a, 8) * up(b, 64) * TILE * TILE);
    if (fmax(high, wide) <= MOST) {
        rows_alternative(r);
        rows_item(r, at + T_PLANE_IN, n * a * high * wide);
        rows_item(r, at + T_PLANE_OUT, n * b * high * wide);
        rows_item(r, at + T_PLANE_WEIGHTS, a * b * high * wide);
    }
    if (k == 3 || k == 5) {
        rows_alternative(r);
        rows_item(r, at + T_WINO4_IN, n * four * a * e);
        rows_item(r, at + T_WINO4_OUT, n * four * b * e);
        rows_item(r, at + T_WINO4_WEIGHTS, a * b * e);
        rows_item(r, at + T_WINO4_FLOPS, 2 * n * four * up(a, 8) * up(b, 32) * e);
    }
    if (k == 3 && fused) {
        rows_alternative(r);
        rows_item(r, at + T_WINO2_FLOPS, 2 * n * two * 16 * up(a, 8) * up(b, 32));
    }
}

/* Sizes of the products of one group. */
typedef struct product {
    double g, a, b, m, k, window, x, y, w;
} product;

static product product_of(const layer_shape *s)
{
    const double window = (double)lm_volume(s->window), g = (double)s->groups;

    return (product){ .g      = g,
                      .a      = (double)s->c_in / g,
                      .b      = (double)s->c_out / g,
                      .m      = (double)s->n * (double)lm_volume(s->out),
                      .k      = (double)s->c_in / g * window,
                      .window = window,
                      .x      = s->inputs,
                      .y      = s->outputs,
                      .w      = s->weights };
}

/* Reordered weights. The cost per weight grows with their number. */
static double reordered(const product *p)
{
    return p->w * fmin(1, p->w / LONG_W) * (1 - 1 / p->window);
}

static void add_forward(const columns *c, rows *r, const layer_shape *s)
{
    const product p = product_of(s);

    rows_item(r, ACTIVATION, s->activation ? p.y : 0);
    rows_item(r, BIAS, s->bias ? p.y : 0);
    if (pointwise(s)) {
        rows_item(r, FP_IN, p.x);
        rows_item(r, FP_OUT, p.y);
        rows_item(r, FP_WEIGHTS, p.w);
        rows_item(r, FP_FLOPS, 2 * up(p.m, 128) * up(p.b, 64) * up(p.a, 8));
        return;
    }
    if (depthwise(c, s)) {
        rows_item(r, FD_IN, p.x);
        rows_item(r, FD_OUT, p.y);
        rows_item(r, FD_FLOPS, 2 * p.y * p.window);
        return;
    }
    rows_item(r, F_IN, s->c_in > 1 ? p.x : 0);
    rows_item(r, F_IN_NARROW, s->c_in > 1 && s->c_in < NARROW ? p.x : 0);
    rows_item(r, F_IN_PADDED, lopsided(s) ? p.x : 0);
    rows_item(r, F_OUT, p.y);
    rows_item(r, F_OUT_NARROW, s->c_out < NARROW ? p.y : 0);
    rows_item(r, F_WEIGHTS, p.w);
    rows_item(r, F_WEIGHTS_LONG, reordered(&p));
    rows_part(r);
    rows_alternative(r);
    rows_item(r, F_FLOPS, 2 * p.g * p.m * p.k * up(p.b, 32));
    rows_item(r, F_DEPTH, p.k);
    if (transformable(s))
        add_transforms(r, F_TRANSFORM, s, p.a, p.b, s->out, true);
}

static void add_gradients(rows *r, const layer_run *run, const layer_shape *s)
{
    const product p = product_of(s);

    rows_item(r, B_IN, s->c_in > 1 ? p.x : 0);
    rows_item(r, B_IN_NARROW, s->c_in > 1 && s->c_in < NARROW ? p.x : 0);
    rows_item(r, B_IN_PADDED, lopsided(s) ? p.x : 0);
    rows_item(r, B_OUT, p.y);
    rows_item(r, B_WEIGHTS, p.w);
    rows_item(r, B_WEIGHTS_WINDOW, p.w * (1 - 1 / p.window));
    rows_item(r, B_WEIGHTS_LONG, reordered(&p));
    rows_item(r, B_WEIGHTS_SAMPLES, (double)s->n * p.w);
    if (run->input_gradient) {
        rows_part(r);
        rows_alternative(r);
        rows_item(r, I_FLOPS, 2 * p.g * p.m * up(p.k, 64) * up(p.b, 8));
        rows_item(r, I_SCATTER, p.g * p.m * p.k);
        if (transformable(s))
            add_transforms(r, I_TRANSFORM, s, p.b, p.a, s->in, true);
    }
    rows_part(r);
    rows_alternative(r);
    rows_item(r, W_FLOPS, 2 * p.g * p.m * up(p.k, 32) * up(p.b, 32));
    rows_item(r, W_FLOPS_WIDE, 2 * p.g * p.m * up(p.k, 128) * up(p.b, 32));
    rows_alternative(r);
    rows_item(r, W_SHORT_FLOPS, 2 * p.g * p.m * up(p.k, 8) * up(p.b, 64));
    rows_item(r, W_SHORT_DEPTH, p.m);
    rows_item(r, W_SHORT_OUT, p.y);
    if (transformable(s))
        add_transforms(r, W_TRANSFORM, s, p.a, p.b, s->out, false);
}

static void add_pointwise_gradients(rows *r, const layer_shape *s)
{
    const product p = product_of(s);

    rows_item(r, BP_IN, p.x);
    rows_item(r, BP_OUT, p.y);
    rows_item(r, BP_WEIGHTS, p.w);
    rows_item(r, BP_FLOPS, 2 * up(p.k, 32) * up(p.b, 32) * up(p.m, 8));
    rows_item(r, BP_DEPTH, p.m);
}

/* Adds gradients of a depthwise convolution. Each element of the input gradient sums over the
 * window; each weight gradient sums over all outputs. */
static void add_depthwise_gradients(rows *r, const layer_run *run, const layer_shape *s)
{
    const product p = product_of(s);

    rows_item(r, BD_IN, p.x);
    rows_item(r, BD_OUT, p.y);
    rows_item(r, ID_FLOPS, run->input_gradient ? 2 * p.x * p.window : 0);
    rows_item(r, WD_FLOPS, 2 * p.y * p.window);
}

static void add_call(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    (void)c;
    rows_item(r, CALL, 1);
    if (!run->backward)
        return;
    rows_item(r, TRAIN_CALL, 1);
    rows_item(r, TRAIN_BIAS, s->bias);
    rows_item(r, LOSS, s->loss ? s->outputs : 0);
}

static void add_layer(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    layer_update_item(c, r, run, s);
    if (run->backward)
        rows_item(r, ACTIVATION_GRAD, s->activation ? s->outputs : 0);
    if (run->forward)
        add_forward(c, r, s);
    if (!run->backward)
        return;
    rows_part(r);
    rows_alternative(r);
    if (pointwise(s))
        add_pointwise_gradients(r, s);
    else if (depthwise(c, s))
        add_depthwise_gradients(r, run, s);
    else
        add_gradients(r, run, s);
}

const layer_class layer_class_conv = { .name      = "conv",
                                       .options   = { .p           = 1,
                                                      .huber       = 0.1,
                                                      .power       = 1,
                                                      .may_overlap = true,
                                                      .ridge       = 0.01,
                                                      .rounds      = 8,
                                                      .least       = 15,
                                                      .sample      = 4000,
                                                      .seed        = 1 },
                                       .fewest    = 60,
                                       .has       = has,
                                       .describe  = describe,
                                       .relate    = relate,
                                       .begin     = begin,
                                       .add_call  = add_call,
                                       .add_layer = add_layer };
