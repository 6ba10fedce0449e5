/* A step by a learned model of single layers, as a prediction. */
#include "predict/layerwise_step.h"

#include <math.h>
#include <stdlib.h>

#include "predict/sum.h"

void layerwise_predictor_free(layerwise_predictor *p)
{
    if (!p)
        return;
    layerwise_free(p->model);
    devices_free(p->list);
    free(p);
}

static lm_status ask_layers(const predictor *who, const step_setup *asked, layerwise_sum *out,
                            lm_error *err)
{
    const char           *word = who->layerwise->optimizer;
    const layerwise_setup how  = { word ? word : optimizer_name(asked->optimizer), "",
                                  who->layerwise->on, NAN };
    bound_network        *bound;
    lm_status status = workloads_bind_at(who->loads, who->network, who->input, who->dtype,
                                         asked->batch, &bound, err);

    if (status)
        return status;
    status = layerwise_sum_of(who->layerwise->model, bound, &how, out, err);
    bound_network_free(bound);
    if (!status && isnan(out->seconds[PHASE_STEP]))
        status =
            lm_error_set(err, LM_E_NOTFOUND,
                         "%s learned nothing of training any layer of %s with %s: measure steps "
                         "of such layers, then fit again",
                         who->model, who->network, how.optimizer);
    if (status)
        lm_error_prefix(err, "%s", who->machine ? who->machine : "the machine file");
    return status;
}

static lm_status ask_allreduce(const predictor *who, const step_setup *asked, double *out,
                               lm_error *err)
{
    net_metrics      counts;
    allreduce        a = { .nodes = asked->nodes, .devices = asked->devices };
    allreduce_answer answer;
    lm_status        status = workloads_counts(who->loads, who->network, who->input, who->dtype,
                                               asked->batch, &counts, err);

    *out = 0;
    if (status || step_setup_ranks(asked) == 1)
        return status;
    a.bytes = step_setup_bytes(
        asked, &(workload){ .counts = counts, .bytes = (double)counts.param_bytes });
    if ((status = calibration_ask(who->cal, &a, &answer, err)))
        lm_error_prefix(err, "%s", who->machine ? who->machine : "the machine file");
    else
        *out = answer.seconds;
    return status;
}

/* Micro-steps without an update take passes that are known by themselves. */
static lm_status add_micro_steps(const predictor *who, int64_t micro, prediction *p, lm_error *err)
{
    if (micro > 1 && isnan(p->forward + p->backward))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s learned whole steps alone, and --accumulate needs forward and "
                            "backward passes by themselves",
                            who->model);
    if (micro > 1)
        p->step += (double)(micro - 1) * (p->forward + p->backward);
    p->forward *= (double)micro;
    p->backward *= (double)micro;
    return LM_OK;
}

/* Of a pass by itself; NAN where it was not learned of all layers whose steps were. */
static double pass_seconds(const layerwise_sum *found, phase f)
{
    return found->untold[f] > found->untold[PHASE_STEP] ? NAN : found->seconds[f];
}

static void note(const layerwise_sum *found, prediction *p)
{
    sum_note(p, "layers by themselves", 0);
    if (found->beyond > 1)
        sum_note(p, "a feature", found->beyond);
    if (found->untold[PHASE_STEP] && p->n_beyond < PREDICTION_NOTES) {
        p->beyond[p->n_beyond].what     = "nothing here";
        p->beyond[p->n_beyond].factor   = 0;
        p->beyond[p->n_beyond++].layers = found->untold[PHASE_STEP];
    }
}

lm_status layerwise_predict_step(const predictor *who, const step_setup *s, prediction *out,
                                 lm_error *err)
{
    layerwise_sum found;
    prediction    p = { .batch = s->batch, .nodes = s->nodes, .devices = s->devices };
    lm_status     status;

    if (!step_setup_in_turn(s))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "%s knows layers by themselves and hides no all-reduce behind the backward "
            "pass: take --sync once",
            who->model);
    if ((status = ask_layers(who, s, &found, err)) ||
        (status = ask_allreduce(who, s, &p.sync, err)))
        return status;
    p.forward  = pass_seconds(&found, PHASE_FORWARD);
    p.backward = pass_seconds(&found, PHASE_BACKWARD);
    p.exposed  = p.sync;
    p.messages = step_setup_ranks(s) > 1;
    p.step     = found.seconds[PHASE_STEP] + p.sync;
    p.grad     = p.step - p.forward - p.backward;
    if ((status = add_micro_steps(who, s->sync.accumulation, &p, err)))
        return status;
    ledger_add(&p.ledger, CERTAINTY_ASSUMED, p.step);
    note(&found, &p);
    p.slow = p.fast = p.messages ? NAN : p.step;
    for (quantity q = 0; q < N_QUANTITIES; q++)
        p.low[q] = p.high[q] = NAN;
    *out = p;
    return LM_OK;
}
