/* Collectives among points. */
#include "fit/collectives.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "fit/collective_bounds.h"

static bool even(const observation *row)
{
    return row->hosts >= 1 && row->ranks % row->hosts == 0;
}

static const char *algorithm_of(const observation *row)
{
    return *row->algorithm ? row->algorithm : ALGORITHM_DEFAULT;
}

/* Any measured collective of the point. */
static bool has_collective(const point *pt, const points *of, collective_time *out)
{
    const observation *row = pt->row;

    if (pt->collective == N_COLLECTIVE_KINDS || row->ranks < 2 || !(pt->load.bytes > 0) ||
        (of->algorithm && pt->other_algorithm) || !even(row))
        return false;
    *out = (collective_time){ { pt->collective, pt->load.bytes, row->hosts, row->ranks / row->hosts,
                                1 },
                              algorithm_of(row),
                              pt->seconds[PHASE_SYNC] };
    return true;
}

/*
 * The measured collective of a point: a single one, or the all-reduce of a network's gradients in
 * one message. False if there is none, if it used another algorithm than the chosen one, or if
 * hosts have different numbers of ranks.
 */
static bool collectives_at(const point *pt, const points *of, collective_time *out)
{
    return !isnan(pt->seconds[PHASE_SYNC]) && has_collective(pt, of, out);
}

size_t collectives_uneven(const points *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_points; i++)
        n += !isnan(p->point[i].seconds[PHASE_SYNC]) && p->point[i].row->ranks > 1 &&
             !even(p->point[i].row);
    return n;
}

/* Fits the rows of a turn; NULL: all rows, with bounds. */
static lm_status fit_rows(const points *p, const fold_turn *t, bool baselines,
                          collective_model **out, lm_error *err)
{
    collective_time *row = malloc((p->n_points + 1) * sizeof *row);
    size_t           n   = 0;
    lm_status        status;

    if (!row)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++)
        if (!t || fold_in(t, i))
            n += collectives_at(&p->point[i], p, &row[n]);
    status =
        baselines ? collective_fit_baselines(row, n, out, err) : collective_fit(row, n, out, err);
    if (!status && !t && (status = collective_bounds(row, n, *out, err)))
        collective_free(*out);
    free(row);
    return status;
}

lm_status collectives_fit(const points *p, collective_model **out, lm_error *err)
{
    const lm_status status = fit_rows(p, NULL, false, out, err);

    if (!status && !(*out)->n) {
        collective_free(*out);
        *out = NULL;
    }
    return status;
}

static double seconds_of(const collective_model *m, sync_baseline b, const collective_time *a,
                         bool stand_in)
{
    const char *name =
        stand_in && !collective_algorithm(m, a->of.kind, a->algorithm) ? NULL : a->algorithm;

    return b < N_SYNC_BASELINES ? collective_baseline(m, name, b, &a->of)
                                : collective_seconds(m, name, NULL, &a->of);
}

/* Predictions by rows of other folds. */
typedef struct leaving {
    const points *p;
    sync_baseline b;
    double       *seconds;
} leaving;

static lm_status tell_fold(void *context, const fold_turn *t, lm_error *err)
{
    const leaving    *l = context;
    collective_model *m;
    collective_time   a;
    const lm_status   status = fit_rows(l->p, t, l->b < N_SYNC_BASELINES, &m, err);

    if (status)
        return status;
    for (size_t i = 0; i < l->p->n_points; i++) {
        const point *pt = &l->p->point[i];

        if (fold_out(t, i) && !isnan(point_seconds(pt, PHASE_SYNC)) && collectives_at(pt, l->p, &a))
            l->seconds[i] = seconds_of(m, l->b, &a, false);
    }
    collective_free(m);
    return LM_OK;
}

lm_status collectives_left_out(const points *p, const split *by, sync_baseline b, double *seconds,
                               lm_error *err)
{
    folds   f = split_folds(by, p);
    leaving l = { p, b, seconds };

    f.parallel = true;
    for (size_t i = 0; i < p->n_points; i++)
        seconds[i] = NAN;
    return folds_leave_out(&f, tell_fold, &l, err);
}

void collectives_by_model(const points *p, const collective_model *m, sync_baseline b,
                          double *seconds)
{
    for (size_t i = 0; i < p->n_points; i++) {
        collective_time a;

        seconds[i] = NAN;
        if (!point_in_buckets(&p->point[i]) && has_collective(&p->point[i], p, &a))
            seconds[i] = seconds_of(m, b, &a, true);
    }
}
