/* Errors of methods. */
#include "crossgpu/judged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

static const char *const by_names[N_ERRORS_BY] = { "group", "source", "target" };

lm_status errors_by_parse(const char *name, errors_by *out, lm_error *err)
{
    const size_t at = text_place(name, by_names, N_ERRORS_BY);

    if (at == N_ERRORS_BY)
        return lm_error_set(err, LM_E_NOTFOUND, "expected group, source or target, found '%.40s'",
                            name);
    *out = (errors_by)at;
    return LM_OK;
}

static selection all_of(const pairs *p, size_t *at)
{
    for (size_t i = 0; i < p->n; i++)
        at[i] = i;
    return (selection){ .p = p, .at = at, .n = p->n };
}

lm_status judged_learn(const pairs *p, const crossgpu_options *how, crossgpu **out, lm_error *err)
{
    size_t   *at = malloc(p->n * sizeof *at);
    selection all;
    lm_status status;

    if (!at)
        return no_memory(err);
    all    = all_of(p, at);
    status = crossgpu_learn(&all, how, out, err);
    free(at);
    return status;
}

lm_status judged_predict(const judged_runs *j, crossgpu_method m, crossgpu_prediction *said,
                         lm_error *err)
{
    const bool others = j->tested != j->p;
    /* the intervals of other methods need several more fits */
    const crossgpu_options how = { m, j->seed,
                                   m == CROSSGPU_LAYERMETER || m == CROSSGPU_PAIR_RATIO || others };
    crossgpu              *c   = NULL;
    lm_status              status;

    if (!others)
        return held_out_predict(j->p, &how, j->leave, said, err);
    if (!(status = judged_learn(j->p, &how, &c, err)))
        status = held_out_test(c, j->tested, said, err);
    crossgpu_free(c);
    return status;
}

size_t judged_groups(const judged_runs *j)
{
    if (j->by != ERRORS_BY_GROUP)
        return j->tested->n_gpus;
    return j->tested->n_groups > 1 ? j->tested->n_groups : 0;
}

const char *judged_group(const judged_runs *j, size_t i)
{
    return j->by != ERRORS_BY_GROUP ? j->tested->gpu[i].name : j->tested->group[i];
}

/* Is a row of this group, from this GPU, or to it? */
static bool is_of(const judged_runs *j, const pair_row *row, const char *name)
{
    const pairs *p = j->tested;

    return !name || !strcmp(name, j->by == ERRORS_BY_SOURCE   ? p->gpu[row->pair / p->n_gpus].name
                                  : j->by == ERRORS_BY_TARGET ? p->gpu[row->pair % p->n_gpus].name
                                                              : p->group[row->group]);
}

/* Mean error of the part with this number; NAN: it has no predictions. */
static double error_of_fold(const pairs *p, const crossgpu_prediction *said, size_t fold)
{
    stats_sample of = { 0 };

    for (size_t i = 0; i < p->n; i++) {
        const double is = p->r->run[p->row[i].to].seconds;

        if (said[i].fold == fold && !isnan(said[i].seconds))
            stats_take(&of, fabs(said[i].seconds - is) / is);
    }
    return of.n ? of.mean : NAN;
}

static void over_folds(const pairs *p, const crossgpu_prediction *said, judged_errors *out)
{
    stats_sample of = { 0 };
    size_t       n  = 0;

    for (size_t i = 0; i < p->n; i++)
        n = said[i].fold >= n ? said[i].fold + 1 : n;
    for (size_t f = 0; f < n; f++) {
        const double error = error_of_fold(p, said, f);

        if (!isnan(error))
            stats_take(&of, error);
    }
    out->fold_mean = of.n > 1 ? of.mean : NAN;
    out->fold_sd   = stats_sd(&of);
}

lm_status judged_errors_of(const judged_runs *j, const crossgpu_prediction *said, const char *name,
                           judged_errors *out, lm_error *err)
{
    const pairs *p         = j->tested;
    double      *predicted = malloc((3 * p->n + 1) * sizeof *predicted);
    double      *measured = predicted + p->n, *width = measured + p->n;
    size_t       n = 0, inside = 0, stated = 0;

    if (!predicted)
        return no_memory(err);
    for (size_t i = 0; i < p->n; i++) {
        const double is = p->r->run[p->row[i].to].seconds;

        if (isnan(said[i].seconds) || !is_of(j, &p->row[i], name))
            continue;
        predicted[n]  = said[i].seconds;
        measured[n++] = is;
        if (isnan(said[i].low))
            continue;
        width[stated++] = (said[i].high - said[i].low) / said[i].seconds;
        inside += is >= said[i].low && is <= said[i].high;
    }
    *out = (judged_errors){ .coverage = NAN, .width = NAN, .fold_mean = NAN, .fold_sd = NAN };
    if (!name)
        over_folds(p, said, out);
    if (n)
        out->errors = stats_compare(predicted, measured, n);
    if (stated) {
        out->coverage = (double)inside / (double)stated;
        out->width    = stats_quantile(width, stated, 0.5);
    }
    free(predicted);
    return LM_OK;
}
