/* Weights that are gathered block by block: steps by hand. */
#include "check.h"

#include "program/gather.h"

#define BLOCKS 4

/* 1 s to gather a block, 0.5 s to scatter it; the root of 8 bytes twice as much. */
static gather_price usual(void *context, const gather_block *block)
{
    const double *factor = context;
    const double  f      = *factor * (block->bytes == 8 ? 2 : 1);

    return (gather_price){ f * 1, f * 0.5 };
}

/* The root, which computes nothing, and blocks that share the passes evenly. */
static void make(gather_block block[BLOCKS + 1])
{
    block[0] = (gather_block){ .bytes = 8 };
    for (int k = 1; k <= BLOCKS; k++)
        block[k] = (gather_block){ .bytes = 4, .forward = 1.0 / BLOCKS, .backward = 1.0 / BLOCKS };
}

/* Blocks of 3 s forward and 6 s backward hide their neighbours' messages. Forward the root's 2 s and the
 * first block's 1 s are waited for; backward the last block's 1 s, and behind it 0.5 s of the first
 * block and 1 s of the root. */
static void messages_hide_behind_neighbours(void **state)
{
    gather_block block[BLOCKS + 1];
    double       factor = 1;
    gather_times t;

    (void)state;
    make(block);
    t = gather_run(block, BLOCKS + 1, 12, 24, usual, &factor);
    assert_close(t.forward, 2 + 1 + 12, 1e-15);
    assert_close(t.backward, 1 + 24 + 0.5 + 1, 1e-15);
    assert_close(t.messages, (2 + 4) + (4 + 4 * 0.5 + 1), 1e-15);
}

/* Messages that take longer than a block bound both passes: forward all gathers and the last block;
 * backward all messages but that the first scatter waits for its block. */
static void long_messages_bound_the_step(void **state)
{
    gather_block block[BLOCKS + 1];
    double       factor = 100;
    gather_times t;

    (void)state;
    make(block);
    t = gather_run(block, BLOCKS + 1, 12, 24, usual, &factor);
    assert_close(t.forward, 100 * (2 + 4) + 3, 1e-12);
    /* The last block begins at 100, the next one's weights are there at 200, its own gradients by 250 */
    assert_close(t.backward, 100 * (4 + 4 * 0.5 + 1), 1e-12);
}

/* A block is gathered when the one before it begins, not sooner: of blocks of 1 s and gathers of 3 s
 * only the second is hidden for 1 s. */
static void one_block_is_gathered_ahead(void **state)
{
    const gather_block block[] = { { .bytes = 8 },
                                   { .bytes = 4, .forward = 0.9, .backward = 0.9 },
                                   { .bytes = 4, .forward = 0.1, .backward = 0.1 } };
    double             factor  = 1;
    gather_times       t;

    (void)state;
    t = gather_run(block, 3, 10, 10, usual, &factor);
    assert_close(t.forward, 2 + 1 + 9 + 1, 1e-15); /* the second one hides behind the first */
    /* the last block: at 1 s for 1 s; the first one's weights come at 2 s, so it begins at 2 s; the
     * last one's scatter ends at 2.5 s; behind 11 s come 0.5 s and the root's 1 s */
    assert_close(t.backward, 2 + 9 + 0.5 + 1, 1e-15);
}

static void a_root_alone_hides_nothing(void **state)
{
    const gather_block root   = { .bytes = 8, .forward = 1, .backward = 1 };
    double             factor = 1;
    const gather_times t      = gather_run(&root, 1, 5, 10, usual, &factor);

    (void)state;
    assert_close(t.forward, 2 + 5, 1e-15);
    assert_close(t.backward, 10 + 1, 1e-15);
    assert_close(t.messages, 3, 1e-15);
}

static gather_price unknown(void *context, const gather_block *block)
{
    (void)context;
    (void)block;
    return (gather_price){ NAN, 1 };
}

static void an_unknown_price_is_no_zero(void **state)
{
    const gather_block block[] = { { .bytes = 8 }, { .bytes = 4, .forward = 1, .backward = 1 } };

    (void)state;
    assert_true(isnan(gather_run(block, 2, 1, 1, unknown, NULL).messages));
}

/* 1 s a byte to gather, 2 to scatter, 4 to add up; a group of one rank sends nothing. */
static double by_kind(void *context, collective_kind kind, double bytes, rank_group group)
{
    const rank_span *span = context;

    if (span[group].nodes * span[group].devices == 1)
        return 0;
    return bytes * (kind == COLLECTIVE_ALLGATHER ? 1 : kind == COLLECTIVE_REDUCESCATTER ? 2 : 4);
}

/* 100 bytes on 4 shards and 2 replicas, of which 20 in experts on 2 shards; 10 of each kind are frozen. */
static void messages_of_a_block_are_those_of_its_groups(void **state)
{
    rank_span    group[N_RANK_GROUPS] = { [GROUP_SHARD]        = { 1, 4, 0 },
                                          [GROUP_EXPERT_SHARD] = { 1, 2, 0 },
                                          [GROUP_REPLICA]      = { 2, 1, 0 } };
    gather_block block                = { .bytes = 100, .trained = 80, .experts = { 20, 10 } };
    gather_price p                    = gather_price_of(&block, group, by_kind, group);

    (void)state;
    assert_close(p.gather, 80 + 20, 1e-15);
    assert_close(p.scatter, 2 * 70 + 4 * 70 / 4.0 + 2 * 10 + 4 * 10 / 2.0, 1e-15);
    block.trained = block.experts[1] = 0; /* frozen weights have no gradients */
    assert_close(gather_price_of(&block, group, by_kind, group).scatter, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_hide_behind_neighbours),
        cmocka_unit_test(long_messages_bound_the_step),
        cmocka_unit_test(one_block_is_gathered_ahead),
        cmocka_unit_test(a_root_alone_hides_nothing),
        cmocka_unit_test(messages_of_a_block_are_those_of_its_groups),
        cmocka_unit_test(an_unknown_price_is_no_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
