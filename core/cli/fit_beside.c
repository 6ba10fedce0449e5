/* Messages of layermeter fit on residuals, runs and powers. */
#include "cli/cmd_fit.h"

#include <math.h>
#include <stdio.h>

#include "fit/forms.h"
#include "fit/power_rows.h"
#include "fit/singles.h"
#include "single/residual.h"

/* The residual of one class, in a line. */
static void print_class(const char *path, const char *part_text, const residual_trees *judged,
                        size_t count, bool on)
{
    fprintf(stderr, "layermeter: %s: residual of %s: ", path, part_text);
    if (judged->judged)
        fprintf(stderr, "%.1f %% off with it, %.1f %% without, on %zu times of other shapes%s\n",
                100 * judged->mape, 100 * judged->mape_priced, judged->judged,
                on ? "" : ": it stays off");
    else
        fprintf(stderr, "%zu times are too few, it takes %d of several shapes: it stays off\n",
                count, RESIDUAL_ROWS);
}

void print_residuals(const char *path, const layer_model *m, const residual_trees *judged)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        if (m->of[c].present && m->of[c].rows) {
            char name[40];

            print_class(path, layer_class_part(c, name), &judged[c], m->of[c].rows,
                        m->learned && m->learned->of[c]);
        }
}

void fit_residuals_print(const char *path, const fit_residuals *found, const calibration *cal)
{
    if (found->layers)
        print_residuals(path, cal->layers, found->layer);
    if (found->kernels)
        print_residuals(path, cal->operators, found->kernel);
}

/* ---- runs ---- */

static void print_unused(const fit_runs *f, size_t n, const char *why)
{
    if (n)
        fprintf(stderr, "layermeter: %s: %zu run%s not used: %s\n", f->path, n,
                n == 1 ? " is" : "s are", why);
}

static void print_correction(const fit_runs *f)
{
    const run_correction *c = &f->correction;
    char                  factors[FIT_FACTORS_TEXT];

    fprintf(stderr,
            "layermeter: %s: %zu runs of %zu network%s: %.1f %% off by the fit, %.1f %% with each "
            "%s left out of the correction: ",
            f->path, f->rows.runs, f->rows.networks, f->rows.networks == 1 ? "" : "s",
            100 * c->errors.mape_before, 100 * c->errors.mape,
            c->by_network ? "network" : "configuration");
    if (c->kept)
        fprintf(stderr, "corrected by %s\n", fit_factors_print(&c->factors, factors));
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

/* ---- powers ---- */

/* Values of the options replace those of the file. */
static lm_status tell(const char *name, const power_choice *told, const calibration *cal,
                      power_model *out, lm_error *err)
{
    const lm_status status = power_told(cal, name, out, err);

    if (!status && name && isnan(out->cap_w) && isnan(out->top_mhz))
        fprintf(stderr,
                "layermeter: --device: no datasheet has a limit or a clock of '%s', which powers "
                "are then without ('layermeter devices' lists those that have)\n",
                name);
    if (isfinite(told->model.idle_w))
        out->idle_w = told->model.idle_w;
    if (isfinite(told->cap_w))
        out->cap_w = told->cap_w;
    out->knee_mhz = told->model.knee_mhz;
    return status;
}

static void say(const observations *obs, const power_rows *found, const calibration *cal)
{
    if (found->unused)
        fprintf(
            stderr,
            "layermeter: %s: %zu power%s not used: of several ranks, or of what has no prices\n",
            obs->path, found->unused, found->unused == 1 ? " is" : "s are");
    if (found->odd)
        fprintf(stderr,
                "layermeter: %s:%d: %zu power%s left out here and behind: a twentieth or twenty "
                "times of what the others are, or at eight times their clock\n",
                obs->path, found->odd_line, found->odd, found->odd == 1 ? " is" : "s are");
    if (found->no_rest)
        fprintf(
            stderr,
            "layermeter: %s: what the file says is drawn at rest (idle_power) is left out: most "
            "powers at work are below it\n",
            obs->path);
    if (!cal->power)
        fprintf(stderr, "layermeter: %s: %zu powers, a model of them takes %d or more\n", obs->path,
                found->n, POWER_LEAST_ROWS);
    else if (!power_clocks_known(cal->power))
        fprintf(
            stderr,
            "layermeter: %s: power is known at one clock only: for others tell --idle-power and "
            "--voltage-knee, or measure at several\n",
            obs->path);
}

lm_status fit_powers(const observations *obs, workloads *loads, const points *p, const char *where,
                     const char *name, const power_choice *told, calibration *cal, lm_error *err)
{
    power_asked asked = { .idle_w = told->model.idle_w, .cap_w = told->cap_w };
    power_rows  found = { 0 };
    lm_status   status;

    if (!fit_any_power(obs) || power_doubted(p)) /* reported with the other doubts */
        return LM_OK;
    if ((status = tell(name, told, cal, &asked.from, err)))
        return status;
    if (!(status = fit_power(obs, loads, p, where, &asked, cal, &found, err)))
        say(obs, &found, cal);
    power_rows_free(&found);
    return status;
}
