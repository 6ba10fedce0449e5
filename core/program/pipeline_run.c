/*
 * Seconds of a pipeline: its recurrence.
 *
 * Times are whole ticks, so that a periodic schedule repeats exactly. In a round each rank does an
 * equal part of its tasks. If the state after a round equals that after an earlier round, shifted
 * by some ticks, the rounds between repeat for ever. As many as fit are skipped. (Max-plus systems
 * with rational times are periodic: Baccelli et al. 1992, "Synchronization and Linearity", section
 * 3.7.)
 */
#include "program/pipeline_order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define TICK_BITS 60 /* bits of the sum of all ranks' seconds */

typedef int64_t ticks;

/* Inputs of a virtual stage that have arrived or are on the way, the oldest first. */
typedef struct queue {
    ticks  *at; /* ring of run.room */
    int64_t head, n;
} queue;

typedef struct rank_state {
    ticks   free;
    ticks   last, end; /* as in pipeline_rank */
    int64_t done[N_PIPELINE_PASSES];
    int64_t warm_up;
} rank_state;

typedef struct stage_ticks {
    ticks pass[N_PIPELINE_PASSES], send, back;
} stage_ticks;

/* State of a run: it determines the rest of the schedule. */
typedef struct state {
    rank_state *rank;
    queue      *queue; /* [virtual stage][forward, backward] */
} state;

typedef struct run {
    const pipeline_question *q;
    int64_t                  stages, passes, room;
    int                      exponent; /* a second has 2^exponent ticks */
    stage_ticks             *stage;
    state                    now, kept;
    pipeline_take            take;
    void                    *by;
    lm_error                *err;
    void                    *memory;
} run;

/* A part of the run in which all ranks do the same: forward passes, backward passes, or both. */
typedef struct span {
    int64_t rounds, passes;                  /* passes: of each kind, by a rank in a round */
    int64_t limit[2][N_PIPELINE_PASSES - 1]; /* [start, increase per round][forward, backward] */
    bool    beyond_warm_up;                  /* the forward limit counts from the warm-up */
} span;

/* ---- memory and ticks ---- */

static lm_status check_seconds(const pipeline_question *q, double *sum, lm_error *err)
{
    *sum = 0;
    for (int64_t v = 0; v < q->ranks * q->chunks; v++) {
        const pipeline_stage *s      = &q->stage[v];
        const double          part[] = { s->forward, s->input, s->weight, s->send, s->back };

        for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
            if (!isfinite(part[i]) || part[i] < 0)
                return lm_error_set(err, LM_E_ARG,
                                    "stage %lld takes %g s: expected seconds of 0 or more",
                                    (long long)v, part[i]);
            *sum += part[i] * (double)q->micro_batches;
        }
    }
    return isfinite(*sum) ? LM_OK : lm_error_set(err, LM_E_ARG, "stages take too long to add up");
}

static ticks ticks_of(const run *r, double seconds)
{
    return (ticks)llrint(ldexp(seconds, r->exponent));
}

static double seconds_of(const run *r, ticks t)
{
    return ldexp((double)t, -r->exponent);
}

static void fill_stages(run *r)
{
    const pipeline_question *q     = r->q;
    const bool               split = q->rule == PIPELINE_ZB_H1;

    for (int64_t v = 0; v < r->stages; v++) {
        const pipeline_stage *s = &q->stage[v];

        r->stage[v] =
            (stage_ticks){ .pass = { [PIPELINE_FORWARD] = ticks_of(r, s->forward),
                                     [PIPELINE_BACKWARD] =
                                         ticks_of(r, split ? s->input : s->input + s->weight),
                                     [PIPELINE_WEIGHT] = split ? ticks_of(r, s->weight) : 0 },
                           .send = v + 1 < r->stages ? ticks_of(r, s->send) : 0,
                           .back = v > 0 ? ticks_of(r, s->back) : 0 };
    }
}

static void place_state(state *s, const run *r, char **at)
{
    ticks *ring;

    s->rank = (void *)*at;
    *at += (size_t)r->q->ranks * sizeof *s->rank;
    s->queue = (void *)*at;
    *at += (size_t)r->stages * 2 * sizeof *s->queue;
    ring = (void *)*at;
    *at += (size_t)(r->stages * 2 * r->room) * sizeof *ring;
    for (int64_t i = 0; i < 2 * r->stages; i++)
        s->queue[i].at = ring + i * r->room;
}

static lm_status make(run *r, lm_error *err)
{
    const pipeline_question *q = r->q;
    size_t                   bytes;
    char                    *at;

    r->stages = q->ranks * q->chunks;
    r->passes = q->micro_batches * q->chunks;
    /* A rank has up to w + 1 < ranks * (chunks + 1) passes in flight, so each chunk has those of at
     * most three groups. GPipe's rounds leave one pass of a stage on the way. */
    r->room = 3 * q->ranks + 2;
    bytes   = (size_t)r->stages * sizeof *r->stage +
            2 * ((size_t)q->ranks * sizeof(rank_state) + (size_t)r->stages * 2 * sizeof(queue) +
                 (size_t)(r->stages * 2 * r->room) * sizeof(ticks));
    r->memory = calloc(1, bytes);
    if (!r->memory)
        return no_memory(err);
    at       = r->memory;
    r->stage = (void *)at;
    at += (size_t)r->stages * sizeof *r->stage;
    place_state(&r->now, r, &at);
    place_state(&r->kept, r, &at);
    fill_stages(r);
    for (int64_t i = 0; i < q->ranks; i++)
        r->now.rank[i].warm_up = pipeline_warm_up(q, i);
    return LM_OK;
}

/* ---- tasks ---- */

static void push(run *r, int64_t stage, int back, ticks at)
{
    queue        *u    = &r->now.queue[2 * stage + back];
    const int64_t tail = u->head + u->n;

    assert(u->n < r->room);
    u->at[tail < r->room ? tail : tail - r->room] = at;
    u->n++;
}

static ticks pop(run *r, queue *u)
{
    const ticks at = u->at[u->head];

    u->head = u->head + 1 < r->room ? u->head + 1 : 0;
    u->n--;
    return at;
}

static lm_status report(const run *r, int64_t rank, pipeline_place at, pipeline_pass pass,
                        ticks start, ticks end)
{
    const pipeline_task t = { .rank        = rank,
                              .chunk       = at.chunk,
                              .micro_batch = at.micro_batch,
                              .pass        = pass,
                              .start       = seconds_of(r, start),
                              .end         = seconds_of(r, end) };

    return r->take(r->by, &t, r->err);
}

/* Does a rank's next task; *moved: false if it has to wait. Two tasks need no input from other
 * ranks: the last stage's backward pass, which follows its own forward pass, and weight
 * gradients. */
static lm_status step_rank(run *r, int64_t rank, pipeline_pass pass, bool *moved)
{
    rank_state          *s     = &r->now.rank[rank];
    const pipeline_place at    = pipeline_place_of(r->q, pass, s->done[pass]);
    const int64_t        v     = at.chunk * r->q->ranks + rank;
    const stage_ticks   *stage = &r->stage[v];
    const bool           waits =
        pass == PIPELINE_FORWARD ? v > 0 : pass == PIPELINE_BACKWARD && v + 1 < r->stages;
    const ticks sent  = pass == PIPELINE_FORWARD    ? stage->send
                        : pass == PIPELINE_BACKWARD ? stage->back
                                                    : 0;
    queue      *input = &r->now.queue[2 * v + (pass == PIPELINE_BACKWARD)];
    ticks       start = s->free, end;

    *moved = !waits || input->n;
    if (!*moved)
        return LM_OK;
    if (waits) {
        const ticks there = pop(r, input);

        start = there > start ? there : start;
    }
    end     = start + stage->pass[pass];
    s->free = r->q->exposed ? end + sent : end;
    if (pass == PIPELINE_FORWARD && v + 1 < r->stages)
        push(r, v + 1, 0, end + sent);
    if (pass == PIPELINE_BACKWARD && v > 0)
        push(r, v - 1, 1, end + sent);
    if (pass == PIPELINE_BACKWARD)
        s->last = start;
    s->end = s->free;
    s->done[pass]++;
    return r->take ? report(r, rank, at, pass, start, end) : LM_OK;
}

/* ---- rounds ---- */

static int64_t limit_of(const span *p, int64_t round, const rank_state *s, pipeline_pass pass)
{
    const int64_t warm_up = p->beyond_warm_up && pass == PIPELINE_FORWARD ? s->warm_up : 0;

    return pass == PIPELINE_WEIGHT ? INT64_MAX
                                   : warm_up + p->limit[0][pass] + (round + 1) * p->limit[1][pass];
}

/* Does the tasks of a rank until one must wait or the round ends. */
static lm_status advance(run *r, const span *p, int64_t round, int64_t rank, bool *any)
{
    const rank_state *s     = &r->now.rank[rank];
    bool              moved = true;
    lm_status         status;

    for (;;) {
        const pipeline_pass pass = pipeline_next(r->q, rank, s->warm_up, s->done);

        if (pass == N_PIPELINE_PASSES || s->done[pass] >= limit_of(p, round, s, pass))
            return LM_OK;
        if ((status = step_rank(r, rank, pass, &moved)) || !moved)
            return status;
        *any = true;
    }
}

/* Inputs come from the previous and from the next rank, so ranks advance in ascending and then in
 * descending order. */
static lm_status do_round(run *r, const span *p, int64_t round)
{
    bool      any    = true;
    lm_status status = LM_OK;

    while (any) {
        any = false;
        for (int64_t i = r->q->ranks; i-- > 0 && !status;)
            status = advance(r, p, round, i, &any);
        for (int64_t i = 0; i < r->q->ranks && !status; i++)
            status = advance(r, p, round, i, &any);
        if (status)
            return status;
    }
    return LM_OK;
}

/* ---- repetition ---- */

static void keep(run *r)
{
    memcpy(r->kept.rank, r->now.rank, (size_t)r->q->ranks * sizeof *r->now.rank);
    for (int64_t i = 0; i < 2 * r->stages; i++) {
        const queue *from = &r->now.queue[i];
        queue       *to   = &r->kept.queue[i];

        to->head = from->head;
        to->n    = from->n;
        if (from->n)
            memcpy(to->at, from->at, (size_t)r->room * sizeof *to->at);
    }
}

static ticks nth(const run *r, const queue *u, int64_t i)
{
    return u->at[(u->head + i) % r->room];
}

/* Does the state equal the kept one, shifted by *later ticks and `done` passes? */
static bool repeats(const run *r, ticks *later, int64_t done[N_PIPELINE_PASSES])
{
    const rank_state *now = r->now.rank, *kept = r->kept.rank;

    *later = now[0].free - kept[0].free;
    for (int p = 0; p < N_PIPELINE_PASSES; p++)
        done[p] = now[0].done[p] - kept[0].done[p];
    for (int64_t i = 1; i < r->q->ranks; i++) {
        if (now[i].free - kept[i].free != *later)
            return false;
        for (int p = 0; p < N_PIPELINE_PASSES; p++)
            if (now[i].done[p] - kept[i].done[p] != done[p])
                return false;
    }
    for (int64_t i = 0; i < 2 * r->stages; i++) {
        const queue *a = &r->now.queue[i], *b = &r->kept.queue[i];

        if (a->n != b->n)
            return false;
        for (int64_t j = 0; j < a->n; j++)
            if (nth(r, a, j) - nth(r, b, j) != *later)
                return false;
    }
    return true;
}

static void skip(run *r, int64_t times, ticks later, const int64_t done[N_PIPELINE_PASSES])
{
    for (int64_t i = 0; i < r->q->ranks; i++) {
        rank_state *s = &r->now.rank[i];

        s->free += times * later;
        s->last += times * later;
        s->end += times * later;
        for (int p = 0; p < N_PIPELINE_PASSES; p++)
            s->done[p] += times * done[p];
    }
    for (int64_t i = 0; i < 2 * r->stages; i++)
        for (int64_t j = 0; j < r->now.queue[i].n; j++)
            r->now.queue[i].at[(r->now.queue[i].head + j) % r->room] += times * later;
}

/* Runs the rounds of a span. The state is kept after rounds 1, 2, 4, ... (Brent 1980, "An improved
 * Monte Carlo factorization algorithm"). One kept state suffices to find any period. */
static lm_status do_span(run *r, const span *p)
{
    int64_t kept = -1;

    for (int64_t round = 0; round < p->rounds; round++) {
        int64_t   done[N_PIPELINE_PASSES];
        ticks     later;
        lm_status status;

        if ((status = do_round(r, p, round)))
            return status;
        if (r->take)
            continue;
        if (kept >= 0 && kept < round && repeats(r, &later, done)) {
            const int64_t times = (p->rounds - 1 - round) / (round - kept);

            skip(r, times, later, done);
            round += times * (round - kept);
            kept = INT64_MAX; /* the rest is shorter than the period */
        } else if (round == 0 || (kept < INT64_MAX / 2 && round > 2 * kept)) {
            keep(r);
            kept = round;
        }
    }
    return LM_OK;
}

static lm_status do_all(run *r)
{
    static const span        rest = { .rounds = 1,
                                      .limit  = { { INT64_MAX / 4, INT64_MAX / 4 }, { 0, 0 } } };
    const pipeline_question *q    = r->q;
    const int64_t            each =
        q->chunks > 1 ? q->ranks * q->chunks : 1; /* period of the order of chunks */
    lm_status status;

    if (q->rule == PIPELINE_GPIPE) {
        const span forth = { .rounds = r->passes, .limit = { { 0, 0 }, { 1, 0 } } };
        const span back  = { .rounds = r->passes - 1, .limit = { { r->passes, 0 }, { 0, 1 } } };

        if ((status = do_span(r, &forth)) || (status = do_span(r, &back)))
            return status;
    } else {
        const span both = { .rounds         = (r->passes - r->now.rank[0].warm_up) / each - 1,
                            .limit          = { { 0, 0 }, { each, each } },
                            .beyond_warm_up = true };

        if ((status = do_span(r, &both)))
            return status;
    }
    return do_span(r, &rest); /* with the last backward pass */
}

/* ---- answers ---- */

static void answer(const run *r, double *step, pipeline_rank *rank)
{
    const pipeline_question *q   = r->q;
    ticks                    end = 0;

    for (int64_t i = 0; i < q->ranks; i++)
        end = r->now.rank[i].end > end ? r->now.rank[i].end : end;
    for (int64_t i = 0; i < q->ranks && rank; i++) {
        const rank_state *s    = &r->now.rank[i];
        ticks             work = 0, sent = 0;

        for (int64_t v = i; v < r->stages; v += q->ranks) {
            for (int p = 0; p < N_PIPELINE_PASSES; p++)
                work += q->micro_batches * r->stage[v].pass[p];
            if (q->exposed)
                sent += q->micro_batches * (r->stage[v].send + r->stage[v].back);
        }
        rank[i] = (pipeline_rank){ .work   = seconds_of(r, work),
                                   .sent   = seconds_of(r, sent),
                                   .bubble = seconds_of(r, end - work - sent),
                                   .last   = seconds_of(r, s->last),
                                   .end    = seconds_of(r, s->end) };
    }
    *step = seconds_of(r, end);
}

lm_status pipeline_run(const pipeline_question *q, double *step, pipeline_rank *rank,
                       pipeline_take take, void *by, lm_error *err)
{
    run       r = { .q = q, .take = take, .by = by, .err = err };
    double    sum;
    lm_status status;

    if ((status = pipeline_check(q, err)) || (status = check_seconds(q, &sum, err)))
        return status;
    frexp(sum, &r.exponent); /* sum < 2^exponent */
    r.exponent = TICK_BITS - r.exponent;
    if (!(status = make(&r, err)) && !(status = do_all(&r)))
        answer(&r, step, rank);
    free(r.memory);
    return status;
}
