/* A window over a metric that is followed. */
#include "epochs/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"

/* Epochs that must remain when the older half goes. */
#define ENOUGH 12.0

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

    /* a gap longer than all that is kept leaves nothing of it */
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

/* The first samples say how long bins are. */
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
