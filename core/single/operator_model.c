/* Prices of operators: one fit a class. */
#include "single/operator_model.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "single/operator_residual.h"

#define RIDGE        0.01
#define TRIAL_ROWS   1200 /* of the cross-validation that chooses a tiling */
#define TRIAL_FOLDS  3
#define BETTER       0.001 /* mean relative error by which another tiling must win */
#define STREAM_POWER 4

/* ---- one class ----------------------------------------------------------------------------------
 */

typedef struct class_rows {
    const timed_kernel *row;
    size_t             *at; /* of its rows among all, in a random order */
    size_t              n;
    operator_class class;
} class_rows;

static lm_status fill(const class_rows *from, size_t n, const tiling *how, columns *c, rows *r,
                      lm_error *err)
{
    row_item item[OPERATOR_ITEMS_MAX];

    for (size_t i = 0; i < n; i++) {
        const timed_kernel *k       = &from->row[from->at[i]];
        const size_t        n_items = operator_items(&k->kernel, k->tag, how, true, c, item);

        rows_begin(r, k->seconds, 1, 0);
        for (size_t j = 0; j < n_items; j++)
            rows_item(r, item[j].column < c->n ? item[j].column : COLUMN_NONE, item[j].value);
    }
    return rows_check(r, err);
}

static solve_options options_of(operator_class class)
{
    solve_options o = solve_default;

    o.p     = operator_power(class);
    o.ridge = RIDGE;
    o.least = 1;
    return o;
}

static void forget(columns *c)
{
    for (size_t j = 0; j < c->n; j++)
        c->column[j].price = 0;
}

/* Mean relative error in the cross-validation. */
static lm_status try_tiling(const class_rows *from, const tiling *how, double *error, lm_error *err)
{
    const size_t        n      = from->n < TRIAL_ROWS ? from->n : TRIAL_ROWS;
    const solve_options o      = options_of(from->class);
    columns             c      = { 0 };
    rows                r      = { 0 };
    bool               *in     = calloc(n, sizeof *in);
    lm_status           status = in ? LM_OK : no_memory(err);

    *error = 0;
    if (!status)
        status = fill(from, n, how, &c, &r, err);
    for (size_t f = 0; f < TRIAL_FOLDS && !status; f++) {
        for (size_t i = 0; i < n; i++)
            in[i] = i % TRIAL_FOLDS != f;
        forget(&c);
        status = solve_prices(&r, in, &o, &c, err);
        for (size_t i = f; i < n && !status; i += TRIAL_FOLDS)
            *error += fabs(rows_priced(&r, i, &c) / r.row[i].seconds - 1) / (double)n;
    }
    free(in);
    columns_free(&c);
    rows_free(&r);
    return status;
}

static lm_status choose_tiling(const class_rows *from, double multiprocessors, tiling *out,
                               lm_error *err)
{
    size_t        n;
    const tiling *of     = operator_tilings(from->class, &n);
    double        best   = INFINITY;
    lm_status     status = LM_OK;

    for (size_t i = 0; i < n && !status; i++) {
        tiling how          = of[i];
        double error        = 0;
        how.multiprocessors = multiprocessors;
        if (n > 1)
            status = try_tiling(from, &how, &error, err);
        if (!status && (i == 0 || error < best - BETTER)) {
            best = error;
            *out = how;
        }
    }
    return status;
}

static lm_status fit_class(const class_rows *from, double multiprocessors, operator_prices *out,
                           lm_error *err)
{
    const solve_options o      = options_of(from->class);
    rows                r      = { 0 };
    lm_status           status = choose_tiling(from, multiprocessors, &out->how, err);

    out->power = o.p;
    out->rows  = from->n;
    if (!status)
        status = fill(from, from->n, &out->how, &out->columns, &r, err);
    if (!status)
        status = solve_prices(&r, NULL, &o, &out->columns, err);
    for (size_t i = 0; i < r.n && !status; i++)
        out->mape += fabs(rows_priced(&r, i, &out->columns) / r.row[i].seconds - 1) / (double)r.n;
    rows_free(&r);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

static void shuffle(size_t *at, size_t n)
{
    uint64_t state = 1;

    for (size_t i = n; i > 1; i--) {
        const size_t with = (size_t)random_below(&state, i);
        const size_t last = at[i - 1];

        at[i - 1] = at[with];
        at[with]  = last;
    }
}

lm_status operator_prices_fit(const timed_kernel *row, const bool *in, size_t n,
                              double multiprocessors, operator_class class, operator_prices *out,
                              lm_error *err)
{
    class_rows of     = { .row = row, .at = malloc((n + 1) * sizeof *of.at), .class = class };
    lm_status  status = of.at ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++)
        if ((!in || in[i]) && operator_class_of(&row[i].kernel) == class)
            of.at[of.n++] = i;
    if (!status && of.n < OPERATOR_LEAST_ROWS)
        status = lm_error_set(err, LM_E_ARG, "%zu rows of single kernels (%s): %d are needed", of.n,
                              operator_class_name(class), OPERATOR_LEAST_ROWS);
    if (!status) {
        shuffle(of.at, of.n);
        status = fit_class(&of, multiprocessors, out, err);
    }
    free(of.at);
    return status;
}

lm_status operator_model_fit(const timed_kernel *row, const bool *in, size_t n,
                             double multiprocessors, operator_model *out, lm_error *err)
{
    size_t    fitted = 0;
    lm_status status = LM_OK;

    *out = (operator_model){ .learned = NULL };
    for (operator_class c = 0; c < OPERATOR_OTHER && !status; c++) {
        status = operator_prices_fit(row, in, n, multiprocessors, c, &out->of[c], err);
        if (status == LM_E_ARG)
            status = lm_error_set(err, LM_OK, "%s", "");
        fitted += !status && out->of[c].columns.n;
    }
    if (!status && !fitted)
        status = lm_error_set(
            err, LM_E_ARG, "single kernels: no kind of operator has the %d rows that a fit needs",
            OPERATOR_LEAST_ROWS);
    return status;
}

void operator_model_free(operator_model *m)
{
    for (operator_class c = 0; c < N_OPERATOR_CLASSES; c++)
        columns_free(&m->of[c].columns);
    operator_residuals_free(m->learned);
    m->learned = NULL;
    kept_file_clear(&m->learned_file);
}

/* ---- prediction ---------------------------------------------------------------------------------
 */

size_t operator_prices_items(const operator_prices *p, const lm_kernel *k, const char *tag,
                             row_item out[OPERATOR_ITEMS_MAX])
{
    /* nothing is made here, so the columns stay as they are */
    return operator_items(k, tag, &p->how, false, (columns *)&p->columns, out);
}

launch_cost operator_prices_cost(const operator_prices *p, const lm_kernel *k, const char *tag)
{
    row_item    item[OPERATOR_ITEMS_MAX];
    launch_cost cost = { 0 };
    size_t      n;

    if (!p->columns.n)
        return (launch_cost){ 0, 0, NAN };
    n = operator_prices_items(p, k, tag, item);
    for (size_t i = 0; i < n; i++) {
        const double seconds = p->columns.column[item[i].column].price * item[i].value;

        if (p->columns.column[item[i].column].floor)
            cost.floor += seconds;
        else if (i + 1 == n) /* the last is the launch */
            cost.start += seconds;
        else
            cost.work += seconds;
    }
    return cost;
}

double operator_prices_seconds(const operator_prices *p, const lm_kernel *k, const char *tag)
{
    const launch_cost cost = operator_prices_cost(p, k, tag);

    return isnan(cost.work)
               ? NAN
               : rows_seconds((row_cost){ cost.floor, cost.start + cost.work }, p->power);
}

launch_cost operator_model_cost(const operator_model *m, const lm_kernel *k, const char *tag)
{
    return operator_prices_cost(&m->of[operator_class_of(k)], k, tag);
}

double operator_model_seconds(const operator_model *m, const lm_kernel *k, const char *tag)
{
    return operator_prices_seconds(&m->of[operator_class_of(k)], k, tag);
}

void stream_add(stream_cost *s, uint32_t repeat, const launch_cost *cost)
{
    s->floors += repeat * cost->floor;
    s->work += repeat * cost->work;
}

double stream_seconds(const stream_cost *s)
{
    return isnan(s->work) ? NAN : rows_seconds((row_cost){ s->floors, s->work }, STREAM_POWER);
}
