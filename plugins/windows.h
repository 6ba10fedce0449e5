/** Windows over the trailing axes of N,C,[[D,]H,]W, for convolutions and poolings. */
#ifndef PLUGINS_WINDOWS_H
#define PLUGINS_WINDOWS_H

#include "inputs.h"

/** Parameters with a value for each axis. `extent` names the axes: WINDOW_1D, WINDOW_2D,
 * WINDOW_3D. */
#define WINDOW_1D "length"
#define WINDOW_2D "height and width"
#define WINDOW_3D "depth, height and width"
#define WINDOW_KERNEL(axes, extent)                                                                \
    {                                                                                              \
        .name = "kernel", .kind = LM_INT, .count = (axes), .min = 1, .max = 1e6, .unit = "pixels", \
        .doc = extent " of the window"                                                             \
    }
#define WINDOW_PADDING(axes, explained)                                           \
    {                                                                             \
        .name = "padding", .kind = LM_INT, .count = (axes), .min = 0, .max = 1e6, \
        .unit = "pixels", .fallback = "0", .doc = explained                       \
    }
#define WINDOW_DILATION(axes)                                                      \
    {                                                                              \
        .name = "dilation", .kind = LM_INT, .count = (axes), .min = 1, .max = 1e6, \
        .unit = "pixels", .fallback = "1",                                         \
        .doc = "distance between neighbouring taps of the window"                  \
    }

/** Checks for a real input with so many axes behind batch and channels. */
static inline lm_status window_rank(const lm_layer *layer, uint32_t axes)
{
    static const char *const names[] = { "batch, channels, length",
                                         "batch, channels, height, width",
                                         "batch, channels, depth, height, width" };

    return input_rank(layer, 2 + axes, 2 + axes, names[axes - 1]);
}

/** Windows along one axis, in pixels. */
typedef struct window_axis {
    int64_t in, out, size, stride, pad, dilation;
} window_axis;

/** An axis that does not exist. */
static inline window_axis window_none(void)
{
    return (window_axis){ .in = 1, .out = 1, .size = 1, .stride = 1, .dilation = 1 };
}

/**
 * Fills in `out`: floor((in + 2 pad - dilation (size - 1) - 1 + slack) / stride) + 1, as torch.nn.
 * `slack` is 0, or stride - 1 if the last window may reach over the edge.
 */
static inline lm_status window_count(const lm_layer *layer, window_axis *a, int64_t slack)
{
    const uint64_t padded = (uint64_t)a->in + 2 * (uint64_t)a->pad;
    const uint64_t reach  = (uint64_t)(a->dilation * (a->size - 1)) + 1;
    uint64_t       n;

    if (reach > padded + (uint64_t)slack)
        return lm_fail(layer, LM_E_SHAPE,
                       "window reaches over %llu pixels of a padded input of %llu",
                       (unsigned long long)reach, (unsigned long long)padded);
    n = (padded + (uint64_t)slack - reach) / (uint64_t)a->stride + 1;
    if (n > INT64_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "an output of %llu pixels", (unsigned long long)n);
    a->out = (int64_t)n;
    return LM_OK;
}

/**
 * Windows of adaptive pooling. Window i runs from floor(i in / out) to ceil((i + 1) in / out), as
 * in PyTorch. With in = q out + r the longest window has q pixels if r is 0, q + 1 if out is a
 * multiple of r, else q + 2. Windows of that length at stride q stay within the input: the last
 * ends at q out, q out + 1 or q out + 2 <= in (r >= 2 in the last case). If out > in, windows at
 * stride 1 reach beyond the input.
 */
static inline window_axis window_adaptive(int64_t in, int64_t out)
{
    const int64_t q = in / out, r = in % out;

    return (window_axis){ .in       = in,
                          .out      = out,
                          .size     = q + (r != 0) + (r != 0 && out % r != 0),
                          .stride   = q ? q : 1,
                          .dilation = 1 };
}

/**
 * Pixels under all windows of an adaptive pooling along one axis: in + out - gcd(in, out). Each
 * window begins in the last pixel of the previous window, or behind it if i in / out is a whole
 * number. Of the out - 1 borders gcd - 1 are whole; at the others a pixel counts twice.
 */
static inline uint64_t window_adaptive_taps(const window_axis *a)
{
    int64_t gcd = a->in, rest = a->out;

    while (rest) {
        const int64_t next = gcd % rest;

        gcd  = rest;
        rest = next;
    }
    return (uint64_t)a->in + (uint64_t)a->out - (uint64_t)gcd;
}

/** The `taps` of a pooling with adaptive windows; 0 if all have the same length. */
static inline lm_status window_taps(const lm_layer *layer, const window_axis axis[3], int64_t *out)
{
    uint64_t taps = 1;
    int      same = 1;

    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t along = window_adaptive_taps(&axis[i]);

        same = same && along == lm_mul((uint64_t)axis[i].out, (uint64_t)axis[i].size);
        taps = lm_mul(taps, along);
    }
    if (taps > INT64_MAX)
        return lm_fail(layer, LM_E_OVERFLOW, "more than 2^63 pixels under windows");
    *out = same ? 0 : (int64_t)taps;
    return LM_OK;
}

/** Writes `axis` (depth, height, width) into the geometry of a convolution or pooling. */
#define WINDOW_FILL(geometry, axis)                                 \
    do {                                                            \
        for (uint32_t axis_i = 0; axis_i < 3; axis_i++) {           \
            (geometry)->in[axis_i]       = (axis)[axis_i].in;       \
            (geometry)->out[axis_i]      = (axis)[axis_i].out;      \
            (geometry)->window[axis_i]   = (axis)[axis_i].size;     \
            (geometry)->stride[axis_i]   = (axis)[axis_i].stride;   \
            (geometry)->pad[axis_i]      = (axis)[axis_i].pad;      \
            (geometry)->dilation[axis_i] = (axis)[axis_i].dilation; \
        }                                                           \
    } while (0)

#endif
