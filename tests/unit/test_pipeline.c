/* Pipelines: closed forms, and a simulation of every task on random uneven stages. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "program/pipeline.h"

#define STAGES_MAX 32
#define TASKS_MAX  4096

static double step_of(const pipeline_question *q, pipeline_rank *rank)
{
    lm_error err  = { LM_OK, "" };
    double   step = NAN;

    assert_int_equal(pipeline_run(q, &step, rank, NULL, NULL, &err), LM_OK);
    return step;
}

/* All stages alike: seconds of a whole rank, forward, for inputs and for weights. */
static pipeline_question even(pipeline_rule rule, int64_t ranks, int64_t chunks, int64_t batches,
                              double f, double input, double weight, pipeline_stage *stage)
{
    for (int64_t v = 0; v < ranks * chunks; v++)
        stage[v] = (pipeline_stage){ .forward = f / (double)chunks,
                                     .input   = input / (double)chunks,
                                     .weight  = weight / (double)chunks };
    return (pipeline_question){
        .rule = rule, .ranks = ranks, .chunks = chunks, .micro_batches = batches, .stage = stage
    };
}

/* Narayanan et al. 2021, section 2.2: (m + p - 1) (tf + tb) for both schedules. */
static void one_forward_one_backward_has_a_bubble_of_the_ranks_less_one(void **state)
{
    static const int64_t shapes[][2] = { { 1, 1 },  { 1, 9 },   { 4, 1 },       { 4, 3 },
                                         { 4, 16 }, { 8, 500 }, { 5, 1000000 }, { 31, 64 } };
    pipeline_stage       stage[STAGES_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int k = 0; k < 2; k++) {
            const pipeline_rule     rule = k ? PIPELINE_GPIPE : PIPELINE_1F1B;
            const int64_t           p = shapes[i][0], m = shapes[i][1];
            const pipeline_question q = even(rule, p, 1, m, 1.25, 1.5, 0.75, stage);
            pipeline_rank           rank[STAGES_MAX];

            assert_close(step_of(&q, rank), (double)(m + p - 1) * (1.25 + 2.25), 1e-12);
            for (int64_t r = 0; r < p; r++) {
                assert_close(rank[r].work, (double)m * 3.5, 1e-12);
                assert_close(rank[r].bubble, (double)(p - 1) * 3.5, 1e-12);
                assert_close(rank[r].end - rank[r].last, 2.25, 1e-12);
            }
        }
}

/* The same section: v chunks make the bubble (p - 1) (tf + tb) / v. */
static void chunks_of_a_rank_divide_the_bubble(void **state)
{
    static const int64_t shapes[][3] = { { 2, 2, 2 },  { 4, 2, 8 },    { 4, 4, 16 },
                                         { 8, 4, 64 }, { 8, 2, 4096 }, { 3, 5, 3000 } };
    pipeline_stage       stage[STAGES_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t     p = shapes[i][0], v = shapes[i][1], m = shapes[i][2];
        pipeline_question q = even(PIPELINE_INTERLEAVED, p, v, m, 2, 3, 1, stage);

        assert_close(step_of(&q, NULL), (double)m * 6 + (double)(p - 1) * 6 / (double)v, 1e-12);
    }
}

/* Qi et al. 2023, table 1: ZB-H1's bubble is (p - 1) (tf + tb - tw), tb without the weights. */
static void weight_gradients_fill_the_bubble_of_zb_h1(void **state)
{
    static const int64_t shapes[][2] = { { 1, 4 }, { 2, 2 }, { 4, 8 }, { 8, 24 }, { 8, 100000 } };
    pipeline_stage       stage[STAGES_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t     p = shapes[i][0], m = shapes[i][1];
        pipeline_question q = even(PIPELINE_ZB_H1, p, 1, m, 1, 1.25, 0.75, stage);

        assert_close(step_of(&q, NULL), (double)m * 3 + (double)(p - 1) * (1 + 1.25 - 0.75), 1e-12);
    }
}

/* By hand: F of 1 s goes 0.5 s to the next rank, B of 2 s goes 0.25 s back. Rank 0 of two:
 * F0 0-1, F1 1-2, B0 comes at 1.5 + 1 + 2 + 0.25 = 4.75; rank 1's F1 at 4.5, B1 at 5.5-7.5, rank
 * 0's B1 at 7.75-9.75. */
static void messages_hidden_behind_other_micro_batches_delay_their_receiver(void **state)
{
    const pipeline_stage    stage[] = { { .forward = 1, .input = 2, .send = 0.5, .back = 9 },
                                        { .forward = 1, .input = 2, .send = 9, .back = 0.25 } };
    const pipeline_question q     = { .ranks = 2, .chunks = 1, .micro_batches = 2, .stage = stage };
    pipeline_question       waits = q;
    pipeline_rank           rank[2];

    (void)state;
    assert_close(step_of(&q, rank), 9.75, 1e-12);
    assert_close(rank[0].last, 7.75, 1e-12);
    assert_close(rank[1].end, 7.5, 1e-12);
    assert_close(rank[1].bubble, 9.75 - 6, 1e-12);
    assert_close(rank[0].sent, 0, 1e-12);
    /* F1 0-1 and its message to 1.5, F1's to 3; rank 1: F0 1.5-2.5, B0 to 4.5 and 4.75, F1 to 5.75, B1
     * to 7.75 and 8; rank 0: B1 8-10. */
    waits.exposed = true;
    assert_close(step_of(&waits, rank), 10, 1e-12);
    assert_close(rank[0].sent, 1, 1e-12);
    assert_close(rank[1].sent, 0.5, 1e-12);
    assert_close(rank[0].bubble, 10 - 6 - 1, 1e-12);
}

/* ---- a simulation of every task ---- */

typedef struct node {
    int64_t rank, stage, batch;
    int     pass;
    double  start, end;
} node;

typedef struct simulation {
    const pipeline_question *q;
    node                     node[TASKS_MAX];
    size_t                   n, first[STAGES_MAX + 1]; /* of a rank, in its order */
} simulation;

static void list(simulation *s, int64_t rank, int pass, int64_t chunk, int64_t batch)
{
    s->node[s->n++] =
        (node){ .rank = rank, .stage = chunk * s->q->ranks + rank, .batch = batch, .pass = pass };
}

/* Slot k of Megatron-LM's table (schedules.py, get_schedule_table): groups of `ranks` micro-batches
 * go through all chunks, one chunk after the other. */
static void list_slot(simulation *s, int64_t rank, int pass, int64_t slot)
{
    const int64_t p = s->q->ranks, v = s->q->chunks, m = s->q->micro_batches;
    int64_t       k = 0;

    for (int64_t group = 0; group<m; group += v> 1 ? p : 1)
        for (int64_t c = 0; c < v; c++)
            for (int64_t b = group; b < group + (v > 1 ? p : 1); b++)
                if (k++ == slot)
                    list(s, rank, pass, pass == PIPELINE_FORWARD ? c : v - 1 - c, b);
}

static void list_rank(simulation *s, int64_t rank)
{
    const pipeline_question *q = s->q;
    const int64_t            n = q->micro_batches * q->chunks, p = q->ranks;
    int64_t                  warm = q->rule == PIPELINE_GPIPE ? n
                                    : q->chunks > 1 ? 2 * (p - 1 - rank) + (q->chunks - 1) * p
                                                    : p - 1 - rank;
    const int64_t            lag  = rank; /* ZB-H1: of weights behind inputs */

    warm = warm < n ? warm : n;
    for (int64_t i = 0; i < warm; i++)
        list_slot(s, rank, PIPELINE_FORWARD, i);
    for (int64_t i = 0; i < n; i++) {
        if (warm + i < n)
            list_slot(s, rank, PIPELINE_FORWARD, warm + i);
        list_slot(s, rank, PIPELINE_BACKWARD, i);
        if (q->rule == PIPELINE_ZB_H1 && i >= lag)
            list_slot(s, rank, PIPELINE_WEIGHT, i - lag);
    }
    for (int64_t i = n > lag ? n - lag : 0; i < n && q->rule == PIPELINE_ZB_H1; i++)
        list_slot(s, rank, PIPELINE_WEIGHT, i);
}

static const node *find(const simulation *s, int64_t stage, int pass, int64_t batch)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->node[i].stage == stage && s->node[i].pass == pass && s->node[i].batch == batch)
            return &s->node[i];
    return NULL;
}

static double sent(const simulation *s, const node *t)
{
    const int64_t last = s->q->ranks * s->q->chunks - 1;

    if (t->pass == PIPELINE_FORWARD)
        return t->stage < last ? s->q->stage[t->stage].send : 0;
    return t->pass == PIPELINE_BACKWARD && t->stage > 0 ? s->q->stage[t->stage].back : 0;
}

static double seconds(const simulation *s, const node *t)
{
    const pipeline_stage *g = &s->q->stage[t->stage];

    if (t->pass == PIPELINE_FORWARD)
        return g->forward;
    if (s->q->rule != PIPELINE_ZB_H1)
        return g->input + g->weight;
    return t->pass == PIPELINE_BACKWARD ? g->input : g->weight;
}

/* All tasks start at 0; then each starts no sooner than what it waits for allows, until none moves. */
static void simulate(simulation *s)
{
    const int64_t stages = s->q->ranks * s->q->chunks;
    bool          moved  = true;

    for (int64_t r = 0; r < s->q->ranks; r++) {
        s->first[r] = s->n;
        list_rank(s, r);
    }
    s->first[s->q->ranks] = s->n;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < s->n; i++) {
            node       *t     = &s->node[i];
            const node *input = NULL, *before = i && t[-1].rank == t->rank ? &t[-1] : NULL;
            double      start = 0;

            if (t->pass == PIPELINE_FORWARD && t->stage > 0)
                input = find(s, t->stage - 1, PIPELINE_FORWARD, t->batch);
            if (t->pass == PIPELINE_BACKWARD)
                input = t->stage + 1 < stages ? find(s, t->stage + 1, PIPELINE_BACKWARD, t->batch)
                                              : find(s, t->stage, PIPELINE_FORWARD, t->batch);
            if (before)
                start = before->end + (s->q->exposed ? sent(s, before) : 0);
            if (input && input->stage != t->stage)
                start = fmax(start, input->end + sent(s, input));
            if (input)
                start = fmax(start, input->end);
            moved |= t->end != start + seconds(s, t);
            t->start = start;
            t->end   = start + seconds(s, t);
        }
    }
}

static int64_t most_in_flight(const simulation *s, int64_t rank)
{
    const int frees = s->q->rule == PIPELINE_ZB_H1 ? PIPELINE_WEIGHT : PIPELINE_BACKWARD;
    int64_t   now = 0, most = 0;

    for (size_t i = s->first[rank]; i < s->first[rank + 1]; i++) {
        now += s->node[i].pass == PIPELINE_FORWARD;
        most = now > most ? now : most;
        now -= s->node[i].pass == frees;
    }
    return most;
}

/* What the room's own tasks say is what the simulation's say. */
typedef struct seen {
    const simulation *s;
    size_t            next[STAGES_MAX], n;
} seen;

static lm_status take(void *by, const pipeline_task *t, lm_error *err)
{
    seen       *e    = by;
    const node *want = &e->s->node[e->s->first[t->rank] + e->next[t->rank]++];

    (void)err;
    assert_int_equal(t->chunk * e->s->q->ranks + t->rank, want->stage);
    assert_int_equal(t->micro_batch, want->batch);
    assert_int_equal(t->pass, want->pass);
    assert_true(t->start == want->start && t->end == want->end);
    e->n++;
    return LM_OK;
}

static void compare(const pipeline_question *q)
{
    static simulation s;
    pipeline_rank     rank[STAGES_MAX];
    seen              e    = { .s = &s };
    double            most = 0, again;
    const double      step = step_of(q, rank);
    lm_error          err  = { LM_OK, "" };

    s.q = q;
    s.n = 0;
    memset(s.node, 0, sizeof s.node);
    simulate(&s);
    for (int64_t r = 0; r < q->ranks; r++) {
        const node  *last = &s.node[s.first[r + 1] - 1];
        const double end  = last->end + (q->exposed ? sent(&s, last) : 0);

        most = fmax(most, end);
        assert_true(rank[r].end == end);
        assert_true(rank[r].last == find(&s, r, PIPELINE_BACKWARD, q->micro_batches - 1)->start);
        assert_int_equal(pipeline_in_flight(q, r), most_in_flight(&s, r));
    }
    assert_true(step == most);
    assert_int_equal(pipeline_run(q, &again, NULL, take, &e, &err), LM_OK);
    assert_true(again == most);
    assert_int_equal(e.n, s.n);
}

static int64_t drawn(int64_t least, int64_t most)
{
    static uint64_t x = 88172645463325252u; /* xorshift64 (Marsaglia 2003) */

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return least + (int64_t)(x % (uint64_t)(most - least + 1));
}

/* Seconds are whole, so that sums are exact in any order. */
static void recurrence_is_the_simulation_of_random_uneven_stages(void **state)
{
    pipeline_stage stage[STAGES_MAX];

    (void)state;
    for (int i = 0; i < 240; i++) {
        const pipeline_rule rule   = (pipeline_rule)(i % N_PIPELINE_RULES);
        const int64_t       ranks  = drawn(1, i % 3 ? 4 : 6);
        const int64_t       chunks = rule == PIPELINE_INTERLEAVED ? drawn(1, 3) : 1;
        const int64_t       most   = i % 2 ? 6 : 1;
        pipeline_question   q      = { .rule          = rule,
                                       .ranks         = ranks,
                                       .chunks        = chunks,
                                       .micro_batches = drawn(1, i % 5 ? 9 : 45),
                                       .stage         = stage,
                                       .exposed       = drawn(0, 1) };

        if (chunks > 1)
            q.micro_batches = ranks * (1 + q.micro_batches / 4);
        for (int64_t v = 0; v < ranks * chunks; v++)
            stage[v] = (pipeline_stage){ .forward = (double)drawn(0, 9),
                                         .input   = (double)drawn(1, 9),
                                         .weight  = (double)drawn(0, 9),
                                         .send    = (double)drawn(0, most),
                                         .back    = (double)drawn(0, most) };
        compare(&q);
    }
}

/* Sums of a run without skipping are those with it, for stages that never quite tie. */
static lm_status count(void *by, const pipeline_task *t, lm_error *err)
{
    (void)t;
    (void)err;
    ++*(size_t *)by;
    return LM_OK;
}

static void repetition_is_skipped_without_a_trace(void **state)
{
    pipeline_stage stage[STAGES_MAX];

    (void)state;
    for (int i = 0; i < 60; i++) {
        const pipeline_rule rule = (pipeline_rule)(i % N_PIPELINE_RULES);
        pipeline_question   q    = { .rule          = rule,
                                     .ranks         = drawn(2, 8),
                                     .chunks        = rule == PIPELINE_INTERLEAVED ? drawn(2, 4) : 1,
                                     .micro_batches = 1,
                                     .stage         = stage,
                                     .exposed       = drawn(0, 1) };
        double              whole, skipped;
        size_t              n   = 0;
        lm_error            err = { LM_OK, "" };

        q.micro_batches = q.ranks * drawn(60, 90);
        for (int64_t v = 0; v < q.ranks * q.chunks; v++)
            stage[v] = (pipeline_stage){ .forward = 1e-3 * (double)drawn(900, 1100),
                                         .input   = 1e-3 * (double)drawn(900, 1100),
                                         .weight  = 1e-3 * (double)drawn(900, 1100),
                                         .send    = 1e-3 * (double)drawn(0, 200),
                                         .back    = 1e-3 * (double)drawn(0, 200) };
        skipped = step_of(&q, NULL);
        assert_int_equal(pipeline_run(&q, &whole, NULL, count, &n, &err), LM_OK);
        assert_true(whole == skipped);
        assert_int_equal(n, (size_t)(q.ranks * q.chunks * q.micro_batches) *
                                (rule == PIPELINE_ZB_H1 ? 3 : 2));
    }
}

/* 2^30 micro-batches would take minutes one by one. */
static void long_pipelines_cost_no_more(void **state)
{
    const pipeline_stage    stage[] = { { .forward = 1, .input = 2 },
                                        { .forward = 2, .input = 3 },
                                        { .forward = 1, .input = 1 } };
    const pipeline_question q       = {
              .ranks = 3, .chunks = 1, .micro_batches = (int64_t)1 << 30, .stage = stage
    };

    (void)state;
    /* the slowest rank never waits after its first input, and its last gradient goes on */
    assert_close(step_of(&q, NULL), 1 + 5 * ldexp(1, 30) + 2 + 2, 1e-9);
}

static void what_does_not_fit_is_named(void **state)
{
    static const struct {
        pipeline_question q;
        const char       *text;
    } cases[] = {
        { { .ranks = 0, .chunks = 1, .micro_batches = 8 },
          "0 stages of 1 chunks, 8 micro-batches: all must be 1 or more" },
        { { .ranks = 4, .chunks = 2, .micro_batches = 8 },
          "schedule 1f1b with 2 chunks of a rank: only interleaved has more than 1" },
        { { .rule = PIPELINE_INTERLEAVED, .ranks = 4, .chunks = 2, .micro_batches = 6 },
          "schedule interleaved: 6 micro-batches are no multiple of 4 stages" },
        { { .ranks = 4, .chunks = 1, .micro_batches = (int64_t)1 << 31 },
          "4 stages of 1 chunks by 2147483648 micro-batches: at most 2^32 passes" },
    };
    pipeline_stage    stage[] = { { .forward = 1 }, { .forward = NAN } };
    pipeline_question q       = { .ranks = 2, .chunks = 1, .micro_batches = 2, .stage = stage };
    double            step;
    lm_error          err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(pipeline_check(&cases[i].q, &err), LM_E_ARG);
        assert_error(err, LM_E_ARG, "%s", cases[i].text);
    }
    assert_int_equal(pipeline_run(&q, &step, NULL, NULL, NULL, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "stage 1 takes nan s: expected seconds of 0 or more");
}

/* Rounds of inference by a simulation of every start: a batch goes through all stages, each of which has
 * one batch at a time, and enters the first again when it has left the last. Mean of the last rounds. */
static double simulated_round(const pipeline_stage *stage, int64_t ranks, int64_t batches)
{
    enum { ROUNDS = 400, SETTLED = 200 };

    double free[STAGES_MAX] = { 0 }, left[STAGES_MAX] = { 0 }, settled = 0;

    for (int64_t k = 0; k < ROUNDS * batches; k++) {
        double at = left[k % batches];

        for (int64_t v = 0; v < ranks; v++) {
            at      = (at > free[v] ? at : free[v]) + stage[v].forward + stage[v].send;
            free[v] = at;
        }
        left[k % batches] = at;
        settled           = k == SETTLED * batches - 1 ? at : settled;
    }
    return (left[batches - 1] - settled) / (ROUNDS - SETTLED);
}

/* Stages of 3, 5 and 2 s with messages of 0.5 and 0.25 s: a batch alone passes in 10.75 s, and three keep the
 * second stage busy, 3 x 5.25 s a round; two do not. */
static void a_round_of_inference_is_the_pass_or_the_slowest_stage(void **state)
{
    /* the last stage sends nothing, and nobody reads what it would send */
    pipeline_stage stage[] = { { .forward = 3, .send = 0.5 },
                               { .forward = 5, .send = 0.25 },
                               { .forward = 2, .send = 99 } };
    const double   round[] = { 10.75, 10.75, 15.75, 21 };

    (void)state;
    for (int64_t n = 1; n <= 4; n++) {
        const pipeline_round r = pipeline_round_of(stage, 3, (double)n);

        assert_close(r.pass, 10.75, 1e-15);
        assert_close(r.sent, 0.75, 1e-15);
        assert_close(r.round, round[n - 1], 1e-15);
    }
    stage[2].send = 0;
    for (int64_t n = 1; n <= 4; n++)
        assert_close(simulated_round(stage, 3, n), round[n - 1], 1e-12);
    for (int64_t p = 1; p <= STAGES_MAX; p *= 2) { /* equal stages: as long as a device alone */
        pipeline_stage even[STAGES_MAX];

        for (int64_t v = 0; v < p; v++)
            even[v] = (pipeline_stage){ .forward = 8.0 / (double)p };
        assert_close(pipeline_round_of(even, p, (double)p).round, 8, 1e-15);
        assert_close(pipeline_round_of(even, p, (double)p).pass, 8, 1e-15);
    }
    stage[0].send = NAN; /* a message without a price */
    assert_true(isnan(pipeline_round_of(stage, 3, 3).pass));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_forward_one_backward_has_a_bubble_of_the_ranks_less_one),
        cmocka_unit_test(chunks_of_a_rank_divide_the_bubble),
        cmocka_unit_test(weight_gradients_fill_the_bubble_of_zb_h1),
        cmocka_unit_test(messages_hidden_behind_other_micro_batches_delay_their_receiver),
        cmocka_unit_test(recurrence_is_the_simulation_of_random_uneven_stages),
        cmocka_unit_test(repetition_is_skipped_without_a_trace),
        cmocka_unit_test(long_pipelines_cost_no_more),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(a_round_of_inference_is_the_pass_or_the_slowest_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
