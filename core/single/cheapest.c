/* Prices of columns from rows of which each part takes its cheapest alternative. */
#include "single/cheapest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nnls.h"
#include "base/random.h"
#include "base/stats.h"

#define APART         1e-6 /* ridge on columns scaled to length 1: keeps like ones apart */
#define FLOOR_SHARE   0.02 /* of the rows are no slower than what a floor begins with */
#define FLOOR_MOST    3    /* times that: else one that no row shows grows without bound */
#define FLOOR_PULL    1e-6 /* holds it where it is, times the rows */
#define WORK_LEAST    0.05 /* of a row's time is work, as fits begin */
#define HALVINGS      6
#define DAMPING_GROWS 8
#define DAMPING_FALLS 3
#define GAIN_LEAST    1e-4 /* of the loss: less is the end */

const cheapest_options cheapest_default = { .p      = 1,
                                            .huber  = 0.1,
                                            .power  = 1,
                                            .ridge  = 0,
                                            .rounds = 8,
                                            .least  = 15,
                                            .sample = 4000,
                                            .seed   = 1 };

typedef struct fitting {
    const rows             *r;
    const cheapest_options *o;
    columns                *c;
    size_t                 *row; /* those that take part: a random order */
    size_t                  n, n_sample;
    unsigned                stage;   /* rows of later ones wait */
    bool                    tied;    /* columns count as their families */
    double                  damping; /* what holds prices where they are, as Marquardt has it */
    double                  middle;  /* geometric mean of the times */
    double   *price, *next, *solution, *gram, *h, *used_gram, *used_h, *dense, *value, *most;
    row_item *vector;
    size_t   *used, *count, *touched;
} fitting;

#define FEW 256 /* columns whose prices need no allocation */

double cheapest_seconds(const rows *r, size_t at, const columns *c, double p)
{
    double   few[FEW] = { 0 }, *price = c->n <= FEW ? few : malloc(c->n * sizeof *price);
    row_cost cost = { NAN, NAN };

    for (size_t j = 0; price && j < c->n; j++)
        price[j] = c->column[j].price;
    if (price)
        cost = rows_cost(r, at, c, price, NULL, NULL);
    if (price != few)
        free(price);
    return rows_seconds(cost, p);
}

/* The unknown that a column's counts go to. */
static size_t unknown(const fitting *f, size_t column_at)
{
    const size_t parent = f->c->column[column_at].parent;

    return f->tied && parent != COLUMN_NONE ? parent : column_at;
}

/* While families are fitted, their columns cost what they do. */
static void spread(const fitting *f, double *price)
{
    for (size_t j = 0; j < f->c->n; j++)
        price[j] = price[unknown(f, j)];
}

static double weight_of(const fitting *f, const row_entry *row)
{
    return row->weight *
           (f->o->power == 1 ? 1 : pow(row->seconds / f->middle, 2 - 2 * f->o->power));
}

/* Families explain little of single rows: nothing that they miss is an outlier yet. */
static double huber_of(const fitting *f)
{
    return f->tied && f->o->orphans ? INFINITY : f->o->huber;
}

static double robust_weight(double residual, double huber)
{
    return residual <= huber ? 1 : huber / residual;
}

/* ---- one round ----------------------------------------------------------------------------------
 */

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

/* Adds a row with its factors to the normal equations, of which the lower triangle is kept. */
static void add_row(fitting *f, size_t n_items, double floor_factor, double work_factor,
                    double seconds, double weight)
{
    const size_t n         = f->c->n;
    size_t       n_touched = 0;

    for (size_t i = 0; i < n_items; i++) {
        const size_t at       = unknown(f, f->vector[i].column);
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

/* Normal equations of the first n rows under f->price. */
static void accumulate(fitting *f, size_t n, bool robust)
{
    const size_t k = f->c->n;
    const double p = f->o->p;

    memset(f->gram, 0, k * k * sizeof *f->gram);
    memset(f->h, 0, k * sizeof *f->h);
    memset(f->count, 0, k * sizeof *f->count);
    for (size_t i = 0; i < n; i++) {
        const row_entry *row = &f->r->row[f->row[i]];
        size_t           items;
        const row_cost   cost = rows_cost(f->r, f->row[i], f->c, f->price, f->vector, &items);
        const double     t    = rows_seconds(cost, p);
        const double     w    = robust ? robust_weight(fabs(t / row->seconds - 1), huber_of(f)) : 1;

        if (row->stage <= f->stage)
            add_row(f, items, p == 1 || t <= 0 ? 1 : pow(cost.floor / t, p - 1),
                    p == 1 || t <= 0 ? 1 : pow(cost.work / t, p - 1), row->seconds,
                    w * weight_of(f, row));
    }
}

static double gram_at(const fitting *f, size_t a, size_t b)
{
    return a > b ? f->gram[a * f->c->n + b] : f->gram[b * f->c->n + a];
}

static bool held(const fitting *f, size_t j)
{
    return !f->tied && f->o->ridge > 0 && f->c->column[j].parent != COLUMN_NONE;
}

/* Next prices, of the columns that enough rows have; the others keep theirs. */
static lm_status solve(fitting *f, size_t n_rows, lm_error *err)
{
    const size_t n = f->c->n;
    size_t       k = 0;
    lm_status    status;

    memcpy(f->next, f->price, n * sizeof *f->next);
    for (size_t j = 0; j < n; j++) {
        const bool dropped = !f->o->orphans && held(f, j) && f->price[f->c->column[j].parent] <= 0;

        if (dropped)
            f->next[j] = 0;
        else if (f->count[j] && (f->count[j] >= f->o->least || held(f, j)))
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

        if (held(f, j) && f->price[f->c->column[j].parent] > 0) {
            near = f->price[f->c->column[j].parent];
            pull = f->o->ridge;
        } else if (f->o->p != 1 && f->c->column[j].floor) {
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
        if (f->o->p != 1 && f->c->column[j].floor)
            f->next[j] = fmin(f->next[j], f->most[j]);
    }
    spread(f, f->next);
    return LM_OK;
}

/* Mean robust loss of the first n rows under some prices. */
static double loss(const fitting *f, size_t n, const double *price)
{
    double sum  = 0;
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const row_entry *row = &f->r->row[f->row[i]];
        double           e, huber = huber_of(f);

        if (row->stage > f->stage)
            continue;
        e = fabs(rows_seconds(rows_cost(f->r, f->row[i], f->c, price, NULL, NULL), f->o->p) /
                     row->seconds -
                 1);
        sum += weight_of(f, row) * (e <= huber ? e * e / 2 : huber * (e - huber / 2));
        used++;
    }
    for (size_t j = 0; j < f->c->n; j++)
        if (held(f, j) && price[f->c->column[j].parent] > 0) {
            const double off = price[j] / price[f->c->column[j].parent] - 1;

            sum += f->o->ridge * off * off / 2;
        }
    return used ? sum / (double)used : 0;
}

/* Goes from the prices to the next ones, as far as the loss falls; false: it does not, or hardly.
 */
static bool advance(fitting *f, size_t n, double *before)
{
    const size_t k    = f->c->n;
    double       step = 1;

    if (f->o->p == 1) {
        memcpy(f->price, f->next, k * sizeof *f->price);
        return true;
    }
    for (int i = 0; i <= HALVINGS; i++, step /= 2) {
        double now;

        for (size_t j = 0; j < k; j++)
            f->next[j] = i ? (f->next[j] + f->price[j]) / 2 : f->next[j];
        now = loss(f, n, f->next);
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
static lm_status damped_step(fitting *f, size_t n, double *before, bool *moved, lm_error *err)
{
    lm_status status = LM_OK;

    *moved = false;
    for (int i = 0; i <= HALVINGS && !*moved && !status; i++) {
        double now;

        if ((status = solve(f, n, err)))
            return status;
        now = loss(f, n, f->next);
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

static lm_status damped_rounds(fitting *f, int n_rounds, size_t n, lm_error *err)
{
    double    before = loss(f, n, f->price);
    bool      moved  = true;
    lm_status status = LM_OK;

    f->damping = f->o->damping;
    for (int k = 0; k < n_rounds && moved && !status; k++) {
        accumulate(f, n, true);
        status = damped_step(f, n, &before, &moved, err);
    }
    f->damping = 0;
    return status;
}

static lm_status rounds(fitting *f, int n_rounds, size_t n, bool robust_at_once, lm_error *err)
{
    double    before = f->o->p == 1 ? 0 : loss(f, n, f->price);
    lm_status status = LM_OK;

    if (f->o->p != 1 && f->o->damping > 0)
        return damped_rounds(f, 4 * n_rounds, n, err);
    for (int k = 0; k < n_rounds && !status; k++) {
        accumulate(f, n, k > 0 || robust_at_once || f->o->p != 1);
        status = solve(f, n, err);
        if (!status && !advance(f, n, &before))
            break;
    }
    return status;
}

/* ---- starts -------------------------------------------------------------------------------------
 */

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
    double *times = malloc((f->n_sample + 1) * sizeof *times);

    if (!times)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    for (size_t j = 0; j < f->c->n; j++) {
        size_t n = 0;

        f->most[j] = INFINITY;
        if (!f->c->column[j].floor)
            continue;
        for (size_t i = 0; i < f->n_sample; i++) {
            size_t items, floors = 0;
            double value = 0;

            rows_cost(f->r, f->row[i], f->c, f->price, f->vector, &items);
            for (size_t k = 0; k < items; k++) {
                floors += f->c->column[f->vector[k].column].floor;
                if (f->vector[k].column == j || unknown(f, f->vector[k].column) == j)
                    value += f->vector[k].value;
            }
            if (value > 0)
                times[n++] = f->r->row[f->row[i]].seconds / value / (double)floors;
        }
        if (!n)
            continue;
        f->most[j] = stats_quantile(times, n, FLOOR_SHARE);
        if (f->price[j] <= 0 || held(f, j))
            f->price[j] = f->most[j];
        f->most[j] *= FLOOR_MOST;
    }
    free(times);
    spread(f, f->price);
    return LM_OK;
}

/* Where floor and work overlap, prices of the work to begin with: from the work that is left of the
 * times beside the floor. */
static lm_status begin_work(fitting *f, lm_error *err)
{
    const size_t k = f->c->n;
    const double p = f->o->p;
    lm_status    status;

    for (size_t j = 0; j < k; j++)
        if (!f->c->column[j].floor && f->price[j] > 0)
            return LM_OK; /* there are some */
    memset(f->gram, 0, k * k * sizeof *f->gram);
    memset(f->h, 0, k * sizeof *f->h);
    memset(f->count, 0, k * sizeof *f->count);
    for (size_t i = 0; i < f->n_sample; i++) {
        const double   t = f->r->row[f->row[i]].seconds;
        size_t         items, n = 0;
        const row_cost cost = rows_cost(f->r, f->row[i], f->c, f->price, f->vector, &items);
        const double   work =
            pow(fmax(pow(t, p) - pow(cost.floor, p), pow(WORK_LEAST * t, p)), 1 / p);

        for (size_t j = 0; j < items; j++)
            if (!f->c->column[f->vector[j].column].floor)
                f->vector[n++] = f->vector[j];
        if (f->r->row[f->row[i]].stage <= f->stage)
            add_row(f, n, 1, 1, work, work * work / (t * t));
    }
    if (!(status = solve(f, 0, err)))
        for (size_t j = 0; j < k; j++)
            if (!f->c->column[j].floor)
                f->price[j] = f->next[j];
    return status;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

static lm_status choose_rows(fitting *f, const bool *in, lm_error *err)
{
    uint64_t state = f->o->seed;
    double   logs  = 0;

    for (size_t i = 0; i < f->r->n; i++)
        if ((!in || in[i]) && !isnan(f->r->row[i].seconds)) {
            f->row[f->n++] = i;
            logs += log(f->r->row[i].seconds);
        }
    if (!f->n)
        return lm_error_set(err, LM_E_ARG, "no rows to fit to");
    f->middle   = exp(logs / (double)f->n);
    f->n_sample = f->o->sample && f->o->sample < f->n ? f->o->sample : f->n;
    for (size_t i = 0; i < f->n_sample && f->n_sample < f->n; i++) {
        const size_t with  = i + (size_t)random_below(&state, f->n - i);
        const size_t first = f->row[i];

        f->row[i]    = f->row[with];
        f->row[with] = first;
    }
    return LM_OK;
}

static bool any_of_stage(const fitting *f, unsigned stage)
{
    for (size_t i = 0; i < f->n_sample; i++)
        if (f->r->row[f->row[i]].stage == stage)
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

    f->stage = any_of_stage(f, 0) ? 0 : 1;
    if (f->o->p != 1 && !(status = begin_floors(f, err)))
        status = begin_work(f, err);
    if (!status)
        status = rounds(f, f->o->rounds, f->n_sample, false, err);
    if (!status && f->stage == 0 && any_of_stage(f, 1)) {
        f->stage = 1;
        begin_second_stage(f);
        status = rounds(f, f->o->rounds, f->n_sample, false, err);
    }
    f->stage = 1;
    return status;
}

static lm_status fit(fitting *f, lm_error *err)
{
    const bool families = has_families(f->c);
    lm_status  status   = LM_OK;

    for (size_t j = 0; j < f->c->n; j++)
        f->price[j] = f->c->column[j].price;
    if (families) {
        f->tied = true;
        spread(f, f->price);
        status  = stages(f, err);
        f->tied = false;
    }
    if (!status && !families)
        status = stages(f, err);
    else if (!status && (f->o->p == 1 || !(status = begin_floors(f, err))))
        status = rounds(f, f->o->rounds, f->n_sample, true, err);
    if (!status && f->n_sample < f->n)
        status = rounds(f, 1, f->n, true, err);
    else if (!status)
        accumulate(f, f->n, true); /* who took which alternative in the end */
    f->c->join = f->o->p;
    for (size_t j = 0; j < f->c->n && !status; j++) {
        f->c->column[j].price = f->price[j];
        f->c->column[j].rows  = f->count[j];
    }
    return status;
}

lm_status cheapest_fit(const rows *r, const bool *in, const cheapest_options *o, columns *c,
                       lm_error *err)
{
    const size_t k      = c->n + 1;
    fitting      f      = { .r = r, .o = o, .c = c };
    double      *room   = calloc(2 * k * k + 8 * k, sizeof *room);
    size_t      *counts = calloc(3 * k + r->n + 1, sizeof *counts);
    lm_status    status = rows_check(r, err);

    f.vector = malloc((rows_longest(r) + 1) * sizeof *f.vector);
    if (!status && (!room || !counts || !f.vector))
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
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
        f.row       = counts + 3 * k;
        status      = choose_rows(&f, in, err);
    }
    if (!status)
        status = fit(&f, err);
    free(f.vector);
    free(counts);
    free(room);
    return status;
}
