/* Measured steps in buckets, predicted. */
#include "fit/overlap_points.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "fit/fit.h"

/* Models that know no all-reduce apart from the update hide none. */
static bool can(const calibration *cal, const char *model, const point *pt)
{
    return form_find(model, PHASE_SYNC) < n_forms &&
           !isnan(step_passes_of(cal, model, &pt->load).backward);
}

static lm_status predict(const points *p, const calibration *cal, const char *model,
                         const split *by, size_t fold, overlapped_point *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < p->n_points && !status; i++) {
        exposed_step s;

        if (!point_in_buckets(&p->point[i]) || (fold != SPLIT_ALWAYS && by->fold[i] != fold) ||
            !can(cal, model, &p->point[i]))
            continue;
        status = exposed_predict(p, cal, model, &p->point[i], NAN, &s, err);
        if (!status)
            /* a rank that measures from its own last gradient waits for the slowest rank, too */
            out[i] =
                (overlapped_point){ s.times.exposed + (p->point[i].row->waits ? s.times.wait : 0),
                                    s.times.step };
    }
    return status;
}

/* Is there anything to predict in a fold? */
static bool any_in(const points *p, const split *by, size_t fold)
{
    for (size_t i = 0; i < p->n_points; i++)
        if (point_in_buckets(&p->point[i]) && (fold == SPLIT_ALWAYS || by->fold[i] == fold))
            return true;
    return false;
}

/* By a fit to all folds but one. */
static lm_status predict_fold(const points *p, const char *model, const split *by, size_t fold,
                              overlapped_point *out, lm_error *err)
{
    points       rest = *p;
    calibration *cal  = NULL;
    lm_status    status;

    if (!any_in(p, by, fold))
        return LM_OK;
    rest.n_points = 0;
    rest.point    = malloc((p->n_points + 1) * sizeof *rest.point);
    if (!rest.point)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++)
        if (fold == SPLIT_ALWAYS || by->fold[i] != fold)
            rest.point[rest.n_points++] = p->point[i];
    status = fit_model(&rest, model, &cal, err);
    free(rest.point);
    if (!status)
        status = predict(p, cal, model, by, fold, out, err);
    calibration_free(cal);
    return status;
}

lm_status overlap_points(const points *p, const char *model, const split *by,
                         const calibration *cal, overlapped_point *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < p->n_points; i++)
        out[i] = (overlapped_point){ NAN, NAN };
    if (form_find(model, PHASE_SYNC) == n_forms || !any_in(p, by, SPLIT_ALWAYS))
        return LM_OK;
    if (cal)
        return predict(p, cal, model, by, SPLIT_ALWAYS, out, err);
    if (by->rule.kind == SPLIT_NONE)
        return predict_fold(p, model, by, SPLIT_ALWAYS, out, err);
    for (size_t f = 0; f < by->n_folds && !status; f++)
        status = predict_fold(p, model, by, f, out, err);
    return status;
}
