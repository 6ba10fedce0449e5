/* Search for plans: every machine, number of nodes and batch of the question. */
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "predict/scaling.h"

static lm_status check(const plan_question *q, lm_error *err)
{
    const training *t = &q->training;

    if (t->epochs < 1 || t->dataset < 1 || t->evaluate < 0 || !(t->startup >= 0))
        return lm_error_set(err, LM_E_ARG,
                            "%lld epochs of %lld samples: both must be 1 or more, evaluation and "
                            "start-up not below 0",
                            (long long)t->epochs, (long long)t->dataset);
    if (q->global_batch > t->dataset)
        return lm_error_set(
            err, LM_E_ARG,
            "a global batch of %lld is more than the data set's %lld samples: take a "
            "smaller one",
            (long long)q->global_batch, (long long)t->dataset);
    if ((double)q->n_nodes * (double)q->n_batch > PLANS_MAX)
        return lm_error_set(err, LM_E_ARG, "%zu numbers of nodes by %zu batches: at most %d plans",
                            q->n_nodes, q->n_batch, PLANS_MAX);
    return LM_OK;
}

static lm_status push(plan_set *set, const plan *p, lm_error *err)
{
    if (set->n == PLANS_MAX)
        return lm_error_set(err, LM_E_ARG, "more than %d plans: ask about fewer nodes or batches",
                            PLANS_MAX);
    if (!array_grow(&set->plan, set->n, &set->room, sizeof *set->plan))
        return no_memory(err);
    set->plan[set->n++] = *p;
    return LM_OK;
}

bool plan_share_needed(const plan_machine *m, const plan_question *q, size_t share)
{
    if (q->told || layout_replica(&q->share[share]) <= q->setup.devices)
        return true;
    for (size_t k = 0; k < share; k++)
        if (layout_replica(&q->share[k]) <= q->setup.devices && batch_limit(&m->fits[k], 1, 1))
            return false;
    return true;
}

/* Setup of a step on so many nodes with batches of at most `batch`, of which the devices share the network
 * in one way. */
static lm_status setup_at(const plan_question *q, size_t share, int64_t nodes, int64_t batch,
                          step_setup *out, lm_error *err)
{
    scale_question scale = { .kind         = q->global_batch ? SCALING_GLOBAL : SCALING_WEAK,
                             .global_batch = q->global_batch,
                             .dataset      = q->training.dataset,
                             .setup        = q->setup };

    scale.setup.batch = batch;
    if (q->n_shares) {
        scale.setup.laid_out = true;
        scale.setup.layout   = q->share[share];
    }
    return scale_setup(&scale, nodes, out, err);
}

/* Samples of a step; INT64_MAX on overflow. */
static int64_t samples(const plan_question *q, const step_setup *s)
{
    const int64_t replicas = step_setup_replicas(s);
    const double  all      = (double)s->batch * (double)s->sync.accumulation * (double)replicas;

    if (q->global_batch)
        return q->global_batch;
    return all < 0x1p62 ? s->batch * s->sync.accumulation * replicas : INT64_MAX;
}

/* Is it a valid plan? Counts the reasons why not. */
static bool possible(const plan_machine *m, const plan_question *q, const step_setup *s,
                     size_t share, plan_set *set)
{
    const int64_t ranks = step_setup_ranks(s);

    if (q->global_batch && ranks > q->global_batch)
        set->idle++;
    else if (samples(q, s) > q->training.dataset)
        set->beyond_dataset++;
    else if (s->batch > batch_limit(&m->fits[share], ranks, s->sync.accumulation))
        set->too_large++;
    else
        return true;
    return false;
}

double plan_paced_seconds(const plan_question *q)
{
    return q->rate > 0 ? q->training.startup + (double)q->training.dataset / q->rate : 0;
}

failure_cost plan_run_of(const plan_question *q, int64_t devices, double ideal)
{
    const double startup = q->training.startup;
    failure_cost c       = failures_of_run(&q->failures, devices, ideal - startup);

    c.seconds = q->failures.mtbf > 0 ? startup + c.seconds : ideal;
    return c;
}

/* Time and cost of the whole run: one start-up, and a restart for each failure. */
static void add_run(const plan_question *q, const cases *evaluation, plan *p)
{
    const double  paced = plan_paced_seconds(q);
    const int64_t ranks = step_setup_ranks(&p->setup);

    for (int i = 0; i < N_TIME_CASES; i++) {
        const double       ideal = training_seconds(&q->training, p->steps, p->step.seconds[i],
                                                    p->evaluations, evaluation->seconds[i]);
        const failure_cost c     = plan_run_of(q, ranks, ideal);

        p->run.seconds[i] = c.seconds;
        if (p->run.seconds[i] < paced) /* not if it is unknown */
            p->run.seconds[i] = paced;
        if (i == TIME_EXPECTED) {
            p->ideal      = ideal;
            p->every      = c.every;
            p->n_failures = c.failures;
        }
    }
}

/* Is a step above the latency limit? By its 95th percentile, if known. */
static bool too_slow(const plan_question *q, const prediction *step)
{
    return q->within > 0 && !((isnan(step->p95) ? step->step : step->p95) <= q->within);
}

/* The evaluation of the last batch. */
typedef struct evaluated {
    int64_t batch; /* 0: none yet */
    cases   pass;
} evaluated;

/* A step, or why it is no plan. */
typedef struct priced_step {
    size_t  share;
    int64_t batch;
    size_t *reason; /* a count of the plan_set; NULL: a plan */
    cases   step;
} priced_step;

/* Plans of one machine that are being added. */
typedef struct searching {
    const plan_machine  *m;
    size_t               machine, share;
    const plan_question *q;
    evaluated            e;
    plan_set            *set;
    priced_step         *known; /* of inference: replicas do not wait for each other */
    size_t               n_known, room;
    lm_error            *err;
} searching;

static lm_status price_step(searching *w, const step_setup *s, priced_step *out)
{
    const plan_machine  *m     = w->m;
    const plan_question *q     = w->q;
    const bool           alone = step_setup_ranks(s) == 1;
    prediction           step;
    lm_status            status = predict_step(m->who, s, &step, w->err);

    *out = (priced_step){ .share = w->share, .batch = s->batch };
    if (status == LM_E_NOTFOUND && w->share && !q->told)
        out->reason = &w->set->no_messages;
    else if (!status && !(step.step > 0))
        out->reason = &w->set->no_time;
    else if (!status && too_slow(q, &step))
        out->reason = &w->set->too_slow;
    if (out->reason)
        return LM_OK;
    if (!status)
        status = cases_of_step(m->who, s, &step, &out->step, w->err);
    if (!status && m->half_link && !alone &&
        !(status = predict_step(m->half_link, s, &step, w->err)))
        out->step.seconds[TIME_HALF_LINK] = step.step;
    return status;
}

/* price_step(), of inference once for all numbers of nodes. */
static lm_status price_step_once(searching *w, const step_setup *s, priced_step *out)
{
    const bool trains = w->q->setup.program == PROGRAM_TRAINING;
    lm_status  status;

    for (size_t i = 0; i < w->n_known; i++)
        if (w->known[i].share == w->share && w->known[i].batch == s->batch) {
            *out = w->known[i];
            return LM_OK;
        }
    if ((status = price_step(w, s, out)) || trains)
        return status;
    if (!array_grow(&w->known, w->n_known, &w->room, sizeof *w->known))
        return no_memory(w->err);
    w->known[w->n_known++] = *out;
    return LM_OK;
}

static lm_status add(searching *w, const step_setup *s)
{
    const plan_machine  *m = w->m;
    const plan_question *q = w->q;

    const int64_t ranks = step_setup_ranks(s);
    plan          p     = { .machine      = w->machine,
                            .setup        = *s,
                            .global_batch = samples(q, s),
                            .evaluations  = training_evaluations(&q->training, s->batch, ranks),
                            .fits_less =
                                s->batch <= batch_limit(&m->fits_less[w->share], ranks, s->sync.accumulation) };
    priced_step   priced;
    lm_status     status = price_step_once(w, s, &priced);

    if (!status && priced.reason) {
        ++*priced.reason;
        return LM_OK;
    }
    p.step = priced.step;
    if (!status && p.evaluations && w->e.batch != s->batch) {
        status     = cases_of_evaluation(m->who, s->batch, &w->e.pass, w->err);
        w->e.batch = s->batch;
    }
    if (status)
        return status;
    p.steps = training_steps(&q->training, p.global_batch);
    add_run(q, &w->e.pass, &p);
    if (isinf(p.run.seconds[TIME_EXPECTED])) {
        w->set->no_end++;
        return LM_OK;
    }
    return push(w->set, &p, w->err);
}

/* Is the step known already? With a global batch, several batches may give the same micro-steps. */
static bool same(const plan_set *set, size_t from, const step_setup *s)
{
    for (size_t i = from; i < set->n; i++) {
        const step_setup *other = &set->plan[i].setup;

        if (other->nodes == s->nodes && other->batch == s->batch &&
            other->sync.accumulation == s->sync.accumulation)
            return true;
    }
    return false;
}

/* Tries policies one by one; on one device all are equal. */
static lm_status add_policies(searching *w, const step_setup *s)
{
    const plan_question *q      = w->q;
    const size_t         n      = !q->n_policies || step_setup_ranks(s) == 1 ? 1 : q->n_policies;
    lm_status            status = LM_OK;

    for (size_t i = 0; i < n && !status; i++) {
        step_setup with = *s;

        if (q->n_policies) {
            with.sync              = q->policy[i];
            with.sync.accumulation = s->sync.accumulation;
        }
        status = add(w, &with);
    }
    return status;
}

/* Plans of a number of nodes, the devices of which share the network in one way. */
static lm_status search_batches(searching *w, int64_t nodes)
{
    const plan_question *q      = w->q;
    const size_t         first  = w->set->n;
    lm_status            status = LM_OK;

    for (size_t b = 0; b < q->n_batch && !status; b++) {
        step_setup s;

        if (q->n_shares && nodes * q->setup.devices % layout_replica(&q->share[w->share]))
            return LM_OK; /* not whole replicas */
        if ((status = setup_at(q, w->share, nodes, q->batch[b], &s, w->err)))
            return status;
        if (possible(w->m, q, &s, w->share, w->set) &&
            !(q->global_batch && same(w->set, first, &s)))
            status = add_policies(w, &s);
    }
    return status;
}

lm_status plan_search(const plan_machine *m, size_t machine, const plan_question *q, plan_set *set,
                      lm_error *err)
{
    searching w      = { .m = m, .machine = machine, .q = q, .set = set, .err = err };
    lm_status status = check(q, err);

    for (size_t b = 0; b < q->n_batch && !status; b++)
        if (q->batch[b] < 1)
            status = lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more",
                                  (long long)q->batch[b]);
    for (size_t i = 0; i < q->n_nodes && !status; i++)
        for (w.share = 0; w.share < (q->n_shares ? q->n_shares : 1) && !status; w.share++)
            if (!q->n_shares || plan_share_needed(m, q, w.share))
                status = search_batches(&w, q->nodes[i]);
    free(w.known);
    return status;
}

void plan_set_free(plan_set *set)
{
    free(set->plan);
    *set = (plan_set){ .plan = NULL };
}
