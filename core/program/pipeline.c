/* Rules of pipelines: names, checks, and the order in which a rank does its tasks. */
#include "program/pipeline_order.h"

#include <string.h>

const char *const pipeline_rule_names[N_PIPELINE_RULES] = { "1f1b", "interleaved", "zb", "gpipe" };

const char *pipeline_pass_name(pipeline_pass p)
{
    static const char *const passes[N_PIPELINE_PASSES] = { [PIPELINE_FORWARD]  = "forward",
                                                           [PIPELINE_BACKWARD] = "backward",
                                                           [PIPELINE_WEIGHT]   = "weight" };

    return passes[p];
}

lm_status pipeline_check(const pipeline_question *q, lm_error *err)
{
    const long long ranks = q->ranks, chunks = q->chunks, batches = q->micro_batches;
    const bool      chunked = q->rule == PIPELINE_INTERLEAVED;

    if (ranks < 1 || chunks < 1 || batches < 1)
        return lm_error_set(err, LM_E_ARG,
                            "%lld stages of %lld chunks, %lld micro-batches: all must be 1 or more",
                            ranks, chunks, batches);
    if (!chunked && chunks > 1)
        return lm_error_set(
            err, LM_E_ARG,
            "schedule %s with %lld chunks of a rank: only interleaved has more than 1",
            pipeline_rule_names[q->rule], chunks);
    if (chunked && chunks > 1 && batches % ranks)
        return lm_error_set(
            err, LM_E_ARG,
            "schedule interleaved: %lld micro-batches are no multiple of %lld stages", batches,
            ranks);
    if ((double)ranks * (double)chunks * (double)batches > (double)PIPELINE_PASSES_MAX)
        return lm_error_set(err, LM_E_ARG,
                            "%lld stages of %lld chunks by %lld micro-batches: at most 2^32 passes",
                            ranks, chunks, batches);
    return LM_OK;
}

pipeline_round pipeline_round_of(const pipeline_stage *stage, int64_t ranks, double batches)
{
    pipeline_round r       = { 0, 0, 0 };
    double         slowest = 0;

    for (int64_t v = 0; v < ranks; v++) {
        const double send    = v + 1 < ranks ? stage[v].send : 0;
        const double seconds = stage[v].forward + send;

        r.sent += send;
        r.pass += seconds;
        slowest = seconds > slowest ? seconds : slowest;
    }
    r.round = batches * slowest > r.pass ? batches * slowest : r.pass;
    return r;
}

int64_t pipeline_warm_up(const pipeline_question *q, int64_t rank)
{
    const int64_t passes = q->chunks * q->micro_batches, behind = q->ranks - 1 - rank;
    int64_t       n = behind;

    if (q->rule == PIPELINE_GPIPE)
        n = passes;
    else if (q->chunks > 1)
        n = 2 * behind + (q->chunks - 1) * q->ranks;
    return n < passes ? n : passes;
}

int64_t pipeline_in_flight(const pipeline_question *q, int64_t rank)
{
    const int64_t passes = q->chunks * q->micro_batches;
    const int64_t n      = pipeline_warm_up(q, rank) + 1 + pipeline_deferred(q, rank);

    return n < passes ? n : passes;
}

pipeline_pass pipeline_next(const pipeline_question *q, int64_t rank, int64_t warm_up,
                            const int64_t done[N_PIPELINE_PASSES])
{
    const int64_t passes = q->chunks * q->micro_batches;
    const int64_t f = done[PIPELINE_FORWARD], b = done[PIPELINE_BACKWARD];

    if (q->rule == PIPELINE_ZB_H1 && done[PIPELINE_WEIGHT] < b - pipeline_deferred(q, rank))
        return PIPELINE_WEIGHT;
    if (f < passes && f <= b + warm_up)
        return PIPELINE_FORWARD;
    if (b < passes)
        return PIPELINE_BACKWARD;
    return q->rule == PIPELINE_ZB_H1 && done[PIPELINE_WEIGHT] < passes ? PIPELINE_WEIGHT
                                                                       : N_PIPELINE_PASSES;
}

pipeline_place pipeline_place_of(const pipeline_question *q, pipeline_pass pass, int64_t nth)
{
    const int64_t group = q->ranks * q->chunks;
    int64_t       chunk;

    if (q->chunks == 1)
        return (pipeline_place){ 0, nth };
    chunk = nth % group / q->ranks;
    return (pipeline_place){ pass == PIPELINE_FORWARD ? chunk : q->chunks - 1 - chunk,
                             nth / group * q->ranks + nth % q->ranks };
}
