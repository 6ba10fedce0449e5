/* --layers: networks composed of single layers. */
#include "cli/fit_layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "fit/composed_points.h"
#include "single/model.h"

/* Prices of another element type, or of another device, say nothing of these networks. */
static lm_status check_like(const char *path, const observations *obs, const calibration *layers,
                            lm_error *err)
{
    const char *there = calibration_device(layers);
    const char *here  = observations_provenance(obs, "device");

    if (there && here && strcmp(there, here) != 0)
        return lm_error_set(err, LM_E_ARG,
                            "--layers %s: of '%.60s', and these are of '%.60s': it takes single "
                            "layers of the same device",
                            path, there, here);
    for (size_t i = 0; i < obs->n_rows && layers->dtype; i++)
        if (obs->row[i].kind == OBS_NETWORK && obs->row[i].dtype != layers->dtype)
            return lm_error_set(
                err, LM_E_ARG, "--layers %s: of element type %s, and networks here are of %s", path,
                text_dtype_name(layers->dtype), text_dtype_name(obs->row[i].dtype));
    return LM_OK;
}

lm_status fit_layers_load(const char *path, const observations *obs, points *p, calibration **out,
                          lm_error *err)
{
    lm_status status = calibration_load(path, out, err);

    if (status || (status = check_like(path, obs, *out, err)))
        return status;
    if (!(*out)->layers || !layer_model_any((*out)->layers))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "--layers %s: no prices of single layers in it: it was fitted to none",
                            path);
    p->layers = (*out)->layers;
    return LM_OK;
}

lm_status fit_layers_compose(const points *p, calibration *layers, calibration *to, lm_error *err)
{
    lm_status status;

    if (to->layers && layer_model_any(to->layers))
        return lm_error_set(err, LM_E_ARG,
                            "--layers: these are single layers themselves: it takes networks");
    if (!(to->composed = malloc(sizeof *to->composed)))
        return no_memory(err);
    if ((status = composed_calibrate(p, layers->layers, to->composed, err)))
        return status;
    if (!to->composed->step.rows && !to->composed->inference.rows)
        return lm_error_set(err, LM_E_ARG,
                            "--layers: no network whose layers all have prices was measured as a "
                            "whole (phase step or inference)");
    if (to->layers)
        layer_model_free(to->layers);
    free(to->layers);
    to->layers     = layers->layers;
    layers->layers = NULL;
    return LM_OK;
}
