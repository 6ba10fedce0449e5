/* Curves over nodes. */
#include "predict/scaling.h"

#include <string.h>

#include "predict/surface.h"

static const char *const kinds[] = {
    [SCALING_WEAK] = "weak", [SCALING_STRONG] = "strong", [SCALING_GLOBAL] = "global"
};

const char *scaling_kind_name(scaling_kind k)
{
    return kinds[k];
}

lm_status scaling_kind_parse(const char *text, scaling_kind *out, lm_error *err)
{
    for (scaling_kind k = SCALING_WEAK; k <= SCALING_GLOBAL; k++)
        if (!strcmp(text, kinds[k])) {
            *out = k;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG, "expected weak, strong or global, found '%.40s'", text);
}

scale_question scale_weak(int64_t batch, int64_t dataset)
{
    return (scale_question){ .kind    = SCALING_WEAK,
                             .dataset = dataset,
                             .setup   = step_setup_of(batch, 1) };
}

scale_question scale_strong(int64_t global_batch, int64_t dataset)
{
    return (scale_question){ .kind         = SCALING_STRONG,
                             .global_batch = global_batch,
                             .dataset      = dataset,
                             .setup        = step_setup_of(1, 1) };
}

static int64_t parts_of(int64_t whole, int64_t each)
{
    return (whole - 1) / each + 1;
}

lm_status scale_setup(const scale_question *q, int64_t nodes, step_setup *out, lm_error *err)
{
    step_setup s = q->setup;
    int64_t    ranks;

    s.nodes = nodes;
    ranks   = step_setup_ranks(&s);
    if (nodes < 1 || s.devices < 1)
        return lm_error_set(err, LM_E_ARG, "%lld nodes of %lld devices: must be 1 or more",
                            (long long)nodes, (long long)s.devices);
    if (q->kind != SCALING_WEAK) {
        if (q->global_batch < 1)
            return lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more",
                                (long long)q->global_batch);
        const int64_t mine = parts_of(q->global_batch, ranks);

        /* micro-steps as equal as they can be: none is nearly empty */
        s.sync.accumulation = q->kind == SCALING_GLOBAL && s.batch > 0 && s.batch < mine
                                  ? parts_of(mine, s.batch)
                                  : 1;
        s.batch             = parts_of(mine, s.sync.accumulation);
    }
    *out = s;
    return LM_OK;
}

/* Samples of a step that are useful work: all devices wait for the fullest one, but only the batch
 * itself counts. */
static double useful(const scale_question *q, const step_setup *s)
{
    return q->kind == SCALING_WEAK
               ? (double)s->batch * (double)s->sync.accumulation * (double)step_setup_ranks(s)
               : (double)q->global_batch;
}

static lm_status point_at(const predictor *who, const scale_question *q, int64_t nodes,
                          scale_point *out, lm_error *err)
{
    step_setup s;
    lm_status  status = scale_setup(q, nodes, &s, err);

    if (!status)
        status = predict_step(who, &s, &out->step, err);
    if (status)
        return status;
    if (useful(q, &s) >= 0x1p63)
        return lm_error_set(err, LM_E_OVERFLOW, "batch %lld on %lld nodes does not fit 64 bits",
                            (long long)s.batch, (long long)nodes);
    out->accumulation       = s.sync.accumulation;
    out->global_batch       = q->kind == SCALING_WEAK
                                  ? s.batch * s.sync.accumulation * step_setup_ranks(&s)
                                  : q->global_batch;
    out->samples_per_second = (double)out->global_batch / out->step.step;
    out->steps_per_epoch    = (uint64_t)parts_of(q->dataset, out->global_batch);
    out->epoch_seconds      = (double)out->steps_per_epoch * out->step.step;
    return LM_OK;
}

lm_status scale_at(const predictor *who, const scale_question *q, int64_t nodes, scale_point *out,
                   lm_error *err)
{
    scale_point one, here;
    lm_status   status = point_at(who, q, 1, &one, err);

    if (!status)
        status = point_at(who, q, nodes, &here, err);
    if (status)
        return status;
    here.speedup    = here.samples_per_second / one.samples_per_second;
    here.efficiency = here.speedup / (double)nodes;
    *out            = here;
    return LM_OK;
}

/* Samples per second on n nodes; counts are taken anew only where the surface is of another step.
 */
static lm_status throughput(const predictor *who, const scale_question *q, int64_t n,
                            step_surface *surface, double *out, lm_error *err)
{
    step_setup s;
    prediction step;
    lm_status  status = scale_setup(q, n, &s, err);

    if (status)
        return status;
    if (who->paleo) {
        if ((status = predict_step(who, &s, &step, err)))
            return status;
        *out = useful(q, &s) / step.step;
        return LM_OK;
    }
    if (!step_surface_holds(surface, &s) && (status = step_surface_of(who, &s, surface, err)))
        return status;
    *out = useful(q, &s) / step_surface_at(surface, s.batch, step_setup_ranks(&s));
    return LM_OK;
}

lm_status scale_turning_point(const predictor *who, const scale_question *q, int64_t *out,
                              lm_error *err)
{
    /* throughput must grow by this; an epoch is the data set over the throughput */
    const double needed =
        q->kind == SCALING_WEAK ? 1 + TURNING_GAIN_WEAK : 1 / (1 - TURNING_GAIN_STRONG);
    step_surface now_at = { .batch = -1 }, twice_at = { .batch = -1 }; /* of none yet */
    scale_point  ignored;

    /* a formula that is missing is an error, not a curve that turns at one node */
    for (int64_t n = 1; n <= 2; n++) {
        const lm_status status = point_at(who, q, n, &ignored, err);

        if (status)
            return status;
    }
    for (int64_t n = 1; n <= TURNING_LIMIT; n += n / TURNING_STEPS + 1) {
        double    now, twice;
        lm_status status = throughput(who, q, n, &now_at, &now, err);

        if (!status)
            status = throughput(who, q, 2 * n, &twice_at, &twice, err);
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
