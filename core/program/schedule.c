/* Seconds of a rank's program on its streams. */
#include "program/schedule.h"

#include <math.h>
#include <string.h>

/* Prices of messages in one run. */
typedef struct pricing {
    rank_program            *program;
    const schedule_question *q;
    const message           *of; /* the message; of fused ones the first */
    message_price           *price;
    void                    *context;
    double                   factor;
    size_t                   at; /* number of messages so far */
} pricing;

/* Has the message a receiver? A group of one rank sends nothing. */
static bool travels(const schedule_question *q, const message *m)
{
    return q->group[m->group].nodes > 1 || q->group[m->group].devices > 1;
}

/* Seconds of a message. Gradients and weights of experts go to fewer ranks than the others. */
static double price_of(const pricing *by, const message *m, double bytes)
{
    const double own = m->group == GROUP_DATA ? by->program->experts : 0;
    message      theirs;

    if (!(own > 0))
        return by->price(by->context, m, bytes);
    theirs       = *m;
    theirs.group = GROUP_SAME_EXPERTS;
    return by->price(by->context, m, (1 - own) * bytes) +
           (travels(by->q, &theirs) ? by->price(by->context, &theirs, own * bytes) : 0);
}

static double message_seconds(void *context, double bytes)
{
    pricing             *p    = context;
    struct message_paid *paid = &p->program->paid[p->at];

    if (p->at++ >= p->program->n_paid || paid->bytes != bytes) {
        *paid              = (struct message_paid){ bytes, price_of(p, p->of, bytes) };
        p->program->n_paid = p->at;
    }
    return p->factor * paid->seconds;
}

/* Does the policy copy gradients into its own buffers? */
static bool copied(const sync_policy *p)
{
    return p->rule == SYNC_DDP || p->rule == SYNC_FUSION;
}

/* Additional delay of the last message behind a pass, compared with a message without
 * computation. */
static double latency_behind(const overlap_constants *r, double pass)
{
    return r->lag > 0 ? fmin(r->latency, r->lag * pass) : r->latency;
}

/* Drops the kept prices if the groups differ. */
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

/* Is it a message of gradients in each micro-step of a pipeline? Each stage has its own. */
static bool is_of_stages(const rank_program *p, const message *m)
{
    return p->stages.part && m->group == GROUP_DATA;
}

/* Lengthens passes by the messages that their kernels wait for, except for the part that overlaps
 * with computation. Returns the seconds of the last backward pass. */
static double add_waited(const schedule_question *q, pricing *by, step_times *out)
{
    const rank_program *p    = by->program;
    double              last = 0;

    for (size_t i = 0; i < p->n; i++) {
        const message *m       = &p->message[i];
        const bool     forward = m->pass == PHASE_FORWARD;
        const double   pass    = (forward ? q->work.forward : q->work.backward) / q->work.micro;
        double         seconds;

        if (m->rule != MESSAGE_WAITED || !travels(q, m) || is_of_stages(p, m))
            continue;
        seconds = (m->times > 0 ? m->times : 1) * one_message(by, m);
        out->waited += q->work.micro * seconds;
        seconds = m->behind > 0 ? fmax(0, seconds - m->behind * q->pass * pass) : seconds;
        *(forward ? &out->forward : &out->backward) += q->work.micro * seconds;
        out->added[!forward][m->group] += q->work.micro * seconds;
        last += forward ? 0 : seconds;
        if (m->again) {
            out->waited += q->work.micro * seconds;
            out->backward += q->work.micro * seconds;
            out->added[1][m->group] += q->work.micro * seconds;
            last += seconds;
        }
    }
    return last;
}

/* Adds the host's delay. The host issues the kernels of all micro-steps and runs ahead if it can.
 * Returns the additional seconds of the last backward pass. */
static double add_host(const step_work *w, step_times *out)
{
    const double pass[] = { out->forward / w->micro, out->backward / w->micro };
    host_clock   clock  = { 0, 0 };
    double       last   = 0;

    if (!w->host)
        return 0;
    for (double k = 0; k < w->micro; k++)
        for (int back = 0; back < 2; back++) {
            last = host_pass(&clock, w->host->queue, w->issued[back], pass[back]) - pass[back];
            out->host[back] += last;
        }
    out->forward += out->host[0];
    out->backward += out->host[1];
    return last;
}

/* Fills in the buckets that are sent beside the last pass and returns their number. The pass takes
 * `last` seconds. Waiting makes it evenly longer, by the factor `longer`. */
static size_t fill(rank_program *p, const schedule_question *q, double last, double longer,
                   pricing *by, step_times *out)
{
    const double more = p->even ? 0 : (double)(q->batch - 1);
    size_t       n    = 0;

    for (size_t i = 0; i < p->n; i++) {
        const message *e     = &p->message[i];
        const double   ready = q->unit * (e->ready + more * e->more);

        if (e->rule != MESSAGE_BESIDE || !travels(q, e))
            continue;
        /* the pass copies gradients into the bucket */
        out->copy += copied(&p->policy) ? q->rules.copy * e->bytes : 0;
        by->of = n ? by->of : e;

        p->running[n++] =
            (overlap_bucket){ .bytes       = e->bytes,
                              .first_layer = e->first_layer,
                              .last_layer  = e->last_layer,
                              .ready =
                                  longer * q->pass * (ready < last ? ready : last) + out->copy };
    }
    return n;
}

/* Runs messages beside the last pass, which takes `last` seconds without them. */
static void run_beside(rank_program *p, const schedule_question *q, double last, double longer,
                       pricing *by, step_times *out)
{
    const size_t  n     = fill(p, q, last, longer, by, out);
    overlap_rules rules = { .backward = longer * q->pass * last + out->copy,
                            .slowdown = q->rules.slowdown,
                            .stretch  = q->rules.stretch };
    overlap_times t;
    double        late;

    if (!n)
        return;
    if (p->policy.rule == SYNC_FUSION) {
        rules.wait         = p->policy.cycle_seconds / 2; /* mean wait for the next cycle */
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
    if (p->each) { /* all micro-steps send their gradients */
        out->sync *= q->work.micro;
        out->exposed *= q->work.micro;
        out->copy *= q->work.micro;
    }
    out->added[1][GROUP_DATA] += t.backward - out->copy - out->last;
    out->added[2][GROUP_DATA] += out->exposed;
    out->backward += t.backward - out->copy - out->last;
    out->last = t.backward - out->copy;
}

static double gather_seconds(void *context, collective_kind kind, double bytes, rank_group group)
{
    const pricing *by = context;
    const message  m  = { .kind = kind, .bytes = bytes, .group = group };

    return travels(by->q, &m) ? by->q->message * by->price(by->context, &m, bytes) : 0;
}

/* Price of the weights of a block, which are gathered in each micro-step. */
static gather_price price_gather(void *context, const gather_block *b)
{
    const pricing *by = context;

    return gather_price_of(b, by->q->group, gather_seconds, context);
}

static void run_gathered(rank_program *p, const schedule_question *q, pricing *by, step_times *out)
{
    const double       micro   = q->work.micro;
    const double       forward = out->forward / micro, backward = out->backward / micro;
    const gather_times t = gather_run(p->gather, p->n_gather, forward, backward, price_gather, by);

    double added;

    out->gathers[0] = micro * (t.forward - forward);
    out->gathers[1] = micro * (t.backward - backward);
    added           = out->gathers[0] + out->gathers[1];
    out->sync += micro * t.messages;
    out->exposed += added;
    out->added[2][GROUP_SHARD] += added;
}

/* Messages behind the last pass: fully exposed. */
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
        out->added[2][m->group] += seconds;
    }
}

/* ---- pipelines ---- */

/* One rank's part of the network: sums over its virtual stages. */
static stage_part part_of_rank(const stage_list *s, int64_t rank)
{
    stage_part sum = { 0 };

    for (int64_t v = rank; v < s->ranks * s->chunks; v += s->ranks) {
        sum.forward += s->part[v].forward;
        sum.input += s->part[v].input;
        sum.weight += s->part[v].weight;
        sum.weights += s->part[v].weights;
    }
    return sum;
}

static double sent(pricing *by, collective_kind kind, rank_group group, double bytes)
{
    const message m = { .kind = kind, .bytes = bytes, .group = group, .rule = MESSAGE_BEHIND };

    return travels(by->q, &m) ? by->q->message * price_of(by, &m, bytes) : 0;
}

/* Sum of the gradients that are sent beside a pass. */
typedef struct buckets {
    double          bytes, n;
    collective_kind kind;
} buckets;

static buckets find_buckets(const rank_program *p)
{
    buckets b = { .kind = COLLECTIVE_ALLREDUCE };

    for (size_t i = 0; i < p->n; i++)
        if (p->message[i].rule == MESSAGE_BESIDE) {
            b.bytes += p->message[i].bytes;
            b.kind = p->message[i].kind;
            b.n++;
        }
    return b;
}

/* Exposed seconds of equal buckets, one after the other; the last is sent behind the pass. Adds the
 * seconds of all messages to *all. */
static double exposed_beside(pricing *by, double weights, double pass, double *all)
{
    const buckets b = find_buckets(by->program);
    const double  n = fmax(1, round(b.n * weights));
    double        seconds;

    if (!(b.n > 0))
        return 0;
    seconds =
        (1 + by->q->rules.surcharge) * n * sent(by, b.kind, GROUP_DATA, weights * b.bytes / n);
    *all += seconds;
    return fmax(pass / n + seconds - pass, seconds / n);
}

static double sum_of(const double of[N_RANK_GROUPS])
{
    double sum = 0;

    for (int g = 0; g < N_RANK_GROUPS; g++)
        sum += of[g];
    return sum;
}

/* Messages of a rank once a step, by group, exposed behind its last backward pass, of so many seconds. */
static double sent_by_rank(pricing *by, int64_t rank, double pass, double *all,
                           double of[N_RANK_GROUPS])
{
    const rank_program *p       = by->program;
    const double        weights = part_of_rank(&p->stages, rank).weights;

    for (size_t i = 0; i < p->n; i++)
        if (p->message[i].rule == MESSAGE_BEHIND)
            of[p->message[i].group] +=
                sent(by, p->message[i].kind, p->message[i].group, weights * p->message[i].bytes);
    if (p->stages.tied > 0 && (rank == 0 || rank + 1 == p->stages.ranks))
        of[GROUP_STAGES] += sent(by, COLLECTIVE_ALLREDUCE, GROUP_STAGES, p->stages.tied);
    *all = sum_of(of);
    if (!p->each)
        of[GROUP_DATA] += exposed_beside(by, weights, pass, all);
    return sum_of(of);
}

/* Delay of a virtual stage by its messages of each micro-step: reduce-scatters of gradients behind
 * or beside its backward pass, or all-gathers of weights by block. `forward`, `backward`: seconds
 * of the whole network. */
static stage_wait wait_of(pricing *by, const stage_part *a, double forward, double backward)
{
    const rank_program *p = by->program;
    stage_wait          w = { 0 };

    if (a->n_gather) {
        const gather_times t =
            gather_run(&p->gather[a->gather], a->n_gather, forward, backward, price_gather, by);

        return (stage_wait){ .forward  = t.forward - a->forward * forward,
                             .backward = t.backward - (a->input + a->weight) * backward,
                             .messages = t.messages };
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->message[i].rule == MESSAGE_WAITED && is_of_stages(p, &p->message[i]))
            w.messages +=
                sent(by, p->message[i].kind, GROUP_DATA, a->weights * p->message[i].bytes);
    w.backward = w.messages;
    w.backward += exposed_beside(by, a->weights, (a->input + a->weight) * backward, &w.messages);
    return w;
}

/* The same for a rank and all micro-steps. */
static stage_wait wait_of_rank(const rank_program *p, int64_t rank, double micro)
{
    const stage_list *s   = &p->stages;
    stage_wait        sum = { 0 };

    for (int64_t v = rank; v < s->ranks * s->chunks && (p->each || p->n_gather); v += s->ranks) {
        sum.forward += micro * s->wait[v].forward;
        sum.backward += micro * s->wait[v].backward;
        sum.messages += micro * s->wait[v].messages;
    }
    return sum;
}

/* Megatron-LM waits for each message, except those between chunks. */
static pipeline_question question_of(const stage_list *s, int64_t micro)
{
    return (pipeline_question){ .rule          = s->rule,
                                .ranks         = s->ranks,
                                .chunks        = s->chunks,
                                .micro_batches = micro,
                                .stage         = s->stage,
                                .exposed       = s->rule != PIPELINE_INTERLEAVED };
}

lm_status schedule_tasks(const rank_program *p, int64_t micro, pipeline_take take, void *by,
                         lm_error *err)
{
    const pipeline_question q = question_of(&p->stages, micro);
    double                  step;

    return pipeline_run(&q, &step, NULL, take, by, err);
}

/* Seconds of the pipeline; false if a message has no price. */
static bool run_pipeline(const rank_program *p, const schedule_question *q, pricing *by,
                         const step_times *t)
{
    const stage_list *s       = &p->stages;
    const double      forward = t->forward / q->work.micro, backward = t->backward / q->work.micro;
    pipeline_question asked;
    double            step;

    for (int64_t v = 0; v < s->ranks * s->chunks; v++) {
        const stage_part *a    = &s->part[v];
        const double      send = sent(by, COLLECTIVE_SENDRECV, GROUP_STAGES, a->bytes);
        const double      back =
            v ? sent(by, COLLECTIVE_SENDRECV, GROUP_STAGES, s->part[v - 1].bytes) : 0;

        s->stage[v] = (pipeline_stage){ .forward = a->forward * forward,
                                        .input   = a->input * backward,
                                        .weight  = a->weight * backward,
                                        .send    = send,
                                        .back    = back };
        if (p->each || p->n_gather) {
            s->wait[v] = wait_of(by, a, forward, backward);
            s->stage[v].forward += s->wait[v].forward;
            s->stage[v].input += s->wait[v].backward;
        }
    }
    asked = question_of(s, (int64_t)q->work.micro);
    return !pipeline_run(&asked, &step, s->rank, NULL, NULL, NULL);
}

/* Seconds of kernels of a part of the network in a step. */
static double work_of_part(const schedule_question *q, const stage_part *a)
{
    return a->forward * q->work.forward + (a->input + a->weight) * q->pass * q->work.backward +
           a->weights * q->work.update;
}

/* Finds the rank that ends last. Returns its share of the network's passes and weights. */
static stage_part run_stages(rank_program *p, const schedule_question *q, pricing *by,
                             step_times *out)
{
    const stage_list *s    = &p->stages;
    const step_times  all  = *out;
    double            last = -1, work = 0;
    stage_part        its = { 0 };

    out->forward = out->backward = NAN;
    if (!run_pipeline(p, q, by, &all))
        return its;
    for (int64_t r = 0; r < s->ranks; r++) {
        const stage_part mine = part_of_rank(s, r);
        const stage_wait wait = wait_of_rank(p, r, q->work.micro);
        const double     back = (mine.input + mine.weight) * all.backward;
        double           sync, sent[N_RANK_GROUPS] = { 0 };
        const double     exposed =
            sent_by_rank(by, r, back / q->work.micro / (double)s->chunks, &sync, sent);
        const double end = s->rank[r].end + exposed + mine.weights * q->work.update;

        work += work_of_part(q, &mine);
        if (end <= last)
            continue;
        last          = isnan(end) ? INFINITY : end; /* a message without a price */
        its           = mine;
        out->forward  = mine.forward * all.forward;
        out->backward = s->rank[r].end - out->forward - wait.forward - wait.backward;
        out->bubble   = out->backward - back;
        out->weight   = mine.weight * all.backward;
        out->host[0]  = mine.forward * all.host[0];
        out->host[1]  = (mine.input + mine.weight) * all.host[1];
        out->tensor   = mine.forward * (all.forward - q->work.forward) +
                      (mine.input + mine.weight) * (all.backward - q->pass * q->work.backward) -
                      out->host[0] - out->host[1];
        out->waited  = mine.forward * all.waited + s->rank[r].sent;
        out->exposed = exposed + wait.forward + wait.backward;
        out->sync    = sync + wait.messages;
        out->rank    = r;
        sent[p->n_gather ? GROUP_SHARD : GROUP_DATA] += wait.forward + wait.backward;
        for (int g = 0; g < N_RANK_GROUPS; g++) {
            out->added[0][g] = mine.forward * all.added[0][g];
            out->added[1][g] = (mine.input + mine.weight) * all.added[1][g];
            out->added[2][g] = sent[g];
        }
    }
    if (work > 0)
        out->others = work / (double)s->ranks / work_of_part(q, &its);
    return its;
}

/* Inference: batches follow each other through the stages. A batch's pass is the forward pass, and it waits
 * where another stage is slower. Returns the mean share of a rank: a round is one pass of the network, by
 * all of them. */
static stage_part run_round(const rank_program *p, const schedule_question *q, pricing *by,
                            step_times *out)
{
    const stage_list *s     = &p->stages;
    const double      micro = q->work.micro;
    pipeline_round    r;

    for (int64_t v = 0; v < s->ranks; v++)
        s->stage[v] = (pipeline_stage){ .forward = s->part[v].forward * out->forward / micro,
                                        .send    = sent(by, COLLECTIVE_SENDRECV, GROUP_STAGES,
                                                        s->part[v].bytes) };
    r             = pipeline_round_of(s->stage, s->ranks, micro);
    out->forward  = r.pass;
    out->backward = out->bubble = r.round - r.pass;
    out->host[0] /= micro;
    out->tensor = out->tensor / micro + r.sent;
    out->waited = out->waited / micro + r.sent;
    for (int g = 0; g < N_RANK_GROUPS; g++)
        out->added[0][g] /= micro;
    out->added[0][GROUP_STAGES] += r.sent;
    return (stage_part){ .forward = 1 / micro, .weights = 1 / micro };
}

/* `compute`: seconds of a rank. */
static void add_stragglers(const schedule_question *q, double compute, step_times *out)
{
    const double ranks = (double)q->group[GROUP_DATA].nodes * (double)q->group[GROUP_DATA].devices;

    if (!(q->rules.straggler > 0) || ranks <= 1)
        return;
    out->wait      = q->rules.straggler * compute * sqrt(2 * log(ranks));
    out->straggler = out->wait * (1 - sqrt(log(q->slowest) / log(ranks)));
}

void schedule_step(rank_program *p, const schedule_question *q, message_price *price, void *context,
                   step_times *out)
{
    const step_work *w    = &q->work;
    const double     last = w->backward / w->micro;
    stage_part       mine = { .forward = 1, .weights = 1 }; /* share of the network */
    pricing          by   = { .program = p, .q = q, .price = price, .context = context };

    *out = (step_times){ .forward  = w->forward,
                         .backward = q->pass * w->backward,
                         .last     = q->pass * last,
                         .others   = 1 };
    if (p) {
        double waited = 0;

        keep_prices(p, q);
        if (p->has[MESSAGE_WAITED])
            waited = add_waited(q, &by, out);
        out->tensor = out->forward - w->forward + (out->backward - q->pass * w->backward);
        waited += add_host(w, out);
        out->last += waited;
        if (p->stages.part)
            mine = p->stages.infers ? run_round(p, q, &by, out) : run_stages(p, q, &by, out);
        if (p->has[MESSAGE_BESIDE] && !p->stages.part)
            run_beside(p, q, last, waited > 0 ? 1 + waited / (q->pass * last) : 1, &by, out);
        if (p->n_gather && !p->stages.part)
            run_gathered(p, q, &by, out);
        if (p->has[MESSAGE_BEHIND] && !p->stages.part)
            add_behind(p, q, &by, out);
        out->bucket = q->brief ? NULL : p->running;
    }
    add_stragglers(q, mine.forward * w->compute, out);
    out->passes  = mine.forward;
    out->weights = mine.weights;
    out->grad    = schedule_grad(out->exposed, out->copy, out->straggler, mine.weights * w->update);
    out->step    = schedule_sum(out->forward, out->backward, out->grad);
}
