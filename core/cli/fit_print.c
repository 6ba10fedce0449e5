/* What layermeter fit says of a fit: a table, and what the data cannot say. */
#include "cli/cmd_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fit/collectives.h"
#include "fit/fit.h"
#include "single/model.h"

static void add_columns(table *t)
{
    table_column(t, "model", "model", 0);
    table_column(t, "part", "part", 0);
    table_column(t, "rows", "rows", 0);
    table_column(t, "coefficients", "coefficients", 0);
    table_column(t, "rank", "rank", 0);
    table_column(t, "condition", "condition", -1);
    table_column(t, "r2", "R2", 4);
    table_column(t, "rmse_ms", "RMSE [ms]", 3);
    table_column(t, "nrmse", "NRMSE", 3);
    table_column(t, "mape_percent", "MAPE [%]", 1);
    table_column(t, "held_out_mape_percent", "held out [%]", 1);
}

/* Of terms those that some row has. */
static size_t count_coefficients(size_t form_at, const fitted *f)
{
    size_t n = forms[form_at].n_features;

    for (size_t t = 0; !forms[form_at].n_features && t < N_TERMS; t++)
        n += f->term[t].low <= f->term[t].high;
    return n;
}

static void add_row(table *t, size_t form_at, const fitted *f)
{
    table_text(t, forms[form_at].model);
    table_text(t, phase_formula(forms[form_at].part));
    table_count(t, f->rows);
    if (f->by_allreduces) {
        table_text(t, "");
        table_text(t, "");
    } else {
        table_count(t, count_coefficients(form_at, f));
        table_count(t, f->rank);
    }
    table_real(t, f->condition);
    table_real(t, f->errors.r2);
    table_real(t, 1e3 * f->errors.rmse);
    table_real(t, f->errors.nrmse);
    table_real(t, 100 * f->errors.mape);
    table_real(t, 100 * f->held_out_mape);
}

/* All-reduces by an algorithm, within a node and between nodes; those of 0 are not in use. */
static void add_allreduces(table *t, const collective_model *m)
{
    for (size_t i = 0; i < m->n; i++)
        for (fabric at = 0; at < N_FABRICS; at++) {
            const fabric_model *of   = &m->algorithm[i].of[at];
            size_t              used = 0;
            char                name[80];

            if (!of->rows)
                continue;
            for (size_t k = 0; k < of->n_planes; k++)
                for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
                    used += of->plane[k].price[c] > 0;
            snprintf(name, sizeof name, "%s.%s.%s", collective_types[m->algorithm[i].kind].name,
                     m->algorithm[i].name, fabric_name(at));
            table_text(t, DEFAULT_MODEL);
            table_text(t, name);
            table_count(t, of->rows);
            table_count(t, used);
            table_text(t, "");
            table_real(t, NAN);
            table_real(t, of->errors.r2);
            table_real(t, 1e3 * of->errors.rmse);
            table_real(t, of->errors.nrmse);
            table_real(t, 100 * of->errors.mape);
            table_real(t, NAN);
        }
}

/* Classes of single layers, of launches without what tells little of them. */
static void add_layers(table *t, const layer_model *m)
{
    for (size_t c = 0; m && c < N_LAYER_CLASSES; c++) {
        const layer_prices *p      = &m->of[c];
        const bool          launch = layer_classes[c]->launch;
        size_t              used   = 0;
        char                part_text[40];

        if (!p->present)
            continue;
        for (size_t j = 0; j < p->columns.n; j++)
            used += p->columns.column[j].rows > 0;
        table_text(t, DEFAULT_MODEL);
        table_text(t, layer_class_part(c, part_text));
        table_count(t, p->rows);
        table_count(t, p->columns.n);
        if (launch)
            table_text(t, "");
        else
            table_count(t, used);
        table_real(t, NAN);
        table_real(t, launch ? (double)NAN : p->errors.r2);
        table_real(t, launch ? (double)NAN : 1e3 * p->errors.rmse);
        table_real(t, NAN);
        table_real(t, 100 * p->errors.mape);
        table_real(t, NAN);
    }
}

void fit_table(table *t, const calibration *cal, const learned_models *learned)
{
    add_columns(t);
    for (size_t i = 0; i < n_forms; i++)
        if (cal->fitted[i].present)
            add_row(t, i, &cal->fitted[i]);
    add_layers(t, cal->operators);
    add_layers(t, cal->layers);
    add_residuals(t, cal);
    learned_models_rows(learned, t);
    if (cal->collectives)
        add_allreduces(t, cal->collectives);
    if (cal->power)
        add_power(t, cal->power);
}

/* Coefficients that the data cannot tell apart, in one line. */
static void print_undetermined(const form *f, const fitted *found)
{
    bool any = false, nodes = false;

    for (size_t k = 0; k < f->n_features && !found->by_allreduces; k++) {
        if (found->coefficient[k].determined)
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

/* Most terms are not told apart by the rows alone; families and their ratios do the rest. */
static void print_tied(size_t form_at, const fitted *f)
{
    const size_t n =
        forms[form_at].n_features || f->by_allreduces ? 0 : count_coefficients(form_at, f);

    if (n > 2 * f->rank)
        fprintf(stderr,
                "layermeter: %s.%s: the data tell %zu of %zu coefficients apart, the others go by "
                "similar kernels: measure more networks, batches or images\n",
                forms[form_at].model, phase_formula(forms[form_at].part), f->rank, n);
}

/* Networks, or what is left out like one. */
static size_t count_networks(const points *p)
{
    return p->n_groups - (p->collectives != NAMES_NONE);
}

/* Nothing but all-reduces, or nothing: no network is missed. */
static bool only_allreduces(const points *p)
{
    for (size_t i = 0; i < p->n_points; i++)
        if (p->point[i].row->kind != OBS_COLLECTIVE)
            return false;
    return true;
}

/* Too few networks for any interval. */
static void print_unknown_intervals(const observations *obs, const points *p,
                                    const calibration *cal)
{
    for (size_t m = 0; model_at(m); m++)
        for (size_t s = 0; s < N_TIMES; s++)
            if (interval_known(&cal->intervals[m].of[s]))
                return;
    if (count_networks(p) == 1)
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

/* What was measured of all-reduces leaves open. */
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

/* Rows that no fit takes, or that are missed. */
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

/* What has too few rows, and what the rows cannot tell apart. */
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
            /* what few files hold is not missed */
            if (!f->rows && !part_calibrated(forms[i].part))
                continue;
            fprintf(stderr, "layermeter: %s.%s is left out: too few rows, it needs %zu\n",
                    forms[i].model, phase_formula(forms[i].part), form_rows(&forms[i]));
            continue;
        }
        print_undetermined(&forms[i], f);
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
