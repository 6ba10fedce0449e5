/* Layouts: words, what must divide what, and where groups lie. */
#include "check.h"

#include <string.h>

#include "program/layout.h"

static layout parsed(const char *text)
{
    layout   l   = layout_plain();
    lm_error err = { LM_OK, "" };

    if (layout_parse(text, &l, &err))
        fail_msg("%s", err.text);
    return l;
}

/* With a micro-batch of 1, on so many ranks. */
static layout settled(const char *text, int64_t world)
{
    layout   l   = parsed(text);
    lm_error err = { LM_OK, "" };

    if (!l.micro_batch && !l.global_batch)
        l.micro_batch = 1;
    if (layout_settle(&l, NULL, world, &err))
        fail_msg("%s", err.text);
    return l;
}

static void words_are_read_and_printed(void **state)
{
    const layout l =
        parsed("tp4 pp2  dp8 sp zero1 mb2 gb512 zb recompute=full stages=7,8,8,5 dp-tp-cp-ep-pp");
    char     text[LAYOUT_TEXT];
    layout   other = layout_plain();
    lm_error err   = { LM_OK, "" };

    (void)state;
    assert_int_equal(l.tp, 4);
    assert_int_equal(l.pp, 2);
    assert_int_equal(l.dp, 8);
    assert_int_equal(l.cp, 1);
    assert_true(l.sp);
    assert_int_equal(l.zero, 1);
    assert_int_equal(l.micro_batch, 2);
    assert_int_equal(l.global_batch, 512);
    assert_int_equal(l.schedule, PIPELINE_ZB_H1);
    assert_string_equal(l.recompute, "full");
    assert_int_equal(l.order[0], LAYOUT_DP);
    assert_string_equal(layout_print(&l, text),
                        "tp4 dp8 pp2 zero1 mb2 gb512 sp zb recompute=full stages=7,8,8,5 "
                        "dp-tp-cp-ep-pp");
    assert_int_equal(layout_parse(text, &other, &err), LM_OK);
    assert_memory_equal(&other, &l, sizeof l);
    other = layout_plain();
    assert_string_equal(layout_print(&other, text), "tp1");
    assert_true(parsed("cp2 ulysses").ulysses);
    assert_false(parsed("cp2 ulysses ring").ulysses);
    other = parsed("cp2 ulysses");
    assert_string_equal(layout_print(&other, text), "cp2 ulysses");
    assert_string_equal(parsed("stages=balanced").stages, "balanced");
    assert_string_equal(parsed("stages=even").stages, "");
    assert_int_equal(parsed("fsdp").fsdp, LAYOUT_ALL);
    assert_int_equal(parsed("fsdp8").fsdp, 8);
}

static void wrong_words_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "tp0", "tp: must be 1 to 16777216, found 0" },
        { "zero4", "zero: must be 0 to 3, found 4" },
        { "tp4 tp2", "tp: given twice: 4 and 2" },
        { "gb16 gb16tokens", "gb: given twice: 16 and 16" },
        { "tp", "expected words as tp4, pp2, dp8, sp, zero1, fsdp, mb1 or gb512, found 'tp'" },
        { "xp4", "expected words as tp4, pp2, dp8, sp, zero1, fsdp, mb1 or gb512, found 'xp4'" },
        { "stages=x",
          "expected even, balanced, or blocks of each stage as 7,8,8,7 in up to 159 characters, "
          "found 'x'" },
        { "tp-cp-ep-dp-dp",
          "expected tp, cp, ep, dp and pp in some order, as tp-cp-ep-dp-pp, found "
          "'tp-cp-ep-dp-dp'" },
        { "tp-cp", "expected tp, cp, ep, dp and pp in some order, as tp-cp-ep-dp-pp, found "
                   "'tp-cp'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        layout   l   = layout_plain();
        lm_error err = { LM_OK, "" };

        assert_true(layout_parse(bad[i].text, &l, &err) < 0);
        assert_string_equal(err.text, bad[i].why);
        assert_memory_equal(&l, &(layout[]){ layout_plain() }, sizeof l);
    }
}

static void what_does_not_fit_names_both_numbers(void **state)
{
    static const layout_facts facts = {
        .heads = 32, .kv_heads = 8, .blocks = 30, .experts = 6, .tokens = 1024
    };
    static const struct {
        const char *text;
        int64_t     world;
        const char *why;
    } bad[] = {
        { "tp8 mb1", 12, "12 devices are no multiple of tp 8 x cp 1 x pp 1 = 8" },
        { "tp4 dp2 mb1", 16, "dp 2 x tp 4 x cp 1 x pp 1 = 8 ranks, but there are 16 devices" },
        { "tp5 mb1", 5, "32 heads are no multiple of tp 5" },
        { "tp16 mb1", 16, "8 heads of keys and values are no multiple of tp 16" },
        { "pp4 stages=7,8,8,8 mb1", 4, "stages=7,8,8,8: 31 layers, and the network has 30" },
        { "pp3 vp2 interleaved stages=10,10,10 mb1", 3, "stages=10,10,10: 3 numbers for 6 stages" },
        { "stages=30 mb1", 1, "stages=30: stages are of a pipeline, and pp is 1" },
        { "pp64 mb1", 64, "30 layers are fewer than pp 64 x vp 1" },
        { "pp3 vp2 1f1b mb1", 3, "vp 2 takes the schedule interleaved, not 1f1b" },
        { "pp3 vp16 interleaved mb1", 3, "30 layers are fewer than pp 3 x vp 16" },
        { "vp2 interleaved mb1", 3, "vp 2: chunks are of stages, and pp is 1" },
        { "ep4 mb1", 4, "6 experts are no multiple of ep 4" },
        { "ep3 mb1", 4, "dp 4 x cp 1 ranks are no multiple of ep 3" },
        { "cp3 mb1", 3, "1024 tokens are no multiple of cp 3" },
        { "cp4 tp2 ulysses mb1", 8, NULL },
        { "cp8 tp2 ulysses mb1", 16, "8 heads of keys and values are no multiple of tp x cp 16" },
        { "ulysses mb1", 4, "ulysses shares heads among ranks of cp, and cp is 1" },
        { "sp mb1", 4, "sp shares tokens among ranks of tp, and tp is 1" },
        { "zero1 fsdp mb1", 4, "fsdp and zero 1: give one of them" },
        { "tp4 zero1 mb1", 4,
          "zero shares what ranks of dp hold, and dp is 1: give --dp 2 or more" },
        { "tp4 fsdp mb1", 4,
          "fsdp shares what ranks of dp hold, and dp is 1: give --dp 2 or more" },
        { "fsdp3 mb1", 8, "dp 8 x cp 1 ranks are no multiple of fsdp 3" },
        { "ep4 fsdp2 mb1", 4, "fsdp 2 ranks are no multiple of ep 4" },
        { "gb12 mb1", 8, "a global batch of 12 is no multiple of dp 8" },
        { "gb24 mb2", 8,
          "a global batch of 24 leaves a rank 3 samples, no multiple of "
          "micro-batch 2" },
        { "gb32 mb2 ga4", 8, "a global batch of 32 makes 2 micro-batches a rank, not 4" },
        { "gb24 ga2", 8, "3 samples of a rank are no multiple of 2 micro-batches" },
        { "tp2", 8, "no micro-batch is given (mb), nor a global batch (gb) that it follows from" },
        { "gb8191tokens mb1", 1,
          "a global batch of 8191 tokens is no multiple of the 1024 tokens of a sample" },
        { "gb12ktokens mb1", 8, "a global batch of 12 is no multiple of dp 8" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        layout   l   = parsed(bad[i].text);
        lm_error err = { LM_OK, "" };

        assert_int_equal(layout_settle(&l, &facts, bad[i].world, &err),
                         bad[i].why ? LM_E_ARG : LM_OK);
        assert_string_equal(err.text, bad[i].why ? bad[i].why : "");
    }
}

static void what_follows_is_filled_in(void **state)
{
    layout l = settled("tp4 pp2 gb64 mb2", 64);

    (void)state;
    assert_int_equal(l.dp, 8);
    assert_int_equal(l.accumulation, 4); /* 64 / (2 * 8) */
    l = settled("tp2 cp2 fsdp gb32 ga2", 32);
    assert_int_equal(l.dp, 8);
    assert_int_equal(l.fsdp, 16); /* the weights are those of cp's ranks, too */
    assert_int_equal(l.micro_batch, 2);
    l = settled("dp4 mb3 ga2", 0);
    assert_int_equal(l.global_batch, 24);
    l = settled("pp2 vp2 mb1", 2); /* chunks have one schedule */
    assert_int_equal(l.schedule, PIPELINE_INTERLEAVED);
}

/* Without a network tokens wait; with its samples of 1024 they are samples. */
static void tokens_of_a_batch_become_samples(void **state)
{
    static const layout_facts facts = { .tokens = 1024 };
    char                      words[LAYOUT_TEXT];
    layout                    l = settled("dp4 mb2 gb64ktokens", 4);
    batch_told                b = { 4096, true };
    lm_error                  err;

    (void)state;
    assert_int_equal(l.global_batch, 0);
    assert_string_equal(layout_print(&l, words), "dp4 mb2 gb65536tokens");
    assert_int_equal(layout_settle(&l, &facts, 4, &err), LM_OK);
    assert_int_equal(l.global_batch, 64);
    assert_int_equal(l.accumulation, 8); /* 64 / (4 * 2) */
    assert_string_equal(layout_print(&l, words), "dp4 mb2 gb64 ga8");
    assert_int_equal(batch_samples(&b, 1024, &err), LM_OK);
    assert_int_equal(b.n, 4);
    assert_false(b.tokens);
    b = (batch_told){ 4096, true };
    assert_int_equal(batch_samples(&b, 0, &err), LM_E_ARG);
    assert_string_equal(err.text,
                        "a global batch of 4096 tokens, but a sample has no tokens: give samples");
}

static void check_span(const layout *l, unsigned dims, int64_t devices, int64_t nodes,
                       int64_t on_node, int64_t beside)
{
    rank_span s;
    lm_error  err = { LM_OK, "" };

    if (layout_span(l, dims, devices, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(s.nodes, nodes);
    assert_int_equal(s.devices, on_node);
    assert_int_equal(s.beside, beside);
}

/* 64 ranks on 8 nodes of 8: rank = tp + 4 (dp + 8 pp). */
static void groups_lie_on_nodes_by_their_order(void **state)
{
    layout   l = settled("tp4 pp2 dp8", 64);
    lm_error err;

    (void)state;
    check_span(&l, LAYOUT_BIT(LAYOUT_TP), 8, 1, 4, 2);
    check_span(&l, LAYOUT_BIT(LAYOUT_DP), 8, 4, 2, 4); /* 4 apart: two on a node */
    check_span(&l, LAYOUT_BIT(LAYOUT_PP), 8, 2, 1, 8); /* 32 apart */
    check_span(&l, LAYOUT_BIT(LAYOUT_TP) | LAYOUT_BIT(LAYOUT_DP), 8, 4, 8, 1);
    check_span(&l, LAYOUT_BIT(LAYOUT_EP), 8, 1, 1, 8);
    check_span(&l, LAYOUT_BIT(LAYOUT_TP), 2, 2, 2, 1); /* nodes of two: it spans two of them */
    l = settled("tp4 pp2 dp8 ep4", 64);
    check_span(&l, LAYOUT_BIT(LAYOUT_EP), 8, 2, 2, 4);
    l = settled("tp4 pp2 dp8 pp-dp-tp-cp-ep", 64);
    check_span(&l, LAYOUT_BIT(LAYOUT_PP), 8, 1, 2, 4);
    check_span(&l, LAYOUT_BIT(LAYOUT_DP), 8, 2, 4, 2);
    check_span(&l, LAYOUT_BIT(LAYOUT_TP), 8, 4, 1, 8);
    l = settled("tp3", 24);
    assert_int_equal(layout_span(&l, LAYOUT_BIT(LAYOUT_TP), 8, &(rank_span){ 0 }, &err), LM_E_ARG);
    assert_string_equal(err.text, "tp 3: its ranks are 1 apart and do not spread evenly over nodes "
                                  "of 8 devices");
}

static void check_shards(const layout *l, int64_t devices, const int64_t is[4])
{
    rank_span shard, replica;
    lm_error  err = { LM_OK, "" };

    if (layout_shard_span(l, devices, &shard, &replica, &err))
        fail_msg("%s", err.text);
    assert_int_equal(shard.nodes, is[0]);
    assert_int_equal(shard.devices, is[1]);
    assert_int_equal(replica.nodes, is[2]);
    assert_int_equal(replica.devices, is[3]);
}

static void shards_are_the_nearest_ranks(void **state)
{
    layout l = settled("fsdp8", 32);

    (void)state;
    check_shards(&l, 8, (const int64_t[]){ 1, 8, 4, 1 });
    l = settled("fsdp4", 32);
    check_shards(&l, 8, (const int64_t[]){ 1, 4, 4, 2 });
    l = settled("fsdp16", 32);
    check_shards(&l, 8, (const int64_t[]){ 2, 8, 2, 1 });
    l = settled("fsdp", 32);
    check_shards(&l, 8, (const int64_t[]){ 4, 8, 1, 1 });
    l = settled("tp4 fsdp4", 32); /* two ranks of dp on a node */
    check_shards(&l, 8, (const int64_t[]){ 2, 2, 2, 1 });
}

static void check_experts(const layout *l, int64_t devices, const int64_t is[4])
{
    rank_span experts, replicas;
    lm_error  err = { LM_OK, "" };

    if (layout_expert_span(l, devices, &experts, &replicas, &err))
        fail_msg("%s", err.text);
    assert_int_equal(experts.nodes, is[0]);
    assert_int_equal(experts.devices, is[1]);
    assert_int_equal(replicas.nodes, is[2]);
    assert_int_equal(replicas.devices, is[3]);
}

/* Of 16 ranks of dp and cp, behind two of tp, four lie on a node. */
static void ranks_with_the_same_experts_lie_so_many_apart(void **state)
{
    layout    l = settled("tp2 cp2 ep4", 32);
    rank_span a, b;
    lm_error  err = { LM_OK, "" };

    (void)state;
    check_experts(&l, 8, (const int64_t[]){ 1, 4, 4, 1 });
    l = settled("tp2 ep2", 32);
    check_experts(&l, 8, (const int64_t[]){ 1, 2, 4, 2 });
    l = settled("tp2 ep8", 32);
    check_experts(&l, 8, (const int64_t[]){ 2, 4, 2, 1 });
    l = settled("tp2 ep16", 32);
    check_experts(&l, 8, (const int64_t[]){ 4, 4, 1, 1 });
    l = settled("ep6", 24); /* eight ranks of dp on a node */
    assert_int_equal(layout_expert_span(&l, 8, &a, &b, &err), LM_E_ARG);
    assert_string_equal(err.text, "ep 6: does not spread evenly over the 8 ranks of dp on a node");
}

/* The same: shards of weights are of all 16 ranks, or of the 8 of two nodes. */
static void ranks_share_weights_of_the_same_experts(void **state)
{
    static const struct {
        const char *text;
        int64_t     nodes, devices;
    } groups[] = { { "tp2 ep4 zero3", 4, 1 },
                   { "tp2 ep2 zero3", 4, 2 },
                   { "tp2 ep4 fsdp8", 2, 1 },
                   { "tp2 ep8 fsdp8", 1, 1 },
                   { "tp2 ep2 fsdp4", 1, 2 } };

    (void)state;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const layout l = settled(groups[i].text, 32);
        rank_span    group[N_RANK_GROUPS];
        lm_error     err = { LM_OK, "" };

        if (layout_groups(&l, 8, group, &err))
            fail_msg("%s", err.text);
        assert_int_equal(group[GROUP_EXPERT_SHARD].nodes, groups[i].nodes);
        assert_int_equal(group[GROUP_EXPERT_SHARD].devices, groups[i].devices);
    }
}

/* ZeRO shares the update of 100 bytes among 8 ranks of data; 40 of them are experts of ep 4, which only 2
 * of these ranks hold. */
static void ranks_share_the_update_of_weights_that_they_hold(void **state)
{
    layout l = layout_plain();

    (void)state;
    l.dp = 8;
    assert_close(layout_updated(&l, 100, 0), 100, 0);
    l.zero = 1;
    assert_close(layout_updated(&l, 100, 0), 100 / 8.0, 1e-15);
    l.ep = 4;
    assert_close(layout_updated(&l, 100, 40), 60 / 8.0 + 40 / 2.0, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_and_printed),
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(what_does_not_fit_names_both_numbers),
        cmocka_unit_test(what_follows_is_filled_in),
        cmocka_unit_test(tokens_of_a_batch_become_samples),
        cmocka_unit_test(groups_lie_on_nodes_by_their_order),
        cmocka_unit_test(shards_are_the_nearest_ranks),
        cmocka_unit_test(ranks_with_the_same_experts_lie_so_many_apart),
        cmocka_unit_test(ranks_share_the_update_of_weights_that_they_hold),
        cmocka_unit_test(ranks_share_weights_of_the_same_experts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
