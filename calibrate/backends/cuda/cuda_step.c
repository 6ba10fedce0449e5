/* The native step on a GPU. */
#include "cuda_step.h"

#include <math.h>

#include "ranks/pulse.h"

/* A running step. It keeps the first failure and goes on: other ranks wait for all buckets. */
typedef struct stepping {
    cuda_case       *c;
    const step_sync *sync;
    lm_status        status;
    lm_error        *err;
} stepping;

static void note(stepping *s, lm_status status)
{
    if (!s->status)
        s->status = status;
}

/* Room for a later failure, so that it does not replace the first one. */
static lm_error *explanation(const stepping *s)
{
    return s->status ? NULL : s->err;
}

static void play(stepping *s, phase part, size_t begin, size_t end)
{
    if (!s->status)
        s->status = cuda_case_play(s->c, part, begin, end, s->err);
}

static void mark(stepping *s, cuda_mark at)
{
    if (!s->status)
        s->status = cuda_case_mark(s->c, at, s->err);
}

/* Runs the pass up to each bucket's last gradient, then the rest. */
static void backward(stepping *s)
{
    const step_sync *sync = s->sync;
    const size_t     n    = s->c->plan.n[PHASE_BACKWARD];
    size_t           done = 0;

    for (size_t i = 0; sync && i < sync->n_buckets; i++) {
        backend     *who   = sync->collective;
        const size_t needs = sync->bucket[i].needs < n ? sync->bucket[i].needs : n;

        if (needs > done) {
            play(s, PHASE_BACKWARD, done, needs);
            done = needs;
        }
        note(s, who->type->start_bucket(who, sync->work, i, s->c->device->stream, explanation(s)));
    }
    play(s, PHASE_BACKWARD, done, n);
}

static void exchange(stepping *s)
{
    backend *who = s->sync->collective;

    note(s, who->type->finish_buckets(who, s->sync->work, s->c->device->stream, explanation(s)));
}

/* Polls the collective until all work is done: an all-reduce that lost its network or a rank would
 * never end. */
static void poll(stepping *s)
{
    backend    *who = s->sync->collective;
    cudaError_t now = cudaErrorNotReady;

    while (!s->status && now == cudaErrorNotReady) {
        now = cudaEventQuery(s->c->mark[MARK_END]);
        (void)cudaGetLastError(); /* CUDA keeps "not ready" as an error: the next call would return
                                   * it */
        s->status = who->type->poll_buckets(who, s->sync->work, s->err);
    }
}

/* Waits for the step, and with buckets for the other ranks. */
static void wait_for_all(stepping *s)
{
    const pulse_activity before = pulse_enter(s->sync ? PULSE_EXCHANGE : PULSE_WORK);

    if (s->sync && s->sync->collective->type->poll_buckets)
        poll(s);
    if (!s->status)
        s->status = cuda_case_wait(s->c, MARK_END, s->err);
    pulse_enter(before);
}

static void read_times(stepping *s, step_time *out)
{
    const struct {
        cuda_mark     from, to;
        backend_time *out;
    } parts[] = {
        { MARK_BEGIN, MARK_FORWARD_END, &out->forward },
        { MARK_FORWARD_END, MARK_BACKWARD_END, &out->backward },
        { MARK_BACKWARD_END, MARK_SYNC_END, &out->exposed },
        { MARK_SYNC_END, MARK_END, &out->update },
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i].out = (backend_time){ 0, (double)NAN };
        if (!s->status)
            s->status =
                cuda_case_between(s->c, parts[i].from, parts[i].to, &parts[i].out->wall, s->err);
    }
    if (!s->sync)
        out->exposed.wall = 0;
}

lm_status cuda_step_run(cuda_case *c, const step_sync *sync, step_time *out, lm_error *err)
{
    stepping s = { c, sync, LM_OK, err };

    mark(&s, MARK_BEGIN);
    play(&s, PHASE_FORWARD, 0, c->plan.n[PHASE_FORWARD]);
    mark(&s, MARK_FORWARD_END);
    backward(&s);
    mark(&s, MARK_BACKWARD_END);
    if (sync)
        exchange(&s);
    mark(&s, MARK_SYNC_END);
    play(&s, PHASE_UPDATE, 0, c->plan.n[PHASE_UPDATE]);
    mark(&s, MARK_END);
    wait_for_all(&s);
    read_times(&s, out);
    return s.status;
}
