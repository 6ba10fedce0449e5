/* Where messages within a node leave caches. */
#include "fabric/collective_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define BORDERS 16 /* sizes tried at most */

/* Sizes in use, ascending. */
typedef struct sizes {
    double *of;
    size_t  n;
} sizes;

/* The k-th of so many that are spread over all. */
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

/* The border that is best; it lies between sizes, so that both sides say something. */
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

/* Mean errors with and without a border on one size, by the others. */
static lm_status leave_out(const fit_row *row, size_t n, const sizes *s, double size, bool ring,
                           unsigned columns, double *with, double *without, lm_error *err)
{
    fit_row     *rest = calloc(n + 1, sizeof *rest);
    fabric_model bent = { .ring = ring, .n_planes = 1 }, straight = bent;
    size_t       kept = 0;
    lm_status    status;

    if (!rest)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (row[i].of.bytes != size)
            rest[kept++] = row[i];
    status = planes_fit_one(rest, kept, columns, &straight.plane[0], err);
    if (!status)
        status = fit_border(rest, kept, s, columns, &bent, err);
    for (size_t i = 0; i < n && !status; i++)
        if (row[i].of.bytes == size) {
            *with += off(&bent, &row[i]) / (double)(n - kept);
            *without += off(&straight, &row[i]) / (double)(n - kept);
        }
    free(rest);
    return status;
}

static lm_status fit_if_better(fit_row *row, size_t n, const sizes *s, unsigned columns,
                               fabric_model *out, lm_error *err)
{
    double    with = 0, without = 0;
    lm_status status = LM_OK;

    for (size_t k = 0; k < how_many(s) && !status; k++)
        status = leave_out(row, n, s, spread(s, k, how_many(s)), out->ring, columns, &with,
                           &without, err);
    return status || !(with < CACHE_GAIN * without) ? status
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
