/* Intervals of collectives. */
#include "fit/collective_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "fit/interval.h"
#include "solve/folds.h"

/* Rows of one algorithm on one fabric, and the groups to leave out. */
typedef struct rows {
    collective_time *of, *rest; /* rest: scratch */
    size_t           n;
    bool             by_size;
    double          *group; /* values of the groups, ascending */
    size_t           n_groups;
    residual        *left; /* residuals of the predicted rows */
    size_t           n_left;
} rows;

static double place_of(const collective_call *a)
{
    return (double)(a->nodes > 1 ? a->nodes : a->devices);
}

static double group_of(const rows *r, const collective_call *a)
{
    return r->by_size ? a->bytes : place_of(a);
}

ORDER_BY_VALUE(by_value, double)

static void find_groups(rows *r, bool by_size)
{
    size_t kept = 0;

    r->by_size = by_size;
    for (size_t i = 0; i < r->n; i++)
        r->group[i] = group_of(r, &r->of[i].of);
    qsort(r->group, r->n, sizeof *r->group, by_value);
    for (size_t i = 0; i < r->n; i++)
        if (!kept || r->group[i] != r->group[kept - 1])
            r->group[kept++] = r->group[i];
    r->n_groups = kept;
}

/* Distance of a group's value from the range of the others, in octaves; 0 inside. */
static double octaves_beyond(const rows *r, size_t group)
{
    if (group == 0)
        return log2(r->group[1] / r->group[0]);
    if (group + 1 == r->n_groups)
        return log2(r->group[group] / r->group[group - 1]);
    return 0;
}

/* Predicts one group by a fit to the others. */
static lm_status leave_group(void *context, const fold_turn *t, lm_error *err)
{
    rows             *r    = context;
    const size_t      kept = folds_copy(t, true, r->of, sizeof *r->of, r->rest);
    collective_model *m;
    const lm_status   status = collective_fit(r->rest, kept, &m, err);

    for (size_t i = 0; i < r->n && !status; i++) {
        const collective_time *at    = &r->of[i];
        size_t                 group = 0;
        double                 seconds;

        if (!fold_out(t, i))
            continue;
        seconds = collective_seconds(m, at->algorithm, NULL, &at->of);
        while (r->group[group] != group_of(r, &at->of))
            group++;
        if (!isnan(seconds))
            r->left[r->n_left++] =
                (residual){ .ratio  = seconds > 0 ? at->seconds / seconds : HUGE_VAL,
                            .group  = group,
                            .beyond = octaves_beyond(r, group) };
    }
    if (!status)
        collective_free(m);
    return status;
}

static lm_status leave_each(rows *r, lm_error *err)
{
    size_t   *of = malloc((r->n + 1) * sizeof *of);
    folds     by = { .of = of, .rows = r->n, .n = r->n_groups };
    lm_status status;

    if (!of)
        return no_memory(err);
    for (size_t i = 0; i < r->n; i++)
        for (of[i] = 0; r->group[of[i]] != group_of(r, &r->of[i].of);)
            of[i]++;
    status = folds_leave_out(&by, leave_group, r, err);
    free(of);
    return status;
}

static lm_status bound(rows *r, fabric_bounds *out, lm_error *err)
{
    interval  found = interval_unknown;
    lm_status status;

    r->n_left = 0;
    find_groups(r, false);
    if (r->n_groups < INTERVAL_GROUPS)
        find_groups(r, true);
    if (r->n_groups < INTERVAL_GROUPS)
        return LM_OK;
    status = leave_each(r, err);
    if (!status && r->n_left)
        status = interval_bounds(r->left, r->n_left, &found, err);
    if (!status && r->n_left)
        status = interval_growth(r->left, r->n_left, &found, err);
    if (!status && interval_known(&found))
        *out = (fabric_bounds){ found.groups, found.low, found.high, found.per_octave };
    return status;
}

/* Selects the rows of an algorithm on a fabric. */
static void take(const collective_time *row, size_t n, const algorithm_model *a, fabric f, rows *r)
{
    char name[ALGORITHM_NAME];

    r->n = 0;
    for (size_t i = 0; i < n; i++)
        if (row[i].of.kind == a->kind && fabric_of(&row[i].of) == f &&
            !strcmp(algorithm_name(row[i].algorithm, name), a->name))
            r->of[r->n++] = row[i];
}

lm_status collective_bounds(const collective_time *row, size_t n, collective_model *m,
                            lm_error *err)
{
    rows      r      = { .of    = malloc((n + 1) * sizeof *r.of),
                         .rest  = malloc((n + 1) * sizeof *r.rest),
                         .group = malloc((n + 1) * sizeof *r.group),
                         .left  = malloc((n + 1) * sizeof *r.left) };
    lm_status status = r.of && r.rest && r.group && r.left ? LM_OK : no_memory(err);

    for (size_t k = 0; k < m->n && !status; k++)
        for (fabric f = 0; f < N_FABRICS && !status; f++)
            if (m->algorithm[k].of[f].rows) {
                take(row, n, &m->algorithm[k], f, &r);
                status = bound(&r, &m->algorithm[k].of[f].bounds, err);
            }
    free_all(r.of, r.rest, r.group, r.left);
    return status;
}
