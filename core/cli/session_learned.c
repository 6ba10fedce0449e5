/* What --model of a learned model of single layers takes beside a machine file. */
#include <stdlib.h>

#include "base/no_memory.h"
#include "cli/commands.h"
#include "cli/learned_models.h"
#include "predict/layerwise_step.h"

bool session_takes_learned(const options *o)
{
    static const command *const takers[] = { &cmd_predict, &cmd_scale,  &cmd_plan,
                                             &cmd_report,  &cmd_export, &cmd_energy };

    for (size_t i = 0; i < sizeof takers / sizeof takers[0]; i++)
        if (o->command == takers[i])
            return true;
    return false;
}

bool session_wants_learned(const options *o, const session_options *at)
{
    return session_takes_learned(o) && layerwise_find(o->value[at->model]);
}

static lm_status open_learned(const options *o, const session_options *at, session *s,
                              lm_error *err)
{
    const paleo_options *p    = &at->paleo;
    layerwise_predictor *l    = s->layerwise;
    const char          *told = calibration_device(s->cal);
    const lm_status      status =
        learned_models_read(s->cal, s->who.machine, layerwise_find(s->who.model), &l->model, err);

    return status ? status
                  : learned_models_device(o->value[p->device], told, o->value[p->devices], &l->list,
                                          &l->on, err);
}

bool session_learned(const options *o, const session_options *at, session *s, int *exit_code)
{
    lm_error err = { 0 };

    s->layerwise = calloc(1, sizeof *s->layerwise);
    if (s->layerwise ? open_learned(o, at, s, &err) : no_memory(&err)) {
        *exit_code = report_failure(&err);
        return false;
    }
    s->who.layerwise = s->layerwise;
    return true;
}
