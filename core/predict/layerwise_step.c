/* A step by a learned model of single layers, as a prediction. */
#include "predict/layerwise_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/bounds.h"
#include "predict/sum.h"

void layerwise_predictor_free(layerwise_predictor *p)
{
    if (!p)
        return;
    layerwise_free(p->model);
    devices_free(p->list);
    free(p);
}

/* Asks, layer by layer. */
static lm_status sum_layers(const predictor *who, const step_setup *asked, const bound_network *net,
                            layerwise_see *see, void *context, layerwise_sum *out, lm_error *err)
{
    const char           *word = who->layerwise->optimizer;
    const layerwise_setup how  = { word ? word : optimizer_name(asked->optimizer), "",
                                  who->layerwise->on, NAN };
    lm_status status = layerwise_sum_each(who->layerwise->model, net, &how, see, context, out, err);

    if (!status && isnan(out->seconds[PHASE_STEP]))
        status = lm_error_set(
            err, LM_E_NOTFOUND,
            isnan(out->seconds[PHASE_BACKWARD])
                ? "%s learned nothing of training any layer of %s with %s: measure steps of such "
                  "layers, then fit again"
                : "%s learned passes of layers of %s, but no update with %s, which is part of a "
                  "step: measure updates or steps of such layers, then fit again",
            who->model, who->network, how.optimizer);
    if (status)
        lm_error_prefix(err, "%s", who->machine ? who->machine : "the machine file");
    return status;
}

/* Of the last two batches it is known. */
static lm_status ask_layers(const predictor *who, const step_setup *asked, layerwise_sum *out,
                            lm_error *err)
{
    layerwise_predictor *l     = who->layerwise;
    bound_network       *bound = NULL;
    lm_status            status;

    for (size_t i = 0; i < 2; i++)
        if (l->asked[i].batch == asked->batch && l->asked[i].optimizer == asked->optimizer) {
            *out = l->asked[i].sum;
            return LM_OK;
        }
    if ((status = workloads_bind_at(who->loads, who->network, who->input, who->dtype, asked->batch,
                                    &bound, err)))
        return status;
    status = sum_layers(who, asked, bound, NULL, NULL, out, err);
    bound_network_free(bound);
    if (status)
        return status;
    l->asked[l->next].batch     = asked->batch;
    l->asked[l->next].optimizer = asked->optimizer;
    l->asked[l->next].sum       = *out;
    l->next                     = !l->next;
    return LM_OK;
}

/* All-reduces are those of the default model: a learned one knows layers alone. */
static lm_status add_allreduce(const predictor *who, const step_setup *asked, prediction *p,
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

/* Of a pass by itself; NAN where it was not learned of just the layers whose steps were. */
static double pass_seconds(const layerwise_sum *found, phase f)
{
    return found->other[f] ? NAN : found->seconds[f];
}

/* One end of all bounds but the all-reduce's, which has its own. */
static void bound_end(const prediction *p, const double layers[N_PHASES], double micro,
                      double to[N_QUANTITIES])
{
    const double passes = layers[PHASE_FORWARD] + layers[PHASE_BACKWARD];
    const double sync   = p->messages ? to[QUANTITY_SYNC] : 0;

    to[QUANTITY_STEP] = layers[PHASE_STEP] + sync;
    if (isnan(p->forward + p->backward)) /* there are no micro-steps */
        return;
    to[QUANTITY_FORWARD]       = micro * layers[PHASE_FORWARD];
    to[QUANTITY_BACKWARD]      = micro * layers[PHASE_BACKWARD];
    to[QUANTITY_GRAD]          = layers[PHASE_STEP] - passes + sync;
    to[QUANTITY_BACKWARD_GRAD] = to[QUANTITY_BACKWARD] + to[QUANTITY_GRAD];
    to[QUANTITY_STEP] += (micro - 1) * passes;
}

static void bound(const layerwise_sum *found, double micro, prediction *p)
{
    bound_end(p, found->low, micro, p->low);
    bound_end(p, found->high, micro, p->high);
    p->slow = p->fast = p->step;
    if (p->messages) {
        p->slow += p->high[QUANTITY_SYNC] - p->sync;
        p->fast += p->low[QUANTITY_SYNC] - p->sync;
    }
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
    for (quantity q = 0; q < N_QUANTITIES; q++)
        p.low[q] = p.high[q] = NAN;
    if ((status = ask_layers(who, s, &found, err)))
        return status;
    note(&found, &p);
    if ((status = add_allreduce(who, s, &p, err)))
        return status;
    p.forward  = pass_seconds(&found, PHASE_FORWARD);
    p.backward = pass_seconds(&found, PHASE_BACKWARD);
    p.step     = found.seconds[PHASE_STEP] + p.sync;
    p.grad     = p.step - p.forward - p.backward;
    if ((status = add_micro_steps(who, s->sync.accumulation, &p, err)))
        return status;
    ledger_add(&p.ledger, CERTAINTY_ASSUMED, p.step - p.sync);
    bound(&found, (double)s->sync.accumulation, &p);
    *out = p;
    return LM_OK;
}

/* ---- taking apart -------------------------------------------------------------------------------
 */

typedef struct taking {
    explanation         *e;
    const bound_network *net;
    double               micro;
} taking;

/* What a case stands under: its layer with weights, else its first. */
static size_t layer_of(const layerwise_case *c, const bound_network *net)
{
    size_t i = 0;

    while (i < c->n_layers && !c->layer[i]->n_weights)
        i++;
    return (size_t)(c->layer[i < c->n_layers ? i : 0] - net->layer);
}

static lm_status share_part(explanation *e, size_t layer, part which, double seconds,
                            certainty standing, lm_error *err)
{
    const share s = { .layer       = layer,
                      .part        = which,
                      .kernels     = layer == NO_LAYER ? "step" : e->layer[layer].type,
                      .regressor   = layer == NO_LAYER ? "all-reduce" : "layer",
                      .unit        = "s",
                      .count       = seconds,
                      .coefficient = 1,
                      .seconds     = seconds,
                      .bound       = N_TERM_BOUNDS,
                      .standing    = standing };

    return seconds != 0 ? explanation_add(e, &s, err) : LM_OK;
}

static lm_status share_case(void *context, const layerwise_case *c, const double seconds[N_PHASES],
                            lm_error *err)
{
    const taking *t      = context;
    const size_t  layer  = layer_of(c, t->net);
    const double  step   = seconds[PHASE_STEP];
    const double  passes = seconds[PHASE_FORWARD] + seconds[PHASE_BACKWARD];
    const double  own[3] = { t->micro * seconds[PHASE_FORWARD], t->micro * seconds[PHASE_BACKWARD],
                             step - passes };
    lm_status     status = LM_OK;

    if (isnan(step)) /* of these nothing is in the step */
        return LM_OK;
    if (t->e->part[0] == PART_STEP)
        return share_part(t->e, layer, PART_STEP, step, CERTAINTY_ASSUMED, err);
    for (size_t i = 0; i < 3 && !status; i++)
        status = share_part(t->e, layer, t->e->part[i], own[i], CERTAINTY_ASSUMED, err);
    return status;
}

lm_status layerwise_explain(const predictor *who, const step_setup *s, const bound_network *net,
                            explanation *e, lm_error *err)
{
    static const part parts[] = { PART_FORWARD, PART_BACKWARD, PART_UPDATE };
    const bool        whole   = isnan(e->step.forward + e->step.backward);
    prediction        sync    = { .batch = s->batch, .nodes = s->nodes, .devices = s->devices };
    taking            t       = { e, net, (double)s->sync.accumulation };
    layerwise_sum     found;
    lm_status         status;

    e->part[0] = PART_STEP;
    e->n_parts = whole ? 1 : sizeof parts / sizeof parts[0];
    if (!whole)
        memcpy(e->part, parts, sizeof parts);
    if ((status = sum_layers(who, s, net, share_case, &t, &found, err)) || step_setup_ranks(s) == 1)
        return status;
    e->part[e->n_parts++] = PART_SYNC;
    status                = add_allreduce(who, s, &sync, err);
    for (certainty c = 0; c < N_CERTAINTIES && !status; c++)
        status = share_part(e, NO_LAYER, PART_SYNC, sync.ledger.seconds[c], c, err);
    return status;
}
