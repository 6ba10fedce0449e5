/* The program of a rank. */
#include "program/program.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "program/buckets.h"

const char *program_kind_name(program_kind k)
{
    static const char *const names[N_PROGRAM_KINDS] = { "training", "inference", "decode" };

    return names[k];
}

/* Bytes of a gradient in a message. */
static uint64_t sent(const sync_policy *p, uint64_t bytes, lm_dtype dtype)
{
    return p->dtype ? bytes / lm_dtype_bytes(dtype) * lm_dtype_bytes(p->dtype) : bytes;
}

static size_t make_spans(const sync_policy *p, const gradient_schedule *g, bucket_tensor *tensor,
                         bucket_span *out)
{
    const bool own = p->rule == SYNC_DDP; /* cast for the message */

    for (size_t i = 0; i < g->n; i++) {
        const scheduled_gradient *x = &g->gradient[i];

        tensor[i] = own ? (bucket_tensor){ x->bytes, x->dtype }
                        : (bucket_tensor){ sent(p, x->bytes, x->dtype), LM_F32 };
    }
    switch (p->rule) {
    case SYNC_DDP: return buckets_make(tensor, g->n, p->first_bytes, p->limit_bytes, out);
    case SYNC_ONCE: return buckets_make(tensor, g->n, UINT64_MAX, UINT64_MAX, out);
    case SYNC_TENSOR:
    case SYNC_FUSION: break; /* one message for each gradient */
    }
    return buckets_make(tensor, g->n, 1, 1, out);
}

/* The message of a bucket. It is ready when the last gradient is. */
static message message_of(const gradient_schedule *g, const gradient_times *ready,
                          const sync_policy *p, const bucket_span *s)
{
    return (message){
        .kind        = COLLECTIVE_ALLREDUCE,
        .bytes       = (double)(p->rule == SYNC_DDP ? sent(p, s->bytes, g->gradient[s->first].dtype)
                                                    : s->bytes),
        .group       = GROUP_DATA,
        .pass        = PHASE_BACKWARD,
        .rule        = p->rule == SYNC_ONCE ? MESSAGE_BEHIND : MESSAGE_BESIDE,
        .ready       = ready->first[s->last],
        .more        = ready->second[s->last] - ready->first[s->last],
        .first_layer = g->gradient[s->last].layer,
        .last_layer  = g->gradient[s->first].layer,
    };
}

lm_status rank_program_of_gradients(const gradient_schedule *g, const gradient_times *ready,
                                    const sync_policy *policy, rank_program **out, lm_error *err)
{
    bucket_tensor *tensor = calloc(g->n + 1, sizeof *tensor);
    bucket_span   *span   = calloc(g->n + 1, sizeof *span);
    rank_program  *p      = calloc(1, sizeof *p);
    lm_status      status = tensor && span && p ? LM_OK : no_memory(err);

    if (!status) {
        *p         = (rank_program){ .policy = *policy, .even = g->even };
        p->n       = make_spans(policy, g, tensor, span);
        p->message = calloc(p->n + 1, sizeof *p->message);
        p->running = calloc(p->n + 1, sizeof *p->running);
        p->paid    = calloc(p->n + 1, sizeof *p->paid);
        if (!p->message || !p->running || !p->paid)
            status = no_memory(err);
        for (size_t i = 0; i < p->n && !status; i++) {
            p->message[i]              = message_of(g, ready, policy, &span[i]);
            p->has[p->message[i].rule] = true;
        }
    }
    free(tensor);
    free(span);
    if (status)
        rank_program_free(p);
    else
        *out = p;
    return status;
}

void rank_program_free(rank_program *p)
{
    if (!p)
        return;
    free_all(p->message, p->gather, p->stages.part, p->stages.stage, p->stages.wait, p->stages.rank,
             p->running, p->paid, p);
}
