/* --layers: networks composed of single layers. */
#include "cli/fit_layers.h"

#include <stdlib.h>

#include "fit/composed_points.h"
#include "single/model.h"

lm_status fit_layers_load(const char *path, points *p, calibration **out, lm_error *err)
{
    lm_status status = calibration_load(path, out, err);

    if (status)
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
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
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
