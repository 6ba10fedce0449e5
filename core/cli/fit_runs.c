/* --correct: a fit, corrected by runs. */
#include "cli/fit_runs.h"

#include <stdio.h>

#include "base/no_memory.h"
#include "observe/points.h"

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
