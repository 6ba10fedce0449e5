/* Included by loops_body.cu: depthwise convolutions of images in N,C,H,W, built as those of PyTorch
 * are (aten/src/ATen/native/cuda/DepthwiseConv2d.cu): a thread for each element of the output or of
 * the gradient of the input, a block for each weight. a.n: how many; a.window: the geometry. A square
 * window of `side` and equal strides of `pace` are known to the compiler; 0: it knows neither.
 * Numbers of elements have 32 bits: divisions of 64 bits would take longer than the sums. */

#define WIDE(side)   (side ? side : a.window.size[1])
#define HIGH(side)   (side ? side : a.window.size[0])
#define STRIDE(i)    (pace ? pace : a.window.stride[i])
#define TAP(k, i)    (k * a.window.dilation[i] - a.window.pad[i]) /* of an input, relative */
#define INSIDE(x, n) (x >= 0 && x < n)

/* at[0] input, at[1] weights, at[2] bias or NULL -> at[3]. Of a window of unknown size the part
 * inside the image is computed first; else each element is asked, without loops. */
INLINE void NAME(depthwise)(const loop_args a, const int side)
{
    const int high = a.window.in[0], wide = a.window.in[1];

    for (long long number = FIRST; number < a.n; number += STEP) {
        const int i = (int)number, row = i / a.window.out[1], x = i - row * a.window.out[1];
        const int plane = row / a.window.out[0], y = row - plane * a.window.out[0];
        const int c   = plane % (a.window.channels * a.window.multiplier);
        const int of  = a.window.multiplier == 1 ? plane : plane / a.window.multiplier;
        const int top = y * a.window.stride[0], left = x * a.window.stride[1];
        const int image = of * high * wide, filter = c * HIGH(side) * WIDE(side);
        float     sum = a.at[2] ? GET(2, c) : 0.0f;

        if (side) {
            UNROLL for (int ky = 0; ky < side; ky++)
            {
                UNROLL for (int kx = 0; kx < side; kx++)
                {
                    const int u = top + TAP(ky, 0), v = left + TAP(kx, 1);

                    if (INSIDE(u, high) && INSIDE(v, wide))
                        sum += GET(1, filter + ky * side + kx) * GET(0, image + u * wide + v);
                }
            }
        } else {
            const int down = a.window.dilation[0], across = a.window.dilation[1];
            const int begin_y = first_tap(top + TAP(0, 0), down);
            const int begin_x = first_tap(left + TAP(0, 1), across);
            const int end_y   = end_of_taps(top + TAP(0, 0), HIGH(0), down, high);
            const int end_x   = end_of_taps(left + TAP(0, 1), WIDE(0), across, wide);

            for (int ky = begin_y; ky < end_y; ky++)
                for (int kx = begin_x; kx < end_x; kx++)
                    sum += GET(1, filter + ky * WIDE(0) + kx) *
                           GET(0, image + (top + TAP(ky, 0)) * wide + left + TAP(kx, 1));
        }
        PUT(3, i) = NARROW(sum);
    }
}

/* at[0] gradient of the output, at[1] weights -> at[2] gradient of the input */
INLINE void NAME(depthwise_back)(const loop_args a, const int side, const int pace)
{
    const int high = a.window.out[0], wide = a.window.out[1];

    for (long long number = FIRST; number < a.n; number += STEP) {
        const int i = (int)number, row = i / a.window.in[1], x = i - row * a.window.in[1];
        const int plane = row / a.window.in[0], y = row - plane * a.window.in[0];
        const int c   = plane % a.window.channels;
        float     sum = 0.0f;

        for (int m = 0; m < a.window.multiplier; m++) {
            const int image  = (plane * a.window.multiplier + m) * high * wide;
            const int filter = (c * a.window.multiplier + m) * HIGH(side) * WIDE(side);

            for (int ky = 0; ky < HIGH(side); ky++) {
                UNROLL for (int kx = 0; kx < WIDE(side); kx++)
                {
                    const int u = y - TAP(ky, 0), v = x - TAP(kx, 1);

                    if (u % STRIDE(0) == 0 && v % STRIDE(1) == 0 && INSIDE(u / STRIDE(0), high) &&
                        INSIDE(v / STRIDE(1), wide))
                        sum += GET(1, filter + ky * WIDE(side) + kx) *
                               GET(0, image + u / STRIDE(0) * wide + v / STRIDE(1));
                }
            }
        }
        PUT(2, i) = NARROW(sum);
    }
}

/* at[0] gradient of the output, at[1] input -> at[2] gradient of the weights: a warp for each image */
KERNEL NAME(depthwise_weights)(const loop_args a)
{
    const int high = a.window.in[0], wide = a.window.in[1];
    const int pixels = a.window.out[0] * a.window.out[1];

    for (long long number = BLOCK; number < a.n; number += BLOCKS) {
        const int weight = (int)number, kx = weight % WIDE(0), row = weight / WIDE(0);
        const int ky = row % HIGH(0), c = row / HIGH(0);
        const int of  = c / a.window.multiplier;
        float     sum = 0.0f;

        for (int image = (int)ROW_OF_BLOCK; image < a.window.images; image += (int)ROWS_OF_BLOCK) {
            const int from = (image * a.window.channels + of) * high * wide;
            const int to   = (image * a.window.channels * a.window.multiplier + c) * pixels;

            for (unsigned i = LANE; i < (unsigned)pixels; i += LANES) {
                const int y = (int)(i / (unsigned)a.window.out[1]);
                const int x = (int)(i % (unsigned)a.window.out[1]);
                const int u = y * a.window.stride[0] + TAP(ky, 0);
                const int v = x * a.window.stride[1] + TAP(kx, 1);

                if (INSIDE(u, high) && INSIDE(v, wide))
                    sum += GET(1, from + u * wide + v) * GET(0, to + (int)i);
            }
        }
        sum = BLOCK_SUM(sum);
        if (LANE == 0 && ROW_OF_BLOCK == 0)
            PUT(2, weight) = NARROW(sum);
    }
}

#define DEPTHWISE(kernel, side)                     \
    KERNEL_OF(1024) NAME(kernel)(const loop_args a) \
    {                                               \
        NAME(depthwise)(a, side);                   \
    }
#define DEPTHWISE_BACK(kernel, side, pace)          \
    KERNEL_OF(1024) NAME(kernel)(const loop_args a) \
    {                                               \
        NAME(depthwise_back)(a, side, pace);        \
    }

DEPTHWISE(depthwise_any, 0)
DEPTHWISE(depthwise_1, 1)
DEPTHWISE(depthwise_3, 3)
DEPTHWISE(depthwise_5, 5)
DEPTHWISE_BACK(depthwise_back_any, 0, 0)
DEPTHWISE_BACK(depthwise_back_any_1, 0, 1)
DEPTHWISE_BACK(depthwise_back_any_2, 0, 2)
DEPTHWISE_BACK(depthwise_back_1, 1, 0)
DEPTHWISE_BACK(depthwise_back_1_1, 1, 1)
DEPTHWISE_BACK(depthwise_back_1_2, 1, 2)
DEPTHWISE_BACK(depthwise_back_3, 3, 0)
DEPTHWISE_BACK(depthwise_back_3_1, 3, 1)
DEPTHWISE_BACK(depthwise_back_3_2, 3, 2)
DEPTHWISE_BACK(depthwise_back_5, 5, 0)
DEPTHWISE_BACK(depthwise_back_5_1, 5, 1)
DEPTHWISE_BACK(depthwise_back_5_2, 5, 2)

#undef WIDE
#undef HIGH
#undef STRIDE
#undef TAP
#undef INSIDE
#undef DEPTHWISE
#undef DEPTHWISE_BACK
