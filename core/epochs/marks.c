/* Marks, and at what times apart they come. */
#include "epochs/marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

/* Distances are equal within this part; so many of them must be. */
#define EQUAL   0.08
#define REGULAR 0.8
#define SAME    0.125
/* A pause takes at most this part of the distance, of this part of the marks. */
#define BRIEF      0.1
#define SOME_BRIEF 0.25
/* The next number of marks that is tried is larger by this part. */
#define MORE 0.15

static int by_area(const void *a, const void *b)
{
    const double x = ((const mark *)a)->area, y = ((const mark *)b)->area;

    return (x < y) - (x > y);
}

static int by_time(const void *a, const void *b)
{
    const size_t x = ((const mark *)a)->from, y = ((const mark *)b)->from;

    return (x > y) - (x < y);
}

/* Twice as many as are kept are gathered before the smaller half goes. */
static void gather(mark *list, size_t *n, mark m)
{
    if (*n == 2 * MARKS_MAX) {
        qsort(list, *n, sizeof *list, by_area);
        *n = MARKS_MAX;
    }
    list[(*n)++] = m;
}

size_t marks_find(const float *events, size_t n, mark out[MARKS_MAX])
{
    mark  *list  = malloc(2 * MARKS_MAX * sizeof *list);
    size_t count = 0;

    for (size_t i = 0; list && i < n;) {
        mark m = { i, i, 0 };

        if (events[i] == 0) {
            i++;
            continue;
        }
        while (i < n && (events[i] * events[m.from] > 0 ||
                         (i + 1 < n && events[i] == 0 && events[i + 1] * events[m.from] > 0))) {
            m.area += fabs((double)events[i]);
            m.to = ++i;
        }
        gather(list, &count, m);
    }
    if (!list)
        return 0;
    qsort(list, count, sizeof *list, by_area);
    count = count < MARKS_MAX ? count : MARKS_MAX;
    qsort(list, count, sizeof *list, by_time);
    memcpy(out, list, count * sizeof *list);
    free(list);
    return count;
}

/* What marks in order of their times are like. */
static mark_period distances(const mark *m, size_t n, double *scratch)
{
    mark_period p;
    double      width;
    size_t      near = 0;

    for (size_t i = 0; i < n; i++)
        scratch[i] = (double)(m[i].to - m[i].from);
    width = stats_quantile(scratch, n, SOME_BRIEF);
    for (size_t i = 0; i + 1 < n; i++)
        scratch[i] = (double)m[i + 1].to - (double)m[i].to;
    p.bins = stats_quantile(scratch, n - 1, 0.5);
    for (size_t i = 0; i + 1 < n; i++)
        near += fabs(scratch[i] / p.bins - 1) <= EQUAL || fabs(scratch[i] / p.bins - 2) <= EQUAL;
    p.regular = (double)near / (double)(n - 1);
    p.brief   = width <= fmax(1, BRIEF * p.bins);
    return p;
}

static void keep(mark_period *list, size_t *n, mark_period p)
{
    for (size_t i = 0; i < *n; i++)
        if (fabs(list[i].bins / p.bins - 1) < SAME) {
            if (p.regular > list[i].regular)
                list[i] = p;
            return;
        }
    if (*n < MARK_PERIODS_MAX)
        list[(*n)++] = p;
}

size_t marks_periods(const mark *m, size_t n, mark_period out[MARK_PERIODS_MAX])
{
    mark  *by_size = malloc(2 * (n + 1) * sizeof *by_size), *some = by_size ? by_size + n : NULL;
    double scratch[MARKS_MAX];
    size_t found = 0;

    if (!by_size)
        return 0;
    memcpy(by_size, m, n * sizeof *by_size);
    qsort(by_size, n, sizeof *by_size, by_area);
    for (size_t k = MARKS_LEAST; k <= n; k += 1 + (size_t)(MORE * (double)k)) {
        mark_period p;

        memcpy(some, by_size, k * sizeof *some);
        qsort(some, k, sizeof *some, by_time);
        p = distances(some, k, scratch);
        if (p.regular >= REGULAR)
            keep(out, &found, p);
    }
    free(by_size);
    return found;
}
