/* Flagged times, and what was measured instead. */
#include "observe/settle.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "observe/flags.h"

typedef struct place {
    uint64_t hash;
    size_t   at;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;

    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->at > y->at) - (x->at < y->at);
}

/* 0: as measured; 1: an anchor once more; 2: doubtful. */
static int rank_of(const point *p)
{
    return p->flags & FLAGS_DOUBTFUL ? 2 : p->flags & FLAG_ANCHOR ? 1 : 0;
}

static size_t count_times(const point *p, double *sum)
{
    size_t n = 0;

    *sum = 0;
    for (phase f = 0; f < N_PHASES; f++)
        if (!isnan(p->seconds[f])) {
            *sum += p->seconds[f];
            n++;
        }
    return n;
}

static void drop_times(point *p)
{
    for (phase f = 0; f < N_PHASES; f++)
        p->seconds[f] = NAN;
}

/* Of the points of one rank, only one may stay: of doubtful times that with the most phases, then
 * the fastest (what is wrong with them makes times longer); of repetitions the first. */
static void keep_one(point *const *same, size_t n, int rank)
{
    point *kept  = NULL;
    size_t most  = 0;
    double least = 0;

    for (size_t i = 0; i < n; i++) {
        double       sum;
        const size_t times = count_times(same[i], &sum);

        if (rank_of(same[i]) != rank || !times)
            continue;
        if (!kept || (rank == 2 && (times > most || (times == most && sum < least)))) {
            if (kept)
                drop_times(kept);
            kept  = same[i];
            most  = times;
            least = sum;
        } else {
            drop_times(same[i]);
        }
    }
}

/* All points of one configuration, in the order of the file. */
static void settle_same(points *p, point *const *same, size_t n)
{
    for (phase f = 0; f < N_PHASES; f++) {
        int best = 2;

        for (size_t i = 0; i < n; i++)
            if (!isnan(same[i]->seconds[f]) && rank_of(same[i]) < best)
                best = rank_of(same[i]);
        for (size_t i = 0; i < n; i++)
            if (rank_of(same[i]) > best)
                same[i]->seconds[f] = NAN;
    }
    keep_one(same, n, 1);
    keep_one(same, n, 2);
    for (size_t i = 0; i < n; i++) {
        double sum;

        if (rank_of(same[i]) < 2)
            continue;
        if (count_times(same[i], &sum))
            p->n_flagged_used++;
        else
            p->n_flagged_out++;
    }
}

lm_status points_settle(points *p, lm_error *err)
{
    bool    any  = false;
    place  *by   = malloc((p->n_points + 1) * sizeof *by);
    point **same = malloc((p->n_points + 1) * sizeof *same);

    for (size_t i = 0; i < p->n_points; i++)
        any |= p->point[i].flags != 0;
    for (size_t i = 0; by && any && i < p->n_points; i++)
        by[i] = (place){ configuration_hash(p->point[i].row), i };
    if (by && same && any) {
        qsort(by, p->n_points, sizeof *by, compare_places);
        for (size_t first = 0, n; first < p->n_points; first += n) {
            const observation *row = p->point[by[first].at].row;

            for (n = 0; first + n < p->n_points && by[first + n].hash == by[first].hash &&
                        configuration_same(p->point[by[first + n].at].row, row);
                 n++)
                same[n] = &p->point[by[first + n].at];
            settle_same(p, same, n);
        }
    }
    free(same);
    free(by);
    return by && same ? LM_OK : no_memory(err);
}
