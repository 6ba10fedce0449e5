/* Layouts: divisibility, and places of their groups. */
#include "program/layout.h"

#include <stdio.h>
#include <string.h>

#include "network/stages.h"

/* ---- what is there ---- */

layout layout_plain(void)
{
    return (layout){
        .tp        = 1,
        .pp        = 1,
        .cp        = 1,
        .vp        = 1,
        .ep        = 1,
        .recompute = "none",
        .order     = { LAYOUT_TP, LAYOUT_CP, LAYOUT_EP, LAYOUT_DP, LAYOUT_PP },
    };
}

bool layout_is_plain(const layout *l)
{
    return l->tp == 1 && l->pp == 1 && l->cp == 1 && l->ep == 1 && !l->zero && !l->fsdp &&
           !strcmp(l->recompute, "none");
}

bool layout_is_whole(const layout *l)
{
    const unsigned all = LAYOUT_BIT(TOLD_TP) | LAYOUT_BIT(TOLD_PP) | LAYOUT_BIT(TOLD_DP);

    return (l->told & all) == all;
}

net_shard layout_shard(const layout *l)
{
    return (net_shard){ .tp = l->tp, .cp = l->cp, .ep = l->ep, .sp = l->sp, .ulysses = l->ulysses };
}

int64_t layout_batches(const layout *l)
{
    return l->pp;
}

int64_t layout_replica(const layout *l)
{
    return l->tp * l->cp * l->pp;
}

bool layout_ranks_fit(const layout *l)
{
    return l->tp <= LAYOUT_RANKS_MOST / l->cp && l->tp * l->cp <= LAYOUT_RANKS_MOST / l->pp &&
           layout_replica(l) <= LAYOUT_RANKS_MOST / (l->dp ? l->dp : 1);
}

int64_t layout_ranks(const layout *l, layout_dim d)
{
    switch (d) {
    case LAYOUT_TP: return l->tp;
    case LAYOUT_CP: return l->cp;
    case LAYOUT_EP: return l->ep;
    case LAYOUT_DP: return l->dp;
    case LAYOUT_PP: return l->pp;
    case N_LAYOUT_DIMS: break;
    }
    return 1;
}

/* ---- the check ---- */

/* `whole` must be a multiple of the ranks that share it; 0: unknown. */
static lm_status divides(int64_t whole, const char *what, int64_t part, const char *of,
                         lm_error *err)
{
    if (whole % part == 0)
        return LM_OK;
    return lm_error_set(err, LM_E_ARG, "%lld %s are no multiple of %s %lld", (long long)whole, what,
                        of, (long long)part);
}

static lm_status settle_ranks(layout *l, int64_t world, lm_error *err)
{
    char      product[96];
    lm_status status;

    if (!layout_ranks_fit(l))
        return lm_error_set(err, LM_E_ARG, "tp %lld x cp %lld x pp %lld are more than %lld ranks",
                            (long long)l->tp, (long long)l->cp, (long long)l->pp,
                            (long long)LAYOUT_RANKS_MOST);
    if (!world)
        world = layout_replica(l) * (l->dp ? l->dp : 1);
    snprintf(product, sizeof product, "tp %lld x cp %lld x pp %lld =", (long long)l->tp,
             (long long)l->cp, (long long)l->pp);
    if (world < layout_replica(l))
        return lm_error_set(err, LM_E_ARG,
                            "%s %lld devices are needed, and there %s %lld: give nodes or devices "
                            "per node",
                            product, (long long)layout_replica(l), world == 1 ? "is" : "are",
                            (long long)world);
    if ((status = divides(world, "devices", layout_replica(l), product, err)))
        return status;
    if (l->dp && l->dp * layout_replica(l) != world)
        return lm_error_set(err, LM_E_ARG, "dp %lld x %s %lld ranks, but there are %lld devices",
                            (long long)l->dp, product, (long long)(l->dp * layout_replica(l)),
                            (long long)world);
    l->dp = world / layout_replica(l);
    return LM_OK;
}

static lm_status settle_shards(layout *l, lm_error *err)
{
    const int64_t data = l->dp * l->cp;

    if (l->fsdp && l->zero)
        return lm_error_set(err, LM_E_ARG, "fsdp and zero %lld: give one of them",
                            (long long)l->zero);
    if (l->fsdp == LAYOUT_ALL)
        l->fsdp = data;
    if ((l->zero || l->fsdp) && data == 1)
        return lm_error_set(err, LM_E_ARG,
                            "%s shares what ranks of dp hold, and dp is 1: give --dp %lld or more",
                            l->fsdp ? "fsdp" : "zero", (long long)(l->fsdp > 1 ? l->fsdp : 2));
    if (l->fsdp && data % l->fsdp)
        return lm_error_set(err, LM_E_ARG, "dp %lld x cp %lld ranks are no multiple of fsdp %lld",
                            (long long)l->dp, (long long)l->cp, (long long)l->fsdp);
    if (data < l->ep)
        return lm_error_set(
            err, LM_E_ARG,
            "ranks of ep are among those of dp and cp: dp %lld x cp %lld is below ep %lld: "
            "give --dp %lld",
            (long long)l->dp, (long long)l->cp, (long long)l->ep, (long long)l->ep);
    if (data % l->ep)
        return lm_error_set(err, LM_E_ARG, "dp %lld x cp %lld ranks are no multiple of ep %lld",
                            (long long)l->dp, (long long)l->cp, (long long)l->ep);
    if (l->fsdp && l->fsdp % l->ep)
        return lm_error_set(err, LM_E_ARG, "fsdp %lld ranks are no multiple of ep %lld",
                            (long long)l->fsdp, (long long)l->ep);
    if (l->ulysses && l->cp == 1)
        return lm_error_set(err, LM_E_ARG, "ulysses shares heads among ranks of cp, and cp is 1");
    if (l->sp && l->tp == 1)
        return lm_error_set(err, LM_E_ARG, "sp shares tokens among ranks of tp, and tp is 1");
    if (l->vp > 1 && l->pp == 1)
        return lm_error_set(err, LM_E_ARG, "vp %lld: chunks are of stages, and pp is 1",
                            (long long)l->vp);
    if (*l->stages && l->pp == 1)
        return lm_error_set(err, LM_E_ARG, "stages=%.40s: stages are of a pipeline, and pp is 1",
                            l->stages);
    if (l->vp > 1 && !(l->told & LAYOUT_BIT(TOLD_SCHEDULE)))
        l->schedule = PIPELINE_INTERLEAVED;
    if (l->vp > 1 && l->schedule != PIPELINE_INTERLEAVED)
        return lm_error_set(err, LM_E_ARG, "vp %lld takes the schedule interleaved, not %s",
                            (long long)l->vp, pipeline_rule_names[l->schedule]);
    return LM_OK;
}

lm_status batch_samples(batch_told *b, int64_t each, lm_error *err)
{
    if (!b->tokens)
        return LM_OK;
    if (!each)
        return lm_error_set(
            err, LM_E_ARG,
            "a global batch of %lld tokens, but a sample has no tokens: give samples",
            (long long)b->n);
    if (b->n % each)
        return lm_error_set(
            err, LM_E_ARG,
            "a global batch of %lld tokens is no multiple of the %lld tokens of a sample",
            (long long)b->n, (long long)each);
    *b = (batch_told){ .n = b->n / each };
    return LM_OK;
}

static lm_status settle_tokens(layout *l, const layout_facts *facts, lm_error *err)
{
    batch_told b      = { l->batch_tokens, true };
    lm_status  status = LM_OK;

    if (facts && l->batch_tokens && !(status = batch_samples(&b, facts->tokens, err)))
        layout_set_batch(l, &b);
    return status;
}

static lm_status settle_batch(layout *l, lm_error *err)
{
    const int64_t m = l->micro_batch, a = l->accumulation, d = l->dp;

    if (l->batch_tokens) /* unknown without the network */
        return LM_OK;

    if (l->global_batch && l->global_batch % d)
        return lm_error_set(err, LM_E_ARG, "a global batch of %lld is no multiple of dp %lld",
                            (long long)l->global_batch, (long long)d);
    if (!m && !(l->global_batch && a))
        return lm_error_set(
            err, LM_E_ARG,
            "no micro-batch is given (mb), nor a global batch (gb) that it follows from");
    if (!m) {
        if (l->global_batch / d % a)
            return lm_error_set(err, LM_E_ARG,
                                "%lld samples of a rank are no multiple of %lld micro-batches",
                                (long long)(l->global_batch / d), (long long)a);
        l->micro_batch = l->global_batch / d / a;
        return LM_OK;
    }
    if (l->global_batch) {
        const int64_t own = l->global_batch / d;

        if (own % m)
            return lm_error_set(err, LM_E_ARG,
                                "a global batch of %lld leaves a rank %lld samples, no multiple of "
                                "micro-batch %lld",
                                (long long)l->global_batch, (long long)own, (long long)m);
        if (a && own / m != a)
            return lm_error_set(err, LM_E_ARG,
                                "a global batch of %lld makes %lld micro-batches a rank, not %lld",
                                (long long)l->global_batch, (long long)(own / m), (long long)a);
        l->accumulation = own / m;
        return LM_OK;
    }
    l->accumulation = a ? a : 1;
    if (m > INT64_MAX / l->accumulation || m * l->accumulation > INT64_MAX / d)
        return lm_error_set(err, LM_E_ARG, "micro-batch %lld x dp %lld does not fit 64 bits",
                            (long long)m, (long long)d);
    l->global_batch = m * l->accumulation * d;
    return LM_OK;
}

/* Can the ranks of tp share the heads of keys and values, or hold copies of one each? */
static lm_status check_kv_heads(const layout *l, const layout_facts *f, int64_t ranks,
                                const char *of, lm_error *err)
{
    if (f->copies && !l->ulysses && f->kv_heads && ranks % f->kv_heads == 0)
        return LM_OK;
    return divides(f->kv_heads, "heads of keys and values", ranks, of, err);
}

static lm_status check_facts(const layout *l, const layout_facts *f, lm_error *err)
{
    const int64_t heads = l->ulysses ? l->tp * l->cp : l->tp;
    const char   *of    = l->ulysses ? "tp x cp" : "tp";
    lm_status     status;

    if (l->cp > 1 && !f->tokens)
        return lm_error_set(err, LM_E_ARG, "cp %lld: a sample of the network has 0 tokens",
                            (long long)l->cp);
    if ((status = divides(f->heads, "heads", heads, of, err)) ||
        (status = check_kv_heads(l, f, heads, of, err)) ||
        (status = divides(f->experts, "experts", l->ep, "ep", err)) ||
        (status = divides(f->tokens, "tokens", l->cp, "cp", err)) ||
        (status = divides(f->tokens, "tokens", l->sp ? l->tp * l->cp : 1, "tp x cp", err)))
        return status;
    if (l->pp > 1 && !f->blocks)
        return lm_error_set(err, LM_E_ARG, "pp %lld: the network has 0 blocks to cut between",
                            (long long)l->pp);
    if (f->blocks && l->pp > f->blocks / l->vp)
        return lm_error_set(err, LM_E_ARG, "%lld layers are fewer than pp %lld x vp %lld",
                            (long long)f->blocks, (long long)l->pp, (long long)l->vp);
    if (f->blocks && (status = stages_check(f->blocks, l->pp * l->vp, l->stages, err)))
        return status;
    if (l->ep > 1 && !f->experts)
        return lm_error_set(err, LM_E_ARG, "ep %lld: the network has 0 experts", (long long)l->ep);
    return LM_OK;
}

lm_status layout_settle(layout *l, const layout_facts *facts, int64_t world, lm_error *err)
{
    layout    out = *l;
    lm_status status;

    if ((status = settle_tokens(&out, facts, err)) || (status = settle_ranks(&out, world, err)) ||
        (status = settle_shards(&out, err)) || (status = settle_batch(&out, err)) ||
        (facts && (status = check_facts(&out, facts, err))))
        return status;
    *l = out;
    return LM_OK;
}

lm_status layout_check_inference(const layout *l, lm_error *err)
{
    const char *of = l->fsdp                               ? "fsdp"
                     : l->zero                             ? "zero"
                     : l->vp > 1                           ? "vp"
                     : l->told & LAYOUT_BIT(TOLD_SCHEDULE) ? "a schedule"
                     : l->global_batch                     ? "a global batch"
                     : l->accumulation                     ? "ga"
                     : l->batch_tokens                     ? "a global batch"
                                                           : NULL;

    if (!of)
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "%s is for training: ranks of inference share layers (tp, sp, ep, pp), "
                        "tokens of a prompt (cp), or are replicas (dp)",
                        of);
}

/* ---- the placement ---- */

/* Distance between neighbours of a dimension, in ranks. The ranks of ep are those of cp and dp. */
static int64_t stride_of(const layout *l, layout_dim d)
{
    int64_t stride = 1;

    for (int i = 0; i < N_LAYOUT_DIMS; i++) {
        const layout_dim at = l->order[i];

        if (at == d || (d == LAYOUT_EP && (at == LAYOUT_CP || at == LAYOUT_DP)))
            break;
        if (at != LAYOUT_EP)
            stride *= layout_ranks(l, at);
    }
    return stride;
}

/* Number of n ranks at this distance that lie on one node; 0: it differs between nodes. */
static int64_t ranks_on_node(int64_t n, int64_t stride, int64_t devices)
{
    const int64_t fit = stride < devices ? devices / stride : 1;

    if (n == 1)
        return 1;
    if (stride < devices ? devices % stride : stride % devices)
        return 0;
    if (n <= fit)
        return fit % n ? 0 : n;
    return n % fit ? 0 : fit;
}

static rank_span span_of(int64_t ranks, int64_t on_node, int64_t devices)
{
    return (rank_span){ .nodes   = ranks / on_node,
                        .devices = on_node,
                        .beside  = devices > on_node ? devices / on_node : 1 };
}

lm_status layout_span(const layout *l, unsigned dims, int64_t devices, rank_span *out,
                      lm_error *err)
{
    int64_t ranks = 1, on_node = 1;

    for (int d = 0; d < N_LAYOUT_DIMS; d++) {
        const int64_t n = layout_ranks(l, (layout_dim)d), stride = stride_of(l, (layout_dim)d);
        int64_t       here;

        if (!(dims & LAYOUT_BIT(d)))
            continue;
        if (!(here = ranks_on_node(n, stride, devices)))
            return lm_error_set(err, LM_E_ARG,
                                "%s %lld: its ranks are %lld apart and do not spread evenly over "
                                "nodes of %lld devices",
                                layout_dim_name((layout_dim)d), (long long)n, (long long)stride,
                                (long long)devices);
        ranks *= n;
        on_node *= here;
    }
    *out = span_of(ranks, on_node, devices);
    return LM_OK;
}

/* Group of two neighbours in a pipeline; `beside`: number of such pairs that send at once. One rank
 * without a pipeline. */
static lm_status hop(const layout *l, int64_t devices, rank_span *out, lm_error *err)
{
    rank_span       all;
    const lm_status status = layout_span(l, LAYOUT_BIT(LAYOUT_PP), devices, &all, err);

    if (status)
        return status;
    *out = all.nodes > 1
               ? (rank_span){ .nodes = 2, .devices = 1, .beside = all.beside * all.devices }
               : (rank_span){ .nodes = 1, .devices = l->pp > 1 ? 2 : 1, .beside = 1 };
    return LM_OK;
}

/* Divides the ranks of dp and cp: `near` is a group of the `own` nearest ranks, `far` the ranks at
 * a distance of `own`. */
static lm_status divide_data(const layout *l, int64_t own, const char *what, int64_t devices,
                             rank_span *near, rank_span *far, lm_error *err)
{
    const int64_t   n = l->dp * l->cp;
    rank_span       all;
    int64_t         here;
    const lm_status status =
        layout_span(l, LAYOUT_BIT(LAYOUT_DP) | LAYOUT_BIT(LAYOUT_CP), devices, &all, err);

    if (status)
        return status;
    here = own < all.devices ? own : all.devices;
    if (own < all.devices ? all.devices % own : own % all.devices)
        return lm_error_set(err, LM_E_ARG,
                            "%s %lld: does not spread evenly over the %lld ranks of dp on a node",
                            what, (long long)own, (long long)all.devices);
    *near = span_of(own, here, devices);
    *far  = span_of(n / own, all.devices / here, devices);
    return LM_OK;
}

lm_status layout_expert_span(const layout *l, int64_t devices, rank_span *experts,
                             rank_span *replicas, lm_error *err)
{
    return divide_data(l, l->ep, "ep", devices, experts, replicas, err);
}

lm_status layout_shard_span(const layout *l, int64_t devices, rank_span *shard, rank_span *replica,
                            lm_error *err)
{
    return divide_data(l, l->fsdp ? l->fsdp : l->dp * l->cp, "fsdp", devices, shard, replica, err);
}

rank_group layout_group_of(shard_group g)
{
    switch (g) {
    case SHARD_TP: return GROUP_TENSOR;
    case SHARD_CP: return GROUP_CONTEXT;
    case SHARD_EP: return GROUP_EXPERTS;
    case N_SHARD_GROUPS: break;
    }
    return N_RANK_GROUPS;
}

lm_status layout_groups(const layout *l, int64_t devices, rank_span group[N_RANK_GROUPS],
                        lm_error *err)
{
    static const struct {
        unsigned   dims;
        rank_group group;
    } spans[]        = { { LAYOUT_BIT(LAYOUT_DP) | LAYOUT_BIT(LAYOUT_CP), GROUP_DATA },
                         { LAYOUT_BIT(LAYOUT_TP), GROUP_TENSOR },
                         { LAYOUT_BIT(LAYOUT_CP), GROUP_CONTEXT } };
    lm_status status = LM_OK;

    for (size_t i = 0; i < sizeof spans / sizeof spans[0] && !status; i++)
        status = layout_span(l, spans[i].dims, devices, &group[spans[i].group], err);
    if (!status)
        status =
            layout_expert_span(l, devices, &group[GROUP_EXPERTS], &group[GROUP_SAME_EXPERTS], err);
    if (!status)
        status = hop(l, devices, &group[GROUP_STAGES], err);
    if (!status)
        status = layout_shard_span(l, devices, &group[GROUP_SHARD], &group[GROUP_REPLICA], err);
    if (!status)
        group[GROUP_EXPERT_SHARD] =
            span_of(l->fsdp ? l->fsdp / l->ep : l->dp * l->cp / l->ep,
                    group[GROUP_SHARD].devices / group[GROUP_EXPERTS].devices, devices);
    return status;
}

double layout_updated(const layout *l, double bytes, double experts)
{
    const double ranks = l->fsdp ? (double)l->fsdp : l->zero ? (double)(l->dp * l->cp) : 1;

    return ranks > 1 ? (bytes + experts * (double)(l->ep - 1)) / ranks : bytes;
}
