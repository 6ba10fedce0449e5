/* The all-reduces of a step by a learned model of single layers. */
#include "predict/layerwise_sync.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "predict/sum.h"

lm_status layerwise_sync(const predictor *who, const step_setup *asked, prediction *p,
                         lm_error *err)
{
    predictor   others = *who;
    net_metrics counts;
    workload    load;
    sum         s      = { .who = &others, .load = &load, .out = p, .err = err };
    lm_status   status = workloads_counts(who->loads, who->network, who->input, who->dtype,
                                          asked->batch, &counts, err);

    if (status || step_setup_ranks(asked) == 1)
        return status;
    others.model = predict_sync_model(who);
    load         = (workload){ .counts = counts,
                               .nodes  = (double)step_setup_ranks(asked),
                               .bytes  = (double)counts.param_bytes };
    load.bytes   = step_setup_bytes(asked, &load);
    s.measured   = predict_measured(&others, asked);
    if ((status = sum_add(&s, PART_SYNC, 1, &p->sync)))
        return status;
    p->exposed  = p->sync;
    p->messages = 1;
    bounds_of_sync(&others, p);
    return LM_OK;
}

/* Gradients are ready when the layers behind them are done. */
static lm_status new_plan(const predictor *who, const step_setup *s, const layerwise_asked *a,
                          const gradient_schedule *schedule, overlap_plan **out, lm_error *err)
{
    double   *ready = malloc((schedule->n + 1) * sizeof *ready);
    lm_status status;

    if (!ready)
        return no_memory(err);
    gradient_schedule_by_layers(schedule, a->backward, ready);
    status = overlap_plan_told(who->cal, predict_sync_model(who), schedule, a->batch, ready,
                               &s->sync, out, err);
    free(ready);
    return status;
}

lm_status layerwise_question(const predictor *who, const step_setup *s, layerwise_asked *a,
                             overlap_question *out, lm_error *err)
{
    const double             micro    = (double)s->sync.accumulation;
    const double            *seconds  = a->sum.seconds;
    const gradient_schedule *schedule = NULL;
    overlap_plan            *plan;
    lm_status status = workloads_gradients(who->loads, who->network, who->input, who->dtype,
                                           s->batch, &who->cal->settings, &schedule, err);

    if (status)
        return status;
    if (!a->plan || a->by != who->cal || !overlap_plan_holds(a->plan, schedule, &s->sync)) {
        if ((status = new_plan(who, s, a, schedule, &plan, err)))
            return status;
        overlap_plan_free(a->plan);
        a->plan = plan;
        a->by   = who->cal;
    }
    *out =
        (overlap_question){ .plan     = a->plan,
                            .setup    = s,
                            .backward = seconds[PHASE_BACKWARD],
                            .compute = micro * (seconds[PHASE_FORWARD] + seconds[PHASE_BACKWARD]) };
    return LM_OK;
}

lm_status layerwise_buckets(const predictor *who, const step_setup *s, layerwise_asked *a,
                            overlap *out, lm_error *err)
{
    const sync_setting how = { &s->sync, s->nodes, s->devices, 1, 1 };
    overlap_question   q;
    overlap            o;
    lm_status          status = layerwise_question(who, s, a, &q, err);

    if (status)
        return status;
    overlap_plan_run(q.plan, s->batch, &how, q.backward, q.compute, &o);
    return overlap_copy(&o, out, err);
}

lm_status layerwise_hide(const predictor *who, const step_setup *s, layerwise_asked *a,
                         double update, prediction *p, lm_error *err)
{
    const sync_setting how     = { &s->sync, s->nodes, s->devices, 1, 1 };
    const ledger       once    = p->ledger;
    const double       at_once = p->sync;
    predictor          others  = *who;
    overlap_question   q;
    overlap            o;
    lm_status          status = layerwise_question(who, s, a, &q, err);

    if (status)
        return status;
    overlap_plan_sums(q.plan, s->batch, &how, q.backward, q.compute, &o);
    sum_overlap(&o, q.backward, update, p);
    others.model = predict_sync_model(who);
    if (isnan(p->sync))
        return sum_missing(&(sum){ .who = &others, .err = err }, PART_SYNC);
    p->ledger = (ledger){ .seconds = { 0 } };
    sum_exposed(who->cal, &once, at_once, p);
    ledger_add(&p->ledger, CERTAINTY_ASSUMED, p->forward + p->backward + update);
    bounds_of_sync(&others, p);
    bounds_hidden(&q, update, p);
    return LM_OK;
}
