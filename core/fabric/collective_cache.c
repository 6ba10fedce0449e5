/* The message size at which messages within a node exceed caches. */
#include "fabric/collective_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "solve/folds.h"

#define BORDERS 16 /* sizes tried at most */

/* Sizes in use, ascending. */
typedef struct sizes {
    double *of;
    size_t  n;
} sizes;

/* Index of the k-th of `of` sizes that are spread over all. */
static double spread(const sizes *s, size_t k, size_t of)
{
    return s->of[of < s->n ? k * (s->n - 1) / (of - 1) : k];
}

static size_t how_many(const sizes *s)
{
    return s->n < BORDERS ? s->n : BORDERS;
}

static void set_cache(fit_row *row, size_t n, bool ring, double cache)
{
    for (size_t i = 0; i < n; i++)
        sync_columns(&row[i].of, ring, cache, row[i].x);
}

/* Finds the best border between sizes. Both sides have rows. */
static lm_status fit_border(fit_row *row, size_t n, const sizes *s, unsigned columns,
                            fabric_model *out, lm_error *err)
{
    double    least  = HUGE_VAL;
    lm_status status = LM_OK;

    for (size_t k = 1; k + 1 < how_many(s) && !status; k++) {
        const double cache = spread(s, k, how_many(s));
        sync_plane   plane;

        set_cache(row, n, out->ring, cache);
        status = planes_fit_one(row, n, columns | COLUMN(SYNC_SPILLED_BYTES), &plane, err);
        if (!status && planes_loss(row, n, &plane) < least) {
            least         = planes_loss(row, n, &plane);
            out->cache    = cache;
            out->plane[0] = plane;
        }
    }
    return status;
}

static double off(const fabric_model *m, const fit_row *row)
{
    return fabs(fabric_seconds(m, &row->of) / row->seconds - 1);
}

/* Errors with and without a border on sizes left out. */
typedef struct leaving {
    const fit_row *row;
    fit_row       *rest; /* scratch */
    const sizes   *s;
    bool           ring;
    unsigned       columns;
    double         with, without; /* sums of mean errors */
} leaving;

/* Mean errors on one size, by a fit to the others. */
static lm_status leave_size(void *context, const fold_turn *t, lm_error *err)
{
    leaving     *l        = context;
    const size_t n        = t->by->rows;
    const size_t kept     = folds_copy(t, true, l->row, sizeof *l->row, l->rest);
    fabric_model bent     = { .kind = l->row[0].of.kind, .ring = l->ring, .n_planes = 1 },
                 straight = bent;
    lm_status status      = planes_fit_one(l->rest, kept, l->columns, &straight.plane[0], err);

    if (!status)
        status = fit_border(l->rest, kept, l->s, l->columns, &bent, err);
    for (size_t i = 0; i < n && !status; i++)
        if (fold_out(t, i)) {
            l->with += off(&bent, &l->row[i]) / (double)(n - kept);
            l->without += off(&straight, &l->row[i]) / (double)(n - kept);
        }
    return status;
}

static lm_status fit_if_better(fit_row *row, size_t n, const sizes *s, unsigned columns,
                               fabric_model *out, lm_error *err)
{
    size_t     *of     = malloc((n + 1) * sizeof *of);
    leaving     l      = { .row     = row,
                           .rest    = malloc((n + 1) * sizeof *l.rest),
                           .s       = s,
                           .ring    = out->ring,
                           .columns = columns };
    const folds by     = { .of = of, .rows = n, .n = how_many(s) };
    lm_status   status = of && l.rest ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        of[i] = FOLD_ALWAYS;
        for (size_t k = 0; k < by.n; k++)
            if (row[i].of.bytes == spread(s, k, by.n))
                of[i] = k;
    }
    if (!status)
        status = folds_leave_out(&by, leave_size, &l, err);
    free(of);
    free(l.rest);
    return status || !(l.with < CACHE_GAIN * l.without) ? status
                                                        : fit_border(row, n, s, columns, out, err);
}

lm_status planes_fit_cache(fit_row *row, size_t n, unsigned columns, fabric_model *out,
                           lm_error *err)
{
    sizes     s      = { .of = malloc((n + 1) * sizeof *s.of) };
    lm_status status = LM_OK;

    if (!s.of)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        s.of[i] = row[i].of.bytes;
    s.n = planes_distinct(s.of, n);
    if (s.n >= CACHE_SIZES)
        status = fit_if_better(row, n, &s, columns, out, err);
    free(s.of);
    return status;
}
