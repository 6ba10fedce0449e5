/* Programs of a rank on its streams: steps computed by hand. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "program/schedule.h"

/* 0.5 s, and 0.001 s a byte, of each group. */
static double price(void *context, const message *m, double bytes)
{
    int *asked = context;

    *asked += 1;
    assert_true(m->group == GROUP_DATA || m->group == GROUP_SHARD ||
                m->group == GROUP_SAME_EXPERTS || m->group == GROUP_EXPERT_SHARD ||
                m->group == GROUP_REPLICA);
    return 0.5 + 0.001 * bytes;
}

/* Two micro-steps of 2 s forward and 4 s backward, an update of 1 s, on 4 ranks. */
static schedule_question question(void)
{
    return (schedule_question){
        .work    = { .forward = 4, .backward = 8, .update = 1, .micro = 2, .compute = 12 },
        .batch   = 1,
        .unit    = 1,
        .group   = { [GROUP_DATA] = { .nodes = 2, .devices = 2 } },
        .pass    = 1,
        .message = 1,
    };
}

#define MESSAGES 4

/* A program of messages of 500 bytes, each 1 s. */
typedef struct made {
    rank_program        program;
    message             message[MESSAGES];
    overlap_bucket      running[MESSAGES];
    struct message_paid paid[MESSAGES];
} made;

static void make(made *m, const message *of, size_t n)
{
    *m = (made){ .message = { { .bytes = 0 } } };
    m->program =
        (rank_program){ .message = m->message, .n = n, .running = m->running, .paid = m->paid };
    for (size_t i = 0; i < n; i++) {
        m->message[i]              = of[i];
        m->message[i].bytes        = 500;
        m->program.has[of[i].rule] = true;
    }
}

static step_times scheduled(made *m, const schedule_question *q)
{
    step_times t;
    int        asked = 0;

    schedule_step(&m->program, q, price, &asked, &t);
    assert_close(t.step, t.forward + t.backward + t.grad, 1e-15);
    return t;
}

static void without_messages_a_step_is_what_it_computes(void **state)
{
    const schedule_question q = question();
    step_times              t;

    (void)state;
    schedule_step(NULL, &q, price, NULL, &t);
    assert_close(t.step, 4 + 8 + 1, 0);
    assert_true(t.sync == 0 && t.exposed == 0 && t.n == 0);
}

/* Each of two micro-steps waits for 1 s in its forward pass and 2 s in its backward pass. */
static void kernels_wait_in_each_micro_step(void **state)
{
    const message           of[] = { { .rule = MESSAGE_WAITED, .pass = PHASE_FORWARD },
                                     { .rule = MESSAGE_WAITED, .pass = PHASE_BACKWARD },
                                     { .rule = MESSAGE_WAITED, .pass = PHASE_BACKWARD } };
    const schedule_question q    = question();
    step_times              t;
    made                    m;

    (void)state;
    make(&m, of, 3);
    t = scheduled(&m, &q);
    assert_close(t.forward, 4 + 2, 0);
    assert_close(t.backward, 8 + 4, 0);
    assert_close(t.grad, 1, 0);
    assert_true(t.sync == 0 && t.exposed == 0); /* the update waits for none of them */
}

/* One of the forward pass's two messages belongs to a layer that each of two backward passes computes again: 1 s
 * of it, 2 s of those of the backward pass itself. */
static void a_forward_pass_that_runs_again_waits_again(void **state)
{
    const message of[]        = { { .rule = MESSAGE_WAITED, .pass = PHASE_FORWARD, .again = true },
                                  { .rule = MESSAGE_WAITED, .pass = PHASE_FORWARD },
                                  { .rule = MESSAGE_WAITED, .pass = PHASE_BACKWARD },
                                  { .rule = MESSAGE_WAITED, .pass = PHASE_BACKWARD } };
    const schedule_question q = question();
    step_times              t;
    made                    m;

    (void)state;
    make(&m, of, 4);
    t = scheduled(&m, &q);
    assert_close(t.forward, 4 + 2 * 2, 0);
    assert_close(t.backward, 8 + 2 * (2 + 1), 0);
    assert_close(t.waited, 2 * (2 + 2 + 1), 0);
    assert_close(t.last, 4 + 2 + 1, 0);
}

/* Three of 1 s in each of two backward passes of 4 s, of which a quarter goes on meanwhile: 2 s are
 * left. Gradients that are ready halfway are so halfway through the longer pass. */
static void a_share_of_the_pass_goes_on_meanwhile(void **state)
{
    const message of[] = {
        { .rule = MESSAGE_WAITED, .pass = PHASE_BACKWARD, .times = 3, .behind = 0.25 },
        { .rule = MESSAGE_BESIDE, .pass = PHASE_BACKWARD, .ready = 2 }
    };
    const schedule_question q = question();
    step_times              t;
    made                    m;

    (void)state;
    make(&m, of, 2);
    t = scheduled(&m, &q);
    assert_close(t.waited, 6, 0);
    assert_close(t.backward, 8 + 2 * 2, 1e-15);
    assert_close(t.last, 4 + 2, 1e-15);
    assert_close(t.bucket[0].start, 3, 1e-15);
    assert_close(t.exposed, 0, 0);
}

/* In each of two micro-steps 0.5 s are exposed of a message that is ready at 3.5 s. */
static void gradients_travel_in_each_micro_step(void **state)
{
    const message of[] = { { .rule = MESSAGE_BESIDE, .pass = PHASE_BACKWARD, .ready = 3.5 } };
    const schedule_question q = question();
    step_times              t;
    made                    m;

    (void)state;
    make(&m, of, 1);
    m.program.each = true;
    t              = scheduled(&m, &q);
    assert_close(t.sync, 2, 0);
    assert_close(t.exposed, 2 * 0.5, 1e-15);
}

/* The last pass of 4 s goes on beside a message that is ready at 1 s, and one at 3.5 s: it ends at
 * 4.5 s, of which 0.5 s are exposed. */
static void the_last_pass_hides_messages(void **state)
{
    const message     of[] = { { .rule = MESSAGE_BESIDE, .pass = PHASE_BACKWARD, .ready = 1 },
                               { .rule = MESSAGE_BESIDE, .pass = PHASE_BACKWARD, .ready = 3.5 } };
    schedule_question q    = question();
    step_times        t;
    made              m;

    (void)state;
    make(&m, of, 2);
    t = scheduled(&m, &q);
    assert_close(t.sync, 2, 0);
    assert_close(t.exposed, 0.5, 1e-15);
    assert_close(t.step, 4 + 8 + 0.5 + 1, 1e-15);
    assert_int_equal(t.n, 2);
    assert_close(t.bucket[1].start, 3.5, 0);
    q.brief = true;
    assert_close(scheduled(&m, &q).step, t.step, 1e-15);
    assert_null(scheduled(&m, &q).bucket);

    /* Passes half as long again move what is ready, messages twice as long what is left. */
    q.pass    = 1.5;
    q.message = 2;
    t         = scheduled(&m, &q);
    assert_close(t.backward, 12, 1e-15);
    assert_close(t.exposed, 1.5 * 3.5 + 2 - 6, 1e-15);
}

/* What hides nothing takes as long by itself as in a schedule. */
static void a_step_in_turn_is_its_schedule(void **state)
{
    schedule_question q = question();
    step_times        t, alone;
    made              m;

    (void)state;
    q.pass    = 1.5;
    q.message = 2;
    make(&m, &(message){ .rule = MESSAGE_BEHIND, .pass = PHASE_BACKWARD }, 1);
    t     = scheduled(&m, &q);
    alone = schedule_in_turn(&q.work, 1.5, 2, 1);
    assert_close(alone.step, 4 + 12 + 2 + 1, 0);
    assert_close(alone.step, t.step, 0);
    assert_close(alone.exposed, t.exposed, 0);
    assert_close(alone.grad, t.grad, 0);
    assert_close(alone.last, t.last, 0);
    assert_int_equal(alone.n, t.n);
}

/* A message behind the pass waits for those beside it, and all of it is exposed. */
static void what_is_sent_behind_the_pass_is_exposed(void **state)
{
    const message of[]        = { { .rule = MESSAGE_BESIDE, .pass = PHASE_BACKWARD, .ready = 3.5 },
                                  { .rule = MESSAGE_BEHIND, .pass = PHASE_BACKWARD },
                                  { .rule = MESSAGE_WAITED, .pass = PHASE_FORWARD } };
    const schedule_question q = question();
    step_times              t;
    made                    m;

    (void)state;
    make(&m, of, 3);
    t = scheduled(&m, &q);
    assert_close(t.exposed, 0.5 + 1, 1e-15);
    assert_close(t.bucket[1].start, 4.5, 1e-15);
    assert_close(t.bucket[1].end, 5.5, 1e-15);
    assert_close(t.step, (4 + 2) + 8 + 1.5 + 1, 1e-15);
}

/* The slowest of 4 takes 0.1 * 12 * sqrt(2 ln 4) longer; of pairs whose slowest the passes hold
 * already, less. */
static void ranks_wait_for_the_slowest(void **state)
{
    schedule_question q    = question();
    const double      wait = 0.1 * 12 * sqrt(2 * log(4));
    step_times        t;

    (void)state;
    q.rules.straggler = 0.1;
    q.slowest         = 1;
    schedule_step(NULL, &q, price, NULL, &t);
    assert_close(t.wait, wait, 1e-15);
    assert_close(t.step, 13 + wait, 1e-15);
    q.slowest = 2;
    schedule_step(NULL, &q, price, NULL, &t);
    assert_close(t.straggler, wait * (1 - sqrt(0.5)), 1e-12);
}

static void one_rank_sends_nothing(void **state)
{
    const message     of[] = { { .rule = MESSAGE_BESIDE, .pass = PHASE_BACKWARD, .ready = 1 },
                               { .rule = MESSAGE_BEHIND, .pass = PHASE_BACKWARD },
                               { .rule = MESSAGE_WAITED, .pass = PHASE_FORWARD } };
    schedule_question q    = question();
    step_times        t;
    made              m;

    (void)state;
    q.group[GROUP_DATA] = (rank_span){ .nodes = 1, .devices = 1 };
    make(&m, of, 3);
    t = scheduled(&m, &q);
    assert_close(t.step, 13, 0);
    assert_int_equal(t.n, 0);
}

/* Four equal stages and 8 micro-batches: 1F1B takes (8 + 4 - 1) (t_f + t_b) (Narayanan et al. 2021,
 * section 2.2), interleaved chunks a bubble of a half; each rank updates a quarter. */
static void stages_take_their_closed_forms(void **state)
{
    const stage_part quarter = {
        .forward = 0.25, .input = 0.125, .weight = 0.125, .weights = 0.25
    };
    const stage_part eighth = {
        .forward = 0.125, .input = 0.0625, .weight = 0.0625, .weights = 0.125
    };
    stage_part        part[8];
    pipeline_stage    stage[8];
    pipeline_rank     rank[4];
    schedule_question q = question();
    step_times        t;
    made              m;

    (void)state;
    q.work =
        (step_work){ .forward = 8 * 4, .backward = 8 * 8, .update = 1, .micro = 8, .compute = 96 };
    q.group[GROUP_DATA] = (rank_span){ .nodes = 1, .devices = 1 };
    for (int v = 0; v < 8; v++)
        part[v] = quarter;
    make(&m, &(message){ .rule = MESSAGE_BEHIND }, 1);
    m.program.stages = (stage_list){
        .part = part, .ranks = 4, .chunks = 1, .rule = PIPELINE_1F1B, .stage = stage, .rank = rank
    };
    t = scheduled(&m, &q);
    assert_close(t.step, (8 + 4 - 1) * (1 + 2) + 0.25, 1e-12);
    assert_close(t.bubble, 3 * (1 + 2), 1e-12);
    for (int v = 0; v < 8; v++)
        part[v] = eighth;
    m.program.stages.chunks = 2;
    m.program.stages.rule   = PIPELINE_INTERLEAVED;
    t                       = scheduled(&m, &q);
    assert_close(t.step, 8 * (1 + 2) + 3 * (1 + 2) / 2.0 + 0.25, 1e-12);
    /* one message of 500 bytes of all gradients: each rank's quarter takes 0.5 + 0.125 s */
    q.group[GROUP_DATA] = (rank_span){ .nodes = 2, .devices = 2 };
    assert_close(scheduled(&m, &q).step, t.step + 0.625, 1e-12);
}

/* Two stages of 3 and 1 parts of 4 s, 8 micro-batches: the first works 8 x 3 + 0.5 s and ends last, the ranks on
 * average 8 x 2 + 0.5. */
static void stages_of_less_work_wait_longer(void **state)
{
    stage_part part[] = {
        { .forward = 0.75, .input = 0.375, .weight = 0.375, .weights = 0.5 },
        { .forward = 0.25, .input = 0.125, .weight = 0.125, .weights = 0.5 },
    };
    pipeline_stage    stage[2];
    pipeline_rank     rank[2];
    schedule_question q = question();
    made              m;

    (void)state;
    q.work              = (step_work){ .forward = 8, .backward = 24, .update = 1, .micro = 8 };
    q.group[GROUP_DATA] = (rank_span){ .nodes = 1, .devices = 1 };
    make(&m, &(message){ .rule = MESSAGE_BEHIND }, 1);
    m.program.stages = (stage_list){
        .part = part, .ranks = 2, .chunks = 1, .rule = PIPELINE_1F1B, .stage = stage, .rank = rank
    };
    assert_close(scheduled(&m, &q).others, (8 * 2 + 0.5) / (8 * 3 + 0.5), 1e-12);
    m.program.stages = (stage_list){ .part = NULL };
    assert_close(scheduled(&m, &q).others, 1, 0);
}

/* Four stages of 1 and 2 s whose gradients or weights travel in each of 8 micro-batches: their passes take
 * longer for what they do not hide, and 1F1B stays 8 + 3 of them. */
static void stages_wait_in_each_micro_batch(void **state)
{
    const gather_block block[8] = {
        { .bytes = 0 }, { .bytes = 500, .trained = 500, .forward = 0.25, .backward = 0.25 },
        { .bytes = 0 }, { .bytes = 500, .trained = 500, .forward = 0.25, .backward = 0.25 },
        { .bytes = 0 }, { .bytes = 500, .trained = 500, .forward = 0.25, .backward = 0.25 },
        { .bytes = 0 }, { .bytes = 500, .trained = 500, .forward = 0.25, .backward = 0.25 }
    };
    gather_block      own[8];
    stage_part        part[4];
    stage_wait        wait[4];
    pipeline_stage    stage[4];
    pipeline_rank     rank[4];
    schedule_question q = question();
    step_times        t;
    made              m;

    (void)state;
    q.work =
        (step_work){ .forward = 8 * 4, .backward = 8 * 8, .update = 1, .micro = 8, .compute = 96 };
    memcpy(own, block, sizeof own);
    for (size_t v = 0; v < 4; v++)
        part[v] = (stage_part){ .forward = 0.25, .input = 0.125, .weight = 0.125, .weights = 0.25 };
    /* scattered behind each backward pass: 0.5 + 0.125 s */
    make(&m, &(message){ .rule = MESSAGE_WAITED, .pass = PHASE_BACKWARD }, 1);
    m.program.each   = true;
    m.program.stages = (stage_list){ .part   = part,
                                     .ranks  = 4,
                                     .rule   = PIPELINE_1F1B,
                                     .chunks = 1,
                                     .stage  = stage,
                                     .wait   = wait,
                                     .rank   = rank };
    t                = scheduled(&m, &q);
    assert_close(t.step, 11 * 3.625 + 0.25, 1e-12);
    assert_close(t.exposed, 8 * 0.625, 1e-12);
    assert_close(t.sync, 8 * 0.625, 1e-12);
    assert_close(t.bubble, 3 * 3.625, 1e-12);
    assert_close(t.tensor, 0, 1e-12);
    /* beside it: of one bucket of 0.625 s nothing is hidden */
    m.message[0].rule = MESSAGE_BESIDE;
    assert_close(scheduled(&m, &q).step, 11 * 3.625 + 0.25, 1e-12);
    /* gathered: 1 s before the first kernel of either pass, and 1 s behind the backward one */
    m.program.n    = 0;
    m.program.each = false;
    for (size_t v = 0; v < 4; v++) {
        part[v].gather   = 2 * v;
        part[v].n_gather = 2;
    }
    m.program.gather     = own;
    m.program.n_gather   = 8;
    q.group[GROUP_SHARD] = (rank_span){ .nodes = 1, .devices = 4 };
    t                    = scheduled(&m, &q);
    assert_close(t.step, 11 * (3 + 1 + 2) + 0.25, 1e-12);
    assert_close(t.exposed, 8 * 3, 1e-12);
    assert_close(t.sync, 8 * 3, 1e-12);
    assert_close(t.forward, 8, 1e-12);
    assert_close(t.bubble, 3 * 6, 1e-12);
}

/* Of 500 bytes of gradients a fifth is experts': 0.5 + 0.4 s to all, 0.5 + 0.1 s to those that have the same
 * ones; nothing to one rank. */
static void gradients_of_experts_go_to_fewer_ranks(void **state)
{
    const message     of[] = { { .rule = MESSAGE_BEHIND, .pass = PHASE_BACKWARD } };
    schedule_question q    = question();
    made              m;

    (void)state;
    make(&m, of, 1);
    m.program.experts           = 0.2;
    q.group[GROUP_SAME_EXPERTS] = (rank_span){ .nodes = 2, .devices = 1 };
    assert_close(scheduled(&m, &q).exposed, 0.9 + 0.6, 1e-12);
    q.group[GROUP_SAME_EXPERTS] = (rank_span){ .nodes = 1, .devices = 1 };
    assert_close(scheduled(&m, &q).exposed, 0.9, 1e-12);
}

/* Of 500 bytes that are gathered a fifth is experts': 0.9 s from all, 0.6 s from those that have the same
 * ones, and as long to scatter their gradients. Two replicas add up a rank's 100 and 50 bytes. */
static void weights_of_experts_are_gathered_among_fewer_ranks(void **state)
{
    gather_block block[2] = {
        { .bytes = 0 },
        { .bytes = 500, .trained = 500, .experts = { 100, 100 }, .forward = 1, .backward = 1 }
    };
    schedule_question q = question();
    made              m;

    (void)state;
    make(&m, NULL, 0);
    m.program.gather            = block;
    m.program.n_gather          = 2;
    q.group[GROUP_DATA]         = (rank_span){ .nodes = 1, .devices = 1 };
    q.group[GROUP_SHARD]        = (rank_span){ .nodes = 1, .devices = 4 };
    q.group[GROUP_EXPERT_SHARD] = (rank_span){ .nodes = 1, .devices = 2 };
    q.group[GROUP_REPLICA]      = (rank_span){ .nodes = 1, .devices = 1 };
    assert_close(scheduled(&m, &q).exposed, 2 * 3 * 1.5, 1e-12); /* of two micro-steps */
    q.group[GROUP_REPLICA].nodes = 2;
    assert_close(scheduled(&m, &q).exposed, 2 * (3 * 1.5 + 0.6 + 0.55), 1e-12);
    /* each rank has experts of its own */
    q.group[GROUP_EXPERT_SHARD].devices = 1;
    q.group[GROUP_REPLICA].nodes        = 1;
    assert_close(scheduled(&m, &q).exposed, 2 * 3 * 0.9, 1e-12);
}

/* Two micro-steps of 1 and 2 s, for which a host issues 10 and 100 operations of 0.05 s. Forward passes
 * wait for one operation, or for what the host is behind: they end at 1.05 and 6.55 s. Backward passes
 * end 0.02 s behind their last operation, which is issued at 5.5 and 11 s. */
static void a_host_runs_ahead_over_micro_steps(void **state)
{
    const host_time   host = { .rows = 1, .queue = true };
    schedule_question q    = question();
    step_times        t;
    made              m;

    (void)state;
    make(&m, NULL, 0);
    q.work.forward   = 2;
    q.work.backward  = 4;
    q.work.host      = &host;
    q.work.issued[0] = (host_work){ 10, 0.5 };
    q.work.issued[1] = (host_work){ 100, 5 };
    t                = scheduled(&m, &q);
    assert_close(t.forward + t.backward, 11.02, 1e-12);
    assert_close(t.host[0], 0.05 + 0.03, 1e-12);
    assert_close(t.host[1], 2 * 2.47, 1e-12);
    assert_close(t.tensor, 0, 1e-12);
}

/* Prices are asked once for the same ranks, and anew for others. */
static void prices_are_kept_for_the_same_ranks(void **state)
{
    const message     of[]  = { { .rule = MESSAGE_BEHIND, .pass = PHASE_BACKWARD } };
    schedule_question q     = question();
    int               asked = 0;
    step_times        t;
    made              m;

    (void)state;
    make(&m, of, 1);
    schedule_step(&m.program, &q, price, &asked, &t);
    schedule_step(&m.program, &q, price, &asked, &t);
    assert_int_equal(asked, 1);
    q.group[GROUP_DATA].nodes = 4;
    schedule_step(&m.program, &q, price, &asked, &t);
    assert_int_equal(asked, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_messages_a_step_is_what_it_computes),
        cmocka_unit_test(kernels_wait_in_each_micro_step),
        cmocka_unit_test(a_forward_pass_that_runs_again_waits_again),
        cmocka_unit_test(a_share_of_the_pass_goes_on_meanwhile),
        cmocka_unit_test(gradients_travel_in_each_micro_step),
        cmocka_unit_test(the_last_pass_hides_messages),
        cmocka_unit_test(a_step_in_turn_is_its_schedule),
        cmocka_unit_test(what_is_sent_behind_the_pass_is_exposed),
        cmocka_unit_test(ranks_wait_for_the_slowest),
        cmocka_unit_test(one_rank_sends_nothing),
        cmocka_unit_test(stages_take_their_closed_forms),
        cmocka_unit_test(stages_of_less_work_wait_longer),
        cmocka_unit_test(stages_wait_in_each_micro_batch),
        cmocka_unit_test(gradients_of_experts_go_to_fewer_ranks),
        cmocka_unit_test(weights_of_experts_are_gathered_among_fewer_ranks),
        cmocka_unit_test(a_host_runs_ahead_over_micro_steps),
        cmocka_unit_test(prices_are_kept_for_the_same_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
