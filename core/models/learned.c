/* Learned models of single layers as step models. */
#include "models/learned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "layerwise/layerwise_points.h"
#include "models/linear.h"

/* A question to the model, and its answer. */
typedef struct asked {
    int64_t       batch; /* 0: nothing was asked yet */
    optimizer     optimizer;
    double        clock_mhz; /* of the setup */
    program_kind  program;
    layerwise_sum sum;
    double       *backward; /* s, backward pass of each layer; 0: none, or unknown */
} asked;

typedef struct state {
    layerwise_model *model;
    device_list     *list;      /* owns `on`; NULL: none was opened */
    const device    *on;        /* NULL: unknown */
    char            *optimizer; /* any name, replaces the setup's; NULL: the setup's */
    clock_range      clocks;    /* zeros: it learned none */
    char             usual[40]; /* "held at 900 MHz" if the question has no clock; else "" */
} state;

/* Two answers are kept: a search for a turning point alternates between two batches. */
typedef struct memo {
    asked  last[2];
    size_t next;
} memo;

/* ---- opening ---- */

/* Reads a model of a machine file, to be freed by layerwise_free(). `path`: the machine file. */
static lm_status learned_read(const calibration *cal, const char *path, const layerwise_kind *kind,
                              layerwise_model **out, lm_error *err)
{
    void           *read   = NULL;
    const lm_status status = calibration_learned_open(cal, kind->name, &layerwise_kept, &read, err);

    if (status && !calibration_learned_has(cal, kind->name))
        lm_error_prefix(err, "%s", path);
    if (!status)
        *out = read;
    return status;
}

lm_status learned_device(const char *name, const char *told, const char *own, device_list **list,
                         const device **out, lm_error *err)
{
    lm_error  ignored;
    lm_status status = LM_OK;

    *out = NULL;
    if (!name && !told)
        return LM_OK;
    if (!*list && (status = devices_open(own, list, err)))
        return status;
    if (name)
        return devices_find(*list, name, out, err);
    if (devices_find(*list, told, out, &ignored))
        *out = NULL;
    return LM_OK;
}

lm_status learned_open_with(predictor *who, layerwise_model *m, const char *update, lm_error *err)
{
    state *s = calloc(1, sizeof *s);
    memo  *o = calloc(1, sizeof *o);

    if (!s || !o || (update && !(s->optimizer = strdup(update)))) {
        free(s);
        free(o);
        return no_memory(err);
    }
    s->model   = m;
    who->by    = &learned_model;
    who->state = s;
    who->memo  = o;
    return LM_OK;
}

const layerwise_model *learned_model_of(const predictor *who)
{
    return ((const state *)who->state)->model;
}

const device *learned_device_of(const predictor *who)
{
    return ((const state *)who->state)->on;
}

static bool always_held(const layerwise_model *m)
{
    bool held = m->kind->clocks;

    for (size_t t = 0; t < m->n_tasks; t++)
        for (size_t k = 0; k < m->task[t].n_features; k++)
            held &=
                strcmp(m->task[t].feature[k].name, LAYERWISE_HELD) || m->task[t].feature[k].low > 0;
    return held;
}

/* Learned clocks, and the clock of questions without one (`usual`): that of the machine file's
 * times, else no fixed clock; if the latter was not learned, the highest clock. */
static clock_range clocks_of(const layerwise_model *m, const calibration *cal)
{
    const char            *settings = cal ? calibration_told(cal, "settings") : NULL;
    const layerwise_clocks taught   = layerwise_clocks_of(m);
    clock_range            r        = { taught.low, taught.high, 0 };
    observation            row      = observation_blank;

    row.settings = settings ? settings : "";
    if (isfinite(observation_held_mhz(&row)))
        r.usual = layerwise_clock_near(m, observation_held_mhz(&row));
    else if (always_held(m))
        r.usual = r.high;
    return r;
}

static lm_status learned_open(predictor *who, const model_source *from, lm_error *err)
{
    layerwise_model *m = NULL;
    lm_status status   = learned_read(who->cal, who->machine, layerwise_find(who->model), &m, err);
    state    *s;

    if (status)
        return status;
    if ((status = learned_open_with(who, m, from->optimizer, err))) {
        layerwise_free(m);
        return status;
    }
    s         = (state *)who->state;
    s->clocks = clocks_of(m, who->cal);
    if (s->clocks.usual > 0)
        snprintf(s->usual, sizeof s->usual, "held at %.6g MHz", s->clocks.usual);
    return learned_device(from->device, calibration_device(who->cal), from->devices, &s->list,
                          &s->on, err);
}

static void forget(asked *a)
{
    free(a->backward);
    *a = (asked){ .batch = 0 };
}

static void learned_close(predictor *who)
{
    state *s = (state *)who->state;
    memo  *o = who->memo;

    if (!s)
        return;
    forget(&o->last[0]);
    forget(&o->last[1]);
    layerwise_free(s->model);
    devices_free(s->list);
    free_all(s->optimizer, s, o);
    who->state = who->memo = NULL;
}

/* ---- layers ---- */

const char *learned_optimizer(const predictor *who, const step_setup *s)
{
    const state *own = who->state;

    return own->optimizer ? own->optimizer : optimizer_name(s->optimizer);
}

lm_status learned_sum(const predictor *who, const step_setup *setup, const bound_network *net,
                      layerwise_see *see, void *context, layerwise_sum *out, lm_error *err)
{
    const state          *s   = who->state;
    const char           *opt = learned_optimizer(who, setup);
    const double          mhz = setup->clock_mhz > 0 ? setup->clock_mhz : s->clocks.usual;
    const layerwise_setup how = { opt, "", s->on, mhz > 0 ? mhz : (double)NAN, who->cal };
    const phase whole         = setup->program == PROGRAM_INFERENCE ? PHASE_INFERENCE : PHASE_STEP;
    lm_status   status        = layerwise_sum_each(s->model, net, &how, see, context, out, err);

    if (!status && out->told[whole] && out->others.why.code)
        status = layerwise_refuse(&out->others, who->model, err);
    else if (!status && whole == PHASE_INFERENCE && isnan(out->seconds[whole]))
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "%s learned no forward pass of any layer of %s: measure such passes, "
                              "then fit again",
                              who->model, who->network);
    else if (!status && isnan(out->seconds[whole]))
        status = lm_error_set(
            err, LM_E_NOTFOUND,
            !out->told[PHASE_BACKWARD]
                ? "%s learned nothing of training any layer of %s with %s: measure steps of such "
                  "layers, then fit again"
                : "%s learned passes of layers of %s, but no update with %s, which is part of a "
                  "step: measure updates or steps of such layers, then fit again",
            who->model, who->network, opt);
    if (status)
        lm_error_prefix(err, "%s", who->machine ? who->machine : "the machine file");
    return status;
}

size_t learned_layer_of(const layerwise_case *c, const bound_network *net)
{
    size_t attention = 0, weights = 0;

    while (attention < c->n_layers && !layerwise_is_attention(c->layer[attention]))
        attention++;
    while (weights < c->n_layers && !c->layer[weights]->n_weights)
        weights++;
    return (size_t)(c->layer[attention < c->n_layers ? attention
                             : weights < c->n_layers ? weights
                                                     : 0] -
                    net->layer);
}

/* Backward passes of the layers of a network. */
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
        k->backward[learned_layer_of(c, k->net)] = seconds[PHASE_BACKWARD];
    return LM_OK;
}

static lm_status ask_network(const predictor *who, const step_setup *setup,
                             const bound_network *net, asked *out, lm_error *err)
{
    asked     a = { .batch     = setup->batch,
                    .optimizer = setup->optimizer,
                    .clock_mhz = setup->clock_mhz,
                    .program   = setup->program,
                    .backward  = calloc(net->n_layers + 1, sizeof *a.backward) };
    keeping   k = { net, a.backward };
    lm_status status =
        a.backward ? learned_sum(who, setup, net, keep_backward, &k, &a.sum, err) : no_memory(err);

    if (status) {
        forget(&a);
        return status;
    }
    forget(out);
    *out = a;
    return LM_OK;
}

static lm_status ask_layers(const predictor *who, const step_setup *setup, asked **out,
                            lm_error *err)
{
    const workload_name of    = predictor_workload(who, setup->program);
    memo               *s     = who->memo;
    bound_network      *bound = NULL;
    lm_status           status;

    for (size_t i = 0; i < 2; i++)
        if (s->last[i].batch == setup->batch && s->last[i].optimizer == setup->optimizer &&
            s->last[i].program == setup->program &&
            !(s->last[i].clock_mhz < setup->clock_mhz || s->last[i].clock_mhz > setup->clock_mhz)) {
            *out = &s->last[i];
            return LM_OK;
        }
    if ((status = workloads_bind_at(who->loads, &of, setup->batch, &bound, err)))
        return status;
    status = ask_network(who, setup, bound, &s->last[s->next], err);
    bound_network_free(bound);
    if (status)
        return status;
    *out    = &s->last[s->next];
    s->next = !s->next;
    return LM_OK;
}

/* ---- a step ---- */

/* Sum of a pass; NAN if it was learned for other layers than steps were. */
static bounded pass_of(const layerwise_sum *found, phase f)
{
    return found->other[f] ? (bounded){ NAN, NAN, NAN }
                           : (bounded){ found->seconds[f], found->low[f], found->high[f] };
}

static bounded joules_of(const layerwise_sum *found, phase f)
{
    return (bounded){ found->joules[f], found->joules_low[f], found->joules_high[f] };
}

static bounded sum_of(bounded a, bounded b)
{
    return (bounded){ a.value + b.value, a.low + b.low, a.high + b.high };
}

static bounded rest_of(bounded a, bounded b)
{
    return (bounded){ a.value - b.value, a.low - b.low, a.high - b.high };
}

/* Layers are assumed to take as long in a network as by themselves. */
static void stand(const layerwise_sum *found, const char *held, step_price *p)
{
    grounds *g = &p->passes;

    grounds_note(g, "layers by themselves", 0);
    if (*held)
        grounds_note(g, held, 0);
    if (found->beyond > 1)
        grounds_note(g, "a feature", found->beyond);
    if (found->unseen)
        grounds_note(g, "a device that was not learned from", 0);
    for (size_t i = 0; i < found->others.n; i++)
        grounds_note_layers(g, found->others.of[i].type, found->others.of[i].layers,
                            DEFAULT_MODEL);
    if (isnan(p->update.value)) {
        ledger_add(&g->ledger, CERTAINTY_ASSUMED, p->step.value);
    } else {
        ledger_add(&g->ledger, CERTAINTY_ASSUMED, p->forward.value + p->backward.value);
        ledger_add(&p->rest.ledger, CERTAINTY_ASSUMED, p->update.value);
    }
}

/* A forward pass in evaluation mode. */
static void price_inference(const layerwise_sum *found, const char *held, step_price *p)
{
    const net_metrics counts = p->counts;

    *p               = inference_price();
    p->counts        = counts;
    p->forward       = (bounded){ found->seconds[PHASE_INFERENCE], found->low[PHASE_INFERENCE],
                                  found->high[PHASE_INFERENCE] };
    p->step          = p->forward;
    p->joules_passes = p->joules_step = joules_of(found, PHASE_INFERENCE);
    p->stands_in                      = found->stood_in[PHASE_INFERENCE] > 0;
    stand(found, held, p);
}

static lm_status learned_price(const predictor *who, const step_setup *s, step_price *out,
                               lm_error *err)
{
    const workload_name of   = predictor_workload(who, s->program);
    const char         *held = s->clock_mhz > 0 ? "" : ((const state *)who->state)->usual;
    asked              *a;
    step_price          p      = { .known = NULL };
    lm_status           status = ask_layers(who, s, &a, err);

    if (!status)
        status = workloads_counts(who->loads, &of, s->batch, &p.counts, err);
    if (status)
        return status;
    if (s->program == PROGRAM_INFERENCE) {
        price_inference(&a->sum, held, &p);
        *out = p;
        return LM_OK;
    }
    if (s->sync.accumulation > 1 &&
        (a->sum.other[PHASE_FORWARD] || a->sum.other[PHASE_BACKWARD] ||
         isnan(a->sum.seconds[PHASE_FORWARD] + a->sum.seconds[PHASE_BACKWARD])))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s learned whole steps alone, and --accumulate needs forward and "
                            "backward passes by themselves",
                            who->model);
    p.forward       = pass_of(&a->sum, PHASE_FORWARD);
    p.backward      = pass_of(&a->sum, PHASE_BACKWARD);
    p.step          = pass_of(&a->sum, PHASE_STEP);
    p.update        = rest_of(p.step, sum_of(p.forward, p.backward));
    p.joules_passes = sum_of(joules_of(&a->sum, PHASE_FORWARD), joules_of(&a->sum, PHASE_BACKWARD));
    p.joules_step   = joules_of(&a->sum, PHASE_STEP);
    stand(&a->sum, held, &p);
    *out = p;
    return LM_OK;
}

/* The default model, for all-reduces: a learned model has layers only. */
static predictor default_of(const predictor *who)
{
    predictor others = *who;

    others.model = DEFAULT_MODEL;
    others.by    = layers_model_applies(who->cal, others.model) ? &layers_model : &linear_model;
    others.state = others.memo = NULL;
    others.scan                = NULL;
    return others;
}

lm_status learned_exchange(const predictor *who, const step_setup *s, const net_metrics *counts,
                           exchange_price *out, lm_error *err)
{
    const predictor others = default_of(who);
    const lm_status status = linear_exchange(&others, s, counts, out, err);

    if (!status)
        out->beyond = 0; /* the learned model checks its own ranges */
    return status;
}

/* Program of the gradients: each is ready when its layer is done. */
static lm_status learned_buckets(const predictor *who, const step_setup *s,
                                 const gradient_schedule *gradients, priced_program **out,
                                 lm_error *err)
{
    double   *ready;
    asked    *a;
    lm_status status = ask_layers(who, s, &a, err);

    if (status)
        return status;
    if (isnan(pass_of(&a->sum, PHASE_FORWARD).value + pass_of(&a->sum, PHASE_BACKWARD).value))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "%s learned whole steps of layers of %s, which do not say when gradients are ready: "
            "%s backward passes of such layers, then fit again",
            who->model, who->network,
            step_setup_in_turn(s) ? "measure" : "take --sync once, or measure");
    if (!(ready = malloc((gradients->n + 1) * sizeof *ready)))
        return no_memory(err);
    gradient_schedule_by_layers(gradients, a->backward, ready);
    status = priced_program_told(who->cal, DEFAULT_MODEL, &who->link, gradients, s->batch,
                                 ready, &s->sync, out, err);
    free(ready);
    return status;
}

/* Bounds by the default model, if the machine file has it. */
static lm_status learned_bounds(const predictor *who, const step_setup *s, bound_price *out,
                                lm_error *err)
{
    predictor others = default_of(who);
    lm_status status = others.by->open ? others.by->open(&others, NULL, err) : LM_OK;

    if (!status)
        status = others.by->bounds(&others, s, out, err);
    if (others.by->close)
        others.by->close(&others);
    return status;
}

static bool learned_clocks(const predictor *who, clock_range *out)
{
    *out = ((const state *)who->state)->clocks;
    return out->high > 0;
}

static bool learned_tells_power(const predictor *who)
{
    const state *s = who->state;

    for (size_t i = 0; i < s->model->n_tasks; i++)
        if (s->model->task[i].target == LAYERWISE_WATTS)
            return true;
    return false;
}

/* ---- comparing ---- */

static lm_status learned_compare(const char *model, const compared *with, comparison *out,
                                 lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(model);
    layerwise_source      from = { .obs = with->obs, .p = with->p, .on = with->on };
    layerwise_model      *m    = NULL;
    device_list          *list = NULL;
    double                setting[LAYERWISE_SETTINGS];
    lm_status             status = LM_OK;

    if (!from.on)
        status = learned_device(NULL, observations_provenance(with->obs, "device"), with->devices,
                                &list, &from.on, err);
    if (!status && with->cal) {
        if (!(status = learned_read(with->cal, with->machine, kind, &m, err)))
            status = compare_by_layerwise(m, &from, with->cal, out, with->untold, err);
    } else if (!status && !(status = layerwise_settings(kind, with->learn, setting, err))) {
        status = compare_layerwise(kind, setting, &from, with->by, out, with->untold, err);
        if (!status && with->untold)
            layerwise_say_clocks(kind, with->p, out, with->untold);
    }
    layerwise_free(m);
    devices_free(list);
    return status;
}

const step_model learned_model = {
    .from_layers = true,
    .open        = learned_open,
    .close       = learned_close,
    .price       = learned_price,
    .exchange    = learned_exchange,
    .buckets     = learned_buckets,
    .bounds      = learned_bounds,
    .clocks      = learned_clocks,
    .tells_power = learned_tells_power,
    .explain     = learned_explain,
    .decide      = learned_decide,
    .compare     = learned_compare,
};
