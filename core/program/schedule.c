/* Seconds of a rank's program on its streams. */
#include "program/schedule.h"

#include <math.h>
#include <string.h>

/* What prices the messages of one run. */
typedef struct pricing {
    rank_program            *program;
    const schedule_question *q;
    const message           *of; /* of a fused message the first */
    message_price           *price;
    void                    *context;
    double                   factor;
    size_t                   at; /* messages so far */
} pricing;

static double message_seconds(void *context, double bytes)
{
    pricing             *p    = context;
    struct message_paid *paid = &p->program->paid[p->at];

    if (p->at++ >= p->program->n_paid || paid->bytes != bytes) {
        *paid              = (struct message_paid){ bytes, p->price(p->context, p->of, bytes) };
        p->program->n_paid = p->at;
    }
    return p->factor * paid->seconds;
}

/* Does the policy gather gradients in buffers of its own? */
static bool copied(const sync_policy *p)
{
    return p->rule == SYNC_DDP || p->rule == SYNC_FUSION;
}

/* How much later the last message ends behind a pass than where nobody computed. */
static double latency_behind(const stream_rules *r, double pass)
{
    return r->lag > 0 ? fmin(r->latency, r->lag * pass) : r->latency;
}

/* Is anything sent? One rank exchanges nothing. */
static bool travels(const schedule_question *q, const message *m)
{
    return q->group[m->group].nodes > 1 || q->group[m->group].devices > 1;
}

/* Prices are kept for the same groups only. */
static void keep_prices(rank_program *p, const schedule_question *q)
{
    if (memcmp(p->priced_for, q->group, sizeof q->group) != 0)
        p->n_paid = 0;
    memcpy(p->priced_for, q->group, sizeof q->group);
}

static double one_message(pricing *by, const message *e)
{
    by->of     = e;
    by->factor = by->q->message;
    return message_seconds(by, e->bytes);
}

/* Messages that kernels wait for make their pass longer. */
static void add_waited(const schedule_question *q, pricing *by, step_times *out)
{
    const rank_program *p = by->program;

    for (size_t i = 0; i < p->n; i++)
        if (p->message[i].rule == MESSAGE_WAITED && travels(q, &p->message[i])) {
            const double seconds = q->work.micro * one_message(by, &p->message[i]);

            *(p->message[i].pass == PHASE_FORWARD ? &out->forward : &out->backward) += seconds;
        }
}

/* Buckets that are sent beside the last pass, of so many seconds; how many. */
static size_t fill(rank_program *p, const schedule_question *q, double last, pricing *by,
                   step_times *out)
{
    const double more = p->even ? 0 : (double)(q->batch - 1);
    size_t       n    = 0;

    for (size_t i = 0; i < p->n; i++) {
        const message *e     = &p->message[i];
        const double   ready = q->unit * (e->ready + more * e->more);

        if (e->rule != MESSAGE_BESIDE || !travels(q, e))
            continue;
        /* the pass copies what it hands over */
        out->copy += copied(&p->policy) ? q->rules.copy * e->bytes : 0;
        by->of = n ? by->of : e;

        p->running[n++] =
            (overlap_bucket){ .bytes       = e->bytes,
                              .first_layer = e->first_layer,
                              .last_layer  = e->last_layer,
                              .ready       = q->pass * (ready < last ? ready : last) + out->copy };
    }
    return n;
}

/* Messages that the last pass, of so many seconds alone, goes on beside. */
static void run_beside(rank_program *p, const schedule_question *q, double last, pricing *by,
                       step_times *out)
{
    const size_t  n     = fill(p, q, last, by, out);
    overlap_rules rules = { .backward = q->pass * last + out->copy,
                            .slowdown = q->rules.slowdown,
                            .stretch  = q->rules.stretch };
    overlap_times t;
    double        late;

    if (!n)
        return;
    if (p->policy.rule == SYNC_FUSION) {
        rules.wait         = p->policy.cycle_seconds / 2; /* in the mean */
        rules.fusion_bytes = (double)p->policy.limit_bytes;
    }
    by->factor = q->message * (1 + q->rules.surcharge);
    out->n     = n;
    if (q->brief && p->policy.rule != SYNC_FUSION && rules.slowdown == 0 && rules.stretch == 0)
        t = overlap_sums(p->running, n, &rules, message_seconds, by);
    else
        t = overlap_run(p->running, &out->n, &rules, message_seconds, by);
    late         = latency_behind(&q->rules, t.backward - out->copy);
    out->beside  = t.beside;
    out->sync    = t.sync + late;
    out->exposed = t.exposed + late;
    out->backward += t.backward - out->copy - out->last;
    out->last = t.backward - out->copy;
}

/* Messages behind the last pass, of which all is exposed. */
static void add_behind(rank_program *p, const schedule_question *q, pricing *by, step_times *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const message *m = &p->message[i];
        double         seconds;

        if (m->rule != MESSAGE_BEHIND || !travels(q, m))
            continue;
        seconds = one_message(by, m);
        if (!q->brief)
            p->running[out->n] = (overlap_bucket){ .bytes = m->bytes,
                                                   .ready = out->last,
                                                   .start = out->last + out->exposed,
                                                   .end   = out->last + out->exposed + seconds,
                                                   .first_layer = m->first_layer,
                                                   .last_layer  = m->last_layer };
        out->n++;
        out->sync += seconds;
        out->exposed += seconds;
    }
}

static void add_stragglers(const schedule_question *q, step_times *out)
{
    const double ranks = (double)q->group[GROUP_DATA].nodes * (double)q->group[GROUP_DATA].devices;

    if (!(q->rules.straggler > 0) || ranks <= 1)
        return;
    out->wait      = q->rules.straggler * q->work.compute * sqrt(2 * log(ranks));
    out->straggler = out->wait * (1 - sqrt(log(q->rules.slowest) / log(ranks)));
}

void schedule_step(rank_program *p, const schedule_question *q, message_price *price, void *context,
                   step_times *out)
{
    const step_work *w    = &q->work;
    const double     last = w->backward / w->micro;
    pricing          by   = { .program = p, .q = q, .price = price, .context = context };

    *out = (step_times){ .forward  = w->forward,
                         .backward = q->pass * w->backward,
                         .last     = q->pass * last };
    if (p) {
        keep_prices(p, q);
        if (p->has[MESSAGE_BESIDE])
            run_beside(p, q, last, &by, out);
        if (p->has[MESSAGE_BEHIND])
            add_behind(p, q, &by, out);
        if (p->has[MESSAGE_WAITED])
            add_waited(q, &by, out);
        out->bucket = q->brief ? NULL : p->running;
    }
    add_stragglers(q, out);
    out->grad = out->exposed + out->copy + out->straggler + w->update;
    out->step = out->forward + out->backward + out->grad;
}
