/* Methods by name. */
#include "epochs/epochs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "epochs/methods.h"

static const char *const names[N_EPOCHS_METHODS] = {
    [EPOCHS_LAYERMETER]   = "layermeter",
    [EPOCHS_HURLEE]       = "hurlee",
    [EPOCHS_CHANGEPOINTS] = "changepoints",
};

lm_status epochs_method_parse(const char *text, epochs_method *out, lm_error *err)
{
    for (int i = 0; i < N_EPOCHS_METHODS; i++)
        if (!strcmp(text, names[i])) {
            *out = (epochs_method)i;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG,
                        "expected one of layermeter, hurlee, changepoints; found '%.40s'", text);
}

const char *epochs_method_name(epochs_method m)
{
    return names[m];
}

const char *epoch_kind_name(epoch_kind k)
{
    switch (k) {
    case EPOCH_STARTUP: return "startup";
    case EPOCH_WARMUP: return "warmup";
    case EPOCH_STEADY: return "epoch";
    case EPOCH_IRREGULAR: return "irregular";
    case EPOCH_MISSING: return "missing";
    case EPOCH_PARTIAL: return "partial";
    case EPOCH_IDLE: return "idle";
    }
    return "?";
}

lm_status epochs_find(epochs_method m, const trace_grid *g, epochs **out, lm_error *err)
{
    static lm_status (*const find[N_EPOCHS_METHODS])(const trace_grid *, epochs *, lm_error *) = {
        [EPOCHS_LAYERMETER]   = epochs_by_tracking,
        [EPOCHS_HURLEE]       = epochs_by_luminol,
        [EPOCHS_CHANGEPOINTS] = epochs_by_changes,
    };
    epochs   *e = calloc(1, sizeof *e);
    lm_status status;

    if (!e)
        return no_memory(err);
    e->steady = e->low = e->high = e->confidence = e->evaluation = NAN;
    status                                                       = find[m](g, e, err);
    if (status) {
        epochs_free(e);
        return status;
    }
    *out = e;
    return LM_OK;
}

void epochs_free(epochs *e)
{
    if (!e)
        return;
    free(e->epoch);
    free(e);
}
