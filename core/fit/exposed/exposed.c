/* Steps whose gradients went in buckets: all-reduces and overlap. */
#include "fit/exposed/parts.h"

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
    const observation  *row = pt->row;
    const workload_name of  = row_workload(row, false);
    lm_status           status;

    *own = NULL;
    if (row->kind == OBS_NETWORK)
        return workloads_gradients(p->loads, &of, row->batch, &cal->settings, out, err);
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

collective_call exposed_where(const observation *row)
{
    const int64_t hosts = row->hosts > 1 ? row->hosts : 1;

    return (collective_call){ COLLECTIVE_ALLREDUCE, 0, hosts, shared_devices(row), 1 };
}

step_passes exposed_passes(const calibration *cal, const char *model, const point *pt)
{
    const int64_t devices = shared_devices(pt->row);
    step_passes   s       = step_passes_of(cal, model, &pt->load);

    if (s.told_apart) {
        s.forward *= shared_times(cal, model, PHASE_FORWARD, devices);
        s.backward *= shared_times(cal, model, PHASE_BACKWARD, devices);
        s.update *= shared_times(cal, model, PHASE_UPDATE, devices);
    } else { /* nothing tells the update apart */
        s.forward += s.update;
        s.update = 0;
    }
    return s;
}

lm_status exposed_ask(const points *p, const calibration *cal, const char *model, const point *pt,
                      double alone, exposed_question *out, lm_error *err)
{
    const collective_call at = exposed_where(pt->row);
    exposed_question q = { .passes = exposed_passes(cal, model, pt), .policy = policy_of(pt->row) };

    if (isnan(alone))
        alone = q.passes.backward;
    /* gradients are ready by prices, the pass takes what it takes */
    q.of = (program_case){ .work    = { .forward  = q.passes.forward,
                                        .backward = q.passes.backward,
                                        .update   = q.passes.update,
                                        .micro    = 1,
                                        .compute  = q.passes.forward + alone },
                           .batch   = pt->row->batch,
                           .ranks   = { at.nodes, at.devices, 1 },
                           .pass    = alone / q.passes.backward,
                           .message = 1 };
    *out = q;
    return schedule_of(p, cal, pt, &out->schedule, &out->own, err);
}

lm_status exposed_predict(const points *p, const calibration *cal, const char *model,
                          const point *pt, double alone, exposed_step *out, lm_error *err)
{
    priced_program  *program = NULL;
    exposed_step     s       = { .bytes = 0 };
    exposed_question q;
    lm_status        status = exposed_ask(p, cal, model, pt, alone, &q, err);

    if (status)
        return status;
    status = priced_program_of(cal, model, NULL, q.schedule, &q.policy, &program, err);
    if (!status) {
        s.passes = q.passes;
        priced_program_run(program, &q.of, &s.times);
        for (size_t i = 0; i < s.times.n; i++) {
            const overlap_bucket *b = &s.times.bucket[i];

            s.bytes += b->bytes;
            s.late = b->start > b->ready * (1 + 1e-9);
        }
        s.times.bucket = NULL;
        *out           = s;
    }
    priced_program_free(program);
    gradient_schedule_free(q.own);
    return status;
}
