/* Rounds of reweighted, non-negative least squares. */
#include "solve/fitting.h"

#include <math.h>
#include <string.h>

#include "solve/nnls.h"
#include "solve/robust.h"

#define APART         1e-6 /* ridge on columns scaled to length 1: separates similar columns */
#define FLOOR_PULL    1e-6 /* weight that holds a price, per row */
#define HALVINGS      6
#define DAMPING_GROWS 8
#define DAMPING_FALLS 3
#define GAIN_LEAST    1e-4 /* relative gain of the loss below which rounds end */

void fitting_spread(const fitting *f, double *price)
{
    for (size_t j = 0; j < f->c->n; j++)
        price[j] = price[fitting_unknown(f, j)];
}

/* Factor of a row's weight if times count by a power. */
static double fitting_weight(const fitting *f, const row_entry *row)
{
    return row->weight *
           (f->o->power == 1 ? 1 : pow(row->seconds / f->middle, 2 - 2 * f->o->power));
}

/* Huber threshold. Families describe single rows badly, so a large error is no outlier at that
 * stage. */
static double huber_of(const fitting *f)
{
    return f->tied && f->o->orphans ? INFINITY : f->o->huber;
}

/* Sorts a few, nearly ordered numbers. */
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

void fitting_clear(fitting *f)
{
    const size_t k = f->c->n;

    memset(f->gram, 0, k * k * sizeof *f->gram);
    memset(f->h, 0, k * sizeof *f->h);
    memset(f->count, 0, k * sizeof *f->count);
}

void fitting_add(fitting *f, size_t n_items, double floor_factor, double work_factor,
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

void fitting_accumulate(fitting *f, const lot *l, bool robust)
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

bool fitting_determines(const fitting *f, size_t column_at)
{
    const size_t n = f->count[column_at];

    return n && (n >= f->o->least || fitting_held(f, column_at));
}

lm_status fitting_solve(fitting *f, size_t n_rows, lm_error *err)
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
        else if (fitting_determines(f, j))
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

/* Mean robust loss with these prices. */
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

/* Moves from the prices towards the next ones while the loss falls; false: it hardly falls. */
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

/* One step of Levenberg and Marquardt; a step that fails is tried again, shorter. */
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

lm_status fitting_rounds(fitting *f, int n_rounds, const lot *l, bool robust_at_once, lm_error *err)
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
