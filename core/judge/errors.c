/* Errors of several models on the same points. */
#include "judge/errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"

/* What is judged of a quantity. */
typedef enum figure { FIGURE_TIME, FIGURE_POWER, FIGURE_ENERGY, N_FIGURES } figure;

static const char *const figure_words[N_FIGURES] = { "", " power", " energy" };

/* Watts or joules in place of seconds; they have no interval. */
static void take_figure(const comparison *from, phase q, figure what, comparison *to)
{
    const double seconds[2] = { from->measured[q], from->predicted[q] };
    const double watts[2]   = { from->measured_watts[q], from->watts[q] };

    *to              = *from;
    to->low[q]       = NAN;
    to->high[q]      = NAN;
    to->measured[q]  = what == FIGURE_POWER ? watts[0] : watts[0] * seconds[0];
    to->predicted[q] = what == FIGURE_POWER ? watts[1] : watts[1] * seconds[1];
}

static lm_status judge_figure(const judging *all, const judged *m, phase q, figure what,
                              size_t fold, judgement *out, lm_error *err)
{
    comparison *room;

    if (what == FIGURE_TIME) {
        *out = validate_judge(all->p, m->at, q, all->groups, fold);
        return LM_OK;
    }
    if (!(room = malloc((all->p->n_points + 1) * sizeof *room)))
        return no_memory(err);
    for (size_t i = 0; i < all->p->n_points; i++)
        take_figure(&m->at[i], q, what, &room[i]);
    *out = validate_judge(all->p, room, q, all->groups, fold);
    free(room);
    return LM_OK;
}

/* Mean and standard deviation over folds that have points; NAN for fewer than two. */
static void over_folds(const judging *all, const judged *m, phase q, double *mean, double *sd)
{
    stats_sample of = { 0 };

    for (size_t f = 0; f < all->by->n_folds; f++) {
        const judgement j = validate_judge(all->p, m->at, q, all->by, f);

        if (j.errors.n)
            stats_take(&of, j.errors.mape);
    }
    *mean = of.n > 1 ? of.mean : NAN;
    *sd   = stats_sd(&of);
}

static lm_status judge_row(const judging *all, size_t fold, phase q, figure what, const judged *m,
                           error_taker take, void *context, lm_error *err)
{
    const bool      pooled = fold == all->groups->n_folds;
    judgement       j;
    char            text[60];
    double          mean = NAN, sd = NAN;
    const lm_status status = judge_figure(all, m, q, what, pooled ? SPLIT_ALWAYS : fold, &j, err);

    if (status || !j.errors.n)
        return status;
    snprintf(text, sizeof text, "%s%s", phase_name(q), figure_words[what]);
    if (pooled && what == FIGURE_TIME)
        over_folds(all, m, q, &mean, &sd);
    take(context, &(error_row){ .group     = pooled ? NULL : all->groups->name[fold],
                                .phase     = text,
                                .model     = m->model,
                                .of        = j.errors,
                                .seconds   = what == FIGURE_TIME,
                                .coverage  = j.coverage,
                                .width     = j.width,
                                .score     = j.score,
                                .fold_mean = mean,
                                .fold_sd   = sd });
    return LM_OK;
}

lm_status judging_errors(const judging *all, bool pooled, error_taker take, void *context,
                         lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t g = pooled ? all->groups->n_folds : 0; g <= all->groups->n_folds; g++)
        for (size_t k = 0; k < N_PHASES_SHOWN; k++)
            for (figure what = 0; what < (all->power ? N_FIGURES : FIGURE_POWER); what++)
                for (size_t m = 0; m < all->n && validate_tells(all->p, phases_shown[k]) && !status;
                     m++)
                    status = judge_row(all, g, phases_shown[k], what, &all->model[m], take, context,
                                       err);
    return status;
}

void judging_count(const judging *all, size_t *predicted, size_t *stated)
{
    *predicted = *stated = 0;
    for (size_t m = 0; m < all->n; m++)
        for (phase q = 0; q < N_TIMES; q++) {
            const judgement j = validate_judge(all->p, all->model[m].at, q, all->by, SPLIT_ALWAYS);

            *predicted += j.errors.n;
            *stated += j.n_stated;
        }
}

bool judging_tells_power(const judging *all)
{
    for (size_t m = 0; m < all->n; m++)
        for (size_t i = 0; i < all->p->n_points; i++)
            for (phase q = 0; q < N_TIMES; q++)
                if (all->model[m].at[i].watts[q] > 0 && all->model[m].at[i].measured_watts[q] > 0)
                    return true;
    return false;
}
