/* Parts of a step by learned models of single layers, and the decisions of trees. */
#include <math.h>
#include <string.h>

#include "models/explanation.h"
#include "models/learned.h"
#include "models/linear.h"

/* ---- taking apart ---- */

typedef struct taking {
    explanation         *e;
    const bound_network *net;
    double               micro;
} taking;

static lm_status share_case(void *context, const layerwise_case *c, const double seconds[N_PHASES],
                            lm_error *err)
{
    const taking *t      = context;
    const size_t  layer  = learned_layer_of(c, t->net);
    const double  step   = seconds[t->e->part[0] == PHASE_INFERENCE ? PHASE_INFERENCE : PHASE_STEP];
    const double  passes = seconds[PHASE_FORWARD] + seconds[PHASE_BACKWARD];
    const double  own[3] = { t->micro * seconds[PHASE_FORWARD], t->micro * seconds[PHASE_BACKWARD],
                             step - passes };
    const phase   first  = t->e->part[0];
    const bool    whole  = first == PHASE_STEP || first == PHASE_INFERENCE;
    lm_status     status = LM_OK;

    if (isnan(step)) /* such a layer is not part of the step */
        return LM_OK;
    for (size_t i = 0; i < (whole ? 1 : 3) && !status; i++) {
        const share s = { .layer       = layer,
                          .part        = t->e->part[i],
                          .kernels     = t->e->layer[layer].type,
                          .regressor   = "layer",
                          .unit        = "s",
                          .count       = whole ? step : own[i],
                          .coefficient = 1,
                          .seconds     = whole ? step : own[i],
                          .bound       = N_TERM_BOUNDS,
                          .standing    = CERTAINTY_ASSUMED };

        status = s.seconds != 0 ? explanation_add(t->e, &s, err) : LM_OK;
    }
    return status;
}

/* Shares of exposed all-reduces, with the basis of a single message, and their cost to the pass. */
static lm_status share_sync(const predictor *who, const step_setup *s, double backward,
                            explanation *e, lm_error *err)
{
    const workload_name of    = predictor_workload(who, s->program);
    const prediction   *step  = &e->step;
    const bool          turn  = step_setup_in_turn(s);
    const bool          known = turn || who->cal->overlapping.rows;
    net_metrics         counts;
    exchange_price      once;
    struct {
        const char *what;
        double      seconds;
    } const beside[] = { { "slowdown", step->backward - backward },
                         { "copies", step->copy },
                         { "stragglers", step->straggler } };
    lm_status status = workloads_counts(who->loads, &of, s->batch, &counts, err);

    if (status || (status = learned_exchange(who, s, &counts, &once, err)))
        return status;
    if (step_measured(who, s) & 1u << PHASE_SYNC) {
        const double all = ledger_seconds(&once.grounds.ledger);

        once.grounds.ledger = (ledger){ .seconds = { [CERTAINTY_MEASURED] = all } };
    }
    for (certainty c = 0; c < N_CERTAINTIES && !status; c++)
        status = explanation_add_whole(
            e, PHASE_SYNC, "step", "all-reduce",
            once.seconds > 0 ? step->exposed / once.seconds * once.grounds.ledger.seconds[c] : 0,
            N_TERM_BOUNDS, known ? c : CERTAINTY_ASSUMED, err);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0] && !turn && !status; i++)
        status = explanation_add_whole(e, PHASE_SYNC, "step", beside[i].what, beside[i].seconds,
                                       N_TERM_BOUNDS, CERTAINTY_INTERPOLATED, err);
    return status;
}

static lm_status explain_layers(const predictor *who, const step_setup *s, const bound_network *net,
                                explanation *e, lm_error *err)
{
    static const phase parts[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };
    const bool         trains  = s->program == PROGRAM_TRAINING;
    const bool         whole   = !trains || isnan(e->step.forward + e->step.backward);
    taking             t       = { e, net, (double)s->sync.accumulation };
    layerwise_sum      found;
    lm_status          status;

    e->part[0] = trains ? PHASE_STEP : PHASE_INFERENCE;
    e->n_parts = whole ? 1 : sizeof parts / sizeof parts[0];
    if (!whole)
        memcpy(e->part, parts, sizeof parts);
    if ((status = learned_sum(who, s, net, share_case, &t, &found, err)) ||
        !step_setup_exchanges(s))
        return status;
    e->part[e->n_parts++] = PHASE_SYNC;
    return share_sync(who, s, t.micro * found.seconds[PHASE_BACKWARD], e, err);
}

lm_status learned_explain(const predictor *who, const step_setup *s, explanation *e, lm_error *err)
{
    const workload_name of     = predictor_workload(who, s->program);
    bound_network      *net    = NULL;
    lm_status           status = workloads_bind_at(who->loads, &of, s->batch, &net, err);

    if (status)
        return status;
    if (!(status = explanation_name_layers(e, net, err)))
        status = explain_layers(who, s, net, e, err);
    bound_network_free(net);
    return status;
}

/* ---- how trees decide ---- */

typedef struct deciding {
    const layerwise_model *m;
    const char            *layer;
    const char            *optimizer;
    decision_taker        *take;
    void                  *context;
    size_t                 found;
} deciding;

static void take_way(const deciding *d, phase f, const layerwise_decision *of)
{
    char           by[LAYERWISE_TASK_TEXT];
    const decision end = { .time      = phase_name(f),
                           .by        = layerwise_task_text(d->m->kind, of->task, by),
                           .tree      = of->way.tree,
                           .trees     = of->way.trees,
                           .value     = NAN,
                           .threshold = NAN,
                           .rows      = NAN,
                           .says      = of->way.value,
                           .all       = of->value,
                           .watts     = of->task->target == LAYERWISE_WATTS };

    if (!of->way.way.n)
        d->take(d->context, &end);
    for (size_t i = 0; i < of->way.way.n; i++) {
        const tree_step *s = &of->way.way.step[i];
        decision         c = end;

        c.step      = i + 1;
        c.feature   = of->task->feature[s->feature].name;
        c.value     = of->x[s->feature];
        c.below     = s->below;
        c.threshold = s->threshold;
        c.rows      = s->rows;
        d->take(d->context, &c);
    }
}

static bool has_layer(const layerwise_case *c, const char *name)
{
    for (size_t i = 0; i < c->n_layers; i++)
        if (!strcmp(c->layer[i]->decl->name, name))
            return true;
    return false;
}

/* Decision by the phase's own task, else by its substitute. */
static lm_status decide_phase(deciding *d, const layerwise_case *c, phase f, layerwise_target t,
                              lm_error *err)
{
    const phase        asked[] = { f, layerwise_other_forward(f) };
    layerwise_decision of      = { .task = NULL };
    lm_status          status  = LM_OK;
    size_t             i       = 0;

    for (; i < 2 && !of.task && !status; i++) {
        const layerwise_case in = layerwise_in(c, asked[i], d->optimizer);

        status = layerwise_decide(d->m, &in, t, &of, err);
    }
    if (status)
        lm_error_prefix(err, "layer '%s', %s", d->layer, phase_name(asked[i - 1]));
    if (status || !of.task)
        return status;
    take_way(d, asked[i - 1], &of);
    d->found++;
    return LM_OK;
}

static lm_status decide_case(void *context, const layerwise_case *c, const double seconds[N_PHASES],
                             lm_error *err)
{
    deciding *d      = context;
    lm_status status = LM_OK;

    for (phase f = 0; f < N_PHASES && has_layer(c, d->layer); f++)
        for (layerwise_target t = 0; t < N_LAYERWISE_TARGETS && !status; t++)
            if (seconds[f] > 0 && d->m->kind->target[t])
                status = decide_phase(d, c, f, t, err);
    return status;
}

lm_status learned_decide(const predictor *who, const step_setup *s, const char *layer,
                         decision_taker *take, void *context, lm_error *err)
{
    const workload_name of  = predictor_workload(who, s->program);
    bound_network      *net = NULL;
    deciding      d = { learned_model_of(who), layer, learned_optimizer(who, s), take, context, 0 };
    layerwise_sum sum;
    lm_status     status = workloads_bind_at(who->loads, &of, s->batch, &net, err);

    if (status)
        return status;
    status = learned_sum(who, s, net, decide_case, &d, &sum, err);
    if (!status && !d.found)
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "%s has no time of a layer '%s' of %s: 'layermeter show "
                              "%s' lists its layers",
                              who->model, layer, who->network, who->network);
    bound_network_free(net);
    return status;
}
