/* Prices of columns from rows of which each part takes its cheapest alternative. */
#include "solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "base/stats.h"
#include "solve/nnls.h"
#include "solve/robust.h"

#define FLOOR_SHARE   0.02 /* of the rows are no slower than what a floor begins with */
#define FLOOR_MOST    3    /* times that: else one that no row shows grows without bound */
#define WORK_LEAST    0.05 /* of a row's time is work, as fits begin */
#define OVERLAP       4    /* p where floors hide behind work */
#define OVERLAP_GAIN  0.05 /* of the mean relative error, for which p is that */
#define APART         1e-6 /* ridge on columns scaled to length 1: keeps like ones apart */
#define FLOOR_PULL    1e-6 /* holds it where it is, times the rows */
#define HALVINGS      6
#define DAMPING_GROWS 8
#define DAMPING_FALLS 3
#define GAIN_LEAST    1e-4 /* of the loss: less is the end */

const solve_options solve_default = { .p      = 1,
                                      .huber  = 0.1,
                                      .power  = 1,
                                      .ridge  = 0,
                                      .rounds = 8,
                                      .least  = 15,
                                      .sample = 4000,
                                      .seed   = 1 };

/* Rows that take part. */
typedef struct lot {
    const rows   *r;
    const size_t *at; /* which of them; NULL: the first n */
    size_t        n;
} lot;

static inline size_t lot_row(const lot *l, size_t i)
{
    return l->at ? l->at[i] : i;
}

typedef struct fitting {
    const solve_options *o;
    columns             *c;
    lot                  all, sample;
    double               p;       /* by which floors and work join */
    unsigned             stage;   /* rows of later ones wait */
    bool                 tied;    /* columns count as their families */
    double               damping; /* what holds prices where they are, as Marquardt has it */
    double               middle;  /* geometric mean of the times */
    /* Of each column: its price, that of the next round, the most a floor's may be, ... */
    double *price, *next, *most;
    size_t *count; /* ... and how many rows took it in the last round. */
    /* Normal equations, lower triangle; and those of the columns that have an unknown now. */
    double   *gram, *h, *used_gram, *used_h, *solution;
    size_t   *used;
    row_item *vector; /* what a row took */
    /* Of the row that is added: its counts by column, and the columns it has. */
    double *dense, *value;
    size_t *touched;
} fitting;

/* ---- rounds ---- */

/* The unknown that a column's counts go to. */
static size_t fitting_unknown(const fitting *f, size_t column_at)
{
    const size_t parent = f->c->column[column_at].parent;

    return f->tied && parent != COLUMN_NONE ? parent : column_at;
}

/* While families are fitted, their columns cost what they do. */
static void fitting_spread(const fitting *f, double *price)
{
    for (size_t j = 0; j < f->c->n; j++)
        price[j] = price[fitting_unknown(f, j)];
}

/* What a row's weight is multiplied by where times count by a power of theirs. */
static double fitting_weight(const fitting *f, const row_entry *row)
{
    return row->weight *
           (f->o->power == 1 ? 1 : pow(row->seconds / f->middle, 2 - 2 * f->o->power));
}

/* Families explain little of single rows: nothing that they miss is an outlier yet. */
static double huber_of(const fitting *f)
{
    return f->tied && f->o->orphans ? INFINITY : f->o->huber;
}

/* Ascending; there are a few, nearly in order. */
static void sort_touched(size_t *touched, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const size_t at = touched[i];
        size_t       k  = i;

        for (; k > 0 && touched[k - 1] > at; k--)
            touched[k] = touched[k - 1];
        touched[k] = at;
    }
}

/* Takes all rows out of the normal equations. */
static void fitting_clear(fitting *f)
{
    const size_t k = f->c->n;

    memset(f->gram, 0, k * k * sizeof *f->gram);
    memset(f->h, 0, k * sizeof *f->h);
    memset(f->count, 0, k * sizeof *f->count);
}

/* Adds the first n_items of f->vector to them, with how much of the row's time goes with that of
 * its floor and its work. */
static void fitting_add(fitting *f, size_t n_items, double floor_factor, double work_factor,
                        double seconds, double weight)
{
    const size_t n         = f->c->n;
    size_t       n_touched = 0;

    for (size_t i = 0; i < n_items; i++) {
        const size_t at       = fitting_unknown(f, f->vector[i].column);
        const bool   is_floor = f->c->column[f->vector[i].column].floor;

        if (f->dense[at] == 0)
            f->touched[n_touched++] = at;
        f->dense[at] += f->vector[i].value * (is_floor ? floor_factor : work_factor) / seconds;
    }
    sort_touched(f->touched, n_touched);
    for (size_t i = 0; i < n_touched; i++)
        f->value[i] = f->dense[f->touched[i]];
    for (size_t i = 0; i < n_touched; i++) {
        const size_t a  = f->touched[i];
        const double v  = weight * f->value[i];
        double      *to = f->gram + a * n;

        f->h[a] += v;
        f->count[a]++;
        for (size_t k = 0; k <= i; k++)
            to[f->touched[k]] += v * f->value[k];
        f->dense[a] = 0;
    }
}

/* Normal equations of rows under f->price; `robust`: outliers count less. */
static void fitting_accumulate(fitting *f, const lot *l, bool robust)
{
    fitting_clear(f);
    for (size_t i = 0; i < l->n; i++) {
        const size_t     at  = lot_row(l, i);
        const row_entry *row = &l->r->row[at];
        row_cost         cost;
        size_t           items;
        double           t, w;

        if (row->stage > f->stage)
            continue;
        cost = rows_cost(l->r, at, f->c, f->price, f->vector, &items);
        t    = rows_seconds(cost, f->p);
        w    = robust ? robust_weight(fabs(t / row->seconds - 1), huber_of(f)) : 1;
        fitting_add(f, items, rows_slope(cost.floor, t, f->p), rows_slope(cost.work, t, f->p),
                    row->seconds, w * fitting_weight(f, row));
    }
}

static double gram_at(const fitting *f, size_t a, size_t b)
{
    return a > b ? f->gram[a * f->c->n + b] : f->gram[b * f->c->n + a];
}

/* Is a column held near its family? */
static bool fitting_held(const fitting *f, size_t column_at)
{
    return !f->tied && f->o->ridge > 0 && f->c->column[column_at].parent != COLUMN_NONE;
}

/* f->next from the normal equations of n_rows, of the columns that enough rows have; the others
 * keep their price. */
static lm_status fitting_solve(fitting *f, size_t n_rows, lm_error *err)
{
    const size_t n = f->c->n;
    size_t       k = 0;
    lm_status    status;

    memcpy(f->next, f->price, n * sizeof *f->next);
    for (size_t j = 0; j < n; j++) {
        const bool dropped =
            !f->o->orphans && fitting_held(f, j) && f->price[f->c->column[j].parent] <= 0;

        if (dropped)
            f->next[j] = 0;
        else if (f->count[j] && (f->count[j] >= f->o->least || fitting_held(f, j)))
            f->used[k++] = j;
    }
    for (size_t i = 0; i < k; i++) {
        const size_t j = f->used[i];

        f->used_h[i] = f->h[j];
        for (size_t b = 0; b < k; b++)
            f->used_gram[i * k + b] = gram_at(f, j, f->used[b]);
        f->used_h[i] += f->damping * f->used_gram[i * k + i] * f->price[j];
        f->used_gram[i * k + i] *= 1 + APART + f->damping;
        f->solution[i] = f->price[j];
    }
    for (size_t b = 0, u = 0; b < n; b++) {
        if (u < k && f->used[u] == b) {
            u++;
            continue;
        }
        for (size_t i = 0; i < k && f->next[b] > 0; i++)
            f->used_h[i] -= gram_at(f, f->used[i], b) * f->next[b];
    }
    for (size_t i = 0; i < k; i++) {
        const size_t j    = f->used[i];
        double       near = 0, pull = 0;

        if (fitting_held(f, j) && f->price[f->c->column[j].parent] > 0) {
            near = f->price[f->c->column[j].parent];
            pull = f->o->ridge;
        } else if (f->p != 1 && f->c->column[j].floor) {
            near = f->price[j];
            pull = FLOOR_PULL * (double)n_rows;
        }
        if (near > 0) {
            f->used_gram[i * k + i] += pull / (near * near);
            f->used_h[i] += pull / near;
        }
    }
    if ((status = nnls_solve(f->used_gram, f->used_h, k, f->solution, err)))
        return status;
    for (size_t i = 0; i < k; i++) {
        const size_t j = f->used[i];

        f->next[j] = f->solution[i];
        if (f->p != 1 && f->c->column[j].floor)
            f->next[j] = fmin(f->next[j], f->most[j]);
    }
    fitting_spread(f, f->next);
    return LM_OK;
}

/* Mean robust loss under some prices. */
static double loss(const fitting *f, const lot *l, const double *price)
{
    const double huber = huber_of(f);
    double       sum   = 0;
    size_t       used  = 0;

    for (size_t i = 0; i < l->n; i++) {
        const size_t     at  = lot_row(l, i);
        const row_entry *row = &l->r->row[at];
        double           e;

        if (row->stage > f->stage)
            continue;
        e = fabs(rows_seconds(rows_cost(l->r, at, f->c, price, NULL, NULL), f->p) / row->seconds -
                 1);
        sum += fitting_weight(f, row) * robust_loss(e, huber);
        used++;
    }
    for (size_t j = 0; j < f->c->n; j++)
        if (fitting_held(f, j) && price[f->c->column[j].parent] > 0) {
            const double off = price[j] / price[f->c->column[j].parent] - 1;

            sum += f->o->ridge * off * off / 2;
        }
    return used ? sum / (double)used : 0;
}

/* Goes from the prices to the next ones, as far as the loss falls; false: it does not, or hardly.
 */
static bool advance(fitting *f, const lot *l, double *before)
{
    const size_t k    = f->c->n;
    double       step = 1;

    if (f->p == 1) {
        memcpy(f->price, f->next, k * sizeof *f->price);
        return true;
    }
    for (int i = 0; i <= HALVINGS; i++, step /= 2) {
        double now;

        for (size_t j = 0; j < k; j++)
            f->next[j] = i ? (f->next[j] + f->price[j]) / 2 : f->next[j];
        now = loss(f, l, f->next);
        if (now < *before) {
            const bool more = *before - now >= GAIN_LEAST * *before;

            memcpy(f->price, f->next, k * sizeof *f->price);
            *before = now;
            return more;
        }
    }
    return false;
}

/* One step of Levenberg and Marquardt: what fails is tried again, shorter. */
static lm_status damped_step(fitting *f, const lot *l, double *before, bool *moved, lm_error *err)
{
    lm_status status = LM_OK;

    *moved = false;
    for (int i = 0; i <= HALVINGS && !*moved && !status; i++) {
        double now;

        if ((status = fitting_solve(f, l->n, err)))
            return status;
        now = loss(f, l, f->next);
        if (now < *before) {
            *moved  = *before - now >= GAIN_LEAST * *before;
            *before = now;
            memcpy(f->price, f->next, f->c->n * sizeof *f->price);
            f->damping /= DAMPING_FALLS;
            return LM_OK;
        }
        f->damping *= DAMPING_GROWS;
    }
    return LM_OK;
}

static lm_status damped_rounds(fitting *f, int n_rounds, const lot *l, lm_error *err)
{
    double    before = loss(f, l, f->price);
    bool      moved  = true;
    lm_status status = LM_OK;

    f->damping = f->o->damping;
    for (int k = 0; k < n_rounds && moved && !status; k++) {
        fitting_accumulate(f, l, true);
        status = damped_step(f, l, &before, &moved, err);
    }
    f->damping = 0;
    return status;
}

/* Rounds on these rows, until the robust loss no longer falls; p 1: all of them, of which
 * the first takes no row for an outlier yet, unless `robust_at_once`. */
static lm_status fitting_rounds(fitting *f, int n_rounds, const lot *l, bool robust_at_once,
                                lm_error *err)
{
    double    before = f->p == 1 ? 0 : loss(f, l, f->price);
    lm_status status = LM_OK;

    if (f->p != 1 && f->o->damping > 0)
        return damped_rounds(f, 4 * n_rounds, l, err);
    for (int k = 0; k < n_rounds && !status; k++) {
        fitting_accumulate(f, l, k > 0 || robust_at_once || f->p != 1);
        status = fitting_solve(f, l->n, err);
        if (!status && !advance(f, l, &before))
            break;
    }
    return status;
}

/* ---- starts ---- */

static void begin_second_stage(fitting *f)
{
    memcpy(f->next, f->price, f->c->n * sizeof *f->next);
    for (size_t j = 0; j < f->c->n; j++)
        if (f->c->column[j].from != COLUMN_NONE)
            f->next[j] = f->c->column[j].share * f->price[f->c->column[j].from];
    memcpy(f->price, f->next, f->c->n * sizeof *f->price);
}

/* Floors begin with what hardly any row of theirs is faster than; those of a family, once it is
 * fitted, with what none of their own is: from another's floor a fit does not find to it. */
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

/* Where floor and work overlap, prices of the work to begin with: from the work that is left of the
 * times beside the floor. */
static lm_status begin_work(fitting *f, lm_error *err)
{
    const lot   *l = &f->sample;
    const size_t k = f->c->n;
    const double p = f->p;
    lm_status    status;

    for (size_t j = 0; j < k; j++)
        if (!f->c->column[j].floor && f->price[j] > 0)
            return LM_OK; /* there are some */
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

/* All rows with a time, the sample first: its own, one behind the other, as rounds go through it
 * again and again. */
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

/* Prices by the sample, from those the columns have; where they have families, these first. */
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

/* Lets floors hide behind work, if that suits the sample better. */
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

static lm_status fit(fitting *f, lm_error *err)
{
    lm_status status = fit_sample(f, err);

    if (!status && f->o->may_overlap)
        status = try_overlap(f, err);
    if (!status && f->sample.n < f->all.n)
        status = fitting_rounds(f, 1, &f->all, true, err);
    else if (!status)
        fitting_accumulate(f, &f->all, true); /* who took which alternative in the end */
    f->c->join = f->p;
    for (size_t j = 0; j < f->c->n && !status; j++) {
        f->c->column[j].price = f->price[j];
        f->c->column[j].rows  = f->count[j];
    }
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
    free(f.vector);
    free(counts);
    free(room);
    return status;
}
