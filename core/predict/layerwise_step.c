/* A step by a learned model of single layers, as a prediction. */
#include "predict/layerwise_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "predict/bounds.h"
#include "predict/layerwise_sync.h"
#include "predict/sum.h"

static void forget(layerwise_asked *a)
{
    overlap_plan_free(a->plan);
    free(a->backward);
    *a = (layerwise_asked){ .batch = 0 };
}

void layerwise_predictor_free(layerwise_predictor *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < sizeof p->asked / sizeof p->asked[0]; i++)
        forget(&p->asked[i]);
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

/* What a case stands under: its layer with weights, else its first. */
static size_t layer_of(const layerwise_case *c, const bound_network *net)
{
    size_t i = 0;

    while (i < c->n_layers && !c->layer[i]->n_weights)
        i++;
    return (size_t)(c->layer[i < c->n_layers ? i : 0] - net->layer);
}

/* Of each layer of a network the backward pass. */
typedef struct keeping {
    const bound_network *net;
    double              *backward;
} keeping;

static lm_status keep_backward(void *context, const layerwise_case *c,
                               const double seconds[N_PHASES], lm_error *err)
{
    const keeping *k = context;

    (void)err;
    if (!isnan(seconds[PHASE_BACKWARD]))
        k->backward[layer_of(c, k->net)] = seconds[PHASE_BACKWARD];
    return LM_OK;
}

/* All of what is kept, of a network at the batch. */
static lm_status ask_network(const predictor *who, const step_setup *asked,
                             const bound_network *net, layerwise_asked *out, lm_error *err)
{
    layerwise_asked a = { .batch     = asked->batch,
                          .optimizer = asked->optimizer,
                          .backward  = calloc(net->n_layers + 1, sizeof *a.backward) };
    keeping         k = { net, a.backward };
    lm_status       status =
        a.backward ? sum_layers(who, asked, net, keep_backward, &k, &a.sum, err) : no_memory(err);

    if (status) {
        forget(&a);
        return status;
    }
    forget(out);
    *out = a;
    return LM_OK;
}

/* Of the last two batches it is known. */
static lm_status ask_layers(const predictor *who, const step_setup *asked, layerwise_asked **out,
                            lm_error *err)
{
    layerwise_predictor *l     = who->layerwise;
    bound_network       *bound = NULL;
    lm_status            status;

    for (size_t i = 0; i < 2; i++)
        if (l->asked[i].batch == asked->batch && l->asked[i].optimizer == asked->optimizer) {
            *out = &l->asked[i];
            return LM_OK;
        }
    if ((status = workloads_bind_at(who->loads, who->network, who->input, who->dtype, asked->batch,
                                    &bound, err)))
        return status;
    status = ask_network(who, asked, bound, &l->asked[l->next], err);
    bound_network_free(bound);
    if (status)
        return status;
    *out    = &l->asked[l->next];
    l->next = !l->next;
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

/* Of the device's own work, where the power of each layer was learned. */
static void tell_power(const layerwise_sum *found, double micro, prediction *p)
{
    const double *const of[] = { found->joules, found->joules_low, found->joules_high,
                                 found->seconds };
    double *const       to[] = { &p->own.joules, &p->own.low, &p->own.high, &p->own.seconds };

    if (isnan(found->joules[PHASE_STEP]))
        return;
    for (size_t i = 0; i < sizeof to / sizeof to[0]; i++) {
        *to[i] = of[i][PHASE_STEP];
        if (micro > 1)
            *to[i] += (micro - 1) * (of[i][PHASE_FORWARD] + of[i][PHASE_BACKWARD]);
    }
}

/* Gradients are told to be ready by passes that are known by themselves. */
static lm_status check_told(const predictor *who, const step_setup *s, const prediction *p,
                            lm_error *err)
{
    if (!isnan(p->forward + p->backward))
        return LM_OK;
    return lm_error_set(
        err, LM_E_UNSUPPORTED,
        "%s learned whole steps of layers of %s, which do not say when gradients are ready: %s "
        "backward passes of such layers, then fit again",
        who->model, who->network,
        step_setup_in_turn(s) ? "measure" : "take --sync once, or measure");
}

/* In turn; `sum` is of one micro-step with its update. */
static lm_status put_in_turn(const predictor *who, const step_setup *s, const layerwise_sum *found,
                             prediction *p, lm_error *err)
{
    lm_status status;

    p->step = found->seconds[PHASE_STEP] + p->sync;
    p->grad = p->step - p->forward - p->backward;
    if ((status = add_micro_steps(who, s->sync.accumulation, p, err)))
        return status;
    ledger_add(&p->ledger, CERTAINTY_ASSUMED, p->step - p->sync);
    bound(found, (double)s->sync.accumulation, p);
    return LM_OK;
}

/* The passes with their bounds, and all-reduces behind them. */
static lm_status put_beside(const predictor *who, const step_setup *s, layerwise_asked *a,
                            prediction *p, lm_error *err)
{
    const double         micro  = (double)s->sync.accumulation;
    const layerwise_sum *found  = &a->sum;
    const double         update = found->seconds[PHASE_STEP] - p->forward - p->backward;

    p->forward *= micro;
    p->backward *= micro;
    for (int i = 0; i < 2; i++) {
        const double *layers = i ? found->high : found->low;
        double       *to     = i ? p->high : p->low;

        to[QUANTITY_FORWARD]  = micro * layers[PHASE_FORWARD];
        to[QUANTITY_BACKWARD] = micro * layers[PHASE_BACKWARD];
        to[QUANTITY_UPDATE]   = layers[PHASE_STEP] - layers[PHASE_FORWARD] - layers[PHASE_BACKWARD];
    }
    return layerwise_hide(who, s, a, update, p, err);
}

lm_status layerwise_predict_step(const predictor *who, const step_setup *s, prediction *out,
                                 overlap *buckets, lm_error *err)
{
    const bool       in_turn = step_setup_in_turn(s);
    layerwise_asked *a;
    prediction       p = { .batch = s->batch, .nodes = s->nodes, .devices = s->devices };
    lm_status        status;

    for (quantity q = 0; q < N_QUANTITIES; q++)
        p.low[q] = p.high[q] = NAN;
    if ((status = ask_layers(who, s, &a, err)))
        return status;
    note(&a->sum, &p);
    tell_power(&a->sum, (double)s->sync.accumulation, &p);
    p.forward  = pass_seconds(&a->sum, PHASE_FORWARD);
    p.backward = pass_seconds(&a->sum, PHASE_BACKWARD);
    if (((!in_turn || buckets) && (status = check_told(who, s, &p, err))) ||
        (status = layerwise_sync(who, s, &p, err)))
        return status;
    status = in_turn ? put_in_turn(who, s, &a->sum, &p, err) : put_beside(who, s, a, &p, err);
    if (!status && buckets)
        status = layerwise_buckets(who, s, a, buckets, err);
    if (!status)
        *out = p;
    return status;
}

bool layerwise_tells_gradients(const predictor *who)
{
    const step_setup s       = step_setup_of(1, 1);
    lm_error         ignored = { 0 };
    layerwise_asked *a;

    return !ask_layers(who, &s, &a, &ignored) &&
           !isnan(pass_seconds(&a->sum, PHASE_FORWARD) + pass_seconds(&a->sum, PHASE_BACKWARD));
}

bool layerwise_tells_power(const predictor *who)
{
    const layerwise_model *m = who->layerwise ? who->layerwise->model : NULL;

    for (size_t i = 0; m && i < m->n_tasks; i++)
        if (m->task[i].target == LAYERWISE_WATTS)
            return true;
    return false;
}

lm_status layerwise_compute_bounds(const predictor *who, const step_setup *s, const prediction *p,
                                   double out[2], lm_error *err)
{
    const double    *end[2] = { p->low, p->high };
    const double     micro  = (double)s->sync.accumulation;
    layerwise_asked *a;
    overlap_question q;
    lm_status        status = ask_layers(who, s, &a, err);

    if (status)
        return status;
    if (step_setup_in_turn(s)) {
        out[0] = p->low[QUANTITY_STEP] + p->step - p->fast;
        out[1] = p->high[QUANTITY_STEP] + p->step - p->slow;
        return LM_OK;
    }
    if ((status = layerwise_question(who, s, a, &q, err)))
        return status;
    for (int i = 0; i < 2; i++) {
        const double *layers = i ? a->sum.high : a->sum.low;
        const double  passes = layers[PHASE_FORWARD] + layers[PHASE_BACKWARD];

        out[i] = isnan(end[i][QUANTITY_STEP])
                     ? NAN
                     : bounds_step_at(&q, micro * layers[PHASE_FORWARD],
                                      layers[PHASE_BACKWARD] / a->sum.seconds[PHASE_BACKWARD], 1,
                                      layers[PHASE_STEP] - passes + p->copy + p->straggler);
    }
    return LM_OK;
}

/* ---- taking apart -------------------------------------------------------------------------------
 */

typedef struct taking {
    explanation         *e;
    const bound_network *net;
    double               micro;
} taking;

/* Of a layer, or (`what`) of the step as a whole. */
static lm_status share_part(explanation *e, size_t layer, part which, const char *what,
                            double seconds, certainty standing, lm_error *err)
{
    const share s = { .layer       = layer,
                      .part        = which,
                      .kernels     = layer == NO_LAYER ? "step" : e->layer[layer].type,
                      .regressor   = what,
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
        return share_part(t->e, layer, PART_STEP, "layer", step, CERTAINTY_ASSUMED, err);
    for (size_t i = 0; i < 3 && !status; i++)
        status = share_part(t->e, layer, t->e->part[i], "layer", own[i], CERTAINTY_ASSUMED, err);
    return status;
}

/* Of all-reduces what is exposed, as they stand in one message; and what they cost the pass. */
static lm_status share_sync(const predictor *who, const step_setup *s, double backward,
                            explanation *e, lm_error *err)
{
    const prediction *step  = &e->step;
    const bool        known = step_setup_in_turn(s) || who->cal->overlapping.rows;
    prediction        once  = { .batch = s->batch, .nodes = s->nodes, .devices = s->devices };
    struct {
        const char *what;
        double      seconds;
    } const beside[]    = { { "slowdown", step->backward - backward },
                            { "copies", step->copy },
                            { "stragglers", step->straggler } };
    lm_status    status = layerwise_sync(who, s, &once, err);
    const double left   = once.sync > 0 ? step->exposed / once.sync : 0;

    for (certainty c = 0; c < N_CERTAINTIES && !status; c++)
        status = share_part(e, NO_LAYER, PART_SYNC, "all-reduce", left * once.ledger.seconds[c],
                            known ? c : CERTAINTY_ASSUMED, err);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0] && !step_setup_in_turn(s) && !status;
         i++)
        if (beside[i].seconds > 0)
            status = share_part(e, NO_LAYER, PART_SYNC, beside[i].what, beside[i].seconds,
                                CERTAINTY_INTERPOLATED, err);
    return status;
}

lm_status layerwise_explain(const predictor *who, const step_setup *s, const bound_network *net,
                            explanation *e, lm_error *err)
{
    static const part parts[] = { PART_FORWARD, PART_BACKWARD, PART_UPDATE };
    const bool        whole   = isnan(e->step.forward + e->step.backward);
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
    return share_sync(who, s, t.micro * found.seconds[PHASE_BACKWARD], e, err);
}
