/* Machines that are left out. */
#include "judge/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/fit.h"
#include "layerwise/layerwise_points.h"
#include "observe/variants.h"
#include "solve/folds.h"
#include "transfer/transfer.h"

lm_status measured_device_read(measured_device *m, const char *where, bool fit, workloads *loads,
                               lm_error *err)
{
    lm_status status = observations_load(m->path, &m->obs, err);

    if (status || (status = points_from(m->obs, loads, &m->p, err)))
        return status;
    if ((where && (status = points_where(&m->p, where, err))) ||
        (fit && (status = fit_all(m->obs, &m->p, &m->cal, err))))
        lm_error_prefix(err, "%s", m->path);
    return status;
}

/* Coefficients for one machine, from all others. */
static lm_status carry_over(const devices_left_out *d, const fold_turn *t, calibration **out,
                            lm_error *err)
{
    transfer_source all[VALIDATE_DEVICES], from[VALIDATE_DEVICES];
    const device   *to = d->machine[t->fold].on;
    double          doubt;
    size_t          n;
    lm_status       status;

    for (size_t i = 0; i < d->n; i++)
        all[i] = (transfer_source){ .cal = d->machine[i].cal, .device = d->machine[i].on };
    n = folds_copy(t, true, all, sizeof *all, from);
    if ((status = transfer_prepare(from, n, to, &transfer_default, err)) ||
        (status = transfer_doubt(from, n, to, &transfer_default, &doubt, err)) ||
        (status = transfer_pool(from, n, to, &transfer_default, out, err)))
        return status;
    return transfer_widen(*out, doubt, n < 2 ? "assumed" : "machines left out") ? LM_OK
                                                                                : no_memory(err);
}

static lm_status predict_machine(void *context, const fold_turn *t, lm_error *err)
{
    const devices_left_out *d      = context;
    const points           *p      = &d->machine[t->fold].p;
    const split_rule        none   = { .kind = SPLIT_NONE };
    split                   all    = { .n_folds = 0 };
    calibration            *cal    = NULL;
    lm_status               status = carry_over(d, t, &cal, err);

    if (!status && !(status = split_new(p, &none, &all, err)))
        status = compare_points(p, DEFAULT_MODEL, &all, cal, d->at + d->by.first[t->fold], err);
    split_free(&all);
    calibration_free(cal);
    return status;
}

/* One fold a machine. */
static lm_status join(devices_left_out *d, lm_error *err)
{
    size_t n = 0, at = 0;

    for (size_t i = 0; i < d->n; i++)
        n += d->machine[i].p.n_points;
    d->all.point  = calloc(n + 1, sizeof *d->all.point);
    d->at         = calloc(n + 1, sizeof *d->at);
    d->by.fold    = calloc(n + 1, sizeof *d->by.fold);
    d->by.unit    = calloc(n + 1, sizeof *d->by.unit);
    d->by.name    = calloc(d->n, sizeof *d->by.name);
    d->by.points  = calloc(d->n, sizeof *d->by.points);
    d->by.rule    = (split_rule){ .kind = SPLIT_DEVICE, .seed = 1 };
    d->by.n_folds = d->n;
    if (!d->all.point || !d->at || !d->by.fold || !d->by.unit || !d->by.name || !d->by.points)
        return no_memory(err);
    for (size_t i = 0; i < d->n; i++) {
        const points *p = &d->machine[i].p;

        memcpy(d->all.point + at, p->point, p->n_points * sizeof *p->point);
        for (size_t k = 0; k < p->n_points; k++)
            d->by.fold[at + k] = d->by.unit[at + k] = i;
        d->by.name[i]   = d->machine[i].on->name;
        d->by.points[i] = p->n_points;
        at += p->n_points;
    }
    d->all.n_points = n;
    return split_index(&d->by, n, err);
}

lm_status devices_leave_out(const char *const *path, const char *const *name, size_t n,
                            const char *where, bool carry, const device_list *list,
                            workloads *loads, devices_left_out *out, lm_error *err)
{
    size_t      of[VALIDATE_DEVICES];
    const folds by     = { .of = of, .rows = n, .n = n };
    lm_status   status = LM_OK;

    for (size_t i = 0; i < n && !status; i++) {
        measured_device *m = &out->machine[i];

        of[i]   = i;
        m->path = path[i];
        out->n  = i + 1;
        if (!(status = devices_find(list, name[i], &m->on, err)))
            status = measured_device_read(m, where, carry, loads, err);
    }
    if (!status)
        status = join(out, err);
    return status || !carry ? status : folds_leave_out(&by, predict_machine, out, err);
}

void measured_device_free(measured_device *m)
{
    calibration_free(m->cal);
    points_free(&m->p);
    observations_free(m->obs);
}

lm_status devices_leave_out_learned(const devices_left_out *d, const layerwise_kind *kind,
                                    const double *setting, comparison *out, lm_error *err)
{
    layerwise_source from[VALIDATE_DEVICES];

    for (size_t i = 0; i < d->n; i++)
        from[i] = (layerwise_source){ .obs = d->machine[i].obs,
                                      .p   = &d->machine[i].p,
                                      .on  = d->machine[i].on };
    return compare_layerwise_devices(kind, setting, from, d->n, &d->all, &d->by, out, err);
}

void devices_left_out_free(devices_left_out *d)
{
    for (size_t i = 0; i < d->n; i++)
        measured_device_free(&d->machine[i]);
    free(d->all.point); /* what they hold is the machines' */
    free(d->at);
    split_free(&d->by);
}
