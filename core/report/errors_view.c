/* Errors of models, printed. */
#include "report/errors_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "report/fields.h"
#include "report/scatter.h"

/* the group that was left out: columns in CSV and JSON, a line above tables */

static void fold_sizes(const split *by, size_t *least, size_t *most)
{
    *least = *most = by->n_folds ? by->points[0] : 0;
    for (size_t f = 1; f < by->n_folds; f++) {
        *least = by->points[f] < *least ? by->points[f] : *least;
        *most  = by->points[f] > *most ? by->points[f] : *most;
    }
}

static uint64_t least_points(const void *by, size_t i)
{
    size_t least, most;

    (void)i;
    fold_sizes(by, &least, &most);
    return least;
}

static uint64_t most_points(const void *by, size_t i)
{
    size_t least, most;

    (void)i;
    fold_sizes(by, &least, &most);
    return most;
}

static const char *rule_text(const void *by, size_t i, char *room)
{
    (void)i;
    return split_rule_print(&((const split *)by)->rule, room, FIELD_TEXT_MAX);
}

static const field split_fields[] = {
    { "leave_out", .text = rule_text },           { "seed", FIELD_AT(split, rule.seed) },
    { "folds", FIELD_AT(split, n_folds) },        { "fold_points_least", .count = least_points },
    { "fold_points_most", .count = most_points }, { 0 },
};

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

/* ---- errors ---- */

/* Contents of a table. */
enum { TIMES = 1, BOUNDED = 2, FOLDED = 4 };

TEXT_OF(group_text, error_row, r->group ? r->group : "(all)")
REAL_OF(rmse, error_row, r->seconds ? r->of.rmse : (double)NAN)

static const field error_fields[] = {
    { "group", "group", .text = group_text },
    { "phase", "phase", FIELD_AT(error_row, phase) },
    { "model", "model", FIELD_AT(error_row, model) },
    { "points", "points", FIELD_AT(error_row, of.n), .yields = -3 },
    { "r2", "R2", FIELD_AT(error_row, of.r2), .digits = 4, .yields = -6 },
    { "rmse_ms", "RMSE [ms]", .real = rmse, .times = 1e3, .digits = 3, .when = TIMES,
      .yields = -5 },
    { "nrmse", "NRMSE", FIELD_AT(error_row, of.nrmse), .digits = 3, .yields = -8 },
    { "mape_percent", "MAPE [%]", FIELD_AT(error_row, of.mape), IN_PERCENT },
    { "median_ape_percent", "median [%]", FIELD_AT(error_row, of.median_ape), IN_PERCENT,
      .yields = -4 },
    { "fold_mean_percent", "folds [%]", FIELD_AT(error_row, fold_mean), IN_PERCENT, .when = FOLDED,
      .yields = -1 },
    { "fold_sd_percent", "+- [%]", FIELD_AT(error_row, fold_sd), IN_PERCENT, .when = FOLDED,
      .yields = -1 },
    { "coverage_percent", "in 90 % [%]", FIELD_AT(error_row, coverage), IN_PERCENT, .when = TIMES,
      .worth = BOUNDED, .yields = -1 },
    { "width_percent", "width [%]", FIELD_AT(error_row, width), IN_PERCENT, .when = BOUNDED,
      .yields = -2 },
    { "score_percent", NULL, FIELD_AT(error_row, score), IN_PERCENT, .when = BOUNDED },
    { 0 },
};

static field_rows errors_table(const errors_form *as, unsigned facts)
{
    const field_view v = { .fields = error_fields, .in = field_place_of(as->f), .facts = facts };

    return field_rows_of(&v);
}

lm_status launch_errors_print(const launch_errors *e, const errors_form *as, lm_error *err)
{
    field_rows rows = errors_table(as, TIMES);

    for (size_t i = 0; i < e->n; i++)
        field_row(&rows, &e->row[i]);
    return field_rows_print(&rows, as->f, stdout, LM_OK, err);
}

/* Rows of errors, and the group that each left out. */
typedef struct split_errors {
    field_rows   errors, left_out;
    const split *by;
} split_errors;

static void take_error(void *context, const error_row *row)
{
    split_errors *to = context;

    field_row(&to->errors, row);
    field_row(&to->left_out, to->by);
}

static lm_status print_errors(const judging *all, const errors_form *as, lm_error *err)
{
    const field_view v = { .fields = split_fields, .in = field_place_of(as->f) };
    split_errors rows  = { .errors = errors_table(as, TIMES | BOUNDED | (as->folds ? FOLDED : 0)),
                           .by     = all->by };
    lm_status    status;

    rows.left_out = field_rows_in(rows.errors.t, &v);
    status        = judging_errors(all, as->pooled, take_error, &rows, err);
    return field_rows_print(&rows.errors, as->f, stdout, status, err);
}

/* ---- points ---- */

/* A point and the prediction of a model. */
typedef struct point_row {
    const observation *row;
    const comparison  *at;
    phase              q;
} point_row;

TEXT_OF(network_text, point_row, r->row->name)
TEXT_OF(input_text, point_row, r->row->input)
COUNT_OF(batch_of, point_row, r->row->batch)
COUNT_OF(nodes_of, point_row, r->row->ranks)
COUNT_OF(bucket_of, point_row, r->row->bucket_bytes)
REAL_OF(measured_of, point_row, r->at->measured[r->q])
REAL_OF(predicted_of, point_row, r->at->predicted[r->q])
REAL_OF(low_of, point_row, r->at->low[r->q])
REAL_OF(high_of, point_row, r->at->high[r->q])
REAL_OF(error_of, point_row,
        (r->at->predicted[r->q] - r->at->measured[r->q]) / r->at->measured[r->q])

enum { BUCKETS = 1 };

static const field point_fields[] = {
    { "network", "network", .text = network_text },
    { "input", "input", .text = input_text },
    { "batch", "batch", .count = batch_of },
    { "nodes", "nodes", .count = nodes_of },
    { "bucket_bytes", "bucket [B]", .count = bucket_of, .when = BUCKETS },
    { "%s_ms", "measured %s [ms]", .real = measured_of, IN_MS, .each = field_named },
    { 0 },
};

static const field model_fields[] = {
    { "%s_ms", "%s [ms]", .real = predicted_of, IN_MS, .each = field_named },
    { "%s_low_ms", "low", .real = low_of, IN_MS, .each = field_named },
    { "%s_high_ms", "high", .real = high_of, IN_MS, .each = field_named },
    { "%s_error_percent", "error [%]", .real = error_of, IN_PERCENT, .each = field_named },
    { 0 },
};

static lm_status print_points(const judging *all, const errors_form *as, lm_error *err)
{
    const phase q       = as->q;
    const bool  buckets = q == PHASE_EXPOSED || q == PHASE_OVERLAPPED;
    field_view  v       = { .fields = point_fields,
                            .in     = field_place_of(as->f),
                            .facts  = buckets ? BUCKETS : 0,
                            .whole  = phase_name(q) };
    field_rows  rows    = field_rows_of(&v), of_model[JUDGED_MAX], left_out;

    v.fields = model_fields;
    for (size_t m = 0; m < all->n; m++) {
        v.whole     = all->model[m].model;
        of_model[m] = field_rows_in(rows.t, &v);
    }
    v.fields = split_fields;
    left_out = field_rows_in(rows.t, &v);
    for (size_t i = 0; i < all->p->n_points; i++) {
        point_row r = { all->p->point[i].row, all->n ? &all->model[0].at[i] : NULL, q };

        if (!r.at || isnan(r.at->measured[q]))
            continue;
        field_row(&rows, &r);
        for (size_t m = 0; m < all->n; m++) {
            r.at = &all->model[m].at[i];
            field_row(&of_model[m], &r);
        }
        field_row(&left_out, all->by);
    }
    return field_rows_print(&rows, as->f, stdout, LM_OK, err);
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
    free_all(predicted, measured, panel);
    return status;
}

lm_status judging_print(const judging *all, const errors_form *as, lm_error *err)
{
    const lm_status status = as->plot ? draw(all, as->q, as->plot, err) : LM_OK;

    if (status)
        return status;
    if (as->f == FORMAT_TABLE)
        print_split(all->by);
    return as->points ? print_points(all, as, err) : print_errors(all, as, err);
}

/* ---- clocks ---- */

static const char *const figure_names[N_CLOCK_FIGURES] = { "power", "energy", "time" };

static const char *basis_name(clock_basis b)
{
    return b == CLOCK_CARRIED ? "carried" : DEFAULT_MODEL;
}

static bool any_carried(const clock_answer *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(a[i].predicted[CLOCK_CARRIED][CLOCK_POWER]))
            return true;
    return false;
}

/* The point of a power. */
typedef struct clock_row {
    const observation *row;
    const char        *phase;
    double             mhz;
} clock_row;

TEXT_OF(clock_network, clock_row, r->row->name)
TEXT_OF(clock_input, clock_row, r->row->input)
COUNT_OF(clock_batch, clock_row, r->row->batch)

static const field clock_fields[] = {
    { "network", "network", .text = clock_network },
    { "phase", "phase", FIELD_AT(clock_row, phase) },
    { "input", "input", .text = clock_input },
    { "batch", "batch", .count = clock_batch },
    { "clock_mhz", "clock [MHz]", FIELD_AT(clock_row, mhz) },
    { 0 },
};

/* A figure, measured or predicted; the error of what is predicted. */
typedef struct figure {
    double value, error;
} figure;

#define IN_W        FIELD_AT(figure, value), IN_UNIT("W", 1)
#define IN_J        FIELD_AT(figure, value), IN_UNIT("J", -1)
#define CLOCK_MS    FIELD_AT(figure, value), .unit = "ms", .times = 1e3, .digits = TABLE_MS(3)
#define CLOCK_ERROR "error [%]", FIELD_AT(figure, error), IN_PERCENT, .each = field_named

static const field measured_fields[N_CLOCK_FIGURES][2] = {
    { { "power_w", "measured [W]", IN_W } },
    { { "energy_j", "measured [J]", IN_J } },
    { { "time_ms", "measured [ms]", CLOCK_MS } },
};
static const field predicted_fields[N_CLOCK_FIGURES][3] = {
    { { "%s_power_w", "%s [W]", IN_W, .each = field_named },
      { "%s_power_error_percent", CLOCK_ERROR } },
    { { "%s_energy_j", "%s [J]", IN_J, .each = field_named },
      { "%s_energy_error_percent", CLOCK_ERROR } },
    { { "%s_time_ms", "%s [ms]", CLOCK_MS, .each = field_named },
      { "%s_time_error_percent", CLOCK_ERROR } },
};

/* A row for each power. */
static field_rows clock_points(const points *p, const power_rows *r, const clock_answer *a,
                               format f)
{
    const size_t n_bases = any_carried(a, r->n) ? N_CLOCK_BASES : 1;
    field_view   v       = { .fields = clock_fields, .in = field_place_of(f) };
    field_rows   rows    = field_rows_of(&v), measured[N_CLOCK_FIGURES];
    field_rows   predicted[N_CLOCK_FIGURES][N_CLOCK_BASES];

    for (size_t w = 0; w < N_CLOCK_FIGURES; w++) {
        v.fields    = measured_fields[w];
        measured[w] = field_rows_in(rows.t, &v);
        v.fields    = predicted_fields[w];
        for (size_t b = 0; b < n_bases; b++) {
            v.whole         = basis_name((clock_basis)b);
            predicted[w][b] = field_rows_in(rows.t, &v);
        }
    }
    for (size_t i = 0; i < r->n; i++) {
        field_row(&rows, &(clock_row){ p->point[r->at[i].point].row, phase_name(r->at[i].phase),
                                       r->row[i].mhz });
        for (size_t w = 0; w < N_CLOCK_FIGURES; w++) {
            const double is = a[i].measured[w];

            field_row(&measured[w], &(figure){ is, NAN });
            for (size_t b = 0; b < n_bases; b++)
                field_row(&predicted[w][b],
                          &(figure){ a[i].predicted[b][w], a[i].predicted[b][w] / is - 1 });
        }
    }
    return rows;
}

/* The error of a group; group n_groups: of all groups. */
static void add_group(const points *p, const power_rows *r, const clock_answer *a, size_t group,
                      clock_figure w, clock_basis b, double *room, field_rows *rows)
{
    double   *measured = room, *predicted = room + r->n;
    error_row e = { .seconds = false };
    size_t    n = 0;

    for (size_t i = 0; i < r->n; i++) {
        if ((group < p->n_groups && r->row[i].group != group) || isnan(a[i].predicted[b][w]))
            continue;
        measured[n]    = a[i].measured[w];
        predicted[n++] = a[i].predicted[b][w];
    }
    if (!n)
        return;
    e.of    = stats_compare(predicted, measured, n);
    e.group = group < p->n_groups ? p->group[group] : NULL;
    e.phase = figure_names[w];
    e.model = basis_name(b);
    field_row(rows, &e);
}

lm_status clock_answers_print(const points *p, const clock_answers *a, const errors_form *as,
                              lm_error *err)
{
    field_rows rows =
        as->points ? clock_points(p, &a->rows, a->answer, as->f) : errors_table(as, 0);
    double   *room = malloc(2 * a->rows.n * sizeof *room);
    lm_status status;

    for (size_t g = 0; room && g <= p->n_groups && !as->points; g++)
        for (clock_figure w = 0; w < N_CLOCK_FIGURES; w++)
            for (clock_basis b = 0; b < N_CLOCK_BASES; b++)
                add_group(p, &a->rows, a->answer, g, w, b, room, &rows);
    status = field_rows_print(&rows, as->f, stdout, room ? LM_OK : no_memory(err), err);
    free(room);
    return status;
}
