/* Convolutions. */
#include <math.h>

#include "counts/kernel_class.h"
#include "counts/layer_class.h"

#define STEM_CHANNELS 4 /* up to as many as in an image */

static double round_up(int64_t n, int64_t tile)
{
    return (double)((n + tile - 1) / tile * tile);
}

/* Share of the rows of windows that lie inside the image. */
static double rows_inside(const lm_kernel *k)
{
    double share = 1;

    for (int a = 0; a < 2; a++) { /* columns of windows are the third */
        int64_t inside = 0;

        for (int64_t row = 0; row < k->u.conv.window[a]; row++)
            for (int64_t o = 0; o < k->u.conv.out[a]; o++) {
                const int64_t at =
                    o * k->u.conv.stride[a] - k->u.conv.pad[a] + row * k->u.conv.dilation[a];

                inside += at >= 0 && at < k->u.conv.in[a];
            }
        share *= (double)inside / (double)(k->u.conv.window[a] * k->u.conv.out[a]);
    }
    return share;
}

/*
 * FLOPs of oneDNN's loops on a CPU, in units of all. Rows of windows in the padding are left out,
 * columns are not (kh_padding in jit_avx512_common_convolution.cpp). A vector of weights serves a
 * row of pixels, or an image if the window is one pixel. Fewer than FEW pixels take as long as FEW:
 * weights then come from a cache more slowly than products take them. DNNL_VERBOSE of 2.6 on an AMD
 * EPYC: of one pixel a third to a seventh of the FLOP/s of 16 pixels, in windows of one.
 */
#define FEW 4

static double on_cpu(const lm_kernel *k, double window)
{
    const double pixels = window <= 1 ? (double)lm_volume(k->u.conv.out) : (double)k->u.conv.out[2];

    return rows_inside(k) * (k->u.conv.groups > 1 ? 1 : fmax(1, FEW / pixels));
}

/* FLOPs with channels rounded up to multiples of a library's inner loop. Libraries have special
 * loops, without rounding, for few input channels (images) and for depthwise convolutions. */
static double padded_flops(const lm_kernel *k, const term_settings *s)
{
    const int64_t in = k->u.conv.c_in / k->u.conv.groups, out = k->u.conv.c_out / k->u.conv.groups;
    const int64_t tile  = k->u.conv.groups > 1 ? s->group_tile : s->tile;
    double        flops = 2 * (double)lm_kernel_macs(k);

    if (k->u.conv.groups > 1 && in == 1)
        return flops;
    if (k->u.conv.groups > 1 || in > STEM_CHANNELS)
        flops *= round_up(in, tile) / (double)in;
    return flops * round_up(out, tile) / (double)out;
}

static double weight_bytes(const lm_kernel *k)
{
    return (double)lm_dtype_bytes(k->dtype) * (double)k->u.conv.c_out *
           (double)(k->u.conv.c_in / k->u.conv.groups) * (double)lm_volume(k->u.conv.window);
}

/*
 * Gradients of the weights of few channels at a time. oneDNN has loops for windows of three and for
 * groups as wide as a vector (f32: half of one); all others it copies, each window in full, and
 * multiplies group by group (DNNL_VERBOSE of 2.6 names these "gemm:jit"): depthwise windows of five
 * at a fifteenth of the speed of three.
 */
enum { LOOPS_WINDOW = 3, LOOPS_GROUP = 16 };

static bool by_columns(const lm_kernel *k)
{
    const int64_t in = k->u.conv.c_in / k->u.conv.groups, out = k->u.conv.c_out / k->u.conv.groups;
    const int64_t least = k->dtype == LM_F32 ? LOOPS_GROUP / 2 : LOOPS_GROUP;

    if (k->pass != LM_GRAD_WEIGHT || k->u.conv.groups < 2)
        return false;
    return in == 1 && out == 1 ? k->u.conv.window[2] > LOOPS_WINDOW : in % least || out % least;
}

static size_t terms(const term_sum *t)
{
    const lm_kernel *k       = t->k;
    const bool       grouped = k->u.conv.groups > 1;
    const bool       apart   = grouped && k->u.conv.groups == k->u.conv.c_in;
    const double     planes  = (double)k->u.conv.n * (double)k->u.conv.c_out;
    const double     window  = (double)lm_volume(k->u.conv.window);
    const double     weights = t->resident ? 0 : weight_bytes(k);
    const double     flops   = padded_flops(k, t->settings) * (t->cpu ? on_cpu(k, window) : 1);
    const double     bytes   = t->bytes - weights;
    const int class          = k->u.conv.c_in <= STEM_CHANNELS ? SLOT_STEM_FLOPS
                               : window <= 1                   ? SLOT_CONV1_FLOPS
                               : window <= 9                   ? SLOT_CONV3_FLOPS
                                                               : SLOT_CONVL_FLOPS;

    term_put(t, SLOT_CONV_WEIGHTS, weights);
    term_put(t, SLOT_CONV_LAUNCHES, 1);
    if (!grouped) {
        term_put(t, class, flops);
        term_put(t, SLOT_CONV_BYTES, bytes);
        return (size_t) class;
    }
    if (by_columns(k))
        term_put(t, SLOT_CONV_COLUMNS,
                 (double)k->u.conv.n * (double)k->u.conv.c_in * (double)lm_volume(k->u.conv.out) *
                     window);
    term_put(t, apart ? SLOT_DEPTHWISE_FLOPS : SLOT_GROUPED_FLOPS, flops);
    term_put(t, apart ? SLOT_DEPTHWISE_BYTES : SLOT_GROUPED_BYTES, bytes);
    term_put(t, apart ? SLOT_DEPTHWISE_PLANES : SLOT_GROUPED_PLANES, planes);
    return apart ? SLOT_DEPTHWISE_FLOPS : SLOT_GROUPED_FLOPS;
}

static double elements(const lm_kernel *k)
{
    return (double)k->u.conv.n * (double)k->u.conv.c_out * (double)lm_volume(k->u.conv.out);
}

/* The implicit matrix product of a pass, for each group (Chetlur et al. 2014, "cuDNN: efficient
 * primitives for deep learning", section 3). */
static launch_product multiplies(const lm_kernel *k)
{
    const double groups = (double)k->u.conv.groups, in = (double)k->u.conv.c_in / groups,
                 out    = (double)k->u.conv.c_out / groups;
    const double window = (double)lm_volume(k->u.conv.window);
    const double pixels = (double)k->u.conv.n * (double)lm_volume(k->u.conv.out);
    double       seen   = 1; /* taps of a window that fall on one input */

    if (k->pass == LM_FORWARD)
        return (launch_product){ groups, pixels, out, in * window };
    if (k->pass == LM_GRAD_WEIGHT)
        return (launch_product){ groups, out, in * window, pixels };
    for (int a = 0; a < 3; a++)
        seen *= ceil((double)k->u.conv.window[a] / (double)k->u.conv.stride[a]);
    return (launch_product){ groups, (double)k->u.conv.n * (double)lm_volume(k->u.conv.in), in,
                             out * seen };
}

static size_t launch_of(const lm_kernel *k)
{
    return k->pass == LM_FORWARD      ? LAUNCH_CONV_FORWARD
           : k->pass == LM_GRAD_INPUT ? LAUNCH_CONV_GRAD_INPUT
                                      : LAUNCH_CONV_GRAD_WEIGHT;
}

static const char *window_of(const lm_kernel *k)
{
    const uint64_t window = lm_volume(k->u.conv.window), stride = lm_volume(k->u.conv.stride);
    const int64_t  side = k->u.conv.window[2];

    if (window == 1)
        return stride > 1 ? "1x1_strided" : "1x1";
    if (stride > 1)
        return "strided";
    if (k->u.conv.window[0] == 1 && k->u.conv.window[1] == side && (side == 3 || side == 5))
        return side == 3 ? "3x3" : "5x5";
    return "other";
}

/* Columns of a launch: FLOPs, FLOPs of the implicit product in waves, its steps, bytes of input,
 * output and weights. FLOPs and traffic have a family with a member for each kind of window,
 * because no formula has the gain of Winograd or FFT. Windows with few rows use the price of the
 * family. */
static void launch_counts(launch_row *l, const lm_kernel *k)
{
    const launch_product of     = multiplies(k);
    const tile_plan      p      = tile_plan_of(of.batch, of.m, of.n, of.k, l->how);
    const char          *window = window_of(k);
    const double         n      = (double)lm_dtype_bytes(k->dtype) * (double)k->u.conv.n;

    launch_put(l, "flops", window, "FLOP", RESOURCE_FLOPS, 2 * (double)lm_kernel_macs(k));
    launch_put(l, "wave_flops", window, "FLOP", RESOURCE_FLOPS, p.wave_flops);
    launch_put(l, "input_bytes", window, "byte", RESOURCE_BANDWIDTH,
               n * (double)k->u.conv.c_in * (double)lm_volume(k->u.conv.in));
    launch_put(l, "output_bytes", window, "byte", RESOURCE_BANDWIDTH,
               n * (double)k->u.conv.c_out * (double)lm_volume(k->u.conv.out));
    launch_put(l, "weight_bytes", "", "byte", RESOURCE_BANDWIDTH, weight_bytes(k));
    launch_put(l, "steps", "", "step", RESOURCE_HOST, p.steps);
}

static void features(feature_list *l, const lm_kernel *k, double multiprocessors)
{
    const double in = (double)k->u.conv.c_in, out = (double)k->u.conv.c_out;
    double       padding = 0;

    (void)multiprocessors;
    for (int i = 0; i < 3; i++)
        padding += 2 * (double)k->u.conv.pad[i];
    feature_put(l, "bias", FEATURE_FLAG, (double)k->u.conv.bias);
    feature_put_count(l, "batch", (double)k->u.conv.n);
    feature_put_count(l, "channels_in", in);
    feature_put_count(l, "channels_out", out);
    feature_put_count(l, "groups", (double)k->u.conv.groups);
    feature_put_count(l, "image", (double)lm_volume(k->u.conv.in));
    feature_put_count(l, "pixels", (double)lm_volume(k->u.conv.out));
    feature_put_count(l, "window", (double)lm_volume(k->u.conv.window));
    feature_put_count(l, "stride", (double)lm_volume(k->u.conv.stride));
    feature_put_count(l, "dilation", (double)lm_volume(k->u.conv.dilation));
    feature_put(l, "padding", FEATURE_FREE, padding);
    feature_put(l, "channels_in.rest4", FEATURE_FREE, feature_rest(in, 4));
    feature_put(l, "channels_in.rest32", FEATURE_FREE, feature_rest(in, 32));
    feature_put(l, "channels_out.rest4", FEATURE_FREE, feature_rest(out, 4));
    feature_put(l, "channels_out.rest32", FEATURE_FREE, feature_rest(out, 32));
    feature_put(l, "batch.rest32", FEATURE_FREE, feature_rest((double)k->u.conv.n, 32));
}

static uint64_t shape(const lm_kernel *k, uint64_t h)
{
    h = shape_mix(shape_mix(shape_mix(h, k->u.conv.groups), k->u.conv.c_in), k->u.conv.c_out);
    for (int i = 0; i < 3; i++)
        h = shape_mix(shape_mix(shape_mix(h, k->u.conv.in[i]), k->u.conv.window[i]),
                      k->u.conv.stride[i]);
    return h;
}

const kernel_class kernel_conv = { .name          = "conv",
                                   .product       = true,
                                   .elements      = elements,
                                   .terms         = terms,
                                   .work          = WORK_CONV,
                                   .launch_of     = launch_of,
                                   .launch_counts = launch_counts,
                                   .features      = features,
                                   .multiplies    = multiplies,
                                   .shape         = shape };
