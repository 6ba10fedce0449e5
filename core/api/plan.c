/* Plans of a whole run: nodes, batch, time, cost. */
#include <math.h>
#include <string.h>

#include "api/handles.h"
#include "plan/choose.h"
#include "plan/limits.h"

static const plan_goal goals[] = {
    [LM_GOAL_NODES] = GOAL_NODES, [LM_GOAL_COST] = GOAL_COST, [LM_GOAL_TIME] = GOAL_TIME
};

static lm_status check(const lm_run *r, lm_error *err)
{
    if (!r->n_nodes || !r->n_batches)
        return lm_error_set(err, LM_E_ARG,
                            "a run needs numbers of nodes and batches to choose from");
    if (r->goal < LM_GOAL_NODES || r->goal > LM_GOAL_TIME)
        return lm_error_set(err, LM_E_ARG, "goal %d: there is none", (int)r->goal);
    if (r->deadline < 0 || r->budget < 0 || r->price < 0)
        return lm_error_set(err, LM_E_ARG, "deadline, budget and price are not below 0");
    if (r->budget > 0 && !(r->price > 0))
        return lm_error_set(err, LM_E_ARG, "a budget needs a price");
    return LM_OK;
}

static lm_status question_of(const lm_predictor *p, const lm_run *r, plan_question *out,
                             lm_error *err)
{
    lm_status status;

    *out   = (plan_question){ .training     = { .epochs   = r->epochs ? r->epochs : 1,
                                                .dataset  = r->dataset,
                                                .evaluate = r->evaluate,
                                                .startup  = r->startup },
                              .global_batch = r->global_batch,
                              .nodes        = r->nodes,
                              .n_nodes      = r->n_nodes,
                              .batch        = r->batch,
                              .n_batch      = r->n_batches };
    status = step_of_record(p, r->step, &out->setup, err);
    if (!status && out->setup.laid_out)
        return lm_error_set(err, LM_E_ARG,
                            "a run's step has no layout: lm_layouts_find() looks for layouts");
    return status;
}

static lm_status machine_of(const lm_predictor *p, const lm_run *r, const step_setup *s,
                            plan_machine *out, lm_error *err)
{
    const device_room  room = { .bytes = r->memory, .overhead = r->overhead };
    const bind_options b    = limits_bind(&p->who, s->program);

    *out = (plan_machine){ .who = &p->who };
    for (price_tier t = 0; t < N_PRICE_TIERS; t++)
        out->hour[t].amount = NAN;
    if (r->price > 0)
        out->hour[PRICE_LIST].amount = r->price;
    return batch_limits_of(p->network->net, p->network->library->reg, &b, &s->sync, s->optimizer,
                           NULL, &room, &out->fits[0], err);
}

static lm_status nothing(const plan_set *set, lm_error *err)
{
    if (set->n)
        return lm_error_set(err, LM_E_NOTFOUND, "none of %zu plans keeps to the limits", set->n);
    if (set->too_large)
        return lm_error_set(err, LM_E_NOTFOUND, "no batch fits the memory");
    if (set->no_time)
        return lm_error_set(err, LM_E_NOTFOUND, "the model predicts steps of no time");
    return lm_error_set(err, LM_E_NOTFOUND,
                        "every step takes more samples than the data set has, or leaves devices "
                        "without one");
}

static lm_bounded bounded_by(const cases *c)
{
    return (lm_bounded){ c->seconds[TIME_EXPECTED], c->seconds[TIME_LOW], c->seconds[TIME_HIGH] };
}

static lm_plan plan_of(const plan *p, const plan_machine *m, size_t n)
{
    plan_view view = { .time = TIME_EXPECTED };
    lm_plan   out  = { .nodes        = p->setup.nodes,
                       .batch        = p->setup.batch,
                       .accumulation = p->setup.sync.accumulation,
                       .global_batch = p->global_batch,
                       .steps        = p->steps,
                       .step         = bounded_by(&p->step),
                       .seconds      = bounded_by(&p->run),
                       .device_hours = plan_device_hours(p, &view),
                       .n_plans      = n };

    out.cost.value = plan_cost(p, m, &view);
    view.time      = TIME_LOW;
    out.cost.low   = plan_cost(p, m, &view);
    view.time      = TIME_HIGH;
    out.cost.high  = plan_cost(p, m, &view);
    return out;
}

lm_status lm_plan_run(lm_predictor *by, const lm_run *question, lm_plan *out, lm_error *err)
{
    const plan_view view = { .time = TIME_EXPECTED };
    plan_set        set  = { .plan = NULL };
    plan_question   q;
    plan_machine    machine;
    plan_limits     within;
    const plan     *best;
    lm_run          r;
    lm_status       status;

    if ((status = ANSWER_CHECK(out, err)) || (status = QUESTION_TAKE(r, question, err)) ||
        (status = check(&r, err)) || (status = question_of(by, &r, &q, err)) ||
        (status = machine_of(by, &r, &q.setup, &machine, err)))
        return status;
    within = (plan_limits){ .seconds = r.deadline > 0 ? r.deadline : INFINITY,
                            .cost    = r.budget > 0 ? r.budget : INFINITY,
                            .machine = ANY_MACHINE };
    if (!(status = plan_search(&machine, 0, &q, &set, err))) {
        best = plan_choose(&set, &machine, goals[r.goal], &within, &view);
        if (best) {
            const lm_plan mine = plan_of(best, &machine, set.n);

            answer_give(out, &mine, sizeof mine);
        } else {
            status = nothing(&set, err);
        }
    }
    plan_set_free(&set);
    return status;
}
