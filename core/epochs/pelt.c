/* Pruned exact linear time, cost: squared deviations from the mean. */
#include "epochs/pelt.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

typedef struct sums {
    double *sum, *squares; /* of the first i values */
} sums;

static double cost(const sums *s, size_t from, size_t to)
{
    const double d = s->sum[to] - s->sum[from];

    return s->squares[to] - s->squares[from] - d * d / (double)(to - from);
}

/* best[i]: of the first i values; last[i]: where its last segment begins. */
static void segment(const sums *s, size_t n, double penalty, size_t shortest, double *best,
                    size_t *last, size_t *open)
{
    size_t n_open = 0;

    best[0] = -penalty;
    for (size_t i = 1; i < shortest && i <= n; i++)
        best[i] = INFINITY;
    for (size_t to = shortest; to <= n; to++) {
        size_t kept = 0;

        open[n_open++] = to - shortest;
        best[to]       = INFINITY;
        for (size_t k = 0; k < n_open; k++) {
            const double c = best[open[k]] + cost(s, open[k], to) + penalty;

            if (c < best[to]) {
                best[to] = c;
                last[to] = open[k];
            }
        }
        for (size_t k = 0; k < n_open; k++) /* what cannot become best any more */
            if (best[open[k]] + cost(s, open[k], to) <= best[to])
                open[kept++] = open[k];
        n_open = kept;
    }
}

lm_status pelt(const float *x, size_t n, double penalty, size_t shortest, size_t **end,
               size_t *n_end, lm_error *err)
{
    double *memory = malloc(3 * (n + 1) * sizeof *memory);
    size_t *places = malloc(2 * (n + 1) * sizeof *places), *out = malloc((n + 1) * sizeof *out);
    sums    s     = { memory, memory ? memory + n + 1 : NULL };
    size_t  count = 0;

    if (!memory || !places || !out) {
        free(memory);
        free(places);
        free(out);
        return no_memory(err);
    }
    s.sum[0] = s.squares[0] = 0;
    for (size_t i = 0; i < n; i++) {
        s.sum[i + 1]     = s.sum[i] + (double)x[i];
        s.squares[i + 1] = s.squares[i] + (double)x[i] * (double)x[i];
    }
    segment(&s, n, penalty, shortest, memory + 2 * (n + 1), places, places + n + 1);
    if (n < shortest)
        out[count++] = n;
    for (size_t i = n; n >= shortest && i > 0; i = places[i])
        out[count++] = i;
    for (size_t i = 0; i < count / 2; i++) {
        const size_t t     = out[i];
        out[i]             = out[count - 1 - i];
        out[count - 1 - i] = t;
    }
    free(memory);
    free(places);
    *end   = out;
    *n_end = count;
    return LM_OK;
}
