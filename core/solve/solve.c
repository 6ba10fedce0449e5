/* Prices of columns, from rows in which each part uses its cheapest alternative. */
#include "solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "base/stats.h"
#include "solve/fitting.h"

#define FLOOR_SHARE  0.02 /* share of rows below the start value of a floor */
#define FLOOR_MOST   3    /* its limit: a floor without rows would grow without bound */
#define WORK_LEAST   0.05 /* share of work in a row's time at the start */
#define OVERLAP      4    /* p if floors overlap with work */
#define OVERLAP_GAIN 0.05 /* least gain in mean relative error for this p */

const solve_options solve_default = { .p      = 1,
                                      .huber  = 0.1,
                                      .power  = 1,
                                      .ridge  = 0,
                                      .rounds = 8,
                                      .least  = 15,
                                      .sample = 4000,
                                      .seed   = 1 };

/* ---- starts ---- */

static void begin_second_stage(fitting *f)
{
    memcpy(f->next, f->price, f->c->n * sizeof *f->next);
    for (size_t j = 0; j < f->c->n; j++)
        if (f->c->column[j].from != COLUMN_NONE)
            f->next[j] = f->c->column[j].share * f->price[f->c->column[j].from];
    memcpy(f->price, f->next, f->c->n * sizeof *f->price);
}

/* Start values of floors: a time with hardly any row below it. After the fit of its family: a time
 * with none of its own rows below it, which the fit would not reach from elsewhere. */
static lm_status begin_floors(fitting *f, lm_error *err)
{
    const lot *l     = &f->sample;
    double    *times = malloc((l->n + 1) * sizeof *times);

    if (!times)
        return no_memory(err);
    for (size_t j = 0; j < f->c->n; j++) {
        size_t n = 0;

        f->most[j] = INFINITY;
        if (!f->c->column[j].floor)
            continue;
        for (size_t i = 0; i < l->n; i++) {
            size_t items, floors = 0;
            double value = 0;

            rows_cost(l->r, lot_row(l, i), f->c, f->price, f->vector, &items);
            for (size_t k = 0; k < items; k++) {
                floors += f->c->column[f->vector[k].column].floor;
                if (f->vector[k].column == j || fitting_unknown(f, f->vector[k].column) == j)
                    value += f->vector[k].value;
            }
            if (value > 0)
                times[n++] = l->r->row[lot_row(l, i)].seconds / value / (double)floors;
        }
        if (!n)
            continue;
        f->most[j] = stats_quantile(times, n, FLOOR_SHARE);
        if (f->price[j] <= 0 || fitting_held(f, j))
            f->price[j] = f->most[j];
        f->most[j] *= FLOOR_MOST;
    }
    free(times);
    fitting_spread(f, f->price);
    return LM_OK;
}

/* Start prices of work that overlaps with a floor: from the time above the floor. */
static lm_status begin_work(fitting *f, lm_error *err)
{
    const lot   *l = &f->sample;
    const size_t k = f->c->n;
    const double p = f->p;
    lm_status    status;

    for (size_t j = 0; j < k; j++)
        if (!f->c->column[j].floor && f->price[j] > 0)
            return LM_OK; /* some prices exist */
    fitting_clear(f);
    for (size_t i = 0; i < l->n; i++) {
        const size_t   at = lot_row(l, i);
        const double   t  = l->r->row[at].seconds;
        size_t         items, n = 0;
        const row_cost cost = rows_cost(l->r, at, f->c, f->price, f->vector, &items);
        const double   work =
            pow(fmax(pow(t, p) - pow(cost.floor, p), pow(WORK_LEAST * t, p)), 1 / p);

        for (size_t j = 0; j < items; j++)
            if (!f->c->column[f->vector[j].column].floor)
                f->vector[n++] = f->vector[j];
        if (l->r->row[at].stage <= f->stage)
            fitting_add(f, n, 1, 1, work, work * work / (t * t));
    }
    if (!(status = fitting_solve(f, 0, err)))
        for (size_t j = 0; j < k; j++)
            if (!f->c->column[j].floor)
                f->price[j] = f->next[j];
    return status;
}

/* ---- all ---- */

/* Gathers all rows with a time, the sample first, in one block of memory, because rounds read it
 * many times. */
static lm_status choose_rows(fitting *f, const rows *r, const bool *in, size_t *row, rows *gathered,
                             lm_error *err)
{
    uint64_t state = f->o->seed;
    double   logs  = 0;
    size_t   n     = 0;

    for (size_t i = 0; i < r->n; i++)
        if ((!in || in[i]) && !isnan(r->row[i].seconds)) {
            row[n++] = i;
            logs += log(r->row[i].seconds);
        }
    if (!n)
        return lm_error_set(err, LM_E_ARG, "no rows to fit to");
    f->middle = exp(logs / (double)n);
    f->all = f->sample = (lot){ r, row, n };
    if (!f->o->sample || f->o->sample >= n)
        return LM_OK;
    for (size_t i = 0; i < f->o->sample; i++) {
        const size_t with  = i + (size_t)random_below(&state, n - i);
        const size_t first = row[i];

        row[i]    = row[with];
        row[with] = first;
        rows_copy(gathered, r, row[i]);
    }
    f->sample = (lot){ gathered, NULL, f->o->sample };
    return rows_check(gathered, err);
}

static bool any_of_stage(const lot *l, unsigned stage)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->r->row[lot_row(l, i)].stage == stage)
            return true;
    return false;
}

static bool has_families(const columns *c)
{
    for (size_t j = 0; j < c->n; j++)
        if (c->column[j].parent != COLUMN_NONE)
            return true;
    return false;
}

/* Rows of stage 0, then all of the sample. */
static lm_status stages(fitting *f, lm_error *err)
{
    lm_status status = LM_OK;

    f->stage = any_of_stage(&f->sample, 0) ? 0 : 1;
    if (f->p != 1 && !(status = begin_floors(f, err)))
        status = begin_work(f, err);
    if (!status)
        status = fitting_rounds(f, f->o->rounds, &f->sample, false, err);
    if (!status && f->stage == 0 && any_of_stage(&f->sample, 1)) {
        f->stage = 1;
        begin_second_stage(f);
        status = fitting_rounds(f, f->o->rounds, &f->sample, false, err);
    }
    f->stage = 1;
    return status;
}

/* Fits prices to the sample, families first, starting with the prices of the columns. */
static lm_status fit_sample(fitting *f, lm_error *err)
{
    lm_status status;

    for (size_t j = 0; j < f->c->n; j++)
        f->price[j] = f->c->column[j].price;
    f->tied = has_families(f->c);
    if (!f->tied)
        return stages(f, err);
    fitting_spread(f, f->price);
    status  = stages(f, err);
    f->tied = false;
    if (!status && f->p != 1)
        status = begin_floors(f, err);
    return status ? status : fitting_rounds(f, f->o->rounds, &f->sample, true, err);
}

/* Mean relative error of the sample. */
static double sample_error(const fitting *f)
{
    const lot *l   = &f->sample;
    double     sum = 0;

    for (size_t i = 0; i < l->n; i++) {
        const size_t   at   = lot_row(l, i);
        const row_cost cost = rows_cost(l->r, at, f->c, f->price, NULL, NULL);

        sum += fabs(rows_seconds(cost, f->p) / l->r->row[at].seconds - 1);
    }
    return sum / (double)l->n;
}

/* Lets floors overlap with work if this fits the sample better. */
static lm_status try_overlap(fitting *f, lm_error *err)
{
    const double  error = sample_error(f), p = f->p;
    const size_t  size  = f->c->n * sizeof *f->price;
    double *const price = malloc(size + 1);
    lm_status     status;

    if (!price)
        return no_memory(err);
    memcpy(price, f->price, size);
    f->p   = OVERLAP;
    status = fit_sample(f, err);
    if (!status && !(sample_error(f) < (1 - OVERLAP_GAIN) * error)) {
        f->p = p;
        memcpy(f->price, price, size);
    }
    free(price);
    return status;
}

/* Sets prices and rows of the columns. A column that too few rows took keeps its start price. It also keeps its rows if
 * they are predicted better with it than by what they would take without such columns. */
static void give_prices(fitting *f)
{
    const lot    *l    = &f->sample;
    double *const gain = f->solution;

    for (size_t j = 0; j < f->c->n; j++) {
        f->c->column[j].price = f->price[j];
        f->c->column[j].rows  = fitting_determines(f, j) ? f->count[j] : 0;
        gain[j]               = 0;
    }
    for (size_t i = 0; i < l->n; i++) {
        const size_t   at = lot_row(l, i);
        size_t         n;
        const row_cost cost  = rows_cost(l->r, at, f->c, f->price, f->vector, &n);
        const double   error = fabs(rows_seconds(cost, f->p) / l->r->row[at].seconds - 1);
        const double   other = fabs(rows_priced(l->r, at, f->c) / l->r->row[at].seconds - 1);

        for (size_t k = 0; k < n; k++)
            gain[f->vector[k].column] += other - error;
    }
    for (size_t j = 0; j < f->c->n; j++)
        if (!fitting_determines(f, j) && gain[j] > 0)
            f->c->column[j].rows = f->count[j];
}

static lm_status fit(fitting *f, lm_error *err)
{
    lm_status status = fit_sample(f, err);

    if (!status && f->o->may_overlap)
        status = try_overlap(f, err);
    if (!status && f->sample.n < f->all.n)
        status = fitting_rounds(f, 1, &f->all, true, err);
    else if (!status)
        fitting_accumulate(f, &f->all, true); /* final choice of alternatives */
    f->c->join = f->p;
    if (!status)
        give_prices(f);
    return status;
}

lm_status solve_prices(const rows *r, const bool *in, const solve_options *o, columns *c,
                       lm_error *err)
{
    const size_t k        = c->n + 1;
    fitting      f        = { .o = o, .c = c, .p = o->p };
    double      *room     = calloc(2 * k * k + 8 * k, sizeof *room);
    size_t      *counts   = calloc(3 * k + r->n + 1, sizeof *counts);
    rows         gathered = { 0 };
    lm_status    status   = rows_check(r, err);

    f.vector = malloc((rows_longest(r) + 1) * sizeof *f.vector);
    if (!status && (!room || !counts || !f.vector))
        status = no_memory(err);
    if (!status) {
        double **vectors[] = { &f.price,  &f.next,  &f.solution, &f.h,
                               &f.used_h, &f.dense, &f.value,    &f.most };

        for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
            *vectors[i] = room + i * k;
        f.gram      = room + 8 * k;
        f.used_gram = f.gram + k * k;
        f.used      = counts;
        f.count     = counts + k;
        f.touched   = counts + 2 * k;
        status      = choose_rows(&f, r, in, counts + 3 * k, &gathered, err);
    }
    if (!status)
        status = fit(&f, err);
    rows_free(&gathered);
    free_all(f.vector, counts, room);
    return status;
}
