/* A rank's part of a network of experts: weights, and what ranks exchange, by hand. */
#include "shard_sums.h"

#include <stdio.h>

#define MIXTRAL "mixtral_8x7b:layers=2:sequence=64:vocabulary=1000"

/* Two of eight experts on each of four ranks: their weights, and rows that leave and come back. */
static void ranks_have_experts_of_their_own(void **state)
{
    const uint64_t expert = 3 * 4096 * 14336, rows = 2 * 64 * 2;
    bound_text     whole = nets_part(MIXTRAL, 2, 1, false);
    bound_text     t     = shared(MIXTRAL, 2, (net_shard){ .ep = 4 });

    (void)state;
    assert_int_equal(counts_of(&whole, NULL).params - counts_of(&t, NULL).params, 2 * 6 * expert);
    assert_int_equal(counts_of(&whole, NULL).flops_forward, counts_of(&t, NULL).flops_forward);
    assert_int_equal(t.bound->sharing.expert_bytes, 2 * 2 * expert * 2);
    check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, false, false), 2 * 2, rows * 4096 * 2);
    check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, true, false), 2 * 2, rows * 4096 * 2);
    nets_free(&t);
    /* the fullest has half as many rows more: in messages and products */
    t = shared(MIXTRAL ":imbalance=1.5", 2, (net_shard){ .ep = 4 });
    check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, false, false), 2 * 2,
              rows * 4096 * 2 * 3 / 2);
    assert_int_equal(counts_of(&t, NULL).flops_forward - counts_of(&whole, NULL).flops_forward,
                     2 * (rows / 2) * 2 * expert);
    nets_free(&t);
    nets_free(&whole);
}

/* Of 64 tokens each of two ranks of tp sends the rows of its 32 to the experts of four ranks: half of
 * what it sends without sp. The rows of both meet at the halves of an expert: all-gathered before,
 * scattered behind (Megatron Core, MoEAlltoAllTokenDispatcher). */
static void ranks_of_tp_send_their_own_tokens_to_experts(void **state)
{
    const net_shard shard = { .tp = 2, .ep = 4, .sp = true };
    const uint64_t  rows = 2 * 64 * 2, wide = 4096 * 2, expert = 3 * 4096 * 14336;
    bound_text      t     = shared(MIXTRAL, 2, shard);
    bound_text      whole = nets_part(MIXTRAL, 2, 1, false);
    bound_text      plain = shared(MIXTRAL, 2, (net_shard){ .tp = 2, .sp = true });

    (void)state;
    for (int back = 0; back < 2; back++) {
        check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, back, false), 2 * 2, rows / 2 * wide);
        check_sum(messages(&t, "model.layers.1.mlp", SHARD_ALLGATHER, back, false), 1, rows * wide);
        check_sum(messages(&t, "model.layers.1.mlp", SHARD_REDUCESCATTER, back, false), 1,
                  rows * wide);
    }
    assert_int_equal(messages(&t, "model.layers.1.mlp", SHARD_ALLGATHER, true, true).n, 0);
    /* half of two experts; the routers of two layers see half of the tokens, which are summed */
    assert_int_equal(t.bound->sharing.expert_bytes, 2 * 2 * expert / 2 * 2);
    assert_int_equal(t.bound->sharing.step_bytes - plain.bound->sharing.step_bytes, 2 * 8 * wide);
    assert_int_equal(2 * counts_of(&t, NULL).flops_forward, counts_of(&whole, NULL).flops_forward);
    nets_free(&plain);
    nets_free(&whole);
    nets_free(&t);
}

/* 8 tokens of 4 numbers, f32, in a block of experts with shared ones; `before` and `experts` are further keys. */
static bound_text routed(const char *before, const char *experts)
{
    const bind_options b = { .batch = 2,
                             .dtype = LM_F32,
                             .shard = { .tp = 2, .ep = 4, .sp = true } };
    char               text[600];

    snprintf(text, sizeof text,
             "[network]\nname = n\n[x]\ntype = input\nshape = 8x4\n"
             "[e]\ntype = linear\nfeatures = 6\nsplit = columns\n%s"
             "[r]\ntype = linear\nfeatures = 4\nsplit = rows\n%s"
             "[m]\ntype = moe\nexperts = 4\ntop_k = 2\nhidden = 6\nshared = 2\nsplit = columns\n%s"
             "[n]\ntype = layer_norm\n[loss]\ntype = cross_entropy\n",
             before, before, experts);
    return nets_bind_with(text, &b);
}

/* Of 16 tokens a rank has 8: 16 rows to 2 of 4 experts. Both ranks' 32 rows are gathered once in each pass, and
 * the 16 tokens for shared experts once more for their weights' gradients. Scattered are sums alone: of rows
 * and tokens, and of their gradients, where a layer before wants them. */
static void shared_experts_gather_all_tokens(void **state)
{
    static const struct {
        const char *before, *experts;
        uint64_t    back, again, scattered, own; /* messages backward; bytes of routers */
    } of[] = {
        { "", "", 3, 1, 2, 4 * 4 * 4 },
        { "", "frozen = yes\n", 2, 0, 2, 0 },
        { "frozen = yes\n", "", 3, 1, 0, 4 * 4 * 4 },
        { "frozen = yes\n", "frozen = yes\n", 0, 0, 0, 0 },
    };
    const uint64_t wide = 4 * 4, rows = 32 * wide, tokens = 16 * wide;

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        bound_text t    = routed(of[i].before, of[i].experts);
        sum        back = messages(&t, "m", SHARD_ALLGATHER, true, false);

        assert_int_equal(messages(&t, "m", SHARD_ALLGATHER, false, false).n, 2);
        assert_int_equal(messages(&t, "m", SHARD_ALLGATHER, false, false).bytes, rows + tokens);
        assert_int_equal(messages(&t, "m", SHARD_REDUCESCATTER, false, false).bytes, rows + tokens);
        assert_int_equal(back.n, of[i].back);
        assert_int_equal(back.bytes, of[i].back ? rows + (1 + of[i].again) * tokens : 0);
        assert_int_equal(messages(&t, "m", SHARD_REDUCESCATTER, true, false).n, of[i].scattered);
        /* of weights that see only a rank's tokens: routers, the norm behind, the bias of the rows before */
        assert_int_equal(t.bound->sharing.step_bytes,
                         of[i].own + 2 * wide + (*of[i].before ? 0 : wide));
        nets_free(&t);
    }
}

/* Of whole tokens each rank sends all rows, as without sp: 32. Of tokens that a layer before shared, 16,
 * and the rows of both meet at the experts. */
static void whole_tokens_are_sent_by_all(void **state)
{
    static const char whole[] =
        "[network]\nname = n\n[x]\ntype = input\nshape = 8x4\n"
        "[m]\ntype = moe\nexperts = 4\ntop_k = 2\nhidden = 6\nsplit = columns\n"
        "[loss]\ntype = cross_entropy\n";
    static const char tokens[] =
        "[network]\nname = n\n[x]\ntype = input\nshape = 8x4\n"
        "[d]\ntype = relu\nsplit = tokens\n"
        "[m]\ntype = moe\nexperts = 4\ntop_k = 2\nhidden = 6\nsplit = columns\n"
        "[loss]\ntype = cross_entropy\n";
    const bind_options b = { .batch = 2,
                             .dtype = LM_F32,
                             .shard = { .tp = 2, .ep = 4, .sp = true } };
    bound_text         t = nets_bind_with(whole, &b);

    (void)state;
    check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, false, false), 2, 32 * 4 * 4);
    assert_int_equal(messages(&t, "m", SHARD_ALLGATHER, false, false).n, 0);
    assert_int_equal(t.bound->layer[1].way, LM_COLUMNS);
    nets_free(&t);
    t = nets_bind_with(tokens, &b);
    check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, false, false), 2, 16 * 4 * 4);
    check_sum(messages(&t, "m", SHARD_ALLGATHER, false, false), 1, 32 * 4 * 4);
    assert_int_equal(t.bound->layer[2].way, LM_ROUTED);
    nets_free(&t);
}

/* Frozen experts have no gradient, but the layer before them has: it comes back through them. */
static void gradients_pass_through_frozen_experts(void **state)
{
    static const char  text[] = "[network]\nname = n\n[x]\ntype = input\nshape = 8x4\n"
                                "[a]\ntype = linear\nfeatures = 4\n"
                                "[m]\ntype = moe\nexperts = 4\ntop_k = 2\nhidden = 3\nfrozen = yes\n"
                                "[loss]\ntype = cross_entropy\n";
    const bind_options b      = { .batch = 1, .dtype = LM_F32, .shard = { .ep = 4 } };
    bound_text         t      = nets_bind_with(text, &b);

    (void)state;
    check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, false, false), 2, 2 * 8 * 4 * 4);
    check_sum(messages_of(&t, SHARD_EP, SHARD_ALLTOALL, true, false), 2, 2 * 8 * 4 * 4);
    assert_int_equal(t.bound->sharing.expert_bytes, 0);
    nets_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_have_experts_of_their_own),
        cmocka_unit_test(ranks_of_tp_send_their_own_tokens_to_experts),
        cmocka_unit_test(shared_experts_gather_all_tokens),
        cmocka_unit_test(whole_tokens_are_sent_by_all),
        cmocka_unit_test(gradients_pass_through_frozen_experts),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
