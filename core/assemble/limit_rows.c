/* Curves of steps under power limits, from observations. */
#include "assemble/limit_rows.h"

#include <limits.h>
#include <math.h>

#include "network/optimizer.h"
#include "observe/points.h"

static bool takes(const observation *r)
{
    return r->kind == OBS_NETWORK && (r->phase == PHASE_STEP || r->phase == PHASE_INFERENCE) &&
           !r->skipped && !*r->layout && r->ranks <= 1 && r->power_limit_w > 0 && r->power_w > 0;
}

static bool several(const observations *obs)
{
    const double highest = observations_limit(obs);

    for (size_t i = 0; i < obs->n_rows; i++)
        if (observation_limited(&obs->row[i], highest))
            return true;
    return false;
}

static lm_status add(const observation *r, workloads *loads, limit_curves *to, lm_error *err)
{
    const workload_name of = row_workload(r, r->phase == PHASE_INFERENCE);
    optimizer           o  = OPTIMIZER_MOMENTUM;
    char                name[PATH_MAX];
    limit_key           key = { .network = name, .batch = r->batch, .of = r->phase };
    lm_status           status;

    if (!network_name_key(r->name, name, sizeof name))
        return LM_OK;
    if (r->phase == PHASE_STEP && (status = optimizer_parse(observation_optimizer(r), &o, err)))
        return status;
    key.optimizer = optimizer_name(o);
    if ((status = workloads_input(loads, &of, &key.input, err)))
        return status;
    return limit_curves_add(to, &key,
                            (limit_row){ .limit_w = r->power_limit_w,
                                         .seconds = r->seconds,
                                         .watts   = fmin(r->power_w, r->power_limit_w) },
                            err);
}

lm_status limit_rows_fit(const observations *obs, workloads *loads, calibration *cal,
                         size_t *unkept, lm_error *err)
{
    lm_status status = LM_OK;

    *unkept = 0;
    if (!several(obs))
        return LM_OK;
    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        const observation *r = &obs->row[i];

        if (!takes(r))
            continue;
        if (r->power_w > LIMIT_KEPT * r->power_limit_w)
            ++*unkept;
        else if ((status = add(r, loads, &cal->limits, err)))
            lm_error_prefix(err, "%s:%d", obs->path, r->line);
    }
    if (!status)
        status = limit_curves_fit(&cal->limits, err);
    return status;
}
