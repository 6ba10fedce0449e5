/* Epochs of a metric as it comes. */
#include "epochs/follow.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "epochs/window.h"

/* Samples between two looks at what came, at least; and this part of the bins that are there. */
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

/* Is it over for good? What came last may still move. */
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

/* A new look is worth it after an epoch, or after a part of what is there. */
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
