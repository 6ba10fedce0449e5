/* What steps tell whose gradients went in buckets. */
#include "fit/exposed_parts.h"

#include <math.h>
#include <stdlib.h>

#include "fit/shared.h"

size_t exposed_messages(const point *pt)
{
    return (size_t)ceil(pt->load.bytes / (double)pt->row->bucket_bytes) + 1;
}

static lm_status schedule_of(const points *p, const calibration *cal, const point *pt,
                             const gradient_schedule **out, gradient_schedule **own, lm_error *err)
{
    const observation *row = pt->row;
    lm_status          status;

    *own = NULL;
    if (row->kind == OBS_NETWORK)
        return workloads_gradients(p->loads, row->name, row->input, row->dtype, row->batch,
                                   &cal->settings, out, err);
    status = gradient_schedule_even((uint64_t)pt->load.bytes, row->dtype, exposed_messages(pt), own,
                                    err);
    *out   = *own;
    return status;
}

static sync_policy policy_of(const observation *row)
{
    /* without layers the pieces are the buckets */
    const uint64_t limit = row->kind == OBS_NETWORK ? (uint64_t)row->bucket_bytes : 1;

    return (sync_policy){ .rule         = SYNC_DDP,
                          .first_bytes  = buckets_first_limit(limit),
                          .limit_bytes  = limit,
                          .accumulation = 1 };
}

allreduce exposed_where(const observation *row)
{
    const int64_t hosts = row->hosts > 1 ? row->hosts : 1;

    return (allreduce){ 0, hosts, shared_devices(row) };
}

step_passes exposed_passes(const calibration *cal, const char *model, const point *pt)
{
    const int64_t devices = shared_devices(pt->row);
    step_passes   s       = overlapped_passes(cal, model, &pt->load);

    if (s.told_apart) {
        s.forward *= shared_times(cal, model, PART_FORWARD, devices);
        s.backward *= shared_times(cal, model, PART_BACKWARD, devices);
        s.update *= shared_times(cal, model, PART_UPDATE, devices);
    }
    return s;
}

lm_status exposed_ask(const points *p, const calibration *cal, const char *model, const point *pt,
                      double alone, exposed_question *out, lm_error *err)
{
    const allreduce  at = exposed_where(pt->row);
    exposed_question q = { .passes = exposed_passes(cal, model, pt), .policy = policy_of(pt->row) };

    if (isnan(alone))
        alone = q.passes.backward;
    /* gradients are ready by prices, the pass takes what it takes */
    q.how     = (sync_setting){ NULL, at.nodes, at.devices, alone / q.passes.backward, 1 };
    q.compute = q.passes.forward + alone;
    *out      = q;
    return schedule_of(p, cal, pt, &out->schedule, &out->own, err);
}

lm_status exposed_buckets(const points *p, const calibration *cal, const char *model,
                          const point *pt, double alone, exposed_step *out, lm_error *err)
{
    exposed_step     s;
    exposed_question q;
    lm_status        status = exposed_ask(p, cal, model, pt, alone, &q, err);

    if (status)
        return status;
    s.passes     = q.passes;
    q.how.policy = &q.policy;
    status = overlapped_sync(cal, model, q.schedule, pt->row->batch, &q.how, s.passes.backward,
                             q.compute, &s.sync, err);
    gradient_schedule_free(q.own);
    if (status)
        return status;
    s.step = s.passes.forward + s.sync.backward + s.sync.exposed + s.sync.copy + s.sync.straggler +
             s.passes.update;
    *out = s;
    return LM_OK;
}

lm_status exposed_predict(const points *p, const calibration *cal, const char *model,
                          const point *pt, double alone, exposed_step *out, lm_error *err)
{
    const lm_status status = exposed_buckets(p, cal, model, pt, alone, out, err);

    if (!status) {
        free(out->sync.bucket);
        out->sync.bucket = NULL;
    }
    return status;
}
