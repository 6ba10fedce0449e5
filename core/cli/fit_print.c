/* Messages of layermeter fit: unused rows, and questions that the data leave open. */
#include "cli/cmd_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/collectives.h"
#include "fit/fit.h"
#include "single/model.h"

/* Names the coefficients that the data cannot tell apart, in one line. */
static void print_undetermined(const points *p, const form *f, const fitted *found)
{
    bool any = false, nodes = false;

    for (size_t k = 0; k < f->n_features && !found->by_allreduces; k++) {
        if (found->coefficient[k].determined || !form_takes(p, f->feature[k]))
            continue;
        if (!any)
            fprintf(stderr, "layermeter: %s.%s: the data cannot determine", f->model,
                    phase_formula(f->part));
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
        fprintf(stderr,
                "layermeter: %s.%s: the data tell %zu of %zu coefficients apart, the others go by "
                "similar kernels: measure more networks, batches or images\n",
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
        fprintf(
            stderr,
            "layermeter: %s: no network was measured: they are told as sums of layers, without an "
            "interval: measure %d networks or more\n",
            obs->path, INTERVAL_GROUPS);
    else if (count_networks(p) == 1)
        fprintf(
            stderr,
            "layermeter: %s: one network only: of others nothing is known but what similar kernels "
            "take, and no interval: measure %d networks or more\n",
            obs->path, INTERVAL_GROUPS);
    else
        fprintf(
            stderr,
            "layermeter: %s: intervals are unknown: they take %d %s or more that can be left out\n",
            obs->path, INTERVAL_GROUPS, only_allreduces(p) ? "numbers of nodes" : "networks");
}

/* Open questions about all-reduces. */
static void print_allreduces(const observations *obs, const points *p, const calibration *cal)
{
    const size_t           uneven = collectives_uneven(p);
    const algorithm_model *first =
        collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL);

    if (uneven)
        fprintf(stderr,
                "layermeter: %s: %zu all-reduce%s not used: their ranks are not the same number on "
                "each host\n",
                obs->path, uneven, uneven == 1 ? " is" : "s are");
    if (!first)
        return;
    if (strcmp(first->name, ALGORITHM_DEFAULT) != 0 && !p->algorithm)
        fprintf(stderr,
                "layermeter: %s: no all-reduce by the library's own choice: '%s' answers for it\n",
                obs->path, first->name);
    if (first->of[FABRIC_MULTI].one_count)
        fprintf(
            stderr,
            "layermeter: %s: all-reduces between nodes were measured on one number of nodes: how "
            "their latency grows is assumed; measure two more, one of 8 nodes or more\n",
            obs->path);
}

/* Rows that no fit uses, and rows that are missing. */
static void print_unused(const observations *obs, const points *p, const calibration *cal,
                         bool corrected)
{
    if (obs->cut_short)
        fprintf(
            stderr,
            "layermeter: %s: the last line is cut short and left out (a run that was killed?)\n",
            obs->path);
    if (obs->n_skipped)
        fprintf(stderr, "layermeter: %zu rows hold no time (skipped when measured)\n",
                obs->n_skipped);
    for (size_t i = 0; i < p->n_points; i++)
        if (p->point[i].load.counts.layers_not_lowered) {
            fprintf(stderr,
                    "layermeter: %s has layers without kernels: no regressor holds their FLOPs\n",
                    p->point[i].row->name);
            break;
        }
    if (p->n_kernel_rows && !cal->operators)
        fprintf(stderr,
                "layermeter: %zu rows of single kernels are not used: of no kind there are %zu\n",
                p->n_kernel_rows, layer_classes[FIRST_LAUNCH]->fewest);
    if (p->n_layer_rows)
        fprintf(stderr,
                "layermeter: %zu rows of single layers are not used beside whole networks\n",
                p->n_layer_rows);
    if (p->n_other_optimizer)
        fprintf(stderr, "layermeter: the update of %zu points is left out: another optimizer\n",
                p->n_other_optimizer);
    if (fit_steps_alone(p) && !corrected)
        fprintf(
            stderr,
            "layermeter: whole steps of %zu point%s are not used beside steps with their parts: "
            "--correct takes them\n",
            fit_steps_alone(p), fit_steps_alone(p) == 1 ? "" : "s");
}

/* Formulas with too few rows, and coefficients that rows cannot tell apart. */
static void print_left_out(const points *p, const calibration *cal)
{
    for (size_t c = 0; cal->layers && c < N_LAYER_CLASSES; c++)
        if (cal->layers->of[c].rows && !cal->layers->of[c].present)
            fprintf(stderr,
                    "layermeter: %s.single.%s is left out: %zu times of such layers, %zu are "
                    "needed\n",
                    DEFAULT_MODEL, layer_classes[c]->name, cal->layers->of[c].rows,
                    layer_classes[c]->fewest);
    for (size_t i = 0; i < n_forms && !only_allreduces(p); i++) {
        const fitted *f = &cal->fitted[i];

        if (!f->present) {
            /* few files have it, so it is not missing */
            if ((!f->rows && !part_calibrated(forms[i].part)) || cal->curves.n)
                continue;
            if (!form_left(p, &forms[i])) {
                fprintf(stderr, "layermeter: %s.%s is left out: --features leaves it none\n",
                        forms[i].model, phase_formula(forms[i].part));
                continue;
            }
            fprintf(stderr, "layermeter: %s.%s is left out: too few rows, it needs %zu\n",
                    forms[i].model, phase_formula(forms[i].part), form_rows(&forms[i]));
            continue;
        }
        print_undetermined(p, &forms[i], f);
        print_tied(i, f);
    }
}

void fit_print_warnings(const observations *obs, const points *p, const calibration *cal,
                        bool corrected)
{
    print_unused(obs, p, cal, corrected);
    print_flagged(obs, p);
    print_allreduces(obs, p, cal);
    print_left_out(p, cal);
    if (p->n_points)
        print_unknown_intervals(obs, p, cal);
}
