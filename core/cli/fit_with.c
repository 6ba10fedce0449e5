/* What a fit takes beside observations: --layers, --like and --correct. */
#include "cli/cmd_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "devices/device.h"
#include "fit/composed_points.h"
#include "machine/machine.h"
#include "observe/points.h"
#include "single/model.h"
#include "transfer/layers.h"

/* ---- layers ------------------------------------------------------------------------------------
 */

/* Prices of another element type, or of another device, say nothing of these networks. */
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
        return lm_error_set(err, LM_E_NOTFOUND,
                            "--layers %s: no prices of single layers in it: it was fitted to none",
                            path);
    p->layers = (*out)->layers;
    return LM_OK;
}

lm_status fit_layers_compose(const points *p, calibration *layers, calibration *to, lm_error *err)
{
    lm_status status;

    if (to->layers && layer_model_any(to->layers))
        return lm_error_set(err, LM_E_ARG,
                            "--layers: these are single layers themselves: it takes networks");
    if (!(to->composed = malloc(sizeof *to->composed)))
        return no_memory(err);
    if ((status = composed_calibrate(p, layers->layers, to->composed, err)))
        return status;
    if (!to->composed->step.rows && !to->composed->inference.rows)
        return lm_error_set(err, LM_E_ARG,
                            "--layers: no network whose layers all have prices was measured as a "
                            "whole (phase step or inference)");
    if (to->layers)
        layer_model_free(to->layers);
    free(to->layers);
    to->layers     = layers->layers;
    layers->layers = NULL;
    return LM_OK;
}

/* ---- like --------------------------------------------------------------------------------------
 */

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
        status = lm_error_set(err, LM_E_NOTFOUND, "%s: has no prices of single kernels", file);
    out->cal = *cal;
    return status ? status : device_of(*cal, file, list, &out->device, err);
}

lm_status fit_like(calibration *cal, const char *path, const option_texts *files, lm_error *err)
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

/* ---- correct -----------------------------------------------------------------------------------
 */

#define FACTORS_TEXT 160

/* "host x1, flops x1.02, bandwidth x1.19, depth x1" */
static const char *print_factors(const correct_factors *f, char out[FACTORS_TEXT])
{
    size_t n = 0;

    for (resource r = 0; r < N_RESOURCES; r++)
        n += (size_t)snprintf(out + n, FACTORS_TEXT - n, "%s%s x%.3g", n ? ", " : "",
                              resource_name(r), f->of[r]);
    return out;
}

static lm_status note(const fit_runs *f, calibration *cal, lm_error *err)
{
    char factors[FACTORS_TEXT], text[FACTORS_TEXT + 140];

    if (!f->correction.kept)
        return LM_OK;
    snprintf(text, sizeof text, "%zu runs of %zu networks: %s, of %.60s", f->rows.runs,
             f->rows.networks, print_factors(&f->correction.factors, factors), f->path);
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
    points_free(&p);
    observations_free(obs);
    return status;
}

static void print_unused(const fit_runs *f, size_t n, const char *why)
{
    if (n)
        fprintf(stderr, "layermeter: %s: %zu run%s not used: %s\n", f->path, n,
                n == 1 ? " is" : "s are", why);
}

static void print_correction(const fit_runs *f)
{
    const run_correction *c = &f->correction;
    char                  factors[FACTORS_TEXT];

    fprintf(stderr,
            "layermeter: %s: %zu runs of %zu network%s: %.1f %% off by the fit, %.1f %% with each "
            "%s left out of the correction: ",
            f->path, f->rows.runs, f->rows.networks, f->rows.networks == 1 ? "" : "s",
            100 * c->errors.mape_before, 100 * c->errors.mape,
            c->by_network ? "network" : "configuration");
    if (c->kept)
        fprintf(stderr, "corrected by %s\n", print_factors(&c->factors, factors));
    else
        fprintf(stderr, "that does not help, and nothing is corrected\n");
}

void fit_runs_print(const fit_runs *f)
{
    const run_rows *r = &f->rows;

    if (!f->path)
        return;
    print_unused(f, r->n_doubtful, "flagged");
    print_unused(f, r->n_other, "of another element type, other settings or another optimizer");
    print_unused(f, r->n_exposed, "all-reduces are more than a fifth of the step");
    print_unused(f, r->n_untold, "coefficients for the network or its all-reduces are unknown");
    if (r->n > 1)
        print_correction(f);
    else
        fprintf(stderr,
                "layermeter: %s: nothing is corrected by one configuration, which shows nothing of "
                "others: run another network, or another batch\n",
                f->path);
}

void fit_runs_free(fit_runs *f)
{
    run_rows_free(&f->rows);
}
