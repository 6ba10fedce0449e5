/* A machine file from observations, or several machine files that share a learned model. */
#include "assemble/assembly.h"

#include "assemble/host_fit.h"
#include "base/no_memory.h"
#include "counts/feature_set.h"
#include "fit/fit.h"
#include "machine/machine.h"
#include "models/learned.h"
#include "observe/launches.h"
#include "observe/variants.h"
#include "program/row_layout.h"

/* State of a fit. */
typedef struct assembling {
    const assembly_question *q;
    workloads               *loads;
    taught_models           *models;
    const char              *path, *device; /* NULL: not given */
    calibration             *layers;        /* machine file of single layers, or NULL */
    assembly                *out;
    lm_error                *err;
} assembling;

static lm_status choose_points(assembling *w)
{
    const assembly_question *q      = w->q;
    points                  *p      = &w->out->p;
    lm_status                status = rows_settle_replicas(w->out->obs, w->err);

    if (status || (status = points_from(w->out->obs, w->loads, p, w->err)))
        return status;
    if (q->where)
        status = points_where(p, q->where, w->err);
    if (!status && q->algorithm)
        status = points_choose_algorithm(p, q->algorithm, w->err);
    if (status)
        lm_error_prefix(w->err, "%s", w->path);
    return status;
}

/* Selects regressors by name; learned models have their own features. */
static lm_status choose_features(assembling *w)
{
    const char *known[N_FEATURES];
    lm_status   status = LM_OK;

    w->out->p.features = w->q->features;
    if (!w->models->n)
        status =
            feature_set_check(w->q->features, known, feature_choices(known), "a formula", w->err);
    if (status)
        lm_error_prefix(w->err, "--features");
    return status;
}

/* Fits. Streams alone allow no fit, but prices of other machines. */
static lm_status fit_to(assembling *w)
{
    assembly  *a     = w->out;
    const bool alone = w->q->like.n && launches_only(a->obs) && !a->p.n_kernel_rows;

    return (alone ? fit_none : fit_all)(a->obs, &a->p, &a->cal, w->err);
}

/* Teaches models on the device of the command line, else the file's. */
static lm_status teach(assembling *w)
{
    assembly        *a      = w->out;
    layerwise_source from   = { .obs = a->obs, .p = &a->p };
    device_list     *list   = NULL;
    points           clocks = { 0 };
    bool             more   = false;
    lm_status        status = LM_OK;

    for (size_t i = 0; i < w->models->n && !more && !status; i++)
        if (w->models->of[i].kind->clocks)
            status = fit_every_clock(a->obs, w->loads, w->q->where, &clocks, &more, w->err);
    from.clocks = more ? &clocks : NULL;
    if (!status && w->models->n)
        status = learned_device(w->device, observations_provenance(a->obs, "device"), w->q->sheets,
                                &list, &from.on, w->err);
    if (!status && w->device && from.on && !calibration_measured_on(a->cal, from.on->name))
        status = no_memory(w->err);
    if (!status)
        status = taught_models_teach(w->models, &from, 1, &a->cal, w->err);
    devices_free(list);
    if (more)
        points_free(&clocks);
    return status;
}

static lm_status note(const assembling *w)
{
    const assembly_question *q   = w->q;
    calibration             *cal = w->out->cal;

    if ((q->algorithm && !calibration_note(cal, "fitted_algorithm", q->algorithm)) ||
        (q->features && !calibration_note(cal, "fitted_features", q->features)))
        return no_memory(w->err);
    return LM_OK;
}

static lm_status run(assembling *w)
{
    const assembly_question *q   = w->q;
    assembly                *a   = w->out;
    lm_error                *err = w->err;
    lm_status                status;

    if ((!a->obs && (status = observations_load(w->path, &a->obs, err))) ||
        (status = choose_points(w)) || (status = choose_features(w)) ||
        (q->layers && (status = fit_layers_load(q->layers, a->obs, &a->p, &w->layers, err))) ||
        (status = fit_to(w)) ||
        (w->layers && (status = fit_layers_compose(&a->p, w->layers, a->cal, err))) ||
        (q->like.n && (status = fit_like(a->cal, w->path, &q->like, err))) ||
        (status = fit_residual(a->obs, &a->p, q->residual, a->cal, &a->residuals, err)) ||
        (status = teach(w)) ||
        (status = fit_powers_of(a->obs, w->loads, &a->p, q->where, w->device, &q->power, a->cal,
                                &a->powers, err)) ||
        (status = limit_rows_fit(a->obs, w->loads, a->cal, &a->limits_unkept, err)) ||
        (q->correct && (status = fit_runs_correct(q->correct, w->loads, a->cal, &a->runs, err))) ||
        (q->host && (status = host_fit(q->host, w->loads, a->cal, err))) || (status = note(w)))
        return status;
    return machine_save(a->cal, q->outputs.at[0], err);
}

lm_status assembly_of(const assembly_question *q, workloads *loads, taught_models *models,
                      assembly *out, lm_error *err)
{
    assembling      w      = { .q      = q,
                               .loads  = loads,
                               .models = models,
                               .path   = q->paths.at[0],
                               .device = q->devices.n ? q->devices.at[0] : NULL,
                               .out    = out,
                               .err    = err };
    const lm_status status = run(&w);

    if (w.layers && out->p.layers == w.layers->layers)
        out->p.layers = NULL; /* freed below */
    calibration_free(w.layers);
    return status;
}

void assembly_free(assembly *a)
{
    power_rows_free(&a->powers.rows);
    fit_runs_free(&a->runs);
    points_free(&a->p);
    calibration_free(a->cal);
    observations_free(a->obs);
}
