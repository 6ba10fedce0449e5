/* Learned powers of single layers as text. */
#include <math.h>

#include "fit/layer_watts.h"
#include "fit/singles.h"
#include "single/model.h"

#define MOST_WATTS 1e5

static void text(lines *l, void **both)
{
    layer_watts *w = *both = lines_made(l, *both, sizeof *w);
    double       cap;

    if (!w)
        return;
    if (!l->out)
        w->base = power_unknown;
    cap = w->base.cap_w > 0 ? w->base.cap_w : (double)NAN;
    LINE(l, "watts", ITEM_REALS(w->base.bound_w, N_TERM_BOUNDS, 0, MOST_WATTS));
    LINE(l, "cap", ITEM_KNOWN(&cap, 1, DBL_TRUE_MIN, MOST_WATTS));
    LINE(l, "held", ITEM_REAL(&w->low, -20, 20), ITEM_REAL(&w->high, -20, 20));
    lines_check(l, w->low <= w->high, "held between %g and %g", w->low, w->high);
    trees_text(l, &w->grown);
    if (l->out || l->status)
        return;
    w->base.cap_w = cap;
    lines_check(l, w->grown->n_features == LAYER_WATTS_FEATURES,
                "trees of %zu features, powers have %d", w->grown->n_features,
                (int)LAYER_WATTS_FEATURES);
}

static void release(void *what)
{
    layer_watts_free(what);
}

const kept_kind layer_watts_kept = { "learned model", text, release, NULL };

lm_status layer_watts_by_machine(const points *p, const calibration *cal, double *watts,
                                 lm_error *err)
{
    void     *w      = NULL;
    lm_status status = LM_OK;

    if (cal->layers && calibration_learned_has(cal, LAYER_WATTS_NAME))
        status = calibration_learned_open(cal, LAYER_WATTS_NAME, &layer_watts_kept, &w, err);
    for (size_t i = 0; i < p->n_points && w && !status; i++)
        for (phase f = 0; f < N_PHASES && p->point[i].shape && !status; f++) {
            const layer_run run = singles_run(&p->point[i], f, p->multiprocessors);

            if (!isnan(p->point[i].seconds[f]))
                status = layer_watts_of(w, cal->layers, p->point[i].shape, &run,
                                        &watts[i * N_PHASES + f], err);
        }
    layer_watts_free(w);
    return status;
}
