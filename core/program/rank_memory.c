/* Memory of the fullest rank under a layout. */
#include "program/rank_memory.h"

#include "program/pipeline.h"

lm_status rank_memory_check(const layout *l, lm_error *err)
{
    if (l->pp > 1 && l->schedule == PIPELINE_GPIPE && !l->accumulation)
        return lm_error_set(
            err, LM_E_ARG,
            "gpipe keeps all micro-batches: say how many, as --layout 'pp%lld gpipe "
            "ga8'",
            (long long)l->pp);
    return LM_OK;
}

static memory_shares shares_of(const layout *l)
{
    const int64_t data = l->dp * l->cp;

    return (memory_shares){ .experts   = l->ep,
                            .states    = l->fsdp       ? l->fsdp
                                         : l->zero > 0 ? data
                                                       : 1,
                            .gradients = l->fsdp       ? l->fsdp
                                         : l->zero > 1 ? data
                                                       : 1,
                            .weights   = l->fsdp       ? l->fsdp
                                         : l->zero > 2 ? data
                                                       : 1 };
}

static int64_t in_flight(const rank_memory *m, int64_t rank)
{
    const layout           *l = m->l;
    const pipeline_question q = { .rule          = l->schedule,
                                  .ranks         = l->pp,
                                  .chunks        = l->vp,
                                  .micro_batches = l->accumulation ? l->accumulation : 2 * l->pp };

    if (m->bind->evaluation)
        return layout_batches(l);
    return l->pp > 1 ? pipeline_in_flight(&q, rank) : 0;
}

/* The question for one rank. */
typedef struct asked_rank {
    bind_options   bind;
    memory_options how;
} asked_rank;

static asked_rank rank_at(const rank_memory *m, int64_t rank)
{
    const layout *l = m->l;
    asked_rank    a = { *m->bind, *m->how };

    a.bind.shard           = layout_shard(l);
    a.how.shares           = shares_of(l);
    a.how.shares.in_flight = in_flight(m, rank);
    a.how.keep_gradients |=
        !a.how.sums && (l->pp > 1 || l->accumulation > 1); /* sums over micro-steps */
    /* sharded gradients are not copied into buckets, except before late sums */
    a.how.nodes = l->fsdp || l->zero > (m->how->late_sums ? 1 : 0) ? 1 : l->dp * l->cp;
    if (l->pp > 1)
        a.how.stage =
            (memory_stage){ .ranks = l->pp, .chunks = l->vp, .rank = rank, .spread = l->stages };
    return a;
}

/* Follows each rank of a pipeline; keeps the fullest, or the one that m->stage names. */
static lm_status find_fullest(const rank_memory *m, const memory_binding *bound, memory_use *out,
                              int64_t *rank, lm_error *err)
{
    lm_status status = LM_OK;

    *out = (memory_use){ .peak = 0 };
    for (int64_t r = 0; r < m->l->pp && !status; r++) {
        const asked_rank a = rank_at(m, r);
        memory_use       use;

        if (m->stage && r + 1 != m->stage)
            continue;
        status = memory_follow(bound, &a.how, &use, NULL, err);
        if (!status && use.peak > out->peak) {
            *out  = use;
            *rank = r;
        }
    }
    return status;
}

lm_status rank_memory_of(const rank_memory *m, memory_use *out, int64_t *rank,
                         memory_of_layer *layer, lm_error *err)
{
    memory_binding own = { .net = NULL };
    asked_rank     a;
    lm_status      status = LM_OK;

    *rank = 0;
    if (!m->l)
        return memory_of_step(m->net, m->reg, m->bind, m->how, out, layer, err);
    a = rank_at(m, 0);
    if (!m->bound)
        status = memory_bind(m->net, m->reg, &a.bind, a.how.mixed, &own, err);
    if (!status)
        status = find_fullest(m, m->bound ? m->bound : &own, out, rank, err);
    if (!status && layer) {
        a      = rank_at(m, *rank);
        status = memory_follow(m->bound ? m->bound : &own, &a.how, out, layer, err);
    }
    memory_unbind(&own);
    return status;
}

lm_status rank_memory_over_step(const rank_memory *m, memory_use *out, int64_t *rank,
                                memory_moment **moment, size_t *n, lm_error *err)
{
    asked_rank a;
    lm_status  status;

    *rank = 0;
    if (!m->l)
        return memory_over_step(m->net, m->reg, m->bind, m->how, out, moment, n, err);
    if ((status = rank_memory_of(m, out, rank, NULL, err)))
        return status;
    a = rank_at(m, *rank);
    return memory_over_step(m->net, m->reg, &a.bind, &a.how, out, moment, n, err);
}

/* Is this the largest batch? *rank: else the rank that it is too large for. */
static lm_status fits_all(const rank_memory *m, uint64_t room, int64_t batch, int64_t *rank,
                          bool *fits, lm_error *err)
{
    bind_options      at  = *m->bind;
    const rank_memory all = { .net = m->net, .reg = m->reg, .bind = &at, .how = m->how, .l = m->l };
    memory_use        use;
    lm_status         status;

    *fits = batch == 0 || batch >= MEMORY_BATCH_MAX || m->l->pp == 1;
    if (*fits)
        return LM_OK;
    at.batch = batch;
    status   = rank_memory_of(&all, &use, rank, NULL, err);
    *fits    = !status && use.peak <= room;
    return status;
}

lm_status rank_memory_largest(const rank_memory *m, uint64_t room, int64_t *batch, lm_error *err)
{
    int64_t   least = MEMORY_BATCH_MAX, rank = 0;
    bool      found  = false;
    lm_status status = LM_OK;

    if (!m->l)
        return memory_largest_batch(m->net, m->reg, m->bind, m->how, room, batch, err);
    /* one rank after the other, the fullest next: all are known at a batch from one binding */
    while (!found && !status) {
        const asked_rank a = rank_at(m, rank);
        int64_t          fits;

        status = memory_largest_batch(m->net, m->reg, &a.bind, &a.how, room, &fits, err);
        if (status)
            break;
        least  = fits < least ? fits : least;
        status = fits_all(m, room, least, &rank, &found, err);
    }
    if (!status)
        *batch = least;
    return status;
}
