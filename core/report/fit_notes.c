/* Messages of layermeter fit: what was found, unused rows, and questions that the data leave open. */
#include "report/fit_notes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/collectives.h"
#include "fit/fit.h"
#include "fit/forms.h"
#include "observe/doubts.h"
#include "observe/points.h"
#include "report/notes.h"
#include "single/model.h"
#include "single/residual.h"

/* ---- residuals ---- */

/* The residual of one class, in a line. */
static void print_class(const char *path, const char *part_text, const residual_trees *judged,
                        size_t count, bool on)
{
    note_begin("%s: residual of %s: ", path, part_text);
    if (judged->judged)
        fprintf(stderr, "%.1f %% error with it, %.1f %% without, on %zu times of other shapes%s\n",
                100 * judged->mape, 100 * judged->mape_priced, judged->judged,
                on ? "" : "; it is not used");
    else
        fprintf(stderr, "%zu times are too few; it needs %d of several shapes and is not used\n",
                count, RESIDUAL_ROWS);
}

static void print_residuals(const char *path, const layer_model *m, const residual_trees *judged)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        if (m->of[c].present && m->of[c].rows) {
            char name[40];

            print_class(path, layer_class_part(c, name), &judged[c], m->of[c].rows,
                        m->learned && m->learned->of[c]);
        }
}

/* ---- learned models ---- */

static void print_tasks(const char *path, const layerwise_model *m)
{
    for (size_t i = 0; i < m->n_tasks; i++) {
        const layerwise_judgement *j = &m->task[i].judged;
        char                       name[LAYERWISE_TASK_TEXT];

        if (j->held)
            note("%s: %s: %s: %.1f %% error on %zu of %zu times that were left out", path,
                 m->kind->name, layerwise_task_text(m->kind, &m->task[i], name), 100 * j->mape,
                 j->held, j->held + j->seen);
        else
            note(
                "%s: %s: %s: error unknown, because no times could be left out: measure more shapes",
                path, m->kind->name, layerwise_task_text(m->kind, &m->task[i], name));
    }
}

/* Counts that no row varies: those that a type of layer does not have are 0. */
static bool is_constant(const layerwise_range *f)
{
    return f->sort == LAYERWISE_COUNT && !(f->low < f->high) && f->low != 0;
}

/* One line, by task; watts are of the same rows. */
static void print_constant(const char *path, const layerwise_model *m)
{
    size_t tasks = 0;

    for (size_t i = 0; i < m->n_tasks; i++) {
        const layerwise_task *t = &m->task[i];
        size_t                n = 0;

        for (size_t k = 0; k < t->n_features && t->target == LAYERWISE_SECONDS; k++) {
            if (!is_constant(&t->feature[k]))
                continue;
            if (!tasks)
                note_begin(
                    "%s: %s: features with the same value in all rows, which the model cannot use:",
                    path, m->kind->name);
            tasks += !n;
            fprintf(stderr, "%s %s", n++ ? "," : tasks > 1 ? ";" : "", t->feature[k].name);
        }
        if (n)
            fprintf(stderr, " of '%s'", t->name);
    }
    if (tasks)
        fputc('\n', stderr);
}

static void print_little(const char *path, const taught_model *t)
{
    for (size_t i = 0; i < t->n_little; i++)
        note("%s: %s learns nothing of '%s': %zu times, it takes %zu or more", path, t->kind->name,
             t->little[i].task, t->little[i].n, t->kind->fewest);
}

static void print_taught(const char *path, const taught_models *t)
{
    bool any = false;

    for (size_t i = 0; i < t->n; i++) {
        const taught_model *m = &t->of[i];

        if (!m->model)
            continue;
        print_little(path, m);
        print_tasks(path, m->model);
        print_constant(path, m->model);
        any = true;
    }
    for (size_t i = 0; i < t->n && any; i++)
        if (t->of[i].left_out.code)
            note("%s: left out", t->of[i].left_out.text);
}

/* ---- powers ---- */

static void print_limits(const assembly *a)
{
    const limit_curves *l    = a->cal ? &a->cal->limits : NULL;
    const char         *path = a->obs ? a->obs->path : "";

    if (a->limits_unkept)
        fprintf(stderr,
                "layermeter: %s: %zu row%s drew more than the power limit, which the device cannot "
                "keep: left out\n",
                path, a->limits_unkept, a->limits_unkept == 1 ? "" : "s");
    if (l && l->n)
        fprintf(
            stderr,
            "layermeter: %s: %zu step%s under power limits: each of %zu limits left out is %.1f "
            "%% off in time, %.1f %% in power\n",
            path, l->n, l->n == 1 ? "" : "s", l->rows, 100 * l->seconds_mape, 100 * l->watts_mape);
}

static void print_powers(const assembly *a)
{
    const observations *obs   = a->obs;
    const power_rows   *found = &a->powers.rows;
    const calibration  *cal   = a->cal;

    if (a->powers.unknown)
        note(
            "--device: no datasheet has a limit or a clock of '%s', which powers are then without ('layermeter devices' lists those that have)",
            a->powers.unknown);
    if (!a->powers.fitted)
        return;
    if (found->unused)
        note("%s: %zu power%s not used: of several ranks, or of what has no prices", obs->path,
             found->unused, found->unused == 1 ? " is" : "s are");
    if (found->waiting)
        note("%s: %zu steps of several ranks tell what a device draws while it waits: %.4g W",
             obs->path, found->waiting, cal->power->wait_w);
    if (found->odd)
        note(
            "%s:%d: %zu power%s left out here and behind: a twentieth or twenty times of what the others are, or at eight times their clock",
            obs->path, found->odd_line, found->odd, found->odd == 1 ? " is" : "s are");
    if (found->no_rest)
        note(
            "%s: what the file says is drawn at rest (idle_power) is left out: most powers at work are below it",
            obs->path);
    if (!cal->power)
        note("%s: %zu powers, a model of them takes %d or more", obs->path, found->n,
             POWER_LEAST_ROWS);
    else if (!power_clocks_known(cal->power))
        note(
            "%s: power is known at one clock only: for others give --idle-power and --voltage-knee, or measure at several",
            obs->path);
}

/* ---- runs ---- */

static void print_unused_runs(const fit_runs *f, size_t n, const char *why)
{
    if (n)
        note("%s: %zu run%s not used: %s", f->path, n, n == 1 ? " is" : "s are", why);
}

static void print_correction(const fit_runs *f)
{
    const run_correction *c = &f->correction;
    char                  factors[FIT_FACTORS_TEXT];

    note_begin(
        "%s: %zu runs of %zu network%s: %.1f %% off by the fit, %.1f %% with each %s left out of the correction: ",
        f->path, f->rows.runs, f->rows.networks, f->rows.networks == 1 ? "" : "s",
        100 * c->errors.mape_before, 100 * c->errors.mape,
        c->by_network ? "network" : "configuration");
    if (c->kept)
        fprintf(stderr, "corrected by %s\n", fit_factors_print(&c->factors, factors));
    else
        fprintf(stderr, "that does not help, and nothing is corrected\n");
}

static void print_runs(const fit_runs *f)
{
    const run_rows *r = &f->rows;

    if (!f->path)
        return;
    note_cut_short(f->cut_short, f->path);
    print_unused_runs(f, r->n_doubtful, "flagged");
    print_unused_runs(f, r->n_other,
                      "of another element type, other settings or another optimizer");
    print_unused_runs(f, r->n_exposed, "all-reduces are more than a fifth of the step");
    print_unused_runs(f, r->n_untold,
                      "coefficients for the network or its all-reduces are unknown");
    if (r->n > 1)
        print_correction(f);
    else
        note(
            "%s: nothing is corrected by one configuration, which shows nothing of others: run another network, or another batch",
            f->path);
}

/* ---- flagged and doubtful times ---- */

void fit_notes_flagged(const observations *obs, const points *p)
{
    note_cut_short(obs->cut_short, obs->path);
    if (p->n_flagged_out)
        note("%s: %zu flagged point%s left out: the same was measured again, better", obs->path,
             p->n_flagged_out, p->n_flagged_out == 1 ? " is" : "s are");
    if (p->n_flagged_used)
        note(
            "%s: %zu point%s used that %s flagged contended, throttled or drifted: nothing better was measured there",
            obs->path, p->n_flagged_used, p->n_flagged_used == 1 ? " is" : "s are",
            p->n_flagged_used == 1 ? "is" : "are");
    doubts_print(p->doubts, "layermeter: ", obs->path, stderr);
}

/* ---- what the data leave open ---- */

/* Names the coefficients that the data cannot tell apart, in one line. */
static void print_undetermined(const points *p, const form *f, const fitted *found)
{
    bool any = false, nodes = false;

    for (size_t k = 0; k < f->n_features && !found->by_allreduces; k++) {
        if (found->coefficient[k].determined || !form_takes(p, f->feature[k]))
            continue;
        if (!any)
            note_begin("%s.%s: the data cannot determine", f->model, phase_formula(f->part));
        fprintf(stderr, "%s '%s'", any ? "," : "", feature_name(f->feature[k]));
        nodes |= f->feature[k] == FEATURE_NODES || f->feature[k] == FEATURE_RING_STEPS;
        any = true;
    }
    if (any)
        fprintf(stderr, ": measure more %s\n",
                nodes ? "node counts, or more networks" : "networks, batches or images");
}

/* Rows alone tell few terms apart; families and their ratios do the rest. */
static void print_tied(size_t form_at, const fitted *f)
{
    const size_t n =
        forms[form_at].n_features || f->by_allreduces ? 0 : fitted_coefficients(&forms[form_at], f);

    if (n > 2 * f->rank)
        note(
            "%s.%s: the measurements determine %zu of %zu coefficients; the others come from similar kernels: measure more networks, batches or images",
            forms[form_at].model, phase_formula(forms[form_at].part), f->rank, n);
}

/* Number of networks, or of other groups that are left out in turn. */
static size_t count_networks(const points *p)
{
    return p->n_groups - (p->collectives != NAMES_NONE);
}

/* Are there only all-reduces, or no rows? Then no network is missing. */
static bool only_allreduces(const points *p)
{
    for (size_t i = 0; i < p->n_points; i++)
        if (p->point[i].row->kind != OBS_COLLECTIVE)
            return false;
    return true;
}

/* Was there no network as a whole, but layers by themselves? */
static bool only_layers(const points *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        if (p->point[i].row->kind == OBS_NETWORK)
            return false;
        n += p->point[i].row->kind == OBS_LAYER;
    }
    return n > 0;
}

/* Too few networks for any interval. */
static void print_unknown_intervals(const observations *obs, const points *p,
                                    const calibration *cal)
{
    if (cal->curves.n)
        return;
    for (size_t m = 0; model_at(m); m++)
        for (size_t s = 0; s < N_TIMES; s++)
            if (interval_known(&cal->intervals[m].of[s]))
                return;
    if (only_layers(p))
        note(
            "%s: no network was measured: a network is predicted as the sum of its layers, without an interval: measure %d networks or more",
            obs->path, INTERVAL_GROUPS);
    else if (count_networks(p) == 1)
        note(
            "%s: only one network was measured: predictions of others come from similar kernels, without an interval: measure %d networks or more",
            obs->path, INTERVAL_GROUPS);
    else
        note("%s: intervals are unknown: they need %d %s or more that can be left out", obs->path,
             INTERVAL_GROUPS, only_allreduces(p) ? "numbers of nodes" : "networks");
}

/* Open questions about all-reduces. */
static void print_allreduces(const observations *obs, const points *p, const calibration *cal)
{
    const size_t           uneven = collectives_uneven(p);
    const algorithm_model *first =
        collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL);

    if (uneven)
        note("%s: %zu all-reduce%s not used: their ranks are not the same number on each host",
             obs->path, uneven, uneven == 1 ? " is" : "s are");
    if (!first)
        return;
    if (strcmp(first->name, ALGORITHM_DEFAULT) != 0 && !p->algorithm)
        note("%s: no all-reduce by the library's own choice: '%s' answers for it", obs->path,
             first->name);
    if (first->of[FABRIC_MULTI].one_count)
        note(
            "%s: all-reduces between nodes were measured on one number of nodes: how their latency grows is assumed; measure two more, one of 8 nodes or more",
            obs->path);
}

/* Rows that no fit uses, and rows that are missing. */
static void print_unused(const observations *obs, const points *p, const calibration *cal,
                         bool corrected)
{
    if (obs->n_typed && obs->n_untyped)
        note("%s: %zu row%s without a dtype beside others that have one: taken as f32", obs->path,
             obs->n_untyped, obs->n_untyped == 1 ? "" : "s");
    if (obs->n_skipped)
        note("%zu rows hold no time (skipped when measured)", obs->n_skipped);
    for (size_t i = 0; i < p->n_points; i++)
        if (p->point[i].load.counts.layers_not_lowered) {
            note("%s has layers without kernels: no regressor holds their FLOPs",
                 p->point[i].row->name);
            break;
        }
    if (p->n_kernel_rows && !cal->operators)
        note("%zu rows of single kernels are not used: of no kind there are %zu", p->n_kernel_rows,
             layer_classes[FIRST_LAUNCH]->fewest);
    if (p->n_layer_rows)
        note("%zu rows of single layers are not used beside whole networks", p->n_layer_rows);
    if (p->n_other_optimizer)
        note("the update of %zu points is left out: another optimizer", p->n_other_optimizer);
    if (fit_steps_alone(p) && !corrected)
        note(
            "whole steps of %zu point%s are not used beside steps with their parts: --correct takes them",
            fit_steps_alone(p), fit_steps_alone(p) == 1 ? "" : "s");
}

/* Formulas with too few rows, and coefficients that rows cannot tell apart. */
static void print_left_out(const points *p, const calibration *cal)
{
    for (size_t c = 0; cal->layers && c < N_LAYER_CLASSES; c++)
        if (cal->layers->of[c].rows && !cal->layers->of[c].present)
            note("%s.single.%s is left out: %zu times of such layers, %zu are needed",
                 DEFAULT_MODEL, layer_classes[c]->name, cal->layers->of[c].rows,
                 layer_classes[c]->fewest);
    for (size_t i = 0; i < n_forms && !only_allreduces(p); i++) {
        const fitted *f = &cal->fitted[i];

        if (!f->present) {
            /* few files have it, so it is not missing */
            if ((!f->rows && !part_calibrated(forms[i].part)) || cal->curves.n)
                continue;
            if (!form_left(p, &forms[i])) {
                note("%s.%s is left out: --features names none of its regressors", forms[i].model,
                     phase_formula(forms[i].part));
                continue;
            }
            note("%s.%s is left out: too few rows, it needs %zu", forms[i].model,
                 phase_formula(forms[i].part), form_rows(&forms[i]));
            continue;
        }
        print_undetermined(p, &forms[i], f);
        print_tied(i, f);
    }
}

void fit_notes_found(const char *path, const assembly *a, const taught_models *t)
{
    if (a->residuals.layers)
        print_residuals(path, a->cal->layers, a->residuals.layer);
    if (a->residuals.kernels)
        print_residuals(path, a->cal->operators, a->residuals.kernel);
    print_taught(path, t);
    print_powers(a);
    print_limits(a);
}

void fit_notes_warnings(const assembly *a)
{
    const points *p         = &a->p;
    const bool    corrected = a->runs.path && !strcmp(a->runs.path, a->obs->path);

    print_unused(a->obs, p, a->cal, corrected);
    fit_notes_flagged(a->obs, p);
    print_allreduces(a->obs, p, a->cal);
    print_left_out(p, a->cal);
    if (p->n_points)
        print_unknown_intervals(a->obs, p, a->cal);
    print_runs(&a->runs);
    if (a->cal->host.rows)
        host_print(&a->cal->host, stderr);
}

void fit_notes_several(const assemblies *a, const taught_models *t, bool asked, bool done)
{
    print_taught("all files", t);
    for (size_t i = 0; i < a->n && done; i++)
        fit_notes_flagged(a->machine[i].obs, &a->machine[i].p);
    if (done && asked)
        print_residuals("all files", a->machine[0].cal->layers, a->residual);
}

/* ---- steps under layouts ---- */

void fit_notes_laid(const char *path, const laid_fit *f, bool kernels)
{
    bool first = true;

    note_begin(
        "%s: %zu steps under layouts: %.1f %% off by the machine file, %.1f %% with each of %zu groups left out of the correction: ",
        path, f->rows, 100 * f->mape_before, 100 * f->mape, f->groups);
    for (int k = 0; k < LAID_STARTS; k++) {
        if (f->factor[k] > 0.995 && f->factor[k] < 1.005)
            continue;
        fprintf(stderr, "%s%s x%.2f", first ? "" : ", ", laid_factor_name(k),
                f->factor[k]);
        first = false;
    }
    if (kernels) {
        fputc('\n', stderr);
        return;
    }
    fprintf(stderr, "%s%s %.1f us, %s %.1f us each\n", first ? "" : ", ",
            laid_factor_name(LAID_STARTS), 1e6 * LAID_START * f->factor[LAID_STARTS],
            laid_factor_name(LAID_HOST), 1e6 * LAID_LAUNCH * f->factor[LAID_HOST]);
}
