/* Inputs of a fit beside its observations. */
#include "assemble/beside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "device/device.h"
#include "fit/composed_points.h"
#include "fit/layer_watts.h"
#include "fit/singles.h"
#include "learn/boost.h"
#include "machine/machine.h"
#include "observe/launches.h"
#include "observe/variants.h"
#include "single/model.h"
#include "transfer/layers.h"

/* ---- layers ---- */

/* Refuses prices of another element type or device. */
static lm_status check_like(const char *path, const observations *obs, const calibration *layers,
                            lm_error *err)
{
    const char *there = calibration_device(layers);
    const char *here  = observations_provenance(obs, "device");

    if (there && here && strcmp(there, here) != 0)
        return lm_error_set(err, LM_E_ARG,
                            "--layers %s: of '%.60s', and these are of '%.60s': it takes single "
                            "layers of the same device",
                            path, there, here);
    for (size_t i = 0; i < obs->n_rows && layers->dtype; i++)
        if (obs->row[i].kind == OBS_NETWORK && obs->row[i].dtype != layers->dtype)
            return lm_error_set(
                err, LM_E_ARG, "--layers %s: of element type %s, and networks here are of %s", path,
                text_dtype_name(layers->dtype), text_dtype_name(obs->row[i].dtype));
    return LM_OK;
}

lm_status fit_layers_load(const char *path, const observations *obs, points *p, calibration **out,
                          lm_error *err)
{
    lm_status status = machine_load(path, out, err);

    if (status || (status = check_like(path, obs, *out, err)))
        return status;
    if (!(*out)->layers || !layer_model_any((*out)->layers))
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "--layers %s: no coefficients of single layers in it: it was fitted to none", path);
    p->layers = (*out)->layers;
    return LM_OK;
}

lm_status fit_layers_compose(const points *p, calibration *layers, calibration *to, lm_error *err)
{
    lm_status status;

    if (to->layers && layer_model_any(to->layers))
        return lm_error_set(err, LM_E_ARG,
                            "--layers: the observations are of single layers: it needs networks");
    if (!(to->composed = malloc(sizeof *to->composed)))
        return no_memory(err);
    if ((status = composed_calibrate(p, layers->layers, to->composed, err)))
        return status;
    if (!to->composed->step.rows && !to->composed->inference.rows)
        return lm_error_set(
            err, LM_E_ARG,
            "--layers: no network whose layers all have coefficients was measured as a whole (phase step or inference)");
    if (to->layers)
        layer_model_free(to->layers);
    free(to->layers);
    to->layers     = layers->layers;
    layers->layers = NULL;
    return LM_OK;
}

/* ---- like ---- */

#define MOST 16 /* machine files */

static lm_status device_of(const calibration *cal, const char *path, const device_list *list,
                           const device **out, lm_error *err)
{
    const char *name = calibration_told(cal, "device");
    lm_status   status;

    if (!name)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no 'device' in its provenance: --like needs its datasheet", path);
    if ((status = devices_find(list, name, out, err)))
        lm_error_prefix(err, "%s", path);
    return status;
}

static lm_status load(const char *file, const device_list *list, calibration **cal,
                      transfer_source *out, lm_error *err)
{
    lm_status status = machine_load(file, cal, err);

    if (!status && !(*cal)->operators)
        status =
            lm_error_set(err, LM_E_NOTFOUND, "%s: has no coefficients of single kernels", file);
    out->cal = *cal;
    return status ? status : device_of(*cal, file, list, &out->device, err);
}

lm_status fit_like(calibration *cal, const char *path, const word_list *files, lm_error *err)
{
    calibration     *of[MOST]     = { NULL };
    transfer_source  source[MOST] = { { .cal = NULL } };
    transfer_options how          = transfer_default;
    const device    *here;
    device_list     *list   = NULL;
    const size_t     n      = files->n;
    lm_status        status = devices_open(NULL, &list, err);

    how.launches = true;
    if (!status && n > MOST)
        status = lm_error_set(err, LM_E_ARG, "--like: more than %d machine files", MOST);
    if (!status)
        status = device_of(cal, path, list, &here, err);
    for (size_t i = 0; i < n && !status; i++)
        status = load(files->at[i], list, &of[i], &source[i], err);
    if (!status)
        status = transfer_prepare(source, n, here, &how, err);
    if (!status)
        status = transfer_layers_pool(source, n, here, true, &cal->operators, err);
    for (size_t i = 0; i < MOST; i++)
        calibration_free(of[i]);
    if (list)
        devices_free(list);
    return status;
}

/* ---- correct ---- */

const char *fit_factors_print(const correct_factors *f, char out[FIT_FACTORS_TEXT])
{
    *out = '\0';
    for (resource r = 0; r < N_RESOURCES; r++)
        text_add(out, FIT_FACTORS_TEXT, "%s%s x%.3g", *out ? ", " : "", resource_name(r), f->of[r]);
    return out;
}

static lm_status note(const fit_runs *f, calibration *cal, lm_error *err)
{
    char factors[FIT_FACTORS_TEXT], text[FIT_FACTORS_TEXT + 140];

    if (!f->correction.kept)
        return LM_OK;
    snprintf(text, sizeof text, "%zu runs of %zu networks: %s, of %.60s", f->rows.runs,
             f->rows.networks, fit_factors_print(&f->correction.factors, factors), f->path);
    return calibration_note(cal, "corrected_by", text) ? LM_OK : no_memory(err);
}

lm_status fit_runs_correct(const char *path, workloads *loads, calibration *cal, fit_runs *out,
                           lm_error *err)
{
    observations *obs    = NULL;
    points        p      = { 0 };
    lm_status     status = observations_load(path, &obs, err);

    out->path = path;
    if (!status && !(status = points_from(obs, loads, &p, err)) &&
        !(status = points_count_terms(&p, loads, &cal->settings, err)) &&
        ((status = run_rows_from(cal, &p, &out->rows, err)) ||
         (status = correct_by_runs(cal, &out->rows, &out->correction, err))))
        lm_error_prefix(err, "%s", path);
    if (!status)
        status = note(out, cal, err);
    out->cut_short = obs && obs->cut_short;
    points_free(&p);
    observations_free(obs);
    return status;
}

void fit_runs_free(fit_runs *f)
{
    run_rows_free(&f->rows);
}

/* ---- residuals ---- */

/* Learns powers of layers, if there are any. */
static lm_status learn_power(const points *p, calibration *cal, lm_error *err)
{
    layer_watts    *w      = NULL;
    const lm_status status = layer_watts_fit(p, cal->layers, &w, err);

    return status || !w ? status
                        : calibration_learned_add(cal, LAYER_WATTS_NAME, &layer_watts_kept, w, err);
}

static lm_status learn_kernels(const observations *obs, layer_model *m,
                               residual_trees found[N_LAYER_CLASSES], lm_error *err)
{
    launches  l;
    lm_status status = launches_from(obs, &l, err);

    if (status)
        return status;
    status = launch_learn(l.launch, NULL, l.n, l.multiprocessors, m, found, err);
    launches_free(&l);
    return status;
}

lm_status fit_residual(const observations *obs, const points *p, residual_choice choice,
                       calibration *cal, fit_residuals *out, lm_error *err)
{
    const bool layers  = cal->layers && layer_model_any(cal->layers);
    const bool kernels = cal->operators && p->n_kernel_rows;
    lm_status  status  = LM_OK;

    out->layers = out->kernels = false;
    if (choice == RESIDUAL_OFF ||
        (choice == RESIDUAL_AUTO && ((!layers && !kernels) || !boost_available())))
        return LM_OK;
    if (!layers && !kernels)
        return lm_error_set(
            err, LM_E_ARG,
            "%s: --residual on needs single layers or kernels, and here are too few: leave it out, or measure some",
            obs->path);
    if (layers && !(status = singles_learn_pool(&p, &cal->layers, 1, out->layer, err)))
        status = learn_power(p, cal, err);
    out->layers = layers && !status;
    if (!status && kernels)
        status = learn_kernels(obs, cal->operators, out->kernel, err);
    out->kernels = kernels && !status;
    if (status)
        lm_error_prefix(err, "--residual");
    return status;
}

/* ---- powers ---- */

/* Means over repetitions exceed a board's limit by this factor at most. */
#define CAP_PASSED 1.2

static bool any_power(const observations *obs)
{
    for (size_t i = 0; i < obs->n_rows; i++)
        if (obs->row[i].power_w > 0)
            return true;
    return false;
}

/* Removes the clock from `where`, in place. */
static void drop_clock(char *where)
{
    char *word = strstr(where, OBSERVATION_CLOCK);

    if (word && (word == where || strchr(" ,\t", word[-1])))
        memset(word, ' ', strcspn(word, " ,\t"));
}

static bool any_held(const observations *obs)
{
    for (size_t i = 0; i < obs->n_rows; i++)
        if (isfinite(observation_held_mhz(&obs->row[i])))
            return true;
    return false;
}

lm_status fit_every_clock(const observations *obs, workloads *loads, const char *where, points *all,
                          bool *found, lm_error *err)
{
    char     *rest;
    lm_status status;

    *found = where && any_held(obs);
    if (!*found)
        return LM_OK;
    if (!(rest = strdup(where))) {
        *found = false;
        return no_memory(err);
    }
    drop_clock(rest);
    status = points_from(obs, loads, all, err);
    if (!status && *(rest + strspn(rest, " ,\t")))
        status = points_where_but_clocks(all, rest, err);
    free(rest);
    return status;
}

/* A device draws less at rest than at work, and at work no more than its limit. */
static lm_status check_told(double idle_w, double cap_w, const power_rows *found, lm_error *err)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < found->n; i++) {
        least = fmin(least, found->row[i].watts);
        most  = fmax(most, found->row[i].watts);
    }
    if (idle_w > least)
        return lm_error_set(err, LM_E_ARG,
                            "--idle-power: %.4g W at rest, but at work it drew as little as %.4g W",
                            idle_w, least);
    if (cap_w * CAP_PASSED < most)
        return lm_error_set(err, LM_E_ARG,
                            "--power-cap: the limit is %.4g W, but it drew as much as %.4g W",
                            cap_w, most);
    return LM_OK;
}

/* Values of the options replace those of the file. */
static lm_status tell(const char *name, const power_told_by *told, const calibration *cal,
                      power_model *from, fit_powers *out, lm_error *err)
{
    const lm_status status = power_told(cal, name, from, err);

    if (!status && name && isnan(from->cap_w) && isnan(from->top_mhz))
        out->unknown = name;
    if (isfinite(told->idle_w))
        from->idle_w = told->idle_w;
    if (isfinite(told->cap_w))
        from->cap_w = told->cap_w;
    from->knee_mhz = told->knee_mhz;
    return status;
}

lm_status fit_powers_of(const observations *obs, workloads *loads, const points *p,
                        const char *where, const char *name, const power_told_by *told,
                        calibration *cal, fit_powers *out, lm_error *err)
{
    points      all  = { 0 };
    bool        more = false;
    double      usual_mhz;
    power_model from;
    lm_status   status;

    if (!any_power(obs) || power_doubted(p)) /* reported with the other doubts */
        return LM_OK;
    if ((status = tell(name, told, cal, &from, out, err)))
        return status;
    if (!(status = fit_every_clock(obs, loads, where, &all, &more, err)) &&
        !(status = power_usual_clock(p, &usual_mhz, err)) &&
        !(status = power_calibrate(more ? &all : p, usual_mhz, &from, cal, &out->rows, err)))
        status = check_told(told->idle_w, told->cap_w, &out->rows, err);
    if (status)
        lm_error_prefix(err, "%s", obs->path);
    if (more)
        points_free(&all);
    out->fitted = !status;
    return status;
}
