/* Layers that a learned model does not know, by the default model's prices. */
#include "layerwise/stand_in.h"

#include <math.h>

#include "single/whole.h"

stand_ins stand_ins_of(const calibration *cal)
{
    return (stand_ins){ cal, layer_asker_of(cal ? cal->layers : NULL),
                        layer_asker_of(cal ? cal->operators : NULL) };
}

void stand_ins_free(stand_ins *s)
{
    layer_asker_free(&s->layers);
    layer_asker_free(&s->kernels);
}

/* A layer as a network of its own: inputs are outside. */
static bound_network alone(const bound_network *net, const bound_layer *l)
{
    bound_network one = *net;

    one.layer    = (bound_layer *)l; /* which is not written */
    one.n_layers = 1;
    return one;
}

/* Without the call of a pass, which a network of no layers has as well. */
static lm_status by_layers(layer_asker *by, const bound_network *one, const char *updated,
                           double out[N_PHASES], lm_error *err)
{
    bound_network none = *one;
    whole_seconds s, calls;
    lm_status     status;

    none.n_layers = 0;
    if ((status = whole_predict(by, &none, updated, WHOLE_PRICES, &calls, err)) ||
        (status = whole_predict(by, one, updated, WHOLE_LEARNED, &s, err)))
        return status;
    out[PHASE_FORWARD]  = s.forward - calls.forward;
    out[PHASE_BACKWARD] = s.backward - calls.backward;
    out[PHASE_UPDATE]   = s.update;
    return LM_OK;
}

static lm_status by_kernels(layer_asker *by, const bound_network *one, optimizer o,
                            double out[N_PHASES], lm_error *err)
{
    whole_seconds   s;
    const lm_status status = whole_by_launches(by, one, o, true, &s, err);

    if (status)
        return status;
    out[PHASE_FORWARD]  = s.forward;
    out[PHASE_BACKWARD] = s.backward;
    out[PHASE_UPDATE]   = s.update;
    return LM_OK;
}

static lm_status by_formulas(const calibration *cal, const bound_network *one, optimizer o,
                             double out[N_PHASES], lm_error *err)
{
    static const phase asked[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_INFERENCE };
    const char        *model   = DEFAULT_MODEL;
    term_item          room[3][N_TERMS];
    pass_terms         sum;
    workload           load   = { .nodes = 1 };
    lm_status          status = metrics_of_layer(one->layer, &load.counts, err);
    bool               any    = false;

    if (status || (status = terms_of_network(one, &cal->settings, o, &sum, err)))
        return status;
    load.bytes    = (double)load.counts.param_bytes;
    load.forward  = terms_pack(sum.forward, room[0]);
    load.backward = terms_pack(sum.backward, room[1]);
    load.update   = terms_pack(sum.update, room[2]);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        out[asked[i]] = calibration_seconds(cal, form_find(model, asked[i]), &load);
        any |= !isnan(out[asked[i]]);
    }
    return any ? LM_OK : lm_error_set(err, LM_E_NOTFOUND, "no coefficients");
}

/* Does the layer take part in the phase? */
static bool happens(const bound_layer *l, phase f)
{
    if (f == PHASE_UPDATE)
        return l->trained && l->n_weights;
    return f != PHASE_BACKWARD || l->trained || l->needs_grad_input;
}

static void complete(const bound_layer *l, double out[N_PHASES])
{
    static const phase asked[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_INFERENCE };

    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        if (!happens(l, asked[i]))
            out[asked[i]] = 0;
    if (isnan(out[PHASE_INFERENCE])) /* of a network bound for evaluation the forward pass, or only
                                        passes of training were measured */
        out[PHASE_INFERENCE] = out[PHASE_FORWARD];
    out[PHASE_STEP] = out[PHASE_FORWARD] + out[PHASE_BACKWARD] + out[PHASE_UPDATE];
}

lm_status stand_in_price(stand_ins *by, const bound_network *net, const bound_layer *l,
                         const char *updated, double out[N_PHASES], lm_error *err)
{
    const bound_network one = alone(net, l);
    optimizer           o   = OPTIMIZER_SGD;
    lm_error            ignored;
    const bool known = !optimizer_parse(updated, &o, &ignored) || !happens(l, PHASE_UPDATE);
    lm_error   why;
    lm_status  status = lm_error_set(&why, LM_E_NOTFOUND, "the machine file has no price of it");

    for (phase f = 0; f < N_PHASES; f++)
        out[f] = NAN;
    if (by->layers.m && layer_model_any(by->layers.m))
        status = by_layers(&by->layers, &one, updated, out, &ignored);
    if (status == LM_E_NOTFOUND && known && by->kernels.m && layer_model_any(by->kernels.m))
        status = by_kernels(&by->kernels, &one, o, out, &ignored);
    if (status == LM_E_NOTFOUND && known && by->cal &&
        !by_formulas(by->cal, &one, o, out, &ignored))
        status = LM_OK;
    if (!status)
        complete(l, out);
    return status ? lm_error_set(err, status, "%s (%s)", l->decl->name, l->decl->type) : LM_OK;
}
