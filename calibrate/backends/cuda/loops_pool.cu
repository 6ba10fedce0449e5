/* Included by loops_body.cu: adaptive average pools, at[0] -> at[1].
 *
 * A pixel is `inner` channels beside each other, of `n` planes: one of N*C planes in N,C,D,H,W, C of N
 * in N,D,H,W,C. A plane has from[] pixels at at[0], to[] at at[1], whose elements are dealt to `slices`
 * rows of threads. Windows are those of loops.cu. The gradient of an input is gathered from the
 * outputs whose windows hold it, each divided by its own window's size. */

#define POOL_ADAPTIVE(kernel, back)                                                               \
    KERNEL NAME(kernel)(const loop_args a)                                                        \
    {                                                                                             \
        const unsigned inner = (unsigned)a.inner, step = (unsigned)(a.slices * LANES);            \
        const unsigned d0 = (unsigned)a.from[0], h0 = (unsigned)a.from[1];                        \
        const unsigned w0 = (unsigned)a.from[2], d1 = (unsigned)a.to[0];                          \
        const unsigned h1 = (unsigned)a.to[1], w1 = (unsigned)a.to[2], n = d1 * h1 * w1 * inner;  \
                                                                                                  \
        for (long long row = FIRST_ROW; row < a.n * a.slices; row += ROW_STEP) {                  \
            const long long plane = row / a.slices;                                               \
                                                                                                  \
            for (unsigned i = (unsigned)(row % a.slices) * LANES + LANE; i < n; i += step) {      \
                const unsigned pixel = i / inner, x = pixel % w1;                                 \
                const unsigned y = pixel / w1 % h1, z = pixel / w1 / h1;                          \
                const unsigned left = window_begin(x, w0, w1), right = window_end(x, w0, w1);     \
                const unsigned top = window_begin(y, h0, h1), bottom = window_end(y, h0, h1);     \
                const unsigned front = window_begin(z, d0, d1), behind = window_end(z, d0, d1);   \
                const unsigned size = (behind - front) * (bottom - top) * (right - left);         \
                float          sum  = 0.0f;                                                       \
                                                                                                  \
                for (unsigned d = front; d < behind; d++)                                         \
                    for (unsigned h = top; h < bottom; h++) {                                     \
                        const unsigned slab =                                                     \
                            back ? window_length(d, d1, d0) * window_length(h, h1, h0) : 1;       \
                                                                                                  \
                        for (unsigned w = left; w < right; w++)                                   \
                            sum += GET(0, (((plane * d0 + d) * h0 + h) * w0 + w) * inner +        \
                                              i % inner) /                                        \
                                   (back ? (float)(slab * window_length(w, w1, w0)) : 1.0f);      \
                    }                                                                             \
                PUT(1, plane * n + i) = NARROW(back ? sum : sum / (float)size);                   \
            }                                                                                     \
        }                                                                                         \
    }

POOL_ADAPTIVE(pool_adaptive, 0)
POOL_ADAPTIVE(pool_adaptive_back, 1)

#undef POOL_ADAPTIVE
