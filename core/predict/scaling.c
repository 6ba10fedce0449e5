/* Curves over nodes. */
#include "predict/scaling.h"

#include "predict/surface.h"

static int64_t device_batch(scaling_kind kind, int64_t batch, int64_t nodes)
{
    return kind == SCALING_WEAK ? batch : (batch - 1) / nodes + 1;
}

static lm_status point_at(const predictor *who, scaling_kind kind, int64_t batch, int64_t nodes,
                          int64_t dataset, scale_point *out, lm_error *err)
{
    const int64_t mine   = device_batch(kind, batch, nodes);
    lm_status     status = predict_step(who, mine, nodes, &out->step, err);

    if (status)
        return status;
    if (mine > INT64_MAX / nodes)
        return lm_error_set(err, LM_E_OVERFLOW, "batch %lld on %lld nodes does not fit 64 bits",
                            (long long)mine, (long long)nodes);
    /* strong: all devices wait for the fullest one, but only the batch itself is useful work */
    out->global_batch       = kind == SCALING_WEAK ? mine * nodes : batch;
    out->samples_per_second = (double)out->global_batch / out->step.step;
    out->steps_per_epoch    = (uint64_t)((dataset - 1) / out->global_batch + 1);
    out->epoch_seconds      = (double)out->steps_per_epoch * out->step.step;
    return LM_OK;
}

lm_status scale_at(const predictor *who, scaling_kind kind, int64_t batch, int64_t nodes,
                   int64_t dataset, scale_point *out, lm_error *err)
{
    scale_point one, here;
    lm_status   status = point_at(who, kind, batch, 1, dataset, &one, err);

    if (!status)
        status = point_at(who, kind, batch, nodes, dataset, &here, err);
    if (status)
        return status;
    here.speedup    = here.samples_per_second / one.samples_per_second;
    here.efficiency = here.speedup / (double)nodes;
    *out            = here;
    return LM_OK;
}

/* Samples per second on n nodes; counts are taken anew only where the surface is of another batch.
 */
static lm_status throughput(const predictor *who, scaling_kind kind, int64_t batch, int64_t n,
                            step_surface *surface, double *out, lm_error *err)
{
    const int64_t mine = device_batch(kind, batch, n);
    const double  work = kind == SCALING_WEAK ? (double)mine * (double)n : (double)batch;
    prediction    step;
    lm_status     status;

    if (who->paleo) {
        if ((status = predict_step(who, mine, n, &step, err)))
            return status;
        *out = work / step.step;
        return LM_OK;
    }
    if (!step_surface_holds(surface, mine) && (status = step_surface_of(who, mine, surface, err)))
        return status;
    *out = work / step_surface_at(surface, mine, n);
    return LM_OK;
}

lm_status scale_turning_point(const predictor *who, scaling_kind kind, int64_t batch, int64_t *out,
                              lm_error *err)
{
    /* throughput must grow by this; an epoch is the data set over the throughput */
    const double needed =
        kind == SCALING_WEAK ? 1 + TURNING_GAIN_WEAK : 1 / (1 - TURNING_GAIN_STRONG);
    step_surface now_at = { .batch = -1 }, twice_at = { .batch = -1 }; /* of none yet */
    scale_point  ignored;

    /* a formula that is missing is an error, not a curve that turns at one node */
    for (int64_t n = 1; n <= 2; n++) {
        const lm_status status = point_at(who, kind, batch, n, 1, &ignored, err);

        if (status)
            return status;
    }
    for (int64_t n = 1; n <= TURNING_LIMIT; n += n / TURNING_STEPS + 1) {
        double    now, twice;
        lm_status status = throughput(who, kind, batch, n, &now_at, &now, err);

        if (!status)
            status = throughput(who, kind, batch, 2 * n, &twice_at, &twice, err);
        if (status)
            return status;
        if (!(twice >= now * needed)) {
            *out = n;
            return LM_OK;
        }
    }
    *out = 0;
    return LM_OK;
}
