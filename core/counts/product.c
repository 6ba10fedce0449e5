/* Products of matrices, and attention, which is two of them. */
#include <math.h>

#include "counts/kernel_class.h"
#include "counts/layer_class.h"
#include "layers/kernel_text.h"

#define GEMV_ROWS 8    /* up to so many rows of a sample count as a product with a vector */
#define LONG_SUM  4096 /* longer sums: rows of a factor are far apart in memory */

#define ATTENTION_ROWS 128.0 /* of a block */

/* Bytes of weights; under LM_GRAD_WEIGHT those of their gradient. */
static double weight_bytes(const lm_kernel *k)
{
    if (k->u.gemm.batch != 1 || k->u.gemm.activations)
        return 0;
    if (k->pass == LM_GRAD_WEIGHT && k->u.gemm.result_bytes)
        return (double)k->u.gemm.result_bytes * (double)k->u.gemm.n * (double)k->u.gemm.m;
    return (double)lm_dtype_bytes(k->dtype) * (double)k->u.gemm.n *
           (double)(k->pass == LM_GRAD_WEIGHT ? k->u.gemm.m : k->u.gemm.k);
}

/* FLOPs of a product in FP8 as those of one in 16 bits that takes as long: tensor cores have twice the
 * peak in FP8, by each datasheet that tells both (devices.ini). */
#define FP8_FLOP 0.5

static size_t terms(const term_sum *t)
{
    const double weights = t->resident ? 0 : weight_bytes(t->k);
    const double flops   = t->flops * (t->k->dtype == LM_F8 ? FP8_FLOP : 1);
    const bool   vector  = t->k->u.gemm.m <= GEMV_ROWS * t->samples;

    term_put(t, SLOT_GEMM_FLOPS, flops);
    term_put(t, vector ? SLOT_GEMV_WEIGHTS : SLOT_GEMM_WEIGHTS, weights);
    term_put(t, SLOT_GEMM_BYTES, t->bytes - weights);
    term_put(t, SLOT_GEMM_LAUNCHES, 1);
    return SLOT_GEMM_FLOPS;
}

static double elements(const lm_kernel *k)
{
    return (double)k->u.gemm.batch * (double)k->u.gemm.m * (double)k->u.gemm.n;
}

static launch_product multiplies(const lm_kernel *k)
{
    return (launch_product){ (double)k->u.gemm.batch, (double)k->u.gemm.m, (double)k->u.gemm.n,
                             (double)k->u.gemm.k };
}

static size_t launch_of(const lm_kernel *k)
{
    return k->u.gemm.activations ? LAUNCH_BATCHED : LAUNCH_GEMM;
}

/* Columns of a launch: the plan of tile_plan_of(), and bytes. With weights, long_flops: tile_flops
 * x log2(k / 4096) of longer sums. Between activations, tile_bytes: each tile reads its parts of
 * both factors. */
static void launch_counts(launch_row *l, const lm_kernel *kernel)
{
    const launch_product of    = multiplies(kernel);
    const tile_plan      p     = tile_plan_of(of.batch, of.m, of.n, of.k, l->how);
    const double         side  = tile_side(l->how->set);
    const double         bytes = (double)lm_dtype_bytes(kernel->dtype);

    launch_put(l, "wave_flops", "", "FLOP", RESOURCE_FLOPS, p.wave_flops);
    launch_put(l, "tile_flops", "", "FLOP", RESOURCE_FLOPS, p.tile_flops);
    launch_put(l, "tile_elements", "", "element", RESOURCE_BANDWIDTH, p.elements);
    launch_put(l, "steps", "", "step", RESOURCE_HOST, p.steps);
    launch_put(l, "bytes", "", "byte", RESOURCE_BANDWIDTH, launch_traffic(kernel));
    if (kernel->u.gemm.activations)
        launch_put(l, "tile_bytes", "", "byte", RESOURCE_FLOPS,
                   bytes * of.batch *
                       (of.m * of.k * ceil(of.n / side) + of.k * of.n * ceil(of.m / side)));
    else
        launch_put(l, "long_flops", "", "FLOP", RESOURCE_FLOPS,
                   p.tile_flops * fmax(0, log2(of.k / LONG_SUM)));
}

static void features(feature_list *l, const lm_kernel *k, double multiprocessors)
{
    (void)multiprocessors;
    feature_put(l, "bias", FEATURE_FLAG, (double)k->u.gemm.bias);
}

/* Rows of activations are the batch, except if both factors are activations. */
static uint64_t shape(const lm_kernel *k, uint64_t h)
{
    h = shape_mix(shape_mix(h, k->u.gemm.n), k->u.gemm.k);
    return k->u.gemm.activations ? shape_mix(h, k->u.gemm.m) : h;
}

/* FLOPs of all multiprocessors until the last block of fused attention ends. A block computes
 * ATTENTION_ROWS queries of a head with all keys that they see; backward, as many keys with all
 * queries that see them (Dao 2023, "FlashAttention-2", sections 3.1.1 and 3.2). Blocks of causal
 * attention differ, so they fill each other's gaps, but none ends before the longest. If queries
 * make one block, blocks share the keys instead (Dao et al. 2023, "Flash-Decoding"). */
static double attention_waves(const lm_kernel *k, double multiprocessors)
{
    const double q = (double)k->u.attention.queries, n = (double)k->u.attention.keys;
    const double flops = (double)lm_kernel_work(k).flops;
    const double heads = (double)k->u.attention.batch * (double)k->u.attention.heads;
    const double all   = heads * (double)lm_attention_pairs(k);
    const double lines = k->pass == LM_FORWARD ? q : n;
    double       longest;

    if (!(multiprocessors > 0) || lines <= ATTENTION_ROWS)
        return flops;
    if (k->u.attention.causal)
        longest = ATTENTION_ROWS * (k->pass == LM_FORWARD ? fmin(q, n) : q) -
                  ATTENTION_ROWS * (ATTENTION_ROWS - 1) / 2;
    else
        longest = ceil(heads * ceil(lines / ATTENTION_ROWS) / multiprocessors) * ATTENTION_ROWS *
                  (k->pass == LM_FORWARD ? n : q);
    return flops * fmax(1, multiprocessors * longest / all);
}

/* The passes have different kernels: prices of their own. */
static void attention_counts(launch_row *l, const lm_kernel *k)
{
    const char *pass = kernel_pass_name(k->pass);

    launch_put(l, "flops", pass, "FLOP", RESOURCE_FLOPS, (double)lm_kernel_work(k).flops);
    launch_put(l, "wave_flops", pass, "FLOP", RESOURCE_FLOPS,
               attention_waves(k, l->how->multiprocessors));
    launch_put(l, "bytes", "", "byte", RESOURCE_BANDWIDTH, launch_traffic(k));
}

static size_t attention_terms(const term_sum *t)
{
    term_put(t, SLOT_ATTENTION_FLOPS, t->flops);
    term_put(t, SLOT_ATTENTION_BYTES, t->bytes);
    term_put(t, SLOT_GEMM_LAUNCHES, 1);
    return SLOT_ATTENTION_FLOPS;
}

static void attention_features(feature_list *l, const lm_kernel *k, double multiprocessors)
{
    (void)multiprocessors;
    feature_put(l, "causal", FEATURE_FLAG, (double)k->u.attention.causal);
    feature_put(l, "dropout", FEATURE_FLAG, (double)k->u.attention.dropout);
    feature_put_count(l, "heads", (double)k->u.attention.batch * (double)k->u.attention.heads);
    feature_put_count(l, "queries", (double)k->u.attention.queries);
    feature_put_count(l, "keys", (double)k->u.attention.keys);
    feature_put_count(l, "width", (double)k->u.attention.width);
}

static uint64_t attention_shape(const lm_kernel *k, uint64_t h)
{
    h = shape_mix(shape_mix(h, k->u.attention.heads), k->u.attention.width);
    return shape_mix(shape_mix(h, k->u.attention.queries), k->u.attention.keys);
}

const kernel_class kernel_gemm      = { .name          = "gemm",
                                        .product       = true,
                                        .elements      = elements,
                                        .terms         = terms,
                                        .work          = WORK_PRODUCT,
                                        .launch_of     = launch_of,
                                        .launch_counts = launch_counts,
                                        .features      = features,
                                        .multiplies    = multiplies,
                                        .shape         = shape };
const kernel_class kernel_attention = { .name          = "attention",
                                        .terms         = attention_terms,
                                        .work          = WORK_ATTENTION,
                                        .launch        = LAUNCH_ATTENTION,
                                        .launch_counts = attention_counts,
                                        .features      = attention_features,
                                        .shape         = attention_shape };
