/* Pooling. */
#include "counts/kernel_class.h"

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

const kernel_class        kernel_pool = { .name = "pool", .terms = terms, .work = WORK_POOL };
