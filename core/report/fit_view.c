/* Prints the results of a fit. */
#include "report/fit_view.h"

#include <math.h>
#include <stdio.h>

#include "layerwise/layerwise.h"
#include "single/residual.h"

/* Errors are NAN where unknown. */
typedef struct term_row {
    const char  *model, *part;
    uint64_t     rows;
    const char  *learner; /* instead of coefficients; NULL: they are counted */
    uint64_t     coefficients, rank;
    bool         ranked;
    double       condition;
    stats_errors errors;
    double       held_out;
} term_row;

static term_row row_of(const char *model, const char *part, size_t n)
{
    return (term_row){ .model     = model,
                       .part      = part,
                       .rows      = n,
                       .condition = NAN,
                       .errors    = { .r2 = NAN, .rmse = NAN, .nrmse = NAN, .mape = NAN },
                       .held_out  = NAN };
}

TEXT_OF(learner_words, term_row, r->learner)
TEXT_OF(no_rank, term_row, r->ranked ? NULL : "")

enum { ONE = 1, SEVERAL = 2 };

static const field fields[] = {
    { "model", "model", FIELD_AT(term_row, model), .when = ONE },
    { "machine", "machine", FIELD_AT(term_row, model), .when = SEVERAL },
    { "part", "part", FIELD_AT(term_row, part) },
    { "rows", "rows", FIELD_AT(term_row, rows), .yields = -1 },
    { "coefficients", "coefficients", FIELD_AT(term_row, coefficients), .text = learner_words,
      .when = ONE, .yields = -2 },
    { "rank", "rank", FIELD_AT(term_row, rank), .text = no_rank, .when = ONE, .yields = -5 },
    { "condition", "condition", FIELD_AT(term_row, condition), .digits = -1, .when = ONE,
      .yields = -6 },
    { "r2", "R2", FIELD_AT(term_row, errors.r2), .digits = 4, .when = ONE, .yields = -4 },
    { "rmse_ms", "RMSE [ms]", FIELD_AT(term_row, errors.rmse), .times = 1e3, .digits = 3,
      .when = ONE, .yields = -3 },
    { "nrmse", "NRMSE", FIELD_AT(term_row, errors.nrmse), .digits = 3, .when = ONE, .yields = -7 },
    { "mape_percent", "MAPE [%]", FIELD_AT(term_row, errors.mape), IN_PERCENT },
    { "held_out_mape_percent", "held out [%]", FIELD_AT(term_row, held_out), IN_PERCENT },
    { 0 },
};

field_rows fit_table(format f, bool several)
{
    const field_view v = { .fields = fields,
                           .in     = field_place_of(f),
                           .facts  = several ? SEVERAL : ONE };

    return field_rows_of(&v);
}

static const field worth_fields[] = {
    { "model", "model", FIELD_AT(layerwise_worth, model) },
    { "part", "part", FIELD_AT(layerwise_worth, task) },
    { "feature", "feature", FIELD_AT(layerwise_worth, feature) },
    { "rows", "rows", FIELD_AT(layerwise_worth, rows) },
    { "mape_percent", "MAPE [%]", FIELD_AT(layerwise_worth, error), IN_PERCENT },
    { "rise_percent", "rise [%]", FIELD_AT(layerwise_worth, rise), IN_PERCENT },
    { 0 },
};

field_rows fit_table_worth(format f)
{
    const field_view v = { .fields = worth_fields, .in = field_place_of(f) };

    return field_rows_of(&v);
}

void fit_table_add_worth(void *to, const layerwise_worth *w)
{
    field_row(to, w);
}

static void add_formula(field_rows *t, const form *f, const fitted *of)
{
    term_row r = row_of(f->model, phase_formula(f->part), of->rows);

    r.learner      = of->by_allreduces ? "" : NULL;
    r.coefficients = fitted_coefficients(f, of);
    r.rank         = of->rank;
    r.ranked       = !of->by_allreduces;
    r.condition    = of->condition;
    r.errors       = of->errors;
    r.held_out     = of->held_out_mape;
    field_row(t, &r);
}

/* For launches only MAPE is useful. */
static void add_classes(field_rows *t, const layer_model *m)
{
    for (size_t c = 0; m && c < N_LAYER_CLASSES; c++) {
        const layer_prices *p = &m->of[c];
        char                part[40];
        term_row            r = row_of(DEFAULT_MODEL, layer_class_part(c, part), p->rows);

        if (!p->present)
            continue;
        r.coefficients = p->columns.n;
        r.ranked       = !layer_classes[c]->launch;
        for (size_t j = 0; j < p->columns.n; j++)
            r.rank += p->columns.column[j].rows > 0;
        if (r.ranked)
            r.errors = p->errors;
        r.errors.nrmse = NAN;
        r.errors.mape  = p->errors.mape;
        field_row(t, &r);
    }
}

void fit_table_residual(field_rows *t, size_t class, const residual_trees *of)
{
    char     part[40];
    term_row r = row_of("residual", layer_class_part(class, part), of->rows);

    r.learner  = ""; /* trees have no coefficients */
    r.held_out = of->mape;
    field_row(t, &r);
}

static void add_residuals(field_rows *t, const layer_model *m)
{
    for (size_t c = 0; m && m->learned && c < N_LAYER_CLASSES; c++)
        if (m->learned->of[c])
            fit_table_residual(t, c, m->learned->of[c]);
}

void fit_table_formulas(field_rows *t, const calibration *cal)
{
    for (size_t i = 0; i < n_forms; i++)
        if (cal->fitted[i].present)
            add_formula(t, &forms[i], &cal->fitted[i]);
    add_classes(t, cal->operators);
    add_classes(t, cal->layers);
    add_residuals(t, cal->layers);
    add_residuals(t, cal->operators);
}

void fit_table_learned(field_rows *t, const layerwise_model *m)
{
    for (size_t i = 0; i < m->n_tasks; i++) {
        const layerwise_task *task  = &m->task[i];
        const bool            watts = task->target == LAYERWISE_WATTS;
        char                  name[LAYERWISE_NAME + 8], by_what[40];
        term_row r = row_of(m->kind->name, name, task->judged.seen + task->judged.held);

        snprintf(name, sizeof name, "%s%s", task->name, watts ? ", watts" : "");
        r.learner  = m->kind->learner->name
                         ? m->kind->learner->name(task->learned, by_what, sizeof by_what)
                         : "";
        r.held_out = task->judged.mape;
        field_row(t, &r);
    }
}

/* Steps of one network, continued to more devices. */
static void add_curve(field_rows *t, const job_curve *c)
{
    term_row r = row_of(DEFAULT_MODEL, c->network, c->rows);

    r.coefficients =
        (uint64_t)((c->step > 0) + (c->sample > 0) + (c->within > 0) + (c->between > 0));
    r.errors.mape = c->mape;
    field_row(t, &r);
}

/* A kind of collective by an algorithm, within a node and between nodes. */
static void add_collective(field_rows *t, const algorithm_model *a)
{
    for (fabric at = 0; at < N_FABRICS; at++) {
        const fabric_model *of = &a->of[at];
        char                name[80];
        term_row            r = row_of(DEFAULT_MODEL, name, of->rows);

        if (!of->rows)
            continue;
        snprintf(name, sizeof name, "%s.%s.%s", collective_types[a->kind].name, a->name,
                 fabric_name(at));
        for (size_t k = 0; k < of->n_planes; k++)
            for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
                r.coefficients += of->plane[k].price[c] > 0; /* others are not in use */
        r.errors = of->errors;
        field_row(t, &r);
    }
}

void fit_table_others(field_rows *t, const calibration *cal)
{
    const power_model *m = cal->power;
    term_row           r = row_of(DEFAULT_MODEL, "power", m ? m->rows : 0);

    for (size_t i = 0; cal->collectives && i < cal->collectives->n; i++)
        add_collective(t, &cal->collectives->algorithm[i]);
    for (size_t i = 0; i < cal->curves.n; i++)
        add_curve(t, &cal->curves.of[i]);
    if (!m)
        return;
    r.coefficients = (uint64_t)((m->memory_w > 0) + (isfinite(m->idle_w) != 0) +
                                (isfinite(m->knee_mhz) != 0) + (isfinite(m->wait_w) != 0));
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        r.coefficients += m->bound_w[k] > 0;
    r.errors.mape = m->mape;
    r.held_out    = m->held_out_mape;
    field_row(t, &r);
}

void fit_table_machine(field_rows *t, const char *name, const layer_model *layers)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++) {
        char     part[40];
        term_row r = row_of(name, layer_class_part(c, part), layers->of[c].rows);

        r.errors.mape = layers->of[c].errors.mape;
        if (layers->of[c].present)
            field_row(t, &r);
    }
}
