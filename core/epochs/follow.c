/* Epochs of a metric while it comes in: a window over its recent past, searched again and again. */
#include "epochs/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"

/* Epochs that must remain when the older half goes. */
#define ENOUGH 12.0

/* ---- window ---------------------------------------------------------------------------------- */

static void count_missing(trace_grid *g)
{
    g->n_missing = 0;
    for (size_t i = 0; i < g->n; i++)
        g->n_missing += isnan(g->x[i]) ? 1 : 0;
}

static void drop_half(trace_grid *g)
{
    const size_t half = g->n / 2;

    memmove(g->x, g->x + half, (g->n - half) * sizeof *g->x);
    g->start += g->step * (double)half;
    g->n -= half;
    count_missing(g);
}

static void merge_pairs(trace_grid *g)
{
    g->n /= 2; /* WINDOW_BINS is even */
    for (size_t i = 0; i < g->n; i++) {
        const float a = g->x[2 * i], b = g->x[2 * i + 1];

        g->x[i] = isnan(a) ? b : isnan(b) ? a : 0.5F * (a + b);
    }
    g->step *= 2;
    count_missing(g);
}

static void close_bin(epochs_window *w, double period)
{
    trace_grid *g = &w->grid;

    if (g->n == WINDOW_BINS) {
        if (0.5 * g->step * WINDOW_BINS >= ENOUGH * period)
            drop_half(g);
        else
            merge_pairs(g);
    }
    g->x[g->n++] = w->in_bin ? (float)(w->sum / (double)w->in_bin) : NAN;
    g->n_missing += w->in_bin ? 0 : 1;
    w->sum    = 0;
    w->in_bin = 0;
}

static void put(epochs_window *w, double time, float value, double period)
{
    trace_grid *g = &w->grid;

    /* a gap longer than the window empties it */
    if (time > g->start + g->step * (double)(g->n + 2 * (size_t)WINDOW_BINS)) {
        g->n = g->n_missing = 0;
        g->start            = time - 0.5 * g->step;
        w->sum              = 0;
        w->in_bin           = 0;
    }
    while (time >= g->start + g->step * (double)(g->n + 1))
        close_bin(w, period);
    if (!isnan(value)) {
        w->sum += (double)value;
        w->in_bin++;
    }
}

/* The first samples decide the length of a bin. */
static lm_status begin(epochs_window *w, lm_error *err)
{
    double step[WINDOW_FIRST];

    for (size_t i = 0; i + 1 < WINDOW_FIRST; i++)
        step[i] = w->first_time[i + 1] - w->first_time[i];
    w->grid.step = stats_quantile(step, WINDOW_FIRST - 1, 0.5);
    if (!(w->grid.step > 0)) /* clocks of whole seconds */
        w->grid.step =
            fmax(1e-3, (w->first_time[WINDOW_FIRST - 1] - w->first_time[0]) / (WINDOW_FIRST - 1));
    w->grid.interval = w->grid.shortest = w->grid.longest = w->grid.step;
    w->grid.start                                         = w->first_time[0] - 0.5 * w->grid.step;
    w->grid.x                                             = malloc(WINDOW_BINS * sizeof *w->grid.x);
    if (!w->grid.x)
        return no_memory(err);
    for (size_t i = 0; i < WINDOW_FIRST; i++)
        put(w, w->first_time[i], w->first_value[i], NAN);
    return LM_OK;
}

lm_status epochs_window_add(epochs_window *w, double time, float value, double period,
                            lm_error *err)
{
    if (w->grid.x) {
        put(w, time, value, period);
        return LM_OK;
    }
    w->first_time[w->n_first]    = time;
    w->first_value[w->n_first++] = value;
    return w->n_first == WINDOW_FIRST ? begin(w, err) : LM_OK;
}

void epochs_window_free(epochs_window *w)
{
    trace_grid_free(&w->grid);
}

/* ---- following ------------------------------------------------------------------------------- */

/* Least number of samples between two searches, and the least share of the bins. */
#define LEAST_NEW 128
#define PART_NEW  16

struct epochs_follower {
    epochs_method method;
    epochs_taker  take;
    void         *context;
    epochs_window window;
    size_t        seen, last_look, n_taken;
    double        period, taken_until;
    lm_error      why; /* of the last look that found nothing */
};

lm_status epochs_follower_new(epochs_method m, epochs_taker take, void *context,
                              epochs_follower **out, lm_error *err)
{
    epochs_follower *f = calloc(1, sizeof *f);

    if (!f)
        return no_memory(err);
    f->method      = m;
    f->take        = take;
    f->context     = context;
    f->period      = NAN;
    f->taken_until = -INFINITY;
    lm_error_set(&f->why, LM_E_NOTFOUND, "fewer than %d samples", WINDOW_FIRST);
    *out = f;
    return LM_OK;
}

void epochs_follower_free(epochs_follower *f)
{
    if (!f)
        return;
    epochs_window_free(&f->window);
    free(f);
}

/* Is the epoch final? The last epochs may still move. */
static bool is_over(const epochs_follower *f, const epoch *e, const epochs *all, bool ended)
{
    const double now = f->window.grid.start + f->window.grid.step * (double)f->window.grid.n;

    if (e->start + 0.5 * e->length < f->taken_until)
        return false;
    if (e->kind == EPOCH_PARTIAL || e->kind == EPOCH_IDLE)
        return e == &all->epoch[0] && f->n_taken == 0;
    return ended || e->start + e->length < now - 0.5 * all->steady;
}

static lm_status look(epochs_follower *f, bool ended, lm_error *err)
{
    epochs   *e      = NULL;
    lm_status status = epochs_find(f->method, &f->window.grid, &e, &f->why);

    f->last_look = f->seen;
    if (status == LM_E_NOTFOUND)
        return LM_OK;
    if (status) {
        *err = f->why;
        return status;
    }
    f->period = e->steady;
    for (size_t i = 0; i < e->n && !status; i++)
        if (is_over(f, &e->epoch[i], e, ended)) {
            f->n_taken++;
            f->taken_until = e->epoch[i].start + e->epoch[i].length;
            status         = f->take(f->context, &e->epoch[i], e, err);
        }
    epochs_free(e);
    return status;
}

/* A new search pays off after an epoch, or after a part of the window. */
static bool is_due(const epochs_follower *f)
{
    const double fresh = (double)(f->seen - f->last_look);
    const double wait  = isnan(f->period)
                             ? (double)f->window.grid.n / PART_NEW
                             : fmin(f->period / f->window.grid.interval, 0.5 * WINDOW_BINS);

    return f->window.grid.x && fresh >= fmax(LEAST_NEW, wait);
}

lm_status epochs_follower_add(epochs_follower *f, double time, float value, lm_error *err)
{
    const lm_status status = epochs_window_add(&f->window, time, value, f->period, err);

    f->seen++;
    return !status && is_due(f) ? look(f, false, err) : status;
}

lm_status epochs_follower_end(epochs_follower *f, lm_error *err)
{
    const lm_status status = f->window.grid.x ? look(f, true, err) : LM_OK;

    if (status || f->n_taken)
        return status;
    if (err)
        *err = f->why;
    return f->why.code;
}

double epochs_follower_interval(const epochs_follower *f)
{
    return f->window.grid.x ? f->window.grid.interval : (double)NAN;
}

double epochs_follower_period(const epochs_follower *f)
{
    return f->period;
}
