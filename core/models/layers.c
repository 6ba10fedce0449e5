/* Networks as sums of the prices of their layers, or of their kernels (single/whole.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "models/explanation.h"
#include "models/linear.h"
#include "single/composed.h"
#include "single/model.h"
#include "single/whole.h"

/* Are sums of layers corrected by networks? */
static bool composed(const calibration *cal)
{
    return cal->composed && cal->composed->step.rows > 0;
}

static bool fitted_of(const calibration *cal, const char *name, phase which)
{
    const size_t at = form_find(name, which);

    return at < n_forms && cal->fitted[at].present;
}

static bool any(const layer_model *m)
{
    return m && layer_model_any(m);
}

bool layers_model_applies(const calibration *cal, const char *name)
{
    const bool networks = fitted_of(cal, name, PHASE_FORWARD) || fitted_of(cal, name, PHASE_STEP);

    if (strcmp(name, DEFAULT_MODEL) != 0)
        return false;
    return any(cal->layers) ? composed(cal) || !networks : any(cal->operators) && !networks;
}

/* Corrected seconds of the whole, of the forward pass and of the update. The backward pass is the
 * rest. */
static void compose(const composed_factors *f, whole_seconds *s)
{
    double forward[N_WHOLE_PARTS] = { 0 };

    for (whole_part p = WHOLE_HOST; p <= WHOLE_OTHERS; p++)
        forward[p] = p == WHOLE_HOST_BACK ? 0 : s->part[p];
    s->forward  = composed_seconds(f, forward);
    s->update   = f->of[WHOLE_UPDATE] * s->part[WHOLE_UPDATE];
    s->backward = fmax(0, composed_seconds(f, s->part) - s->forward - s->update);
}

/* Opens the prices of layers, else those of kernels. */
static lm_status layers_open(predictor *who, const model_source *from, lm_error *err)
{
    const calibration *cal = who->cal;
    layer_asker       *own = malloc(sizeof *own);

    (void)from;
    if (!own)
        return no_memory(err);
    *own      = layer_asker_of(any(cal->layers) ? cal->layers : cal->operators);
    who->memo = own;
    return LM_OK;
}

static void layers_close(predictor *who)
{
    if (who->memo)
        layer_asker_free(who->memo);
    free(who->memo);
    who->memo = NULL;
}

/* Corrects a forward pass by the factors of evaluation mode, else by those of steps. */
static void compose_inference(const composed_set *f, whole_seconds *s)
{
    s->forward = composed_seconds(f->inference.rows ? &f->inference : &f->step, s->part);
}

/* Does the price include the host's floors? Not for replayed graphs, nor for an eager host with a
 * queue, which is modelled separately. */
static bool host_is_own(const predictor *who)
{
    const framework_kind by = predictor_framework(who);

    return by == FRAMEWORK_NONE || (by == FRAMEWORK_EAGER && !who->cal->host.queue);
}

bool step_prices_launches(const predictor *who)
{
    return who->by == &layers_model && !any(who->cal->layers);
}

/* Sums the passes of one micro-step and the update; for inference, the forward pass. */
static lm_status sum_layers(const predictor *who, const step_setup *s, whole_seconds *out,
                            lm_error *err)
{
    const workload_name of    = predictor_workload(who, s->program);
    const bool          whole = composed(who->cal);
    bound_network      *bound;
    lm_status           status = workloads_bind_at(who->loads, &of, s->batch, &bound, err);

    if (status)
        return status;
    if (any(who->cal->layers))
        status = whole_predict(who->memo, bound, optimizer_name(s->optimizer),
                               whole ? WHOLE_LEARNED_STEPS : WHOLE_LEARNED, out, err);
    else
        status =
            whole_by_launches(who->memo, bound, s->optimizer, host_is_own(who), out, err);
    if (!status && whole && s->program == PROGRAM_INFERENCE)
        compose_inference(who->cal->composed, out);
    else if (!status && whole)
        compose(&who->cal->composed->step, out);
    if (!status && isnan(out->backward))
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "single layers were measured without their backward pass: measure "
                              "steps of some, then fit again");
    if (status)
        lm_error_prefix(err, "%s", who->machine ? who->machine : "the machine file");
    bound_network_free(bound);
    return status;
}

static void note_alone(const predictor *who, grounds *g)
{
    grounds_note(g, any(who->cal->layers) ? "layers by themselves" : "kernels by themselves", 0);
}

static lm_status price_inference(const predictor *who, const step_setup *s, step_price *out,
                                 lm_error *err)
{
    const workload_name of    = predictor_workload(who, s->program);
    const bool          whole = composed(who->cal);
    whole_seconds       found;
    net_metrics         counts;
    lm_status           status = workloads_counts(who->loads, &of, s->batch, &counts, err);

    if (status || (status = sum_layers(who, s, &found, err)))
        return status;
    *out               = inference_price();
    out->counts        = counts;
    out->forward.value = found.forward;
    out->known         = whole ? calibration_intervals(who->cal, who->model) : NULL;
    out->unbounded     = !whole;
    out->stands_in     = whole && !who->cal->composed->inference.rows;
    ledger_add(&out->passes.ledger, whole ? CERTAINTY_EXTRAPOLATED : CERTAINTY_ASSUMED,
               out->forward.value);
    if (whole)
        linear_share_host(who, s, PHASE_INFERENCE, 0, &out->forward.value, &out->passes);
    else
        note_alone(who, &out->passes);
    return LM_OK;
}

/* A layer is assumed to take as long in a network as alone. */
static lm_status layers_price(const predictor *who, const step_setup *s, step_price *out,
                              lm_error *err)
{
    const workload_name of      = predictor_workload(who, s->program);
    const bool          whole   = composed(who->cal);
    const certainty     stands  = whole ? CERTAINTY_EXTRAPOLATED : CERTAINTY_ASSUMED;
    const phase         part[]  = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };
    const bounded       unknown = { NAN, NAN, NAN };
    whole_seconds       found;
    net_metrics         counts;
    lm_status           status;

    if (s->program == PROGRAM_INFERENCE)
        return price_inference(who, s, out, err);
    if (s->optimizer == OPTIMIZER_MUON)
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "%s: prices of single %s do not tell an update of muon: calibrate whole "
            "networks",
            who->machine ? who->machine : "the machine file",
            any(who->cal->layers) ? "layers" : "kernels");
    status = workloads_counts(who->loads, &of, s->batch, &counts, err);
    if (status || (status = sum_layers(who, s, &found, err)))
        return status;
    *out = (step_price){ .forward      = { found.forward, NAN, NAN },
                         .backward     = { found.backward, NAN, NAN },
                         .update       = { found.update, NAN, NAN },
                         .step         = unknown,
                         .known        = whole ? calibration_intervals(who->cal, who->model) : NULL,
                         .tells_update = true,
                         .unbounded    = !whole,
                         .joules_passes = unknown,
                         .joules_step   = unknown,
                         .counts        = counts };
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        bounded *const to[] = { &out->forward, &out->backward, &out->update };
        grounds       *g    = part[i] == PHASE_UPDATE ? &out->rest : &out->passes;

        ledger_add(&g->ledger, stands, to[i]->value);
        if (whole)
            linear_share_host(who, s, part[i], step_measured(who, s), &to[i]->value, g);
    }
    if (!whole)
        note_alone(who, &out->passes);
    return linear_trains(who, &counts, err);
}

/* Divides the seconds of a backward pass among the layers, by FLOPs. */
static void divide_backward(const bound_network *bound, double seconds, double *out)
{
    double all = 0;

    for (size_t i = 0; i < bound->n_layers; i++) {
        const lm_cost *cost = &bound->layer[i].cost;

        out[i] = (double)cost->pass[LM_GRAD_INPUT].flops + (double)cost->pass[LM_GRAD_WEIGHT].flops;
        all += out[i];
    }
    for (size_t i = 0; i < bound->n_layers; i++)
        out[i] *= all > 0 ? seconds / all : 0;
}

/* Program of the gradients: each is ready when its layer is done. Sums of kernels give the whole
 * pass only, so layers get shares by FLOPs. */
static lm_status layers_buckets(const predictor *who, const step_setup *s,
                                const gradient_schedule *gradients, priced_program **out,
                                lm_error *err)
{
    const workload_name of       = predictor_workload(who, s->program);
    const size_t        backward = form_find(who->model, PHASE_BACKWARD);
    double             *ready    = NULL;
    bound_network      *bound    = NULL;
    whole_seconds       found;
    lm_status           status;

    if (backward < n_forms && who->cal->fitted[backward].present)
        return linear_buckets(who, s, gradients, out, err);
    if ((status = sum_layers(who, s, &found, err)) ||
        (status = workloads_bind_at(who->loads, &of, s->batch, &bound, err)))
        return status;
    if (!(ready = calloc(gradients->n + bound->n_layers + 1, sizeof *ready)))
        status = no_memory(err);
    if (!status) {
        divide_backward(bound, found.backward, ready + gradients->n);
        gradient_schedule_by_layers(gradients, ready + gradients->n, ready);
        status = priced_program_told(who->cal, who->model, &who->link, gradients, s->batch, ready,
                                     &s->sync, out, err);
    }
    free(ready);
    bound_network_free(bound);
    return status;
}

/* Steps of a multiprocessor count as arithmetic; an update moves weights. */
static lm_status layers_bounds(const predictor *who, const step_setup *s, bound_price *out,
                               lm_error *err)
{
    whole_seconds   found;
    const lm_status status = sum_layers(who, s, &found, err);

    *out = (bound_price){ .passes = { 0 } };
    if (status)
        return status;
    out->passes[BOUND_ARITHMETIC] = found.by[RESOURCE_FLOPS] + found.by[RESOURCE_DEPTH];
    out->passes[BOUND_TRAFFIC]    = found.by[RESOURCE_BANDWIDTH];
    out->passes[BOUND_LAUNCH]     = found.by[RESOURCE_HOST];
    out->update[0][BOUND_TRAFFIC] = out->update[1][BOUND_TRAFFIC] = found.update;
    return LM_OK;
}

static lm_status layers_explain(const predictor *who, const step_setup *s, explanation *e,
                                lm_error *err)
{
    (void)s;
    (void)e;
    return lm_error_set(
        err, LM_E_UNSUPPORTED,
        "%s: a step that is a sum of single %s cannot be split into parts: calibrate whole networks",
        who->machine ? who->machine : "the machine file",
        any(who->cal->layers) ? "layers" : "kernels");
}

const step_model layers_model = {
    .open     = layers_open,
    .close    = layers_close,
    .price    = layers_price,
    .exchange = linear_exchange,
    .buckets  = layers_buckets,
    .bounds   = layers_bounds,
    .explain  = layers_explain,
};
