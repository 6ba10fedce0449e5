/* Pooling. */
#include "counts/kernel_class.h"
#include "counts/layer_class.h"

static size_t terms(const term_sum *t)
{
    const bool average = t->k->u.pool.mode == LM_POOL_AVG;
    const int  bytes   = average ? SLOT_AVG_POOL_BYTES : SLOT_MAX_POOL_BYTES;

    term_put(t, average ? SLOT_AVG_POOL_FLOPS : SLOT_MAX_POOL_FLOPS, t->flops);
    term_put(t, bytes, t->bytes);
    term_put(t, SLOT_POOL_PLANES, (double)t->k->u.pool.n * (double)t->k->u.pool.channels);
    term_put(t, SLOT_OTHER_LAUNCHES, 1);
    return (size_t)bytes;
}

static void features(feature_list *l, const lm_kernel *k, double multiprocessors)
{
    (void)multiprocessors;
    feature_put(l, "average", FEATURE_FLAG, k->u.pool.mode == LM_POOL_AVG);
    feature_put_count(l, "planes", (double)k->u.pool.n * (double)k->u.pool.channels);
    feature_put_count(l, "image", (double)lm_volume(k->u.pool.in));
    feature_put_count(l, "pixels", (double)lm_volume(k->u.pool.out));
    feature_put_count(l, "window", (double)lm_volume(k->u.pool.window));
    feature_put_count(l, "stride", (double)lm_volume(k->u.pool.stride));
}

static uint64_t shape(const lm_kernel *k, uint64_t h)
{
    h = shape_mix(h, k->u.pool.channels);
    for (int i = 0; i < 3; i++)
        h = shape_mix(shape_mix(shape_mix(h, k->u.pool.in[i]), k->u.pool.window[i]),
                      k->u.pool.stride[i]);
    return h;
}

const kernel_class kernel_pool = { .name          = "pool",
                                   .terms         = terms,
                                   .work          = WORK_POOL,
                                   .launch        = LAUNCH_POOL,
                                   .launch_counts = launch_put_work,
                                   .features      = features,
                                   .shape         = shape };
