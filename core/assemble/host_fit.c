/* Host time of an eager framework, fitted to its steps. */
#include "assemble/host_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/settings.h"
#include "models/step_model.h"
#include "network/autocast.h"
#include "observe/points.h"
#include "solve/folds.h"

/* A step of a framework, or its pass of inference: measured times of its parts, times of the device,
 * numbers of operations. */
typedef struct sample {
    size_t          group;
    double          seconds[N_HOST_PARTS], own[N_HOST_PARTS];
    host_operations n;
} sample;

/* All of one program, whose last part is `last`. */
typedef struct samples {
    host_part last;
    sample   *at;
    size_t    n, n_other, n_busy;
} samples;

static host_part first_of(host_part last)
{
    return last == HOST_INFERENCE ? HOST_INFERENCE : HOST_FORWARD;
}

static double sum_to(host_part last, const double *part)
{
    double sum = 0;

    for (host_part k = first_of(last); k <= last; k++)
        sum += part[k];
    return sum;
}

/* Predicted times of the parts of a step up to `last`, one after the other. */
static void predict_parts(const sample *s, const host_time *h, host_part last, double *out)
{
    host_clock clock = { 0, 0 };

    for (host_part k = first_of(last); k <= last; k++)
        out[k] = host_pass(&clock, h->queue, host_work_of(h, &s->n, k), s->own[k]);
}

static double part_with(const sample *s, const host_time *h, host_part part, double seconds)
{
    host_time try = *h;
    double    out[N_HOST_PARTS];

    try.seconds[part] = seconds;
    predict_parts(s, &try, part, out);
    return out[part];
}

/* The time of an operation that gives the measured part; the part increases with it. */
static double solve(const sample *s, const host_time *h, host_part part)
{
    double low = 0, high = s->seconds[part] / s->n.n[part];

    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;

        if (part_with(s, h, part, middle) < s->seconds[part])
            low = middle;
        else
            high = middle;
    }
    return low > 0 ? high : 0; /* 0: the device alone takes longer */
}

static double loss(const samples *all, const fold_turn *t, const host_time *h, host_part part,
                   double seconds)
{
    double sum = 0;

    for (size_t i = 0; i < all->n; i++)
        if (fold_in(t, i))
            sum += fabs(log(part_with(&all->at[i], h, part, seconds) / all->at[i].seconds[part]));
    return sum;
}

/* The time of an operation of a part that minimises a sum of absolute values: at the minimum one of
 * them is 0. Returns the sum. */
static double least(const samples *all, const fold_turn *t, host_time *h, host_part part)
{
    double sum = INFINITY, best = NAN;

    for (size_t i = 0; i < all->n; i++) {
        double at, here;

        if (!fold_in(t, i) || !(all->at[i].n.n[part] > 0))
            continue;
        at   = solve(&all->at[i], h, part);
        here = loss(all, t, h, part, at);
        if (here < sum) {
            sum  = here;
            best = at;
        }
    }
    h->seconds[part] = best;
    return sum;
}

/* Seconds of a plane that are tried: each is 1.2 times the one before it. */
#define PLANE_LEAST 1e-9
#define PLANE_MOST  1e-5
#define PLANE_STEP  1.2

/* Each part's time of an operation in training, in order: a device with a queue carries work from
 * part to part. Of the times of a plane, the one with the least loss in both passes. */
static void fit_parts(const samples *all, const fold_turn *t, host_time *h)
{
    host_time try = *h;
    double    sum = INFINITY, plane = 0;

    do {
        double here;

        try.plane = plane;
        here      = least(all, t, &try, HOST_FORWARD) + least(all, t, &try, HOST_BACKWARD);
        if (plane == 0 || here < sum) {
            sum = here;
            *h  = try;
        }
        plane = plane > 0 ? plane * PLANE_STEP : PLANE_LEAST;
    } while (plane < PLANE_MOST && !h->queue);
    least(all, t, h, HOST_UPDATE);
}

/* A fit, and the held-out error of each sample; NAN: none. */
typedef struct host_fitting {
    const samples *all;
    host_time      h;
    double        *error;
} host_fitting;

static lm_status fit_turn(void *context, const fold_turn *t, lm_error *err)
{
    host_fitting   *f    = context;
    const host_part last = f->all->last;

    (void)err;
    if (last == HOST_INFERENCE)
        least(f->all, t, &f->h, HOST_INFERENCE);
    else
        fit_parts(f->all, t, &f->h);
    for (size_t i = 0; i < f->all->n; i++) {
        const sample *s = &f->all->at[i];
        double        part[N_HOST_PARTS];

        if (!fold_out(t, i))
            continue;
        predict_parts(s, &f->h, last, part); /* a clock takes NAN for no time */
        f->error[i] = isnan(sum_to(last, f->h.seconds))
                          ? NAN
                          : fabs(sum_to(last, part) / sum_to(last, s->seconds) - 1);
    }
    return LM_OK;
}

/* Fits to all samples; `mape` is the error of left-out networks; NAN for a single network. */
static lm_status fit_samples(const samples *all, size_t groups, host_time *h, double *mape,
                             lm_error *err)
{
    double      *error  = malloc((all->n + 1) * sizeof *error);
    size_t      *of     = malloc((all->n + 1) * sizeof *of);
    const folds  whole  = { .rows = all->n, .all = true };
    const folds  by     = { .of = of, .rows = all->n, .n = groups };
    host_fitting f      = { .all = all, .h = *h, .error = error };
    double       sum    = 0;
    lm_status    status = error && of ? folds_leave_out(&whole, fit_turn, &f, err) : no_memory(err);

    if (!status) {
        *h = f.h;
        for (size_t i = 0; i < all->n; i++)
            of[i] = all->at[i].group;
        status = folds_leave_out(&by, fit_turn, &f, err);
    }
    for (size_t i = 0; i < all->n && !status; i++)
        sum += error[i];
    *mape = sum / (double)all->n;
    free(error);
    free(of);
    return status;
}

static bool has_step(const point *pt, host_part last)
{
    const double *seconds = pt->seconds;

    return pt->row->kind == OBS_NETWORK && pt->row->ranks == 1 &&
           !isnan(last == HOST_INFERENCE
                      ? seconds[PHASE_INFERENCE]
                      : seconds[PHASE_FORWARD] + seconds[PHASE_BACKWARD] + seconds[PHASE_UPDATE]);
}

/* Files of `amp=` are of autocast, too: their networks were counted in the type of their weights. */
static bool is_of(const calibration *cal, const observation *row)
{
    const lm_dtype mixed = autocast_of_settings(row->settings), own = cal->mixed;

    return (!cal->dtype || row->dtype == cal->dtype) &&
           (mixed == own ||
            (mixed && !own && dtype_of_rate(mixed, calibration_product_dtype(cal))));
}

static lm_status take(const calibration *cal, workloads *loads, const point *pt, const host_time *h,
                      samples *to, lm_error *err)
{
    const observation *row  = pt->row;
    predictor          who  = { .cal       = cal,
                                .loads     = loads,
                                .model     = DEFAULT_MODEL,
                                .network   = row->name,
                                .input     = *pt->input ? pt->input : NULL,
                                .dtype     = row->dtype,
                                .mixed     = cal->mixed,
                                .framework = FRAMEWORK_EAGER };
    const model_source from = { .optimizer = optimizer_name(OPTIMIZER_MOMENTUM) };
    step_setup         s    = step_setup_of(row->batch, 1);
    sample            *one  = &to->at[to->n];
    const bool         eval = to->last == HOST_INFERENCE;
    workload_name      of   = row_workload(row, eval);
    step_price         p;
    double             own, measured;
    lm_status          status = optimizer_parse(observation_optimizer(row), &s.optimizer, err);

    if (!status && !eval)
        status = optimizer_check_measured(s.optimizer, err);

    of.mixed  = who.mixed; /* as predictions count it */
    s.program = eval ? PROGRAM_INFERENCE : PROGRAM_TRAINING;
    if (status || (status = predictor_open(&who, &from, err)))
        return status;
    if (!(status = who.by->price(&who, &s, &p, err)))
        status = host_operations_at(loads, &of, row->batch, s.optimizer, h, &one->n, err);
    predictor_close(&who);
    if (status)
        return status;
    *one     = (sample){ .group   = pt->group,
                         .seconds = { pt->seconds[PHASE_FORWARD], pt->seconds[PHASE_BACKWARD],
                                      pt->seconds[PHASE_UPDATE], pt->seconds[PHASE_INFERENCE] },
                         .own = { p.forward.value, p.backward.value, p.update.value, p.forward.value },
                         .n   = one->n };
    own      = sum_to(to->last, one->own);
    measured = sum_to(to->last, one->seconds);
    if (isnan(own))
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "the machine has no passes and updates by themselves");
    if ((h->queue ? 2 * own : own) < measured)
        to->n++;
    else
        to->n_busy++;
    return LM_OK;
}

static lm_status take_all(const observations *obs, const points *p, workloads *loads,
                          const calibration *cal, const host_time *h, samples *out, lm_error *err)
{
    lm_status status = LM_OK;

    out->at = calloc(p->n_points + 1, sizeof *out->at);
    if (!out->at)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points && !status; i++) {
        const point *pt = &p->point[i];

        if (!has_step(pt, out->last))
            continue;
        if (!is_of(cal, pt->row))
            out->n_other++;
        else if ((status = take(cal, loads, pt, h, out, err)))
            lm_error_prefix(err, "%s:%d", obs->path, pt->row->line);
    }
    if (!status && !out->n && out->last != HOST_INFERENCE)
        status = lm_error_set(
            err, LM_E_ARG,
            "%s: has no information about the host: of %zu steps the device takes more than "
            "half, %zu are of other element types: measure smaller batches",
            obs->path, out->n_busy, out->n_other);
    return status;
}

/* "collect.py, PyTorch 2.4.0" */
static void name_framework(const observations *obs, host_time *h)
{
    const char *program = observations_provenance(obs, "program");
    const char *behind  = program ? strstr(program, "PyTorch") : NULL;

    snprintf(h->framework, sizeof h->framework, "%s",
             behind    ? behind
             : program ? program
                       : "not said");
}

/* Does an update handle all tensors at once? By the settings of the first row, else as PyTorch: on
 * GPUs since 2.0. */
static bool updates_at_once(const observations *obs, const host_time *h)
{
    const char *settings = obs->n_rows ? obs->row[0].settings : "";
    const char *version  = strstr(h->framework, "PyTorch ");
    size_t      n;

    if (setting_value(settings, "update", &n))
        return !setting_is(settings, "update", "single");
    return h->queue && version && strtod(version + strlen("PyTorch "), NULL) >= 2;
}

/* Fits all parts up to `last`; inference is not needed. */
static lm_status fit_to(const observations *obs, const points *p, workloads *loads,
                        const calibration *cal, host_part last, host_time *h, lm_error *err)
{
    samples   all    = { .last = last };
    double    mape   = NAN;
    lm_status status = take_all(obs, p, loads, cal, h, &all, err);

    if (!status && all.n)
        status = fit_samples(&all, p->n_groups, h, &mape, err);
    *(last == HOST_INFERENCE ? &h->inference_rows : &h->rows) = all.n;
    *(last == HOST_INFERENCE ? &h->inference_mape : &h->mape) = mape;
    free(all.at);
    return status;
}

lm_status host_fit(const char *path, workloads *loads, calibration *cal, lm_error *err)
{
    observations *obs = NULL;
    points        p   = { 0 };
    host_time     h   = { 0 };
    lm_status     status;

    if (!(status = observations_load(path, &obs, err)) &&
        !(status = points_from(obs, loads, &p, err))) {
        h.queue = observations_provenance(obs, "gpu") != NULL;
        name_framework(obs, &h);
        h.foreach = updates_at_once(obs, &h);
        if (!(status = fit_to(obs, &p, loads, cal, HOST_UPDATE, &h, err)))
            status = fit_to(obs, &p, loads, cal, HOST_INFERENCE, &h, err);
    }
    if (!status)
        cal->host = h;
    points_free(&p);
    observations_free(obs);
    return status;
}
