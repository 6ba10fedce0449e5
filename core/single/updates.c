/* Updates of more elements than caches hold. */
#include "single/updates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define OVERHEAD_HIDDEN 1e5 /* elements; the call's own time shows in updates of fewer */
#define UPDATES_LEAST   5   /* on each side of a border */

/* Updates by themselves. */
typedef struct sized {
    double elements, per_element; /* s */
} sized;

static int by_elements(const void *a, const void *b)
{
    const double x = ((const sized *)a)->elements, y = ((const sized *)b)->elements;

    return (x > y) - (x < y);
}

static bool update_only(const layer_run *run)
{
    return run->update && !run->forward && !run->backward;
}

static size_t gather(const layer_time *time, const bool *in, size_t n, const char *optimizer,
                     sized *out)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        const double e = layer_updated(&time[i].run, time[i].shape);

        if ((!in || in[i]) && update_only(&time[i].run) && e >= OVERHEAD_HIDDEN &&
            !strcmp(time[i].run.optimizer, optimizer))
            out[found++] = (sized){ e, time[i].seconds / e };
    }
    qsort(out, found, sizeof *out, by_elements);
    return found;
}

static double median_of(const sized *x, size_t n, double *room)
{
    for (size_t i = 0; i < n; i++)
        room[i] = x[i].per_element;
    return stats_quantile(room, n, 0.5);
}

static double off(const sized *x, size_t n, double median)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += fabs(log(x[i].per_element / median));
    return sum;
}

/* First of those that cost more; n: none do. */
static size_t border_of(const sized *x, size_t n, size_t least, double *room)
{
    if (n < 2 * least)
        return n;

    double best  = UPDATES_GAIN * off(x, n, median_of(x, n, room));
    size_t found = n;

    for (size_t k = least; k + least <= n; k++) {
        const double below = median_of(x, k, room), above = median_of(x + k, n - k, room);
        const double both = off(x, k, below) + off(x + k, n - k, above);

        if (x[k].elements > x[k - 1].elements && above > below && both < best) {
            best  = both;
            found = k;
        }
    }
    return found;
}

static bool seen_before(const layer_time *time, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (update_only(&time[k].run) && !strcmp(time[k].run.optimizer, time[i].run.optimizer))
            return true;
    return false;
}

lm_status updates_find_border(const layer_time *time, const bool *in, size_t n, size_t least,
                              columns *c, lm_error *err)
{
    sized    *x      = malloc((n + 1) * sizeof *x);
    double   *room   = malloc((n + 1) * sizeof *room);
    lm_status status = x && room ? LM_OK : no_memory(err);

    least = least > UPDATES_LEAST ? least : UPDATES_LEAST;
    for (size_t i = 0; i < n && !status; i++) {
        size_t found, at;

        if (!update_only(&time[i].run) || seen_before(time, i))
            continue;
        found = gather(time, in, n, time[i].run.optimizer, x);
        at    = border_of(x, found, least, room);
        if (at < found &&
            columns_need_update_from(c, time[i].run.optimizer, x[at].elements) == COLUMN_NONE)
            status = no_memory(err);
    }
    free(x);
    free(room);
    return status;
}

/* Classes with a price of `usual` and none for so many elements get this one. */
static lm_status share_column(layer_model *m, const column *from, const char *usual, lm_error *err)
{
    const double elements = column_updates_from(from, usual);

    for (size_t k = 0; k < FIRST_LAUNCH; k++) {
        columns *c     = &m->of[k].columns;
        bool     wants = m->of[k].present && columns_find(c, usual) != COLUMN_NONE;
        size_t   at;

        for (size_t j = 0; j < c->n && wants; j++)
            wants = !(column_updates_from(&c->column[j], usual) >= elements);
        if (!wants)
            continue;
        if ((at = columns_need_update(c, from->name)) == COLUMN_NONE)
            return no_memory(err);
        c->column[at].price = from->price;
    }
    return LM_OK;
}

lm_status updates_share(layer_model *m, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t k = 0; k < FIRST_LAUNCH; k++)
        for (size_t j = 0; j < m->of[k].columns.n && !status; j++) {
            const column from = m->of[k].columns.column[j]; /* the list may move */
            char         usual[64];

            snprintf(usual, sizeof usual, "%.*s",
                     (int)strcspn(from.name + strlen(UPDATE), ".") + (int)strlen(UPDATE),
                     from.name);
            if (from.rows && optimizer_column(from.name) && column_updates_from(&from, usual) > 0)
                status = share_column(m, &from, usual, err);
        }
    return status;
}
