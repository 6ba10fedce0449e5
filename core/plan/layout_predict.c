/* Prediction of a layout: step, bounds, parts, memory. */
#include "plan/layout_predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/limits.h"
#include "plan/room.h"
#include "predict/laid_out.h"
#include "predict/recompute.h"
#include "program/rank_memory.h"

static bool recomputes(const layout *l)
{
    return strcmp(l->recompute, "none") != 0;
}

/* ---- memory ---- */

memory_options layout_memory_options(const predictor *who, const step_setup *setup)
{
    const device_room  none  = { .bytes = 0 };
    const memory_types types = limits_types(who, true);
    memory_options     o =
        room_options(&setup->sync, setup->optimizer, types.dtype, &none, false, false);

    o.mixed = types.mixed;
    o.sums  = types.sums;
    return o;
}

lm_status layout_memory(const layout_asked *a, const layout *l, const memory_binding *bound,
                        double *out, lm_error *err)
{
    const bind_options b    = { .batch = l->micro_batch,
                                .dtype = limits_types(a->who, true).dtype,
                                .on    = a->who->on,
                                .input = a->who->input };
    memory_options     with = layout_memory_options(a->who, a->setup);
    const rank_memory  m    = {
            .net = a->net, .reg = a->reg, .bind = &b, .how = &with, .l = l, .bound = bound
    };
    memory_use use;
    int64_t    rank;
    lm_status  status = rank_memory_check(l, err);

    if (recomputes(l))
        with.recompute = l->recompute;
    if (!status && !(status = rank_memory_of(&m, &use, &rank, NULL, err)))
        *out = (double)use.peak;
    return status;
}

/* ---- seconds ---- */

/* Fills in the parts of a step. `t` NULL: replicas only, whose kernels wait for no message. */
static void put_shares(const prediction *p, const step_times *t, layout_found *out)
{
    out->step                  = p->step;
    out->low                   = p->low[PHASE_STEP];
    out->high                  = p->high[PHASE_STEP];
    out->share[SHARE_TENSOR]   = t ? t->tensor : 0;
    out->share[SHARE_PIPELINE] = t ? t->bubble : 0;
    out->share[SHARE_COMPUTE] =
        p->forward + p->backward - out->share[SHARE_TENSOR] - out->share[SHARE_PIPELINE];
    out->share[SHARE_UPDATE] = p->update;
    out->share[SHARE_DATA]   = p->step - p->forward - p->backward - p->update;
}

/* Factors at one end of the interval: on messages that of the prediction; on the rest the factor
 * that gives the whole step. */
static void put_factors(const prediction *p, int end, layout_found *out)
{
    const double messages = out->share[SHARE_TENSOR] + out->share[SHARE_DATA];
    const double sync     = end ? p->high[PHASE_SYNC] : p->low[PHASE_SYNC];
    const double step     = end ? out->high : out->low;

    out->message[end] = p->sync > 0 ? sync / p->sync : 1;
    out->pass[end]    = (step - out->message[end] * messages) / (out->step - messages);
}

lm_status layout_step(const layout_asked *a, const layout *l, step_setup *out, lm_error *err)
{
    *out                   = *a->setup;
    out->nodes             = a->nodes;
    out->batch             = l->micro_batch;
    out->sync.accumulation = l->accumulation;
    out->laid_out          = true;
    out->layout            = *l;
    return recomputes(l) ? recompute_share(a->who, out, l->recompute, &out->again, err) : LM_OK;
}

lm_status layout_predict(const layout_asked *a, const layout *l, layout_found *out, lm_error *err)
{
    const bool plain = layout_is_plain(l);
    step_setup s;
    step_times t = { .bucket = NULL };
    prediction p;
    lm_status  status = layout_step(a, l, &s, err);

    if (!status)
        status = predict_laid_out(a->who, &s, &p, plain ? NULL : &t, err);
    if (status)
        return status;
    free(t.bucket);
    *out = (layout_found){ .layout = *l };
    put_shares(&p, plain ? NULL : &t, out);
    put_factors(&p, 0, out);
    put_factors(&p, 1, out);
    return LM_OK;
}
