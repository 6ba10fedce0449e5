/* How good models are on observations, printed. */
#include "cli/cmd_validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "report/scatter.h"

static void add_split_columns(table *t)
{
    table_column(t, "leave_out", NULL, 0);
    table_column(t, "seed", NULL, 0);
    table_column(t, "folds", NULL, 0);
    table_column(t, "fold_points_least", NULL, 0);
    table_column(t, "fold_points_most", NULL, 0);
}

static void fold_sizes(const split *by, size_t *least, size_t *most)
{
    *least = *most = by->n_folds ? by->points[0] : 0;
    for (size_t f = 1; f < by->n_folds; f++) {
        *least = by->points[f] < *least ? by->points[f] : *least;
        *most  = by->points[f] > *most ? by->points[f] : *most;
    }
}

static void add_split(table *t, const split *by)
{
    char   text[64];
    size_t least, most;

    fold_sizes(by, &least, &most);
    table_text(t, split_rule_print(&by->rule, text, sizeof text));
    table_count(t, by->rule.seed);
    table_count(t, by->n_folds);
    table_count(t, least);
    table_count(t, most);
}

static void print_split(const split *by)
{
    char   text[64];
    size_t least, most;

    if (!by->n_folds)
        return;
    fold_sizes(by, &least, &most);
    printf("left out: %s", split_rule_print(&by->rule, text, sizeof text));
    if (by->rule.kind == SPLIT_KFOLD)
        printf(", seed %" PRIu64, by->rule.seed);
    printf("; %zu fold%s of %zu", by->n_folds, by->n_folds == 1 ? "" : "s", least);
    if (most > least)
        printf(" to %zu", most);
    printf(" points\n");
}

void judging_columns(table *t)
{
    table_column(t, "group", "group", 0);
    table_column(t, "phase", "phase", 0);
    table_column(t, "model", "model", 0);
    table_column(t, "points", "points", 0);
    table_column(t, "r2", "R2", 4);
    table_column(t, "rmse_ms", "RMSE [ms]", 3);
    table_column(t, "nrmse", "NRMSE", 3);
    table_column(t, "mape_percent", "MAPE [%]", 1);
    table_column(t, "median_ape_percent", "median [%]", 1);
}

void judging_add(table *t, const char *group, const char *phase_text, const char *model,
                 const stats_errors *e, bool seconds)
{
    table_text(t, group ? group : "(all)");
    table_text(t, phase_text);
    table_text(t, model);
    table_count(t, e->n);
    table_real(t, e->r2);
    table_real(t, seconds ? 1e3 * e->rmse : (double)NAN);
    table_real(t, e->nrmse);
    table_real(t, 100 * e->mape);
    table_real(t, 100 * e->median_ape);
}

static void add_columns(table *t)
{
    judging_columns(t);
    table_column(t, "coverage_percent", "in 90 % [%]", 1);
    table_column(t, "width_percent", "width [%]", 1);
    add_split_columns(t);
}

/* What is judged of a quantity. */
typedef enum figure { FIGURE_TIME, FIGURE_POWER, FIGURE_ENERGY, N_FIGURES } figure;

static const char *const figure_words[N_FIGURES] = { "", " power", " energy" };

/* Watts or joules in the place of seconds; of these no interval is stated. */
static void take_figure(const comparison *from, phase q, figure what, comparison *to)
{
    const double seconds[2] = { from->measured[q], from->predicted[q] };
    const double watts[2]   = { from->measured_watts[q], from->watts[q] };

    *to              = *from;
    to->low[q]       = NAN;
    to->high[q]      = NAN;
    to->measured[q]  = what == FIGURE_POWER ? watts[0] : watts[0] * seconds[0];
    to->predicted[q] = what == FIGURE_POWER ? watts[1] : watts[1] * seconds[1];
}

static lm_status judge_figure(const judging *all, const judged *m, phase q, figure what,
                              size_t fold, judgement *out, lm_error *err)
{
    comparison *room;

    if (what == FIGURE_TIME) {
        *out = validate_judge(all->p, m->at, q, all->groups, fold);
        return LM_OK;
    }
    if (!(room = malloc((all->p->n_points + 1) * sizeof *room)))
        return no_memory(err);
    for (size_t i = 0; i < all->p->n_points; i++)
        take_figure(&m->at[i], q, what, &room[i]);
    *out = validate_judge(all->p, room, q, all->groups, fold);
    free(room);
    return LM_OK;
}

static lm_status add_row(const judging *all, size_t fold, phase q, figure what, const judged *m,
                         table *t, lm_error *err)
{
    const bool          pooled = fold == all->groups->n_folds;
    judgement           j;
    const stats_errors *e = &j.errors;
    char                text[60];
    const lm_status status = judge_figure(all, m, q, what, pooled ? SPLIT_ALWAYS : fold, &j, err);

    if (status || !e->n)
        return status;
    snprintf(text, sizeof text, "%s%s", phase_name(q), figure_words[what]);
    judging_add(t, pooled ? NULL : all->groups->name[fold], text, m->model, e, what == FIGURE_TIME);
    table_real(t, 100 * j.coverage);
    table_real(t, 100 * j.width);
    add_split(t, all->by);
    return LM_OK;
}

static lm_status fill_errors(const judging *all, bool pooled, table *t, lm_error *err)
{
    lm_status status = LM_OK;

    add_columns(t);
    for (size_t g = pooled ? all->groups->n_folds : 0; g <= all->groups->n_folds; g++)
        for (size_t k = 0; k < N_PHASES_SHOWN; k++)
            for (figure what = 0; what < (all->power ? N_FIGURES : FIGURE_POWER); what++)
                for (size_t m = 0; m < all->n && validate_tells(all->p, phases_shown[k]) && !status;
                     m++)
                    status = add_row(all, g, phases_shown[k], what, &all->model[m], t, err);
    return status;
}

static void fill_points(const judging *all, phase q, table *t)
{
    const points *p       = all->p;
    const judged *j       = all->model;
    const bool    buckets = q == PHASE_EXPOSED || q == PHASE_OVERLAPPED;
    char          key[80], title[80];

    table_column(t, "network", "network", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "nodes", "nodes", 0);
    if (buckets)
        table_column(t, "bucket_bytes", "bucket [B]", 0);
    snprintf(key, sizeof key, "%s_ms", phase_name(q));
    snprintf(title, sizeof title, "measured %s [ms]", phase_name(q));
    table_column(t, key, title, TABLE_MS(2));
    for (size_t m = 0; m < all->n; m++) {
        snprintf(key, sizeof key, "%s_ms", j[m].model);
        snprintf(title, sizeof title, "%s [ms]", j[m].model);
        table_column(t, key, title, TABLE_MS(2));
        snprintf(key, sizeof key, "%s_low_ms", j[m].model);
        table_column(t, key, "low", TABLE_MS(2));
        snprintf(key, sizeof key, "%s_high_ms", j[m].model);
        table_column(t, key, "high", TABLE_MS(2));
        snprintf(key, sizeof key, "%s_error_percent", j[m].model);
        table_column(t, key, "error [%]", 1);
    }
    add_split_columns(t);
    for (size_t i = 0; i < p->n_points; i++) {
        const observation *row      = p->point[i].row;
        const double       measured = all->n ? j[0].at[i].measured[q] : NAN;

        if (isnan(measured))
            continue;
        table_text(t, row->name);
        table_text(t, row->input);
        table_count(t, (uint64_t)row->batch);
        table_count(t, (uint64_t)row->ranks);
        if (buckets)
            table_count(t, (uint64_t)row->bucket_bytes);
        table_real(t, 1e3 * measured);
        for (size_t m = 0; m < all->n; m++) {
            const comparison *at = &j[m].at[i];

            table_real(t, 1e3 * at->predicted[q]);
            table_real(t, 1e3 * at->low[q]);
            table_real(t, 1e3 * at->high[q]);
            table_real(t, 100 * (at->predicted[q] - measured) / measured);
        }
        add_split(t, all->by);
    }
}

static lm_status draw(const judging *all, phase q, const char *path, lm_error *err)
{
    const size_t   n         = all->p->n_points;
    double        *predicted = malloc((all->n * n + 1) * sizeof *predicted);
    double        *measured  = malloc((n + 1) * sizeof *measured);
    scatter_panel *panel     = calloc(all->n + 1, sizeof *panel);
    char           title[120], rule[64], text[JUDGED_MAX][120];
    lm_status      status = predicted && measured && panel ? LM_OK : no_memory(err);

    snprintf(title, sizeof title, "%s, left out: %s", phase_name(q),
             split_rule_print(&all->by->rule, rule, sizeof rule));
    for (size_t i = 0; i < n && !status; i++)
        measured[i] = all->n ? all->model[0].at[i].measured[q] : NAN;
    for (size_t m = 0; m < all->n && !status; m++) {
        const judgement j = validate_judge(all->p, all->model[m].at, q, all->groups, SPLIT_ALWAYS);

        for (size_t i = 0; i < n; i++)
            predicted[m * n + i] = all->model[m].at[i].predicted[q];
        snprintf(text[m], sizeof text[m], "%s: %zu points, MAPE %.1f %%", all->model[m].model,
                 j.errors.n, 100 * j.errors.mape);
        panel[m] = (scatter_panel){ text[m], predicted + m * n, measured, n };
    }
    if (!status)
        status = plot_scatter(path, title, panel, all->n, false, err);
    free(predicted);
    free(measured);
    free(panel);
    return status;
}

bool judging_without_intervals(const judging *all)
{
    bool predicted = false;

    for (size_t m = 0; m < all->n; m++)
        for (phase q = 0; q < N_TIMES; q++) {
            const judgement j = validate_judge(all->p, all->model[m].at, q, all->by, SPLIT_ALWAYS);

            predicted |= j.errors.n > 0;
            if (j.n_stated)
                return false;
        }
    return predicted;
}

/* Watts that any model tells of what was measured. */
static bool tells_power(const judging *all)
{
    for (size_t m = 0; m < all->n; m++)
        for (size_t i = 0; i < all->p->n_points; i++)
            for (phase q = 0; q < N_TIMES; q++)
                if (all->model[m].at[i].watts[q] > 0 && all->model[m].at[i].measured_watts[q] > 0)
                    return true;
    return false;
}

lm_status judging_print(const judging *all, const judging_form *as, lm_error *err)
{
    table    *t      = table_new();
    lm_status status = as->plot ? draw(all, as->q, as->plot, err) : LM_OK;

    if (!status && as->f == FORMAT_TABLE)
        print_split(all->by);
    if (!status && as->points)
        fill_points(all, as->q, t);
    else if (!status)
        status = fill_errors(all, as->pooled, t, err);
    if (!status)
        status = table_print(t, as->f, stdout, err);
    table_free(t);
    if (!status && all->power && !tells_power(all))
        fprintf(
            stderr,
            "layermeter: --power: nothing to tell: no row has power_w, these models tell none, or, "
            "of whole networks, neither --machine nor --layers is there\n");
    return status;
}
