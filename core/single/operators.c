/* Counts of single operators. */
#include "single/operators.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LONG_SUM 4096
#define LONG_ROW 1024 /* elements of a row that a block of threads keeps */

static const tiling mixed[]  = { { TILES_MIXED, false, 0 } };
static const tiling split[]  = { { TILES_MIXED, true, 0 } };
static const tiling gemm[]   = { { TILES_MIXED, false, 0 }, { TILES_MIXED, true, 0 } };
static const tiling by_set[] = { { TILES_MIXED, false, 0 },
                                 { TILES_128, false, 0 },
                                 { TILES_64, false, 0 } };

#define N(array) (sizeof array / sizeof array[0])

/* Powers: of single launches the host's work hides the kernel's or is hidden by it, so
 * the floor is hard; blocks that are not full soften it. Of products 2.5 to 6 are within
 * 0.1 points on twelve GPUs. */
static const struct {
    const char   *name;
    const tiling *tiling;
    size_t        n_tilings;
    double        power;
} classes[N_OPERATOR_CLASSES] = {
    [OPERATOR_GEMM]             = { "gemm", gemm, N(gemm), 4 },
    [OPERATOR_BATCHED]          = { "batched", by_set, N(by_set), 4 },
    [OPERATOR_MAP]              = { "map", mixed, 1, 6 },
    [OPERATOR_NORM]             = { "norm", mixed, 1, 3 },
    [OPERATOR_SOFTMAX]          = { "softmax", mixed, 1, 3 },
    [OPERATOR_CONV_FORWARD]     = { "conv.forward", mixed, 1, 4 },
    [OPERATOR_CONV_GRAD_INPUT]  = { "conv.grad_input", mixed, 1, 4 },
    [OPERATOR_CONV_GRAD_WEIGHT] = { "conv.grad_weight", split, 1, 4 },
    [OPERATOR_OTHER]            = { "other", mixed, 1, 1 },
};

operator_class operator_class_of(const lm_kernel *k)
{
    switch ((enum lm_ops)k->op) {
    case LM_OP_GEMM: return k->u.gemm.activations ? OPERATOR_BATCHED : OPERATOR_GEMM;
    case LM_OP_MAP:
    case LM_OP_COPY:
    case LM_OP_GATHER:
    case LM_OP_REDUCE: return OPERATOR_MAP;
    case LM_OP_NORM: return OPERATOR_NORM;
    case LM_OP_SOFTMAX: return OPERATOR_SOFTMAX;
    case LM_OP_CONV:
        return k->pass == LM_FORWARD      ? OPERATOR_CONV_FORWARD
               : k->pass == LM_GRAD_INPUT ? OPERATOR_CONV_GRAD_INPUT
                                          : OPERATOR_CONV_GRAD_WEIGHT;
    case LM_OP_OPAQUE:
    case LM_OP_POOL:
    case LM_OP_ATTENTION:
    case LM_OP_ALLREDUCE: break;
    }
    return OPERATOR_OTHER;
}

const char *operator_class_name(operator_class c)
{
    return classes[c].name;
}

operator_class operator_class_parse(const char *name)
{
    operator_class c = 0;

    while (c < N_OPERATOR_CLASSES && strcmp(classes[c].name, name))
        c++;
    return c;
}

double operator_power(operator_class c)
{
    return classes[c].power;
}

const tiling *operator_tilings(operator_class c, size_t *n)
{
    *n = classes[c].n_tilings;
    return classes[c].tiling;
}

/* The implicit product of a pass: each group's by itself. */
static operator_product product_of_conv(const lm_kernel *k)
{
    const double groups = (double)k->u.conv.groups, in = (double)k->u.conv.c_in / groups,
                 out    = (double)k->u.conv.c_out / groups;
    const double window = (double)lm_volume(k->u.conv.window);
    const double pixels = (double)k->u.conv.n * (double)lm_volume(k->u.conv.out);
    double       seen   = 1; /* taps of a window that fall on one input */

    if (k->pass == LM_FORWARD)
        return (operator_product){ groups, pixels, out, in * window };
    if (k->pass == LM_GRAD_WEIGHT)
        return (operator_product){ groups, out, in * window, pixels };
    for (int a = 0; a < 3; a++)
        seen *= ceil((double)k->u.conv.window[a] / (double)k->u.conv.stride[a]);
    return (operator_product){ groups, (double)k->u.conv.n * (double)lm_volume(k->u.conv.in), in,
                               out * seen };
}

bool operator_product_of(const lm_kernel *k, operator_product *out)
{
    if (k->op == LM_OP_GEMM)
        *out = (operator_product){ (double)k->u.gemm.batch, (double)k->u.gemm.m,
                                   (double)k->u.gemm.n, (double)k->u.gemm.k };
    else if (k->op == LM_OP_CONV)
        *out = product_of_conv(k);
    else
        return false;
    return true;
}

static tile_plan plan_of(const operator_product *p, const tiling *how)
{
    return tile_plan_of(p->batch, p->m, p->n, p->k, how);
}

/* ---- items --------------------------------------------------------------------------------------
 */

typedef struct listing {
    columns  *c;
    bool      make;
    row_item *out;
    size_t    n;
} listing;

/* `member` of the family `name`; "": the family itself. */
static void put(listing *l, const char *name, const char *member, const char *unit, resource r,
                double value)
{
    char   own[80];
    size_t family = l->make ? columns_need(l->c, name, unit, r) : columns_find(l->c, name);
    size_t at     = family;

    if (*member && family != COLUMN_NONE) {
        snprintf(own, sizeof own, "%s.%.40s", name, member);
        at = l->make ? columns_need(l->c, own, unit, r) : columns_find(l->c, own);
        if (l->make && at != COLUMN_NONE) {
            l->c->column[at].parent = family;
            l->c->column[at].floor  = l->c->column[family].floor;
        }
        if (!l->make && at == COLUMN_NONE)
            at = family;
    }
    if (l->make || at != COLUMN_NONE)
        l->out[l->n++] = (row_item){ (uint32_t)at, value };
}

static void put_floor(listing *l, const char *member)
{
    if (l->make) {
        const size_t at = columns_need(l->c, "floor", "launch", RESOURCE_HOST);

        if (at != COLUMN_NONE)
            l->c->column[at].floor = true;
    }
    put(l, "floor", member, "launch", RESOURCE_HOST, 1);
}

static double traffic(const lm_kernel *k)
{
    const lm_work w = lm_kernel_work(k);

    if (k->op == LM_OP_NORM && k->pass == LM_GRAD_WEIGHT)
        return (double)w.read_bytes;
    return (double)w.read_bytes + (double)w.written_bytes;
}

static void product(listing *l, const lm_kernel *kernel, const tiling *how)
{
    const double b = (double)kernel->u.gemm.batch, m = (double)kernel->u.gemm.m,
                 n = (double)kernel->u.gemm.n, k = (double)kernel->u.gemm.k;
    const tile_plan p     = tile_plan_of(b, m, n, k, how);
    const double    side  = tile_side(how->set);
    const double    bytes = (double)lm_dtype_bytes(kernel->dtype);

    put(l, "wave_flops", "", "FLOP", RESOURCE_FLOPS, p.wave_flops);
    put(l, "tile_flops", "", "FLOP", RESOURCE_FLOPS, p.tile_flops);
    put(l, "tile_elements", "", "element", RESOURCE_BANDWIDTH, p.elements);
    put(l, "steps", "", "step", RESOURCE_HOST, p.steps);
    put(l, "bytes", "", "byte", RESOURCE_BANDWIDTH, traffic(kernel));
    if (kernel->u.gemm.activations)
        put(l, "tile_bytes", "", "byte", RESOURCE_FLOPS,
            bytes * b * (m * k * ceil(n / side) + k * n * ceil(m / side)));
    else
        put(l, "long_flops", "", "FLOP", RESOURCE_FLOPS,
            p.tile_flops * fmax(0, log2(k / LONG_SUM)));
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

static void conv(listing *l, const lm_kernel *k, const tiling *how)
{
    const operator_product of     = product_of_conv(k);
    const tile_plan        p      = plan_of(&of, how);
    const char            *window = window_of(k);
    const double           bytes  = (double)lm_dtype_bytes(k->dtype);
    const double           n      = bytes * (double)k->u.conv.n;

    put(l, "flops", window, "FLOP", RESOURCE_FLOPS, 2 * (double)lm_kernel_macs(k));
    put(l, "wave_flops", window, "FLOP", RESOURCE_FLOPS, p.wave_flops);
    put(l, "input_bytes", window, "byte", RESOURCE_BANDWIDTH,
        n * (double)k->u.conv.c_in * (double)lm_volume(k->u.conv.in));
    put(l, "output_bytes", window, "byte", RESOURCE_BANDWIDTH,
        n * (double)k->u.conv.c_out * (double)lm_volume(k->u.conv.out));
    put(l, "weight_bytes", "", "byte", RESOURCE_BANDWIDTH,
        bytes * (double)k->u.conv.c_out * (double)(k->u.conv.c_in / k->u.conv.groups) *
            (double)lm_volume(k->u.conv.window));
    put(l, "steps", "", "step", RESOURCE_HOST, p.steps);
}

static void of_rows(listing *l, const lm_kernel *k, int64_t n, int64_t group)
{
    const double bytes = traffic(k);

    put(l, "bytes", "", "byte", RESOURCE_BANDWIDTH, bytes);
    put(l, "row_count", "", "row", RESOURCE_FLOPS, (double)n);
    put(l, "long_bytes", "", "byte", RESOURCE_BANDWIDTH, group > LONG_ROW ? bytes : 0);
}

size_t operator_items(const lm_kernel *k, const char *tag, const tiling *how, bool make, columns *c,
                      row_item out[OPERATOR_ITEMS_MAX])
{
    const operator_class class = operator_class_of(k);
    listing     l              = { c, make, out, 0 };
    const char *kind           = class == OPERATOR_MAP ? tag : "";

    if (class == OPERATOR_OTHER)
        return 0;
    put_floor(&l, kind);
    if (class == OPERATOR_GEMM || class == OPERATOR_BATCHED)
        product(&l, k, how);
    else if (class == OPERATOR_NORM)
        of_rows(&l, k, k->u.norm.rows, k->u.norm.group);
    else if (class == OPERATOR_SOFTMAX)
        of_rows(&l, k, k->u.softmax.rows, k->u.softmax.group);
    else if (class == OPERATOR_MAP)
        put(&l, "bytes", kind, "byte", RESOURCE_BANDWIDTH, traffic(k));
    else
        conv(&l, k, how);
    put(&l, "launch", kind, "launch", RESOURCE_HOST, 1);
    return l.n;
}
