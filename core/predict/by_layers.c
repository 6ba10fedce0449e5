/* Steps of networks of which nothing was measured but single layers. */
#include "predict/by_layers.h"

#include <math.h>
#include <string.h>

#include "single/composed_file.h"

static bool fitted_part(const predictor *who, part which)
{
    const size_t at = form_find(who->model, which);

    return at < n_forms && who->cal->fitted[at].present;
}

bool predict_composed(const predictor *who)
{
    return who->cal->composed && who->cal->composed->step.rows > 0;
}

bool predict_by_layers(const predictor *who)
{
    return !who->paleo && !strcmp(who->model, model_at(0)) && who->cal->layers &&
           layer_model_any(who->cal->layers) &&
           (predict_composed(who) ||
            (!fitted_part(who, PART_FORWARD) && !fitted_part(who, PART_STEP)));
}

/* The whole is composed, its forward pass and its update are, and the rest is backward. */
static void compose(const composed_factors *f, whole_seconds *s)
{
    double forward[N_WHOLE_PARTS] = { 0 };

    for (whole_part p = WHOLE_HOST; p <= WHOLE_OTHERS; p++)
        forward[p] = p == WHOLE_HOST_BACK ? 0 : s->step[p];
    s->forward  = composed_seconds(f, forward);
    s->update   = f->of[WHOLE_UPDATE] * s->step[WHOLE_UPDATE];
    s->backward = fmax(0, composed_seconds(f, s->step) - s->forward - s->update);
}

lm_status by_layers_seconds(const predictor *who, int64_t batch, optimizer o, whole_seconds *out,
                            lm_error *err)
{
    bound_network *bound;
    lm_status      status =
        workloads_bind_at(who->loads, who->network, who->input, who->dtype, batch, &bound, err);

    if (status)
        return status;
    status = whole_predict(who->cal->layers, bound, optimizer_name(o),
                           predict_composed(who) ? WHOLE_LEARNED_STEPS : WHOLE_LEARNED, out, err);
    if (!status && predict_composed(who))
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
