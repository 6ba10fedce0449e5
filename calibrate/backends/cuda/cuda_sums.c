/* Sums: their division among threads. */
#include "cuda_loops.h"

/* Lanes of a warp read adjacent memory. So many warps keep a multiprocessor busy (its limit of 2048
 * threads). Up to so many vectors per lane, a second launch for more lanes does not pay. */
enum { WARP = 32, WARPS_A_MULTIPROCESSOR = 64, VECTORS_A_LANE = 8 };

typedef struct share {
    cuda_loop loop;
    unsigned  lanes;
    long long rows; /* rows of threads */
    loop_args args;
} share;

static long long parts(long long n, long long of)
{
    return (n + of - 1) / of;
}

static share share_out(const cuda_device *device, lm_dtype type, const cuda_sum *s)
{
    const long long vector = 16 / (long long)lm_dtype_bytes(type);
    const bool      copies = s->head * s->group == 1; /* one column for each result */
    const long long busy   = (long long)device->multiprocessors * WARPS_A_MULTIPROCESSOR;
    loop_args       a      = { .n     = copies ? 1 : s->kept,
                               .head  = s->head,
                               .width = s->group,
                               .inner = copies ? s->kept * s->inner : s->inner };
    share           out    = { .loop = a.inner > 1 ? LOOP_SUM_COLUMNS : LOOP_SUM_ROWS };
    const bool      down   = out.loop == LOOP_SUM_COLUMNS;
    const long long line   = down ? a.inner : a.width;
    const long long each   = line % vector ? 1 : vector;
    long long       tiles, warps, pieces;

    out.lanes = cuda_loop_lanes(parts(line, each), WARP);
    tiles     = down ? a.n * parts(a.inner, out.lanes * each) : a.n;
    warps     = parts(tiles * out.lanes, WARP);
    a.chunk   = VECTORS_A_LANE * (down ? vector : out.lanes * vector);
    pieces    = s->head * parts(a.width, a.chunk);
    a.slices  = warps >= busy || pieces < 2 ? 1 : busy / warps < pieces ? busy / warps : pieces;
    out.rows  = tiles * a.slices;
    out.args  = a;
    return out;
}

uint64_t cuda_sum_scratch(const cuda_device *device, lm_dtype type, const cuda_sum *s)
{
    const long long slices = share_out(device, type, s).args.slices;

    return slices == 1 ? 0
                       : lm_mul((uint64_t)slices, sizeof(float) * (uint64_t)(s->kept * s->inner));
}

lm_status cuda_sum_run(const cuda_device *device, lm_dtype type, const cuda_sum *s, void *from,
                       void *to, void *scratch, lm_error *err)
{
    share     how = share_out(device, type, s);
    lm_status status;

    how.args.at[0] = from;
    how.args.at[1] = to;
    how.args.at[2] = scratch;
    status         = cuda_loop_rows(device, how.loop, type, how.lanes, how.rows, &how.args, err);
    if (status || how.args.slices == 1)
        return status;
    how.args.n = s->kept * s->inner;
    return cuda_loop_rows(device, LOOP_SUM_SLICES, type, cuda_loop_lanes(how.args.slices, WARP),
                          how.args.n, &how.args, err);
}
